//! What `/readyz`, `serin status` and pages say while writes fail, and while a receiver takes nothing.

use std::time::Duration;

use axum::http::StatusCode;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

/// Waits until `/readyz` has this status; what it said.
async fn readiness(stage: &Stage, address: std::net::SocketAddr, status: u16) -> String {
    bounded(&format!("/readyz answers {status}"), async {
        loop {
            let (seen, text) = stage.get(address, "/readyz").await;
            if seen == status {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await
}

/// `every`: how often a beat would show that nothing can be written.
async fn check(every: &str) {
    let (stage, file) = Stage::set(1).await;
    stage.write_text(&stage.text(&file).replace("every: 1s", every));
    let (serin, address) = Serin::start(&stage.config()).await;
    readiness(&stage, address, 200).await;
    let options = SqliteConnectOptions::new().filename(stage.database()).disable_statement_logging();
    let mut holder = options.busy_timeout(Duration::from_secs(30)).connect().await.expect("a connection");
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.expect("the lock");
    let said = readiness(&stage, address, 503).await;
    assert!(said.contains("\"database\":false") && said.contains("locked by another process"), "{every}: {said}");
    let (_, status) = stage.get(address, "/api/v1/status").await;
    assert!(status.contains("\"well\":false") && status.contains("database_locked since"), "{every}: {status}");
    let (_, page) = stage.get(address, "/").await;
    assert!(page.contains("cannot remember what it sees"), "{every}: pages say so");
    sqlx::query("ROLLBACK").execute(&mut holder).await.expect("the lock is let go");
    holder.close().await.expect("it closes");
    readiness(&stage, address, 200).await;
    received(&stage.ops, "serin.trouble_over", None).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_serin_that_cannot_write_is_not_ready() {
    check("every: 1s").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_serin_that_could_not_write_is_not_ready_though_no_beat_is_due() {
    check("every: 1h").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_takes_nothing_is_said_to_be_ill() {
    let (stage, mut file) = Stage::set(1).await;
    file.routes = "[{ to: [oncall] }]";
    stage.write(&file);
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    stage.oncall.fail_with(StatusCode::SERVICE_UNAVAILABLE, None);
    stage.refuse(0);
    let why = "receiver 'oncall' is behind: ";
    stage.shown(address, "/api/v1/status", "the status says who takes nothing", |text| text.contains(why)).await;
    let (_, status) = stage.get(address, "/api/v1/status").await;
    assert!(status.contains("\"well\":false") && status.contains("HTTP 503"), "with why: {status}");
    stage.shown(address, "/", "pages say so", |page| page.contains("oncall") && page.contains("is behind")).await;
    assert_eq!(stage.get(address, "/readyz").await.0, 200, "another's fault; Serin itself is ready");
    stage.oncall.fail_with(StatusCode::OK, None);
    received(&stage.oncall, "incident.opened", Some("s0")).await;
    stage.shown(address, "/", "the banner goes", |page| !page.contains("is behind")).await;
    stage.shown(address, "/api/v1/status", "nobody is behind", |text| !text.contains(why)).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_fails_from_its_first_beat_on_is_not_shown_as_up() {
    let (stage, mut file) = Stage::set(1).await;
    file.rules = "{ availability: { after: 1000 } }";
    stage.refuse(0);
    stage.write(&file);
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    stage.shown(address, "/api/v1/monitors/s0", "it was looked at", |page| !page.contains("\"seen_at\":null")).await;
    assert_eq!(stage.monitor(address, "s0").await["state"], "unknown", "nobody has seen it well");
    stage.mend(0);
    stage.shown(address, "/api/v1/monitors/s0", "it works", |page| page.contains("\"state\":\"up\"")).await;
    serin.stop().await;
}
