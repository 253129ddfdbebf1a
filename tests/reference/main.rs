//! The reference server through its public door: plain JSON-RPC over HTTP, in both eras.
//!
//! Its canaries are proposed for any monitor of this corpus. The `meaning` ones are those that a
//! wrong query model loses; the others pass on, which is the point of having both.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::time::Duration;

use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;
use serin_reference::lab::server::{self, LabServer};
use tokio_util::sync::CancellationToken;

mod corpus;
mod tools;
mod broken;
mod access;

/// The tools, in their order.
const TOOLS: [&str; 6] =
    ["search_documents", "index_document", "list_sources", "generate_embedding", "check_constraints", "query_impact"];

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Kind, id, question, sources of which one must be among the first five.
const CANARIES: &[(&str, &str, &str, &[&str])] = &[
    ("keyword", "fusion-authors", "Cormack Büttcher", &["reference/fusion.md"]),
    ("keyword", "card-oncall", "OC-31", &["reference/oncall.md"]),
    ("keyword", "mixing-step", "splitmix64", &["reference/embedding.md"]),
    ("keyword", "version-error", "-32022", &["reference/mcp.md"]),
    ("keyword", "schema-code", "INDEX_SCHEMA_MISMATCH", &["reference/backup.md"]),
    ("keyword", "resource-rfc", "RFC 9728", &["reference/tokens.md"]),
    ("meaning", "token-life", "when does my passphrase lapse", &["reference/tokens.md"]),
    ("meaning", "expense", "is it cheap, how many dollars", &["reference/costs.md"]),
    ("meaning", "cold-start", "chilly and sluggish once rebooted", &["reference/warmup.md"]),
    ("meaning", "woken", "who gets buzzed at bedtime", &["reference/oncall.md"]),
    ("meaning", "loss", "salvage everything when a drive perishes", &["reference/backup.md"]),
    ("meaning", "lies", "fibs and fiction", &["reference/canaries.md"]),
    ("meaning", "cutting", "carving prose into slices", &["reference/chunking.md"]),
    ("meaning", "merging", "marry contradictory sortings", &["reference/fusion.md"]),
    ("mixed", "first-slow", "why are the first searches after a restart slow", &["reference/warmup.md"]),
    ("mixed", "pool-size", "how many connections does the pool hold", &["reference/pool.md"]),
    ("mixed", "canary-count", "how many canaries are needed", &["reference/canaries.md"]),
    ("mixed", "rotate", "rotating a token without an outage", &["reference/tokens.md"]),
];

struct Server {
    running: LabServer,
    client: Client,
}

async fn server(options: LabOptions) -> Server {
    // Another test of this process may have been first.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let options = LabOptions { admin: Some("127.0.0.1:0".parse().unwrap()), ..options };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    Server { running, client: Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap() }
}

async fn healthy() -> Server {
    server(LabOptions::default()).await
}

async fn broken(fault: Fault, dose: Dose) -> Server {
    server(LabOptions { faults: vec![(fault, dose)], ..LabOptions::default() }).await
}

impl Server {
    async fn post(&self, era: &str, method: &str, mut params: Value) -> Response {
        let mut request = self
            .client
            .post(self.running.mcp_url())
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", era);
        if era == MODERN {
            request = request.header("Mcp-Method", method);
            if let Some(name) = params["name"].as_str() {
                request = request.header("Mcp-Name", name);
            }
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        request.json(&body).send().await.unwrap()
    }

    async fn rpc(&self, era: &str, method: &str, params: Value) -> Value {
        self.post(era, method, params).await.json().await.unwrap()
    }

    async fn call(&self, era: &str, tool: &str, arguments: Value) -> Value {
        self.rpc(era, "tools/call", json!({"name": tool, "arguments": arguments})).await["result"].clone()
    }

    async fn search(&self, query: &str) -> Value {
        self.call(LEGACY, "search_documents", json!({"query": query})).await["structuredContent"].clone()
    }

    async fn health(&self, path: &str) -> (StatusCode, Value) {
        let answer = self.client.get(self.running.url(path)).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    async fn admin(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("http://{}/admin/{path}", self.running.admin.unwrap());
        let answer = self.client.post(url).json(&body).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Ids of the canaries of a kind whose source is not among the first five.
    async fn lost(&self, kind: &str) -> Vec<&'static str> {
        let mut lost = Vec::new();
        for (_, id, query, expected) in CANARIES.iter().filter(|canary| canary.0 == kind) {
            let found = sources(&self.search(query).await);
            if !found.iter().any(|source| expected.contains(&source.as_str())) {
                lost.push(*id);
            }
        }
        lost
    }
}

fn sources(envelope: &Value) -> Vec<String> {
    let results = envelope["data"]["results"].as_array().cloned().unwrap_or_default();
    results.iter().map(|hit| hit["source"].as_str().unwrap().to_owned()).collect()
}
