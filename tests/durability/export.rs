//! `serin export` beside a running Serin: the same incidents in both shapes, and nothing overwritten.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

fn command(stage: &Stage, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["export", "incidents", "--config"]).arg(stage.config()).args(arguments).env("NO_COLOR", "1");
    command
}

async fn export(stage: &Stage, arguments: &[&str]) -> Output {
    bounded("serin export ends", command(stage, arguments).output()).await.expect("the binary starts")
}

/// Rows as a list of column and text, whatever the shape.
async fn rows(stage: &Stage, arguments: &[&str]) -> Vec<Vec<(String, String)>> {
    let output = export(stage, arguments).await;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    if arguments.contains(&"jsonl") {
        let text = String::from_utf8(output.stdout).expect("text");
        let objects = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object a line"));
        let plain = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        return objects
            .map(|object| {
                let pairs = object.as_object().expect("an object").iter();
                pairs.map(|(name, value)| (name.clone(), plain(value))).collect()
            })
            .collect();
    }
    let mut csv = csv::Reader::from_reader(&output.stdout[..]);
    let names: Vec<String> = csv.headers().expect("a line of names").iter().map(str::to_owned).collect();
    csv.records()
        .map(|record| names.iter().cloned().zip(record.expect("a row").iter().map(str::to_owned)).collect())
        .collect()
}

fn sorted(rows: &[Vec<(String, String)>]) -> Vec<Vec<(String, String)>> {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(|row| row.sort());
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incidents_are_the_same_in_both_shapes() {
    let (stage, _) = Stage::set(2).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    assert_eq!(rows(&stage, &[]).await.len(), 0, "a file without rows has its names all the same");
    for (server, id) in [(0, "s0"), (1, "s1")] {
        stage.more_beats(id, 1).await;
        stage.refuse(server);
        received(&stage.oncall, "incident.opened", Some(id)).await;
    }
    stage.mend(0);
    received(&stage.oncall, "incident.resolved", Some("s0")).await;

    let csv = rows(&stage, &[]).await;
    let jsonl = rows(&stage, &["--format", "jsonl"]).await;
    assert_eq!(sorted(&csv), sorted(&jsonl));
    assert_eq!(csv.len(), 2);
    let value = |row: usize, name: &str| csv[row].iter().find(|(known, _)| known == name).expect(name).1.clone();
    assert_eq!((value(0, "monitor"), value(0, "resolve_cause")), ("s0".to_owned(), "recovered".to_owned()));
    assert_eq!((value(1, "monitor"), value(1, "resolved_at")), ("s1".to_owned(), String::new()), "still open");
    assert!(value(0, "duration_seconds").parse::<f64>().is_ok_and(|seconds| seconds > 0.0));
    assert!(serde_json::from_str::<Value>(&value(0, "evidence")).is_ok_and(|evidence| evidence.is_object()));

    assert_eq!(rows(&stage, &["--monitor", "s1"]).await, csv[1..], "one monitor's");
    assert_eq!(rows(&stage, &["--from", &value(1, "opened_at")]).await, csv[1..], "from a moment on, it included");
    assert_eq!(rows(&stage, &["--to", &value(1, "opened_at")]).await, csv[..1], "before a moment");
    assert_eq!(rows(&stage, &["--to", "2020-01-01"]).await.len(), 0, "before there was anything");

    let file = stage.folder.path().join("incidents.csv");
    let to_file = ["--output", file.to_str().expect("a name")];
    assert!(export(&stage, &to_file).await.status.success());
    let again = export(&stage, &to_file).await;
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("--force"));
    assert_eq!(std::fs::read(&file).expect("the file"), export(&stage, &[]).await.stdout);

    let mut head = command(&stage, &[]).stdout(Stdio::piped()).spawn().expect("the binary starts");
    drop(head.stdout.take());
    let status = bounded("it ends though nobody reads", head.wait()).await.expect("its status");
    assert!(status.success(), "a reader who has seen enough is no error: {status}");
    serin.stop().await;
}
