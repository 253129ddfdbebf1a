//! Slow, and not yet warm: one is told, the other is only shown.

use std::time::Duration;

use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::server::LabServer;

use crate::stage::{Expected, Stage, reference, signal};

/// What a slow search takes: over the limit, and three of them fit into a beat. A machine that does much else is well under
/// the limit.
const SLOW_MS: f64 = 700.0;
const RULE: &str = "latency: { p95: 450ms, window: 60s, for: 5s }";
/// Room for those searches, on a machine that does much else as well.
const PACE: &str = "    every: 5s\n    timeout: 3s\n    probe_budget: 5s\n";
const CANARIES: &str = "    canaries:
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }
      - { id: pool, query: how many connections does the pool hold, expect: [reference/pool.md], kind: mixed }
";

fn slow(server: &LabServer) {
    server.faults().on(Fault::LatencyStep, Dose::of(Fault::LatencyStep).amount(SLOW_MS));
}

/// Enough slow samples, and something that holds them back.
fn held(body: &Value) -> bool {
    let latency = signal(body, "latency");
    latency["level"] == "elevated" && latency["held_by"] == "cold_start"
}

fn assert_untold(stage: &Stage, monitor: &str) {
    let told = stage.told(monitor).into_iter().filter(|message| message.incident.is_some()).count();
    assert_eq!(told, 0, "{monitor}: a cold start wakes nobody");
}

/// A page that says nothing but "up" would be a lie by omission; to who counts on the API and on metrics it is up.
async fn assert_shown_to_wait(stage: &Stage, body: &Value) {
    let fleet = stage.page("/").await;
    for part in ["Nothing is failing, one monitor is waiting", "class=\"row waiting\"", "held back"] {
        assert!(fleet.contains(part), "the fleet's page lacks {part}: {fleet}");
    }
    assert!(!fleet.contains("class=\"row up\"") && !fleet.contains("headline calm"), "nothing of it is green: {fleet}");
    assert!(stage.page("/?state=waiting").await.contains("class=\"row waiting\""), "it is found by its state");
    assert!(stage.page("/monitors/cold").await.contains("monitor-head waiting"), "nor is its own page");
    assert_eq!((&body["state"], &body["waiting"]), (&"up".into(), &json!(["latency"])), "{body:#}");
    for state in ["up", "waiting"] {
        let found = stage.json(&format!("/api/v1/monitors?state={state}")).await;
        assert_eq!(found["total"], 1, "{state}: {found:#}");
    }
    let status = stage.json("/api/v1/status").await;
    assert_eq!((&status["monitors"]["states"]["up"], &status["monitors"]["waiting"]), (&1.into(), &1.into()));
    let metrics = stage.page("/metrics").await;
    for line in ["serin_monitor_up{monitor=\"cold\"} 1", "serin_canaries{monitor=\"cold\",answer=\"right\"} 3"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let figure = |name: &str| {
        let line =
            metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let labels = "{mcp_method_name=\"tools/call\",gen_ai_operation_name=\"execute_tool\"}";
    let searches = figure(&format!("mcp_client_operation_duration_seconds_count{labels}"));
    let seconds = figure(&format!("mcp_client_operation_duration_seconds_sum{labels}"));
    let right: f64 = ["keyword", "mixed"]
        .map(|kind| figure(&format!("serin_canary_verdicts_total{{kind=\"{kind}\",verdict=\"right\"}}")))
        .iter()
        .sum();
    assert!(
        searches >= 3.0 && searches == right && seconds > SLOW_MS / 1e3,
        "{searches} in {seconds} s, {right} right"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_whose_cache_is_warm_is_told() {
    let server = reference().await;
    // Its cache is cold until questions repeat: the hold that this brings must have ended by then.
    let (url, health) = (server.mcp_url(), server.url("health"));
    let stage = Stage::start(&format!(
        "  - id: slow\n    url: {url}\n{PACE}    health: [{{ url: {health} }}]\n    rules: {{ {RULE} }}\n{CANARIES}"
    ))
    .await;
    stage.well("slow").await;
    slow(&server);
    let slowness = Expected {
        monitor: "slow",
        signal: "latency",
        reason: "latency_elevated",
        severity: "ticket",
        stage: "search",
    };
    let opened = stage.opened("searches are slow", slowness).await;
    server.faults().all_off();
    stage.resolved("searches are slow", &opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_it_is_cold_is_shown_and_not_told() {
    let server = reference().await;
    let decay = Dose::of(Fault::LatencyDecay).amount(SLOW_MS).tau(Duration::from_hours(10));
    server.faults().on(Fault::LatencyDecay, decay);
    let (url, health) = (server.mcp_url(), server.url("health"));
    let stage = Stage::start(&format!(
        "  - id: cold\n    url: {url}\n{PACE}    health: [{{ url: {health} }}]\n    rules: {{ {RULE} }}\n{CANARIES}"
    ))
    .await;
    let body = stage.until("its slowness is held back", "cold", held).await;
    assert_shown_to_wait(&stage, &body).await;
    server.faults().all_off();
    stage.until("it is warm and fast", "cold", |body| signal(body, "latency")["level"] == "calm").await;
    assert_untold(&stage, "cold");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_just_restarted_is_shown_and_not_told() {
    let server = reference().await;
    let patient = format!("    rules: {{ availability: {{ page_after: 10m }}, {RULE} }}\n");
    let stage = Stage::start(&format!("  - id: young\n    url: {}\n{PACE}{patient}{CANARIES}", server.mcp_url())).await;
    stage.well("young").await;
    server.faults().on(Fault::Refused, Dose::of(Fault::Refused));
    let refused = |body: &Value| signal(body, "availability")["phase"] == "pending";
    stage.until("it is refused", "young", refused).await;
    server.faults().all_off();
    stage.restarted("it is back", "young").await;
    slow(&server);
    stage.until("its slowness is held back", "young", held).await;
    assert_untold(&stage, "young");
}
