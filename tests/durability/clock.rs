//! A wall clock that is set while Serin runs, or while it does not: nothing stands still, nothing is made up.

use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::StatusCode;
use serde_json::Value;
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

/// A clock of Serin's own, by libfaketime (tests/install.sh brings it): only its wall clock moves, as when somebody sets it.
pub(crate) struct Clock {
    offset: PathBuf,
}

impl Clock {
    pub(crate) fn of(stage: &Stage) -> Self {
        let clock = Self { offset: stage.folder.path().join("clock") };
        clock.step("+0");
        clock
    }

    /// Sets it to so many seconds from the true time, such as `+7200`.
    pub(crate) fn step(&self, offset: &str) {
        let new = self.offset.with_extension("new");
        std::fs::write(&new, offset).expect("the folder is writable");
        std::fs::rename(new, &self.offset).expect("the folder is writable");
    }

    pub(crate) async fn start(&self, stage: &Stage) -> (Serin, SocketAddr) {
        let mut command = Command::new(Serin::PROGRAM);
        command.env("LD_PRELOAD", library()).env("FAKETIME_TIMESTAMP_FILE", &self.offset);
        command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        Serin::start_by(command, &stage.config()).await
    }
}

/// Debian puts it into the folder of the machine's architecture.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("it can be listed").filter_map(Result::ok);
    let found = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    found.expect("libfaketime is installed (tests/install.sh)")
}

async fn status(stage: &Stage, address: SocketAddr) -> Value {
    serde_json::from_str(&stage.get(address, "/api/v1/status").await.1).expect("one document")
}

/// Waits until Serin's clock is so many seconds off.
pub(crate) async fn is_off(stage: &Stage, address: SocketAddr, seconds: i64) {
    bounded("Serin sees its clock set", async {
        loop {
            let at = status(stage, address).await["at"]
                .as_str()
                .and_then(|at| at.parse::<chrono::DateTime<chrono::Utc>>().ok());
            let off = (at.expect("a moment") - chrono::Utc::now()).num_seconds();
            if (off - seconds).abs() < 60 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_forward_silences_no_loop_and_misses_no_beat() {
    let (stage, _) = Stage::set(1).await;
    let clock = Clock::of(&stage);
    let (serin, address) = clock.start(&stage).await;
    stage.more_beats("s0", 5).await;
    clock.step("+7200");
    is_off(&stage, address, 7_200).await;
    let (code, ready) = stage.get(address, "/readyz").await;
    assert_eq!(code, 200, "no loop is silent for a clock that was set: {ready}");
    stage.more_beats("s0", 3).await;
    let body = status(&stage, address).await;
    assert_eq!(body["beats"]["missed"], 0, "not one beat is missed by it: {body:#}");
    let ill = body["ill"].as_array().expect("a list");
    assert!(ill.is_empty(), "nothing is ill: {body:#}");
    let coverage = stage.monitor(address, "s0").await["coverage"].as_f64().expect("some is seen");
    assert!(coverage > 0.5, "two hours that never were are not unseen: {coverage}");
    serin.stop().await;
}

/// A retry that waits when the clock is set back by three hours comes in its own time. `down`: Serin does not run then.
async fn check(down: bool) {
    let (stage, mut file) = Stage::set(1).await;
    file.routes = "[{ to: [oncall] }]";
    stage.write(&file);
    let clock = Clock::of(&stage);
    let (first, address) = clock.start(&stage).await;
    stage.more_beats("s0", 2).await;
    stage.oncall.fail_with(StatusCode::SERVICE_UNAVAILABLE, None);
    stage.refuse(0);
    stage.counted("a try failed", 2, "SELECT COUNT(*) FROM attempts WHERE ended = 'failed'", &[]).await;
    let (serin, address) = if down {
        first.stop().await;
        clock.step("-10800");
        clock.start(&stage).await
    } else {
        clock.step("-10800");
        (first, address)
    };
    is_off(&stage, address, -10_800).await;
    stage.oncall.fail_with(StatusCode::OK, None);
    received(&stage.oncall, "incident.opened", Some("s0")).await;
    stage.mend(0);
    received(&stage.oncall, "incident.resolved", Some("s0")).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_keeps_no_page_waiting() {
    check(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_was_set_back_while_serin_was_down_keeps_no_page_waiting() {
    check(true).await;
}
