//! An MCP server as small as one can be: one tool, `search`, and whatever a journey lets it answer.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Serves until the test ends, and gives the address. `found` gets a question and gives the call's result.
pub(crate) async fn serve<F, A>(found: F) -> String
where
    F: Fn(String) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Value> + Send + 'static,
{
    let app = Router::new().route("/mcp", post(move |Json(body): Json<Value>| answer(found.clone(), body)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

async fn answer<A: Future<Output = Value>>(found: impl Fn(String) -> A, body: Value) -> Response {
    let result = match body["method"].as_str().unwrap_or_default() {
        _ if body["id"].is_null() => return StatusCode::ACCEPTED.into_response(),
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "search",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
        }]}),
        "tools/call" => found(body["params"]["arguments"]["query"].as_str().unwrap_or_default().to_owned()).await,
        _ => {
            let error = json!({"code": -32601, "message": "not here"});
            return Json(json!({"jsonrpc": "2.0", "id": body["id"], "error": error})).into_response();
        }
    };
    Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result})).into_response()
}
