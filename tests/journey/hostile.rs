//! A server that says what it should not: its text stays text, wherever it is shown.

use std::net::SocketAddr;

use axum::Json;
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use serin::cli::demo::inbox::Mail;
use tokio::net::TcpListener;

use crate::stage::{Expected, Stage, evidence};

/// Ends a header, a line, a string, an attribute and a script.
const HOSTILE: &str = "say \"no\"\r\nBcc: everybody@example.org\r\n\r\n</script><script>alert(1)</script><img src=x onerror='alert(2)'>\u{1b}[2J";
/// What of it must never stand in a page as it is.
const LIVE: [&str; 3] = ["<script>alert(1)", "</script><script>", "<img src=x"];

/// One that answers well and fills everything it may name with hostile text; `rude` refuses with it.
async fn server(rude: bool) -> SocketAddr {
    let app = Router::new()
        .route("/mcp", post(move |headers: HeaderMap, body: Json<Value>| async move { answer(&headers, &body, rude) }))
        .route("/health", get(|| async { (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"reason": HOSTILE}))) }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn answer(headers: &HeaderMap, body: &Value, rude: bool) -> Response {
    let modern = headers.contains_key("mcp-method");
    let result = match body["method"].as_str().unwrap_or_default() {
        _ if body["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        "server/discover" => return unknown(body),
        "initialize" if rude => {
            return Json(json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32603, "message": HOSTILE}}))
                .into_response();
        }
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "instructions": HOSTILE,
            "serverInfo": {"name": HOSTILE, "version": HOSTILE},
        }),
        "tools/list" => json!({"tools": [{
            "name": "search", "description": HOSTILE,
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string", "description": HOSTILE}, "top_k": {"type": "integer"}}},
        }]}),
        "tools/call" => json!({"content": [{"type": "text", "text": json!({
            "results": [{"text": HOSTILE, "source": HOSTILE, "score": 0.5}], "total_results": 1,
        }).to_string()}]}),
        _ => return unknown(body),
    };
    assert!(!modern, "it speaks the older era only");
    Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result})).into_response()
}

fn unknown(body: &Value) -> Response {
    Json(json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": -32601, "message": HOSTILE}})).into_response()
}

fn assert_mail_is_whole(mail: &Mail) {
    let (head, _) = mail.raw.split_once("\r\n\r\n").expect("headers end");
    let injected = head.lines().any(|line| line.to_ascii_lowercase().starts_with("bcc"));
    assert!(!injected, "no header was added:\n{head}");
    assert_eq!(mail.to, ["sre@example.org"], "nobody else got it");
    assert!(!mail.subject.chars().any(char::is_control), "{:?}", mail.subject);
    assert!(!mail.text.contains('\u{1b}') && !mail.text.contains("\nBcc:"), "{}", mail.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_stays_text() {
    let (sly, rude) = (server(false).await, server(true).await);
    let stage = Stage::start(&format!(
        "  - id: sly\n    url: http://{sly}/mcp\n    health: [{{ url: http://{sly}/health }}]\n    canaries: [{{ id: c, query: anything, expect: [right.md] }}]\n  - id: rude\n    url: http://{rude}/mcp\n",
    ))
    .await;
    let sly =
        Expected { monitor: "sly", signal: "quality", reason: "wrong_results", severity: "page", stage: "search" };
    let rude = Expected {
        monitor: "rude",
        signal: "availability",
        reason: "protocol_error",
        severity: "page",
        stage: "handshake",
    };
    let told = [stage.opened("wrong sources", sly).await, stage.opened("a hostile refusal", rude).await];

    let seen = [evidence(&told[0], "canary.c"), evidence(&told[0], "health_says"), &told[1].summary];
    for text in seen {
        assert!(text.contains("</script><script>"), "it is told as it was said: {text}");
    }
    for hook in stage.inbox.hooks() {
        let body: Value = serde_json::from_str(&hook.body).expect("JSON");
        assert!(!hook.body.chars().any(char::is_control), "{}", hook.body);
        assert!(body["evidence"].is_object());
    }
    for mail in stage.inbox.mails() {
        assert_mail_is_whole(&mail);
    }
    let mut paths = vec!["/".to_owned(), "/incidents".to_owned(), "/deliveries".to_owned()];
    for message in &told {
        let monitor = &message.monitor.as_ref().unwrap().id;
        let incident = &message.incident.as_ref().unwrap().id;
        paths.extend([format!("/monitors/{monitor}"), format!("/incidents/{incident}")]);
        let text = stage.page(&format!("/api/v1/incidents/{incident}")).await;
        assert!(serde_json::from_str::<Value>(&text).is_ok_and(|body| body.is_object()), "{text}");
        assert!(text.contains("alert(1)"), "the incident shows it: {text}");
    }
    for path in paths {
        let page = stage.page(&path).await;
        for live in LIVE {
            assert!(!page.contains(live), "{path} holds {live}");
        }
        assert!(!page.contains('\u{1b}'), "{path} holds an escape character");
        if path.len() > "/deliveries".len() {
            assert!(page.contains("alert(1)"), "{path} shows it, escaped");
        }
    }
}
