//! Answers that are empty, wrong or errors.

use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, evidence, reference};

/// Canaries that only the keyword arm needs.
const KEYWORD: &str = "
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }";
/// Canaries that share no word with their source.
const MEANING: &str = "
      - { id: lapse, query: when does my passphrase lapse, expect: [reference/tokens.md], kind: meaning }
      - { id: cheap, query: \"is it cheap, how many dollars\", expect: [reference/costs.md], kind: meaning }
      - { id: lies, query: fibs and fiction, expect: [reference/canaries.md], kind: meaning }";

#[tokio::test(flavor = "multi_thread")]
async fn a_saturated_pool_is_named_where_health_says_so_and_is_emptiness_where_nobody_does() {
    let (spoken, silent) = (reference().await, reference().await);
    let stage = Stage::start(&format!(
        "  - id: spoken\n    url: {}\n    health: [{{ url: {} }}]\n    canaries:{KEYWORD}\n  - id: silent\n    url: {}\n    canaries:{KEYWORD}\n",
        spoken.mcp_url(),
        spoken.url("health"),
        silent.mcp_url(),
    ))
    .await;
    for (monitor, server) in [("spoken", &spoken), ("silent", &silent)] {
        stage.well(monitor).await;
        server.faults().on(Fault::PoolSaturated, Dose::of(Fault::PoolSaturated));
    }
    let named =
        Expected { monitor: "spoken", signal: "quality", reason: "pool_saturated", severity: "page", stage: "search" };
    let opened = stage.opened("health names the cause", named).await;
    assert_eq!(evidence(&opened, "symptom"), "empty_results", "{opened:#?}");
    let unnamed = Expected { monitor: "silent", reason: "empty_results", ..named };
    let alone = stage.opened("nobody names the cause", unnamed).await;
    assert!(evidence(&alone, "canary.card").contains("empty_results"), "{alone:#?}");

    spoken.faults().all_off();
    silent.faults().all_off();
    stage.resolved("health names the cause", &opened).await;
    stage.resolved("nobody names the cause", &alone).await;
    for monitor in ["spoken", "silent"] {
        let events: Vec<String> = stage.told(monitor).into_iter().map(|message| message.event).collect();
        assert_eq!(events, ["incident.opened", "incident.resolved"], "{monitor}: one page, one resolve, nothing else");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_half_that_is_broken_is_named() {
    // The laboratory's embedder knows names by their letters: without words it still finds these, so that row is a table's.
    let rows = [
        ("arm", Fault::VectorArmOff, "vector_arm_down", "embedding_mismatch", "0 of 2 keyword"),
        ("model", Fault::WrongQueryModel, "embedding_mismatch", "vector_arm_down", "0 of 2 keyword"),
    ];
    let mut servers = Vec::new();
    for (name, ..) in rows {
        servers.push((name, reference().await));
    }
    let monitor = |(name, server): &(&str, serin_reference::lab::server::LabServer)| {
        let url = server.mcp_url();
        format!("  - id: {name}\n    url: {url}\n    search: {{ per_beat: 5 }}\n    canaries:{KEYWORD}{MEANING}\n")
    };
    let stage = Stage::start(&servers.iter().map(monitor).collect::<String>()).await;
    for ((name, fault, ..), (_, server)) in rows.iter().zip(&servers) {
        stage.well(name).await;
        server.faults().on(*fault, Dose::of(*fault));
    }
    for ((name, fault, reason, or_else, kept), (_, server)) in rows.into_iter().zip(&servers) {
        let wrong = Expected { monitor: name, signal: "quality", reason, severity: "page", stage: "search" };
        let opened = stage.opened(fault.name(), wrong).await;
        assert!(evidence(&opened, "canaries").contains(kept), "the others still pass: {opened:#?}");
        assert_eq!(evidence(&opened, "or_else"), or_else, "{opened:#?}");
        assert!(!evidence(&opened, &format!("known_by.{or_else}")).is_empty(), "{opened:#?}");
        server.faults().all_off();
        stage.resolved(fault.name(), &opened).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_fails_is_an_elevated_error_rate() {
    let server = reference().await;
    let url = server.mcp_url();
    let stage = Stage::start(&format!("  - id: failing\n    url: {url}\n    canaries:{KEYWORD}\n")).await;
    stage.well("failing").await;
    server.faults().on(Fault::ToolError, Dose::of(Fault::ToolError));
    let failing = Expected {
        monitor: "failing",
        signal: "errors",
        reason: "elevated_error_rate",
        severity: "page",
        stage: "search",
    };
    let opened = stage.opened("searches fail", failing).await;
    let share = evidence(&opened, "tool_error");
    assert!(share.contains(" calls (") && share.contains('%'), "its share: {opened:#?}");
    server.faults().all_off();
    stage.resolved("searches fail", &opened).await;
}
