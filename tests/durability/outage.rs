//! Serin restarted in the middle of an outage pages once, and the resolve comes all the same.

use crate::process::Serin;
use crate::stage::{Stage, received, times};

/// How Serin goes down between two beats of the outage.
async fn check(sentence: &str, killed: bool) {
    let (stage, _) = Stage::set(1).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    stage.refuse(0);
    let opened = received(&stage.oncall, "incident.opened", Some("s0")).await;
    assert_eq!(opened.failure_reason.as_deref(), Some("connection_refused"), "{sentence}");
    if killed {
        serin.kill().await
    } else {
        serin.stop().await
    }
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 4).await;
    assert_eq!(times(&stage.oncall, "incident.opened"), 1, "{sentence}: paged once");
    stage.mend(0);
    let resolved = received(&stage.oncall, "incident.resolved", Some("s0")).await;
    let id = |incident: &Option<serin::deliver::message::IncidentCard>| incident.as_ref().map(|card| card.id.clone());
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
