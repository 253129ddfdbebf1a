//! If we paged, we send the resolve: whatever is edited or removed meanwhile, while Serin runs or while it does not.

use serin_reference::lab::kinds::{Dose, Fault};

use crate::outage::SENT;
use crate::process::Serin;
use crate::stage::{File, Stage, Watched, received, times};

/// Where the file is edited.
enum When {
    Running,
    Stopped,
}

/// An outage, an edit during it, and the resolve that follows from the edit alone.
struct Row {
    sentence: &'static str,
    /// The file and the server as they have to be for the page.
    broken: fn(&Stage, &mut File),
    signal: &'static str,
    edit: fn(&mut File),
    when: When,
    cause: &'static str,
}

async fn check(row: Row) {
    let (stage, mut file) = Stage::set(2).await;
    (row.broken)(&stage, &mut file);
    stage.write(&file);
    let (serin, _) = Serin::start(&stage.config()).await;
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await.incident.expect("an incident");
    assert_eq!(opened.signal, row.signal, "{}", row.sentence);
    (row.edit)(&mut file);
    let serin = match row.when {
        When::Running => {
            stage.write(&file);
            serin
        }
        When::Stopped => {
            stage.counted("the page is recorded as sent", 1, SENT, &[]).await;
            serin.kill().await;
            stage.write(&file);
            Serin::start(&stage.config()).await.0
        }
    };
    let resolved = received(&stage.oncall, "incident.resolved", Some("s0")).await;
    let incident = resolved.incident.as_ref().expect("an incident");
    assert_eq!(incident.id, opened.id, "{}", row.sentence);
    assert_eq!(incident.resolve_cause.as_deref(), Some(row.cause), "{}", row.sentence);
    assert!(resolved.sequence > 1, "{}: it comes after the opening", row.sentence);
    stage.more_beats("s1", 3).await;
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "{}: and nothing opens again", row.sentence);
    let open = "SELECT COUNT(*) FROM incidents WHERE resolved_at IS NULL";
    assert_eq!(stage.count(open, &[]).await, 0, "{}", row.sentence);
    serin.stop().await;
}

/// Searches that take long enough to be above one limit and below another.
pub(crate) fn slow(stage: &Stage, file: &mut File) {
    stage.servers[0].faults().on(Fault::LatencyStep, Dose::of(Fault::LatencyStep).amount(120.0));
    file.monitors[0].keys = slow_keys("p95: 100ms, window: 30s, for: 1s");
}

pub(crate) fn slow_keys(latency: &str) -> String {
    // Four searches a beat make the 20 samples that P95 needs within some five beats.
    format!(
        "search: {{ per_beat: 4 }}\nrules: {{ latency: {{ {latency}, severity: page }} }}\n\
         canaries:\n\
         - {{ id: pool, query: pool_saturated, expect: [runbooks/pool_saturated.md], kind: keyword }}\n\
         - {{ id: refused, query: connection_refused, expect: [runbooks/connection_refused.md], kind: keyword }}\n\
         - {{ id: drift, query: schema_drift, expect: [runbooks/schema_drift.md], kind: keyword }}\n\
         - {{ id: stale, query: source_stale, expect: [runbooks/source_stale.md], kind: keyword }}"
    )
}

const GOOD_CANARY: &str = "- { id: pool, query: pool_saturated, expect: [runbooks/pool_saturated.md], kind: keyword }";
const WRONG_CANARY: &str =
    "- { id: gone, query: connection_refused, expect: [runbooks/not_written.md], kind: keyword }";

/// A canary whose source the server never had.
fn wrong(_: &Stage, file: &mut File) {
    file.monitors[0].keys = format!("canaries:\n{GOOD_CANARY}\n{WRONG_CANARY}");
}

fn without_the_wrong_canary(file: &mut File) {
    file.monitors[0].keys = format!("canaries:\n{GOOD_CANARY}");
}

fn refused(stage: &Stage, _: &mut File) {
    stage.refuse(0);
}

fn without_the_monitor(file: &mut File) {
    file.monitors.retain(|Watched { id, .. }| *id != "s0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_raised_above_what_is_seen_ends_the_incident() {
    check(Row {
        sentence: "the P95 that is allowed is raised while it is above",
        broken: slow,
        signal: "latency",
        edit: |file| file.monitors[0].keys = slow_keys("p95: 700ms, window: 30s, for: 1s"),
        when: When::Running,
        cause: "rule_changed",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_removed_ends_what_it_opened() {
    check(Row {
        sentence: "the canary that was wrong is removed",
        broken: wrong,
        signal: "quality",
        edit: without_the_wrong_canary,
        when: When::Running,
        cause: "rule_changed",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_removed_while_serin_was_down_ends_what_it_opened() {
    check(Row {
        sentence: "the canary that was wrong is removed while nobody runs",
        broken: wrong,
        signal: "quality",
        edit: without_the_wrong_canary,
        when: When::Stopped,
        cause: "rule_changed",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_removed_ends_its_incidents() {
    check(Row {
        sentence: "the monitor is removed during its outage",
        broken: refused,
        signal: "availability",
        edit: without_the_monitor,
        when: When::Running,
        cause: "monitor_removed",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_removed_while_serin_was_down_ends_its_incidents() {
    check(Row {
        sentence: "the monitor is removed while nobody runs",
        broken: refused,
        signal: "availability",
        edit: without_the_monitor,
        when: When::Stopped,
        cause: "monitor_removed",
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_removed_is_stood_in_for() {
    let (stage, mut file) = Stage::set(1).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    stage.refuse(0);
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await.incident.expect("an incident");
    file.receivers = vec!["spare", "ops"];
    file.routes = "[{ to: [ops] }]";
    stage.write(&file);
    serin.logged("a receiver that was told of an open incident is gone from the file").await;
    let warning = serin.log().lines().find(|line| line.contains("is gone from the file")).map(str::to_owned);
    let warning = warning.expect("the line was found");
    assert!(warning.contains("oncall") && warning.contains("spare"), "it names who and who stands in: {warning}");
    serin.logged("the new file is in force").await;
    stage.mend(0);
    let resolved = received(&stage.spare, "incident.resolved", Some("s0")).await.incident.expect("an incident");
    assert_eq!(resolved.id, opened.id, "whoever stands in hears of the end");
    assert_eq!(resolved.resolve_cause.as_deref(), Some("recovered"));
    serin.stop().await;
}
