//! Real servers that others wrote, probed as they come. `tests/install.sh` installs them.
//!
//! Run with `cargo test --test third_party -- --ignored`, or with all tests by `--include-ignored`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures_util::stream::{self, StreamExt as _};
use serin::domain::monitor::{Canary, CanaryKind, Monitor, Program};
use serin::domain::observation::{Observation, Stage};
use serin::domain::protocol::{Era, Transport};
use serin::domain::secret::Secret;
use serin::domain::server_profile::ServerProfile;
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;
use tokio::io::{AsyncBufReadExt, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

#[expect(dead_code, reason = "other tests need more of it")]
mod common;

use common::monitors::{self, address};

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
    let mut monitor = Monitor::undeclared("m", address(url));
    monitor.search.arguments = BTreeMap::from([("top_k".to_owned(), "2".to_owned())]);
    monitor.search.per_beat = 2;
    monitor.canaries = canaries;
    (monitor.every, monitor.timeout, monitor.probe_budget) = (TIMEOUT, TIMEOUT, TIMEOUT * 4);
    monitor
}

fn canary(id: &str, query: &str, expect: &str) -> Canary {
    Canary {
        query: query.to_owned(),
        kind: CanaryKind::Keyword,
        expect: vec![expect.to_owned()],
        within: 2,
        ..monitors::canary(id)
    }
}

fn assignment(monitor: &Arc<Monitor>, profile: ServerProfile) -> Assignment {
    Assignment { profile, ..monitors::assignment(Arc::clone(monitor), Utc::now()) }
}

async fn probe(monitor: Monitor, profile: ServerProfile) -> (Observation, ServerProfile) {
    let assignment = Assignment { source_pages: 20, ..assignment(&Arc::new(monitor), profile) };
    Prober::new(4).run(&assignment).await
}

fn assert_well(sentence: &str, seen: &Observation, era: Era) {
    let fault = seen.steps.iter().find_map(|step| step.fault.as_ref());
    assert_eq!(fault, None, "{sentence}: {seen:#?}");
    assert_eq!(seen.era, Some(era), "{sentence}");
    let cost = seen.footprint;
    assert_eq!(cost.sessions_opened, cost.sessions_closed, "{sentence}: every session is closed");
}

/// A server as it is started, over one transport.
#[derive(Clone, Copy)]
struct Offer {
    program: &'static str,
    script: &'static str,
    transport: &'static str,
    path: &'static str,
    /// Fixed in the monitor, where the server speaks both.
    era: Option<Era>,
    /// The era and transport that are found.
    expected: (Era, Transport),
    /// Whether it has a search tool, and so a canary is asked.
    searches: bool,
}

const NODE: &str = "node";
const PYTHON: &str = ".venv/bin/python";

/// Every server over every transport it offers, in every era it speaks there.
const OFFERS: [Offer; 15] = {
    use Era::{Legacy, Modern};
    use Transport::{Http, Sse, Stdio};
    const fn offer(program: &'static str, script: &'static str, expected: (Era, Transport), fixed: bool) -> Offer {
        let (transport, path) = match expected.1 {
            Http => ("http", "/mcp"),
            Sse => ("sse", "/sse"),
            Stdio => ("stdio", ""),
        };
        let era = if fixed { Some(expected.0) } else { None };
        Offer { program, script, transport, path, era, expected, searches: true }
    }
    const fn everything(transport: &'static str, path: &'static str, over: Transport) -> Offer {
        let offer = offer(NODE, "everything.mjs", (Legacy, over), false);
        Offer { transport, path, searches: false, ..offer }
    }
    [
        everything("streamableHttp", "/mcp", Http),
        everything("sse", "/sse", Sse),
        everything("stdio", "", Stdio),
        offer(NODE, "search_server_ts.mjs", (Modern, Http), false),
        offer(NODE, "search_server_ts.mjs", (Legacy, Http), true),
        offer(NODE, "search_server_ts.mjs", (Modern, Stdio), false),
        offer(NODE, "search_server_ts.mjs", (Legacy, Stdio), true),
        offer(PYTHON, "search_mcp.py", (Modern, Http), false),
        offer(PYTHON, "search_mcp.py", (Legacy, Http), true),
        offer(PYTHON, "search_mcp.py", (Legacy, Sse), false),
        offer(PYTHON, "search_mcp.py", (Modern, Stdio), false),
        offer(PYTHON, "search_fastmcp.py", (Modern, Http), false),
        offer(PYTHON, "search_fastmcp.py", (Legacy, Http), true),
        offer(PYTHON, "search_fastmcp.py", (Legacy, Sse), false),
        offer(PYTHON, "search_fastmcp.py", (Modern, Stdio), false),
    ]
};

/// Beats against each offer that opens sessions, and against the others, which have none to leave open.
const BEATS: usize = 1_000;
const BEATS_WITHOUT_SESSION: usize = 300;
/// A program is asked by one at a time.
const AT_ONCE: usize = 4;

impl Offer {
    /// What to probe, and the server where it has to be started for it.
    async fn ready(&self) -> (Monitor, Option<(Child, u16)>) {
        let canaries = if self.searches { vec![canary("err-4417", "ERR-4417", "errors/4417.md")] } else { Vec::new() };
        let mut monitor;
        let mut server = None;
        if self.expected.1 == Transport::Stdio {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/third_party");
            let installed = folder.join(self.program);
            let command = if installed.exists() { installed } else { self.program.into() };
            let script = folder.join(self.script);
            let args = [script.to_str().expect("text"), self.transport].map(Secret::new).to_vec();
            monitor = self::monitor("stdio: a program", canaries);
            let command = command.to_str().expect("text").to_owned();
            monitor.reach.program = Some(Box::new(Program { command, args, env: Vec::new(), keep: true }));
            monitor.reach.transport = Some(Transport::Stdio);
        } else {
            let (child, port) = start(self.program, &[self.script, self.transport]).await;
            monitor = self::monitor(&format!("http://127.0.0.1:{port}{}", self.path), canaries);
            server = Some((child, port));
        }
        monitor.reach.era = self.era;
        (monitor, server)
    }
}

/// What the server itself says of its open sessions.
async fn sessions(port: u16) -> usize {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
    let request = format!("GET /sessions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    let figure = body.lines().map(str::trim).find_map(|line| line.parse().ok().filter(|_| answer.contains("200 OK")));
    // A chunked body begins with the length of its first chunk.
    match body.lines().count() {
        0 | 1 => figure.unwrap_or_else(|| panic!("no figure in {answer}")),
        _ => body.lines().nth(1).and_then(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{answer}")),
    }
}

/// Resident memory of a process, in kB.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Many beats, and nothing left behind.
async fn beaten(offer: Offer) {
    let sentence = format!("{} {} {:?}", offer.script, offer.transport, offer.expected.0);
    let (monitor, server) = offer.ready().await;
    let monitor = Arc::new(monitor);
    let prober = Prober::new(4);
    let (first, profile) = prober.run(&assignment(&monitor, ServerProfile::default())).await;
    assert_well(&sentence, &first, offer.expected.0);
    assert_eq!(first.transport, Some(offer.expected.1), "{sentence}");
    let process = server.as_ref().and_then(|(child, _)| child.id());
    let before = process.map(resident);
    let began = std::time::Instant::now();
    let sessionless = offer.expected.0 == Era::Modern || offer.expected.1 == Transport::Stdio;
    let meant = if sessionless { BEATS_WITHOUT_SESSION } else { BEATS };
    let at_once = if offer.expected.1 == Transport::Stdio { 1 } else { AT_ONCE };
    let beats = stream::iter(0..meant).map(|_| {
        let (prober, assignment) = (&prober, assignment(&monitor, profile.clone()));
        async move { prober.run(&assignment).await.0 }
    });
    let mut beats = Box::pin(beats.buffer_unordered(at_once));
    let mut opened = 0;
    while let Some(seen) = beats.next().await {
        assert_well(&sentence, &seen, offer.expected.0);
        assert!(seen.asks.iter().all(|ask| ask.result.as_ref().is_some_and(Result::is_ok)), "{sentence}: {seen:#?}");
        opened += seen.footprint.sessions_opened;
    }
    drop(beats);
    let took = began.elapsed();
    if let Some((_, port)) = &server {
        // The server notices the end of a stream a moment after we closed it.
        let mut open = sessions(*port).await;
        for _ in 0..200 {
            if open == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            open = sessions(*port).await;
        }
        assert_eq!(open, 0, "{sentence}: the server itself still holds sessions, of {opened} opened");
    }
    assert_eq!(opened as usize, if sessionless { 0 } else { meant }, "{sentence}");
    let grown = before.zip(process.map(resident)).map(|(before, after)| format!("{before} → {after} kB"));
    println!("{sentence}: {meant} beats in {took:?}, {opened} sessions opened and closed, memory {grown:?}");
    prober.release_all().await;
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn a_thousand_beats_leave_no_session_open_over_node() {
    for offer in OFFERS.into_iter().filter(|offer| offer.program == NODE) {
        Box::pin(beaten(offer)).await;
    }
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn a_thousand_beats_leave_no_session_open_over_python() {
    for offer in OFFERS.into_iter().filter(|offer| offer.program == PYTHON) {
        Box::pin(beaten(offer)).await;
    }
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn the_reference_server_in_typescript_is_well_without_canaries() {
    let (_server, port) = start("node", &["everything.mjs", "streamableHttp"]).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let (seen, profile) = probe(monitor(&url, Vec::new()), ServerProfile::default()).await;
    assert_well("first look", &seen, Era::Legacy);
    assert_eq!(seen.footprint.sessions_opened, 1, "{:#?}", seen.steps);
    let tools = seen.tools.as_ref().unwrap();
    assert!(tools.tools.iter().any(|tool| tool.name == "echo"), "{:?}", tools.tools);
    assert_eq!(tools.search_tool, None, "it has none, and none is missed");
    let (again, _) = probe(monitor(&url, Vec::new()), profile.clone()).await;
    assert_well("second look", &again, Era::Legacy);
    assert_eq!(again.tools.unwrap().hash, tools.hash, "the hash is stable");
    let (seen, _) = probe(monitor(&url, vec![canary("c", "x", "y")]), profile).await;
    let fault = seen.fault(Stage::Tools).expect("with a canary, the missing search tool is a fault");
    assert_eq!(fault.kind, serin::domain::fault::FaultKind::ToolAbsent);
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn a_search_server_on_the_python_sdk_is_searched_in_both_eras() {
    let (_server, port) = start(".venv/bin/python", &["search_mcp.py", "http"]).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let canaries = vec![
        canary("tokens", "how long does an unused token live?", "auth/tokens.md"),
        canary("err-4417", "ERR-4417", "errors/4417.md"),
    ];
    let (modern, profile) = probe(monitor(&url, canaries.clone()), ServerProfile::default()).await;
    assert_well("as it comes", &modern, Era::Modern);
    assert_eq!(profile.era, Some(Era::Modern));
    let remembered =
        ServerProfile { era: Some(Era::Legacy), era_found_at: Some(Utc::now()), ..ServerProfile::default() };
    let (legacy, _) = probe(monitor(&url, canaries), remembered).await;
    assert_well("remembered as legacy", &legacy, Era::Legacy);
    // This server opens another one for the look whether it survived the closing of the first.
    assert_eq!(legacy.footprint.sessions_opened, 2);
    for seen in [&modern, &legacy] {
        assert_eq!(seen.server.as_ref().map(|server| server.name.as_str()), Some("third-party-search"));
        assert_eq!(seen.sources.as_ref().map(|sources| sources.count), Some(6));
        for (ask, expected) in seen.asks.iter().zip(["auth/tokens.md", "errors/4417.md"]) {
            let answer = ask.result.as_ref().unwrap().as_ref().unwrap();
            assert_eq!(answer.hits[0].source, expected);
            assert!(answer.hits[0].score.is_some() && answer.total.is_some());
        }
    }
    assert_eq!(modern.tools.unwrap().hash, legacy.tools.unwrap().hash, "one hash across eras");
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn init_proposes_a_sensible_monitor_for_a_server_without_a_search_tool() {
    let (_server, port) = start("node", &["everything.mjs", "streamableHttp"]).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let output = Command::new(env!("CARGO_BIN_EXE_serin")).args(["init", &url]).output().await.expect("it starts");
    let (yaml, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "partly: {said}");
    assert!(said.contains("no search tool found among") && yaml.contains("no search tool found among"), "{said}{yaml}");
    let source = serin::config::read::source::ConfigSource::new(Path::new("m.yaml"), output.stdout.clone(), None);
    let loaded = serin::config::load(&source, &|_| None, serin::config::check::checker::Unset::Refuse);
    let fleet = loaded.unwrap_or_else(|faults| panic!("{faults}")).fleet;
    let (seen, _) = probe((*fleet.monitors[0]).clone(), ServerProfile::default()).await;
    assert_well("as proposed", &seen, Era::Legacy);
}

#[tokio::test]
#[ignore = "needs tests/install.sh"]
async fn init_finds_canaries_on_a_server_by_the_python_sdk() {
    let (_server, port) = start(".venv/bin/python", &["search_mcp.py", "http"]).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let output = Command::new(env!("CARGO_BIN_EXE_serin")).args(["init", &url]).output().await.expect("it starts");
    let (yaml, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{yaml}");
    assert!(yaml.matches("expect:").count() >= 3, "{yaml}");
}
