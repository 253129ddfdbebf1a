//! Serin restarted in the middle of an outage pages once, and the resolve comes all the same.

use crate::edits::{slow, slow_keys};
use crate::process::Serin;
use crate::stage::{Stage, messages, received, times};

/// Deliveries that the ledger knows as brought.
pub(crate) const SENT: &str = "SELECT COUNT(*) FROM deliveries WHERE state = 'sent'";

/// How Serin goes down between two beats of the outage.
async fn check(sentence: &str, killed: bool) {
    let (stage, _) = Stage::set(1).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    stage.refuse(0);
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await;
    assert_eq!(opened.failure_reason.as_deref(), Some("connection_refused"), "{sentence}");
    // A kill before the yes is recorded repeats the message; that is the matter of `kills`.
    stage.counted("the page is recorded as sent", 1, SENT, &[]).await;
    if killed {
        serin.kill().await
    } else {
        serin.stop().await
    }
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 4).await;
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "{sentence}: paged once: {:?}", messages(&stage.oncall));
    stage.mend(0);
    let resolved = received(&stage.oncall, "incident.resolved", Some("s0")).await;
    let id =
        |incident: &Option<serin::deliver::message::MessageIncident>| incident.as_ref().map(|card| card.id.clone());
    assert_eq!(id(&resolved.incident), id(&opened.incident), "{sentence}: the same incident ends");
    assert_eq!(stage.count("SELECT COUNT(*) FROM incidents", &[]).await, 1, "{sentence}");
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "{sentence}: still paged once");
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_during_an_outage_it_pages_once() {
    check("stopped by SIGTERM", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_during_an_outage_it_pages_once() {
    check("killed", true).await;
}

/// An incident that is about to close closes in its own time: nothing was edited, so no rule is the cause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_an_incident_is_clearing_it_ends_as_recovered() {
    let (stage, mut file) = Stage::set(1).await;
    slow(&stage, &mut file);
    file.monitors[0].keys = slow_keys("p95: 100ms, window: 10s, for: 8s");
    stage.write(&file);
    let (serin, _) = Serin::start(&stage.config()).await;
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await.incident.expect("an incident");
    assert_eq!(opened.signal, "latency");
    stage.mend(0);
    let clearing = "SELECT COUNT(*) FROM signal_state WHERE signal = 'latency' AND phase = 'clearing'";
    stage.counted("P95 is low again", 1, clearing, &[]).await;
    serin.kill().await;
    let (serin, _) = Serin::start(&stage.config()).await;
    let resolved = received(&stage.oncall, "incident.resolved", Some("s0")).await.incident.expect("an incident");
    assert_eq!(resolved.id, opened.id);
    assert_eq!(resolved.resolve_cause.as_deref(), Some("recovered"), "nobody edited anything");
    serin.stop().await;
}

/// Time that nobody looked is unknown, and never counts as up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stretch_without_serin_shows_as_coverage_below_all() {
    let (stage, _) = Stage::set(1).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 6).await;
    serin.kill().await;
    // The stretch itself: there is no event in a process that does not run.
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    stage.shown(address, "/api/v1/monitors/s0", "the beats are counted", |text| text.contains("\"coverage\":0.")).await;
    let monitor = stage.monitor(address, "s0").await;
    let (coverage, uptime) = (monitor["coverage"].as_f64().expect("a share"), monitor["uptime"].as_f64());
    assert!(coverage > 0.1 && coverage < 0.85, "8 of some 16 seconds were not seen: {coverage}");
    assert_eq!(uptime, Some(1.0), "what was not seen counts neither for nor against the server");
    serin.stop().await;
}
