//! Progress of a long indexing, for a client that asked for it.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::sync::Arc;

use axum::routing::post;
use axum::{Json, Router};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use serin_reference::project::{opened::Project, place::ProjectFolder, template};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Texts of the document that is indexed.
const SECTIONS: usize = 6;

/// An embedder that makes the vectors of a document two at a time, and none without a permit.
async fn embedder(permits: Arc<Semaphore>) -> String {
    let embed = move |Json(asked): Json<Value>| {
        let permits = Arc::clone(&permits);
        async move {
            let texts: Vec<&str> =
                asked["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
            if texts.iter().any(|text| text.contains("kiln")) {
                permits.acquire().await.unwrap().forget();
            }
            let vector = |(index, text): (usize, &&str)| json!({"index": index, "object": "embedding", "embedding": [1.0, text.len() as f64, 0.5]});
            let data: Vec<Value> = texts.iter().enumerate().map(vector).collect();
            Json(
                json!({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}),
            )
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/v1/embeddings", post(embed))).await });
    format!("http://{address}/v1")
}

async fn serve(embedder: &str, root: &std::path::Path) -> LabServer {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let http = format!("embedder: {{ http: {{ url: \"{embedder}\", model: m, dimensions: 3, batch: 2 }} }}\n");
    ProjectFolder::set_up(root, &template::TEMPLATE.replace("embedder: none\n", &http), false).unwrap();
    let project = Some(Project::find(root).unwrap());
    let options = LabOptions { project, corpus: Corpus::Empty, ..LabOptions::default() };
    server::serve(options, CancellationToken::new()).await.unwrap()
}

/// A call of `index_document` in either era.
fn call(running: &LabServer, is_modern: bool, source: &str, token: Option<&str>) -> RequestBuilder {
    let text: String =
        (0..SECTIONS).map(|n| format!("# Part {n}\n\nThe kiln of {source} is fired {n} times.\n\n")).collect();
    let mut meta = json!({});
    if let Some(token) = token {
        meta["progressToken"] = json!(token);
    }
    if is_modern {
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "index_document", "arguments": {"source": source, "text": text}, "_meta": meta}});
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.post(running.mcp_url()).header("Accept", "application/json, text/event-stream").json(&body);
    let version = if is_modern { "2026-07-28" } else { "2025-11-25" };
    let request = request.header("MCP-Protocol-Version", version);
    if is_modern { request.header("Mcp-Method", "tools/call").header("Mcp-Name", "index_document") } else { request }
}

#[tokio::test]
async fn who_gives_a_token_is_told_each_batch_and_then_the_answer() {
    let permits = Arc::new(Semaphore::new(0));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let running = serve(&embedder(Arc::clone(&permits)).await, &root).await;
    for (is_modern, source) in [(false, "a.md"), (true, "b.md")] {
        let mut answer = call(&running, is_modern, source, Some("t-1")).send().await.unwrap();
        let (mut heard, mut told, mut ended) = (String::new(), Vec::new(), Value::Null);
        while let Some(piece) = answer.chunk().await.unwrap() {
            heard.push_str(&String::from_utf8_lossy(&piece));
            while let Some((event, rest)) = heard.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or_default().to_owned();
                heard = rest.to_owned();
                let Ok(message) = serde_json::from_str::<Value>(&data) else { continue };
                if message["method"] == "notifications/progress" {
                    assert_eq!(message["params"]["progressToken"], "t-1");
                    told.push((message["params"]["progress"].as_f64(), message["params"]["total"].as_f64()));
                    // The next batch is made only when this was heard.
                    permits.add_permits(1);
                } else {
                    ended = message;
                }
            }
        }
        let all = Some(SECTIONS as f64);
        let expected = [(Some(0.0), None), (Some(2.0), all), (Some(4.0), all)];
        assert_eq!(told[..3], expected, "{source}: {told:?}");
        assert_eq!(
            (&ended["id"], &ended["result"]["structuredContent"]["status"]),
            (&json!(7), &json!("ok")),
            "{ended}"
        );
        permits.forget_permits(usize::MAX);
    }
    permits.add_permits(SECTIONS);
    for (is_modern, source) in [(false, "c.md"), (true, "d.md")] {
        let answer = call(&running, is_modern, source, None).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/json", "who gives none is answered in one piece");
        assert_eq!(answer.json::<Value>().await.unwrap()["result"]["structuredContent"]["status"], "ok");
    }
}
