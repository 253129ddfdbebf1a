//! `serin status`: well, ill and away, by words and by exit code.

use std::net::SocketAddr;
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

async fn status(stage: &Stage, address: SocketAddr, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["status", "--url", &format!("http://{address}"), "--config"]).arg(stage.config()).args(more);
    bounded("serin status ends", command.env("NO_COLOR", "1").output()).await.expect("the binary starts")
}

fn check(output: &Output, code: i32, words: &[&str], sentence: &str) {
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned();
    assert_eq!(output.status.code(), Some(code), "{sentence}: {said}");
    for words in words {
        assert!(said.contains(words), "{sentence}: '{words}' is missing in\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_what_is_well_what_is_ill_and_that_nobody_is_there() {
    let (stage, file) = Stage::set(2).await;
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 3).await;
    let said = status(&stage, address, &[]).await;
    let words =
        ["is well\n  up ", "2: 2 up", "beats start late by at most", "0 deliveries wait", "serin.db:", "SQLite 3."];
    check(&said, 0, &words, "all is well");

    let said = status(&stage, address, &["--json"]).await;
    let body: Value = serde_json::from_slice(&said.stdout).expect("one document");
    assert_eq!((&body["well"], &body["ill"]), (&Value::Bool(true), &Value::Array(Vec::new())));
    let count = |path: &str| body.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {body:#}"));
    assert!(count("/beats/good") >= 3 && count("/lately/starts") >= 3, "{body:#}");
    assert!(count("/database/bytes") >= 100_000 && count("/versions/schema") >= 4, "{body:#}");
    for path in ["/versions/rustc", "/versions/target", "/config/hash", "/loops/scheduler", "/started_at"] {
        assert!(body.pointer(path).is_some_and(Value::is_string), "{path} in {body:#}");
    }

    stage.write_text(&stage.text(&file).replace("every: 1s", "evry: 1s"));
    received(&stage.ops, "serin.trouble", None).await;
    let said = status(&stage, address, &[]).await;
    let words =
        ["is ILL\n  ! config_rejected since", "ends when the file is valid again", "a newer one was refused", "'evry'"];
    check(&said, 1, &words, "a newer file is refused");
    stage.write(&file);
    received(&stage.ops, "serin.trouble_over", None).await;
    check(&status(&stage, address, &[]).await, 0, &["is well"], "and mended");

    let elsewhere: SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let words = ["no Serin answers at", "serin.db: a Serin runs on it, and does not answer there"];
    check(&status(&stage, elsewhere, &[]).await, 3, &words, "it runs, and is asked elsewhere");
    serin.kill().await;
    let words = ["no Serin answers at", "serin.db: no Serin runs on it; last written 20"];
    check(&status(&stage, address, &["--json"]).await, 3, &words, "it does not run");
}
