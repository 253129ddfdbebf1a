//! How Serin behaves towards a server that asks for quiet, and below a cap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::stage::{Expected, Stage, evidence, reference};

/// A server that says 429 to everything, and counts how often it had to.
async fn throttling(retry_after: &'static str) -> (String, Arc<AtomicUsize>) {
    async fn answer(State((asked, after)): State<(Arc<AtomicUsize>, &'static str)>) -> Response {
        asked.fetch_add(1, Ordering::SeqCst);
        (StatusCode::TOO_MANY_REQUESTS, [("retry-after", after)], "slow down").into_response()
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let router = Router::new().fallback(answer).with_state((Arc::clone(&asked), retry_after));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}

fn beats_held(page: &str) -> usize {
    page.matches(", held,").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_for_quiet_is_left_alone_and_the_page_says_so() {
    let (url, asked) = throttling("1800").await;
    let stage = Stage::start(&format!("  - id: busy\n    url: {url}\n")).await;
    let quiet = |body: &Value| body["held"]["why"] == "quiet";
    let body = stage.until("the quiet is kept", "busy", quiet).await;
    assert_eq!(body["held"]["retry_after_seconds"], 1800, "{body}");
    assert_ne!(body["state"], "down", "a 429 is an answer: {body}");
    let heard = asked.load(Ordering::SeqCst);
    let waiting = async {
        let mut events = stage.client.get(format!("{}/events", stage.pages)).send().await.unwrap();
        while beats_held(&stage.page("/monitors/busy").await) < 2 {
            events.chunk().await.unwrap().expect("events flow while it runs");
        }
    };
    stage.soon("two beats were held back", waiting).await;
    assert_eq!(asked.load(Ordering::SeqCst), heard, "and the server was not asked again");
    let page = stage.page("/monitors/busy").await;
    assert!(page.contains("The server asked for quiet (Retry-After 30 min)"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_widens_the_rhythm_and_the_page_says_so() {
    let server = reference().await;
    // 96 are the least that the file lets pass: one beat of four calls an hour.
    let monitors = format!("  - id: capped\n    url: {}\n    caps: {{ requests_per_day: 96 }}\n", server.mcp_url());
    let stage = Stage::start(&monitors).await;
    let spaced = |body: &Value| body["held"]["why"] == "cap_spaced" || body["held"]["why"] == "cap_spent";
    let body = stage.until("the rhythm is widened", "capped", spaced).await;
    let requests = body["footprint"]["today"]["requests"].as_u64().unwrap();
    assert!((1..=96).contains(&requests), "{body}");
    assert_eq!(
        body["footprint"]["today"]["sessions_opened"], body["footprint"]["today"]["sessions_closed"],
        "every session is closed: {body}"
    );
    assert_eq!(body["learnt"]["era"], "modern", "what was learnt shows: {body}");
    let page = stage.page("/monitors/capped").await;
    assert!(page.contains("Probing less:") && page.contains("requests a day"), "{page}");
}

/// A server of the older era that goes down with the first session that is closed: 500 to everything from then on.
async fn dies_with_its_session() -> String {
    async fn answer(State(dead): State<Arc<AtomicBool>>, method: Method, body: String) -> Response {
        if method == Method::DELETE {
            dead.store(true, Ordering::SeqCst);
            return StatusCode::OK.into_response();
        }
        if dead.load(Ordering::SeqCst) || method != Method::POST {
            return (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error").into_response();
        }
        let message: Value = serde_json::from_str(&body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}),
            Some("tools/list") => json!({"tools": []}),
            Some(method) if method.starts_with("notifications/") => return StatusCode::ACCEPTED.into_response(),
            _ => return StatusCode::BAD_REQUEST.into_response(),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        ([("mcp-session-id", "a-session")], Json(answer)).into_response()
    }
    let router = Router::new().fallback(answer).with_state(Arc::new(AtomicBool::new(false)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incident_that_follows_something_we_did_says_so_first() {
    let url = dies_with_its_session().await;
    let stage = Stage::start(&format!("  - id: mortal\n    url: {url}\n")).await;
    let expected = Expected {
        monitor: "mortal",
        signal: "availability",
        reason: "http_error",
        severity: "page",
        stage: "handshake",
    };
    let opened = stage.opened("it is gone with its session", expected).await;
    let did = "Serin closed a session of this server for the first time at ";
    assert!(opened.summary.starts_with(&format!("mortal is down: {did}")), "{opened:#?}");
    assert!(evidence(&opened, "just_before").starts_with(did), "{opened:#?}");
    let body = stage.json("/api/v1/monitors/mortal").await;
    assert_eq!(body["learnt"]["closing"], "harmful", "and it is not done again: {body}");
}
