//! Sessions at `/legacy/mcp` as their clients meet them: a raw one, and Serin.

use std::process::Command;

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;
use serin_reference::lab::server::{self, LabServer};
use serin_reference::serve::legacy::SESSIONS_MAX;
use tokio_util::sync::CancellationToken;

use crate::served::Served;

const VERSION: &str = "2025-11-25";

/// A client that says exactly what it is told to.
#[derive(Debug)]
struct Raw {
    url: String,
    client: Client,
}

impl Raw {
    fn new(url: &str) -> Self {
        // Another test of this process may have been first.
        let _already = rustls::crypto::ring::default_provider().install_default();
        Self { url: url.to_owned(), client: Client::builder().no_proxy().build().unwrap() }
    }

    async fn send(&self, verb: Method, version: &str, session: Option<&str>, body: Option<Value>) -> Response {
        let mut request = self
            .client
            .request(verb, &self.url)
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", version);
        if let Some(session) = session {
            request = request.header("Mcp-Session-Id", session);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    async fn initialize(&self) -> Response {
        let params =
            json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        self.send(Method::POST, VERSION, None, Some(body)).await
    }

    /// Opens a session, to the end of the handshake.
    async fn open(&self) -> String {
        let opened = self.initialize().await;
        assert_eq!(opened.status(), StatusCode::OK);
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert!(opened.text().await.unwrap().contains("serin-reference"), "the answer comes as an event");
        let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send(Method::POST, VERSION, Some(&session), Some(body)).await.status(), StatusCode::ACCEPTED);
        session
    }

    async fn list(&self, session: &str) -> StatusCode {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let answer = self.send(Method::POST, VERSION, Some(session), Some(body)).await;
        let status = answer.status();
        let said = answer.text().await.unwrap();
        assert_eq!(status.is_success(), said.contains("search_documents"), "{status}: {said}");
        status
    }

    async fn end(&self, session: &str) -> StatusCode {
        self.send(Method::DELETE, VERSION, Some(session), None).await.status()
    }
}

/// A server that knows nothing, which its sessions do not need.
async fn empty() -> (LabServer, Raw) {
    let options =
        LabOptions { corpus: Corpus::Empty, admin: Some("127.0.0.1:0".parse().unwrap()), ..LabOptions::default() };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    let raw = Raw::new(&running.legacy_url());
    (running, raw)
}

#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    let (_running, raw) = empty().await;
    let (first, second) = (raw.open().await, raw.open().await);
    assert_ne!(first, second);
    assert_eq!(raw.list(&first).await, StatusCode::OK);
    assert_eq!(raw.end(&first).await, StatusCode::ACCEPTED);
    assert_eq!(raw.list(&first).await, StatusCode::NOT_FOUND, "it has ended");
    assert_eq!(raw.end(&first).await, StatusCode::NOT_FOUND, "it cannot end twice");
    assert_eq!(raw.list(&second).await, StatusCode::OK, "another goes on");
}

/// A request that no session answers, and its status.
async fn check(raw: &Raw, says: &str, sent: (Method, &str, Option<&str>, Option<Value>), expected: StatusCode) {
    let (verb, version, session, body) = sent;
    let answer = raw.send(verb, version, session, body).await;
    let status = answer.status();
    assert_eq!(status, expected, "{says}: {}", answer.text().await.unwrap());
}

#[tokio::test]
async fn what_has_no_session_is_refused() {
    let (_running, raw) = empty().await;
    let list = || Some(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let (none, strange) = (StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND);
    check(&raw, "no session is named", (Method::POST, VERSION, None, list()), none).await;
    check(&raw, "nor for a stream", (Method::GET, VERSION, None, None), none).await;
    check(&raw, "nor to be ended", (Method::DELETE, VERSION, None, None), none).await;
    check(&raw, "one that never was", (Method::POST, VERSION, Some("x"), list()), strange).await;
    check(&raw, "nor streams", (Method::GET, VERSION, Some("x"), None), strange).await;
    check(&raw, "nor can be ended", (Method::DELETE, VERSION, Some("x"), None), strange).await;
    check(&raw, "a version without sessions", (Method::POST, "2026-07-28", None, list()), none).await;
    check(&raw, "no version at all", (Method::POST, "soon", None, list()), none).await;
}

#[tokio::test]
async fn sessions_are_bounded_and_a_place_comes_free() {
    let (_running, raw) = empty().await;
    let mut open = Vec::new();
    for _ in 0..SESSIONS_MAX {
        open.push(raw.open().await);
    }
    let refused = raw.initialize().await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    assert!(refused.text().await.unwrap().contains("DELETE"), "it names the mend");
    assert_eq!(raw.list(&open[0]).await, StatusCode::OK, "those that are open go on");
    assert_eq!(raw.end(&open[0]).await, StatusCode::ACCEPTED);
    raw.open().await;
}

#[tokio::test]
async fn a_crash_loses_all_sessions() {
    let (running, raw) = empty().await;
    let session = raw.open().await;
    let before = raw.list(&session).await;
    running.crash(std::time::Duration::ZERO).await;
    // The port is taken again by the next life; asking waits for it no longer than the crash takes.
    let after = loop {
        let request = raw.client.delete(&raw.url).header("Mcp-Session-Id", &session);
        if let Ok(answer) = request.send().await {
            break answer.status();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((before, after), (StatusCode::OK, StatusCode::NOT_FOUND));
}

#[tokio::test]
async fn a_session_that_is_lost_stays_lost() {
    let (running, raw) = empty().await;
    let (faults, session) = (running.faults(), raw.open().await);
    faults.on(Fault::SessionLost, Dose::of(Fault::SessionLost).share(0.0));
    assert_eq!(raw.list(&session).await, StatusCode::OK, "no share of the requests is struck");
    faults.on(Fault::SessionLost, Dose::of(Fault::SessionLost));
    assert_eq!(raw.list(&session).await, StatusCode::NOT_FOUND);
    faults.off(Fault::SessionLost);
    assert_eq!(raw.list(&session).await, StatusCode::NOT_FOUND, "it was dropped, and not hidden");
    assert_eq!(raw.list(&raw.open().await).await, StatusCode::OK);

    let mut open = Vec::new();
    for _ in 0..40 {
        open.push(raw.open().await);
    }
    faults.on(Fault::SessionLost, Dose::of(Fault::SessionLost).share(0.5).seed(7));
    let mut lost = 0;
    for session in &open {
        lost += u32::from(raw.list(session).await == StatusCode::NOT_FOUND);
    }
    assert!((10..=30).contains(&lost), "half of them, not {lost} of 40");
}

/// What Serin finds at a server, and how many sessions it left open there.
async fn probe(url: &str) -> (Value, i64) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    let output = command.args(["probe", url, "--json"]).output().await.unwrap();
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sessions = |which: &str| seen["footprint"][which].as_i64().unwrap();
    (seen["outcome"].clone(), sessions("sessions_opened") - sessions("sessions_closed"))
}

#[tokio::test]
async fn serin_names_a_lost_session() {
    let served = Served::with(&["--fault", "session_lost=share=0"]);
    let (outcome, left) = probe(&served.legacy).await;
    assert_eq!((&outcome["verdict"], left), (&json!("good"), 0), "{outcome}");

    let switched = Raw::new(&served.admin).client.post(&served.admin).json(&json!({"session_lost": true}));
    assert_eq!(switched.send().await.unwrap().status(), StatusCode::OK);
    let (outcome, _) = probe(&served.legacy).await;
    let finding = &outcome["findings"][0];
    assert_eq!((&finding["reason"], &finding["evidence"]["fault"]), (&json!("session_lost"), &json!("SessionLost")));
    let (outcome, _) = probe(&served.mcp).await;
    assert_eq!(outcome["verdict"], "good", "who has no session loses none: {outcome}");
}

#[test]
fn the_fault_is_listed() {
    let listed = Command::new(env!("CARGO_BIN_EXE_serin")).args(["reference", "faults"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.lines().any(|line| line.starts_with("session_lost ") && line.contains("/legacy/mcp")), "{listed}");
}
