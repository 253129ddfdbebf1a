//! Real servers that others wrote, probed as they come. `tests/install.sh` installs them.
//!
//! Run with `cargo test --test third_party -- --ignored`, or with all tests by `--include-ignored`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use serin::domain::fleet::{Address, Canary, CanaryKind, Monitor, Secret};
use serin::domain::learnt::Learnt;
use serin::domain::observation::{BeatKind, Observation, Stage, Turn};
use serin::domain::protocol::Era;
use serin::probe::{Assignment, Lists, Prober};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A slow machine under load still starts an interpreter within this.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a program that prints `listening on PORT`; it is killed when dropped.
async fn start(program: &str, arguments: &[&str]) -> (Child, u16) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/third_party");
    let installed = folder.join(program);
    let mut child = Command::new(if installed.exists() { installed } else { program.into() })
        .args(arguments)
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{program} does not start ({error}); run tests/install.sh"));
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let port = loop {
        let line = lines.next_line().await.ok().flatten().expect("it ended before it listened; run tests/install.sh");
        if let Some(port) = line.strip_prefix("listening on ") {
            break port.parse().expect("a port");
        }
    };
    // A full pipe would stop the server.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, port)
}

fn monitor(url: &str, canaries: Vec<Canary>) -> Monitor {
    let mut monitor = Monitor::undeclared("m", Address { shown: url.to_owned(), resolved: Secret::new(url) });
    monitor.search.arguments = BTreeMap::from([("top_k".to_owned(), "2".to_owned())]);
    monitor.search.per_beat = 2;
    monitor.canaries = canaries;
    (monitor.every, monitor.timeout, monitor.probe_budget) = (TIMEOUT, TIMEOUT, TIMEOUT * 4);
    monitor
}

fn canary(id: &str, query: &str, expect: &str) -> Canary {
    Canary {
        id: id.to_owned(),
        query: query.to_owned(),
        kind: CanaryKind::Keyword,
        expect: vec![expect.to_owned()],
        within: 2,
        max_score: None,
        line: 1,
        definition_hash: String::new(),
    }
}

async fn probe(monitor: Monitor, learnt: Learnt) -> (Observation, Learnt) {
    let asks = (0..monitor.canaries.len()).map(|nth| (nth, Turn::Scheduled)).collect();
    let now = Utc::now();
    let assignment = Assignment {
        monitor: Arc::new(monitor),
        kind: BeatKind::Scheduled,
        scheduled_at: now,
        started_at: now,
        asks,
        ask_sources: true,
        learnt,
        lists: Lists::default(),
    };
    Prober::new(4).run(&assignment).await
}

fn assert_well(sentence: &str, seen: &Observation, era: Era) {
    let fault = seen.steps.iter().find_map(|step| step.fault.as_ref());
    assert_eq!(fault, None, "{sentence}: {seen:#?}");
    assert_eq!(seen.era, Some(era), "{sentence}");
    let cost = seen.footprint;
    assert_eq!(cost.sessions_opened, cost.sessions_closed, "{sentence}: every session is closed");
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn the_reference_server_in_typescript_is_well_without_canaries() {
    let (_server, port) = start("node", &["everything.mjs", "streamableHttp"]).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let (seen, learnt) = probe(monitor(&url, Vec::new()), Learnt::default()).await;
    assert_well("first look", &seen, Era::Legacy);
    assert_eq!(seen.footprint.sessions_opened, 1, "{:#?}", seen.steps);
    let tools = seen.tools.as_ref().unwrap();
    assert!(tools.tools.iter().any(|tool| tool.name == "echo"), "{:?}", tools.tools);
    assert_eq!(tools.search_tool, None, "it has none, and none is missed");
    let (again, _) = probe(monitor(&url, Vec::new()), learnt).await;
    assert_well("second look", &again, Era::Legacy);
    assert_eq!(again.tools.unwrap().hash, tools.hash, "the hash is stable");
    let (seen, _) = probe(monitor(&url, vec![canary("c", "x", "y")]), learnt).await;
    let fault = seen.fault(Stage::Tools).expect("with a canary, the missing search tool is a fault");
    assert_eq!(fault.kind, serin::domain::observation::FaultKind::ToolAbsent);
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn the_reference_server_on_the_older_transport_is_recognised() {
    let (_server, port) = start("node", &["everything.mjs", "sse"]).await;
    let (seen, _) = probe(monitor(&format!("http://127.0.0.1:{port}/sse"), Vec::new()), Learnt::default()).await;
    let fault = seen.fault(Stage::Handshake).expect("it is not spoken yet");
    assert!(fault.detail.contains("HTTP+SSE"), "{fault:?}");
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn a_search_server_on_the_python_sdk_is_searched_in_both_eras() {
    let (_server, port) = start(".venv/bin/python", &["search_server.py"]).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let canaries = vec![
        canary("tokens", "how long does an unused token live?", "auth/tokens.md"),
        canary("err-4417", "ERR-4417", "errors/4417.md"),
    ];
    let (modern, learnt) = probe(monitor(&url, canaries.clone()), Learnt::default()).await;
    assert_well("as it comes", &modern, Era::Modern);
    assert_eq!(learnt.era, Some(Era::Modern));
    let remembered = Learnt { era: Some(Era::Legacy), era_found_at: Some(Utc::now()), ..Learnt::default() };
    let (legacy, _) = probe(monitor(&url, canaries), remembered).await;
    assert_well("remembered as legacy", &legacy, Era::Legacy);
    // This server opens another one for the look whether it survived the closing of the first.
    assert_eq!(legacy.footprint.sessions_opened, 2);
    for seen in [&modern, &legacy] {
        assert_eq!(seen.server.as_ref().map(|server| server.name.as_str()), Some("third-party-search"));
        assert_eq!(seen.sources.as_ref().map(|sources| sources.count), Some(3));
        for (ask, expected) in seen.asks.iter().zip(["auth/tokens.md", "errors/4417.md"]) {
            let answer = ask.result.as_ref().unwrap().as_ref().unwrap();
            assert_eq!(answer.hits[0].source, expected);
            assert!(answer.hits[0].score.is_some() && answer.total.is_some());
        }
    }
    assert_eq!(modern.tools.unwrap().hash, legacy.tools.unwrap().hash, "one hash across eras");
}
