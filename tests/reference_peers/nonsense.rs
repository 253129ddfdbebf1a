//! What is no message, or none that fits, is answered by the code that JSON-RPC has for it, at both doors.

use reqwest::Client;
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::options::LabOptions;
use serin_reference::lab::server;
use tokio_util::sync::CancellationToken;

/// A body, and the status and code that answer it.
async fn check(client: &Client, url: &str, says: &str, body: &str, expected: (u16, i64)) {
    let request = client.post(url).header("Content-Type", "application/json; charset=utf-8");
    let request = request.header("Accept", "application/json, text/event-stream");
    let answer = request.body(body.to_owned()).send().await.unwrap();
    let status = answer.status().as_u16();
    let said = answer.text().await.unwrap();
    let error: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{says}: {error}: {said}"));
    assert_eq!((status, error["error"]["code"].as_i64().unwrap()), expected, "{says} at {url}: {said}");
    assert!(error.get("id").is_none_or(|id| !id.is_null()), "{says}: an id is named or left out: {said}");
}

#[tokio::test]
async fn nonsense_is_answered_by_its_code() {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let options = LabOptions { corpus: Corpus::Empty, ..LabOptions::default() };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    for url in [running.mcp_url(), running.legacy_url()] {
        let check =
            async |says: &str, body: Value, expected| check(&client, &url, says, &body.to_string(), expected).await;
        check("a text", json!("hello"), (400, -32600)).await;
        check("a batch", json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]), (400, -32600)).await;
        check("no id", json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), (400, -32600)).await;
        let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
        check("nobody introduces himself", bare, (200, -32602)).await;
        let unnamed = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["a"]}});
        check("a tool without a name", unnamed, (200, -32602)).await;
    }
    let url = running.mcp_url();
    check(&client, &url, "half an object", "{\"jsonrpc\":", (400, -32700)).await;
    let beyond = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "7"}}).to_string();
    check(&client, &url, "a page that is not there", &beyond, (200, -32602)).await;
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x".repeat(1 << 20)}}).to_string();
    check(&client, &url, "too long", &long, (413, -32600)).await;
}
