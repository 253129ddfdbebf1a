//! A page that hears nothing from Serin says so, in real browsers: a Serin that is frozen, one behind something that no
//! longer forwards, and one that is gone.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;

use crate::stage::{Stage, TOKEN, reference};

/// Two browsers, each with three silences of some 15 s.
const BROWSERS_TAKE_AT_MOST: Duration = Duration::from_mins(8);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium, Firefox and node; run with --ignored"]
async fn a_page_that_hears_nothing_turns_grey_and_says_since_when() {
    let server = reference().await;
    let monitors = format!("  - {{ id: docs, url: \"{}\" }}\n", server.mcp_url());
    let stage = Stage::under("  token: \"${env:SERIN_JOURNEY_TOKEN}\"\n", &monitors).await;
    stage.until("docs is seen", "docs", |body| body["state"] == "up").await;
    let asked =
        json!({ "pages": stage.pages, "token": TOKEN, "serin": stage.process(), "folder": "../../target/pages" });
    stage.beside("silence.json", &asked.to_string());
    let status = Command::new("node")
        .arg("silence.mjs")
        .arg(stage.folder().join("silence.json"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    let status = tokio::time::timeout(BROWSERS_TAKE_AT_MOST, status).await.expect("it ends").unwrap();
    assert!(status.success(), "a page does not say that nothing is heard; see above");
}
