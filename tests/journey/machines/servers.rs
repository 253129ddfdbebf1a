//! Thousands of MCP servers behind one listener, a path each: what each is asked, which of its sessions are open, and how long
//! nobody asked it anything.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const SESSION: &str = "mcp-session-id";
/// The question of the canary, and the source of its right answer.
pub(super) const CANARY: &str = "{ id: card, query: one, expect: [a.md], kind: keyword }";

/// What is wrong with a server: each kind opens one incident of one signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outage {
    /// It answers 503.
    Down,
    /// It takes what it is asked, and answers nothing.
    Hangs,
    /// It lets nobody in.
    Locked,
    /// Its index is empty.
    Empty,
}

impl Outage {
    pub(super) const ALL: [Self; 4] = [Self::Down, Self::Hangs, Self::Locked, Self::Empty];

    /// Which signal says so.
    pub(super) const fn signal(self) -> &'static str {
        match self {
            Self::Down | Self::Hangs => "availability",
            Self::Locked => "access",
            Self::Empty => "quality",
        }
    }
}

/// All of them. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Servers(Arc<Vec<Mutex<Server>>>);

#[derive(Debug, Default)]
struct Server {
    outage: Option<Outage>,
    opened: u64,
    open: HashSet<u64>,
    asked_at: Option<Instant>,
    longest: Duration,
    unasked: Vec<Unasked>,
}

/// A stretch in which a server was asked nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unasked {
    pub(super) from: Instant,
    pub(super) until: Instant,
}

impl Unasked {
    pub(super) fn lasted(&self) -> Duration {
        self.until - self.from
    }
}

impl Servers {
    /// Serves so many, as long as the test lasts; their addresses are `{base}/{number}`.
    pub(super) async fn serve(count: usize) -> (Self, String) {
        let servers = Self(Arc::new((0..count).map(|_| Mutex::default()).collect()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(answer).with_state(servers.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (servers, base)
    }

    /// Breaks one, or mends it.
    pub(super) fn put(&self, nth: usize, outage: Option<Outage>) {
        self.0[nth].lock().outage = outage;
    }

    /// Whether each was asked something.
    pub(super) fn asked(&self) -> usize {
        self.0.iter().filter(|server| server.lock().asked_at.is_some()).count()
    }

    /// Sessions that are open, by server.
    pub(super) fn sessions(&self) -> Vec<usize> {
        self.0.iter().map(|server| server.lock().open.len()).collect()
    }

    /// The stretches in which each was asked nothing that were longer than all before them, up to now: the longest is the last.
    pub(super) fn unasked(&self) -> Vec<Vec<Unasked>> {
        let stretches = |server: &Mutex<Server>| {
            let mut server = server.lock();
            server.note(Instant::now());
            server.unasked.clone()
        };
        self.0.iter().map(stretches).collect()
    }
}

impl Server {
    fn note(&mut self, now: Instant) {
        let Some(from) = self.asked_at.replace(now) else { return };
        if now - from > self.longest {
            self.longest = now - from;
            self.unasked.push(Unasked { from, until: now });
        }
    }
}

async fn answer(State(servers): State<Servers>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let nth = uri.path().trim_start_matches('/').parse::<usize>().ok();
    let Some(server) = nth.and_then(|nth| servers.0.get(nth)) else { return StatusCode::NOT_FOUND.into_response() };
    let session = headers.get(SESSION).and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    // What is broken closes sessions all the same: those that are left are left by whoever opened them.
    if method == Method::DELETE {
        let was_open = session.is_some_and(|id| server.lock().open.remove(&id));
        return if was_open { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }.into_response();
    }
    let outage = {
        let mut server = server.lock();
        server.note(Instant::now());
        server.outage
    };
    match outage {
        Some(Outage::Down) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(Outage::Locked) => StatusCode::UNAUTHORIZED.into_response(),
        // Whoever asked gives up, and this with it.
        Some(Outage::Hangs) => std::future::pending().await,
        _ if method != Method::POST => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        outage => say(server, session, outage.is_some(), &body),
    }
}

fn say(server: &Mutex<Server>, session: Option<u64>, is_empty: bool, body: &[u8]) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(body) else { return StatusCode::BAD_REQUEST.into_response() };
    let said = |result: Value| Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}));
    match asked["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let id = {
                let mut server = server.lock();
                server.opened += 1;
                let id = server.opened;
                server.open.insert(id);
                id
            };
            let known = json!({"name": "notes", "version": "1"});
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": known});
            ([(SESSION, id.to_string())], said(result)).into_response()
        }
        _ if !session.is_some_and(|id| server.lock().open.contains(&id)) => StatusCode::NOT_FOUND.into_response(),
        _ if asked["id"].is_null() => StatusCode::ACCEPTED.into_response(),
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
            said(json!({"tools": [{"name": "search", "inputSchema": schema}]})).into_response()
        }
        "tools/call" => {
            let found = if is_empty { json!([]) } else { json!([{"source": "a.md", "content": "one", "score": 0.9}]) };
            let results = json!({ "results": found });
            let content = json!([{"type": "text", "text": results.to_string()}]);
            said(json!({"content": content, "structuredContent": results})).into_response()
        }
        _ => {
            let error = json!({"code": -32601, "message": "not here"});
            Json(json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})).into_response()
        }
    }
}
