//! Servers that are gone, that were gone for a moment, and that do not let us in.

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::{options::LabOptions, server};
use tokio_util::sync::CancellationToken;

use crate::stage::{Expected, Process, Stage, TOKEN, crypto, evidence, reference, signal};

const CANARIES: &str = "    canaries:
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
";

const GONE: Expected = Expected {
    monitor: "gone",
    signal: "availability",
    reason: "connection_refused",
    severity: "page",
    stage: "connect",
};

fn is_back(body: &Value) -> bool {
    body["state"] == "up" && signal(body, "availability")["phase"] == "quiet"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_port_is_connection_refused() {
    let server = reference().await;
    let stage = Stage::start(&format!("  - id: gone\n    url: {}\n{CANARIES}", server.mcp_url())).await;
    stage.well("gone").await;
    server.faults().on(Fault::Refused, Dose::of(Fault::Refused));
    let opened = stage.opened("nothing listens", GONE).await;
    server.faults().all_off();
    stage.resolved("nothing listens", &opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_dropped_is_session_lost() {
    let server = reference().await;
    let stage = Stage::start(&format!("  - id: forgetful\n    url: {}\n{CANARIES}", server.legacy_url())).await;
    stage.well("forgetful").await;
    server.faults().on(Fault::SessionLost, Dose::of(Fault::SessionLost));
    let lost = Expected { monitor: "forgetful", reason: "session_lost", stage: "handshake", ..GONE };
    let opened = stage.opened("the server forgets its sessions", lost).await;
    assert_eq!(evidence(&opened, "trace_id").len(), 32, "its log says the same: {opened:#?}");
    server.faults().all_off();
    stage.resolved("the server forgets its sessions", &opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_connection_refused_and_its_end_a_restart() {
    let mut server = Process::start().await;
    let stage = Stage::start(&format!("  - id: gone\n    url: {}\n{CANARIES}", server.url)).await;
    stage.well("gone").await;
    server.crash().await;
    let opened = stage.opened("the process is gone", GONE).await;
    server.come_back().await;
    stage.restarted("the process is back", "gone").await;
    stage.resolved("the process is back", &opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_that_is_over_before_the_page_is_only_a_restart() {
    let mut server = Process::start().await;
    let patient = "    rules: { availability: { page_after: 10m } }\n";
    let legacy = server.url.replace("/mcp", "/legacy/mcp");
    let monitors = [("blink", &server.url), ("keeps", &legacy)];
    let monitors = monitors.map(|(id, url)| format!("  - id: {id}\n    url: {url}\n{patient}{CANARIES}"));
    let stage = Stage::start(&monitors.concat()).await;
    stage.well("blink").await;
    stage.well("keeps").await;
    server.crash().await;
    let refused = |body: &Value| {
        let availability = signal(body, "availability");
        availability["phase"] == "pending" && availability["figure"].as_str().unwrap().contains("connection_refused")
    };
    stage.until("it is refused", "blink", refused).await;
    stage.until("it is refused", "keeps", refused).await;
    server.come_back().await;
    let told = stage.restarted("the process is back", "keeps").await;
    assert!(told.summary.ends_with("; sessions of its users were reset"), "it hands out sessions: {told:#?}");
    assert!(told.runbook_url.ends_with("/session_lost"), "{told:#?}");
    let told = stage.restarted("the process is back", "blink").await;
    assert!(told.summary.ends_with("restarted"), "nobody has a session there: {told:#?}");
    assert!(told.runbook_url.ends_with("/cold_start"), "{told:#?}");
    stage.until("it is well again", "blink", is_back).await;
    let events: Vec<String> = stage.told("blink").into_iter().map(|message| message.event).collect();
    assert_eq!(events, ["server.restarted"], "no page");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_token_is_a_matter_of_access() {
    crypto();
    let options = LabOptions { bearer: Some(TOKEN.to_owned()), ..LabOptions::default() };
    let server = server::serve(options, CancellationToken::new()).await.unwrap();
    let url = server.mcp_url();
    let stage = Stage::start(&format!("  - id: locked\n    url: {url}\n{CANARIES}")).await;
    let locked =
        Expected { monitor: "locked", signal: "access", reason: "auth_required", severity: "page", stage: "handshake" };
    let opened = stage.opened("nobody gave us a token", locked).await;
    let body = stage.json("/api/v1/monitors/locked").await;
    assert_eq!(signal(&body, "availability")["phase"], "quiet", "it is there: {body:#}");
    assert_eq!(body["state"], "no access");
    // Whoever runs it adds the token to the file.
    let bearer = "    auth: { bearer: \"${env:SERIN_JOURNEY_TOKEN}\" }\n";
    stage.declare(&format!("  - id: locked\n    url: {url}\n{bearer}{CANARIES}"));
    stage.resolved("we have the token now", &opened).await;
    assert!(stage.told("locked").iter().all(|message| !format!("{message:?}").contains(TOKEN)), "it is never shown");
}
