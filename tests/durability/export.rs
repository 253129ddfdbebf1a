//! `serin export` beside a running Serin: the same incidents in both shapes, and nothing overwritten.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

fn command(stage: &Stage, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    let what = if matches!(arguments.first(), Some(&("beats" | "percentiles"))) { &[][..] } else { &["incidents"][..] };
    command.arg("export").args(what).arg("--config").arg(stage.config()).args(arguments).env("NO_COLOR", "1");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beats_and_their_percentiles_are_those_that_were_seen() {
    let (stage, _) = Stage::set(2).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 5).await;
    stage.more_beats("s1", 1).await;
    serin.stop().await;
    let count = |sql| stage.count(sql, &[]);
    let all = usize::try_from(count("SELECT COUNT(*) FROM beats").await).expect("few");
    let of_s0 = usize::try_from(count("SELECT COUNT(*) FROM beats WHERE monitor = 's0'").await).expect("few");
    let beats = rows(&stage, &["beats"]).await;
    assert_eq!(beats.len(), all);
    assert_eq!(sorted(&beats), sorted(&rows(&stage, &["beats", "--format", "jsonl"]).await));
    let s0 = rows(&stage, &["beats", "--monitor", "s0"]).await;
    assert_eq!((s0.len(), &s0[..]), (of_s0, &beats[..of_s0]), "by monitor, then by moment");
    let value = |row: &[(String, String)], name: &str| {
        row.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}")).1.clone()
    };
    let from = value(&s0[2], "started_at");
    assert_eq!(rows(&stage, &["beats", "--monitor", "s0", "--from", &from]).await, s0[2..], "from a moment on");
    let number = |row: &[(String, String)], name: &str| value(row, name).parse::<f64>().expect(name);
    let listed: Vec<f64> =
        s0.iter().filter(|row| !value(row, "tools_ms").is_empty()).map(|row| number(row, "tools_ms")).collect();
    assert!(listed.len() >= 5, "{s0:?}");

    let percentiles = rows(&stage, &["percentiles", "--monitor", "s0"]).await;
    let tools: Vec<_> = percentiles.iter().filter(|row| value(row, "stage") == "tools").collect();
    let samples: f64 = tools.iter().map(|row| number(row, "samples")).sum();
    assert!((samples - listed.len() as f64).abs() < 0.5, "each list is a sample: {tools:?} of {listed:?}");
    let longest = listed.iter().copied().fold(0.0, f64::max);
    let p99 = tools.iter().map(|row| number(row, "p99_ms")).fold(0.0, f64::max);
    assert!((p99 - longest).abs() <= longest * 0.01, "of so few, p99 is the longest: {p99} and {longest}");

    let unknown = export(&stage, &["beats", "--monitor", "nobody"]).await;
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("no monitor nobody"));
}
