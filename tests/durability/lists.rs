//! Lists of tools without measure: they are refused before they are looked at, or fill no disk.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::process::Serin;
use crate::stage::Stage;

/// What is promised of one monitor's lists.
const LISTS_BYTES_MAX: i64 = 1_000_000;
/// Lists that each server gives.
const LISTS: i64 = 8;
/// Bytes that the database has of the lists of a monitor, and what is said of them.
const BYTES: &str = "SELECT COALESCE(SUM(LENGTH(b.data) + LENGTH(CAST(s.changes AS BLOB))), 0) FROM tools_seen s \
     JOIN blobs b ON b.hash = s.hash AND b.kind = 'tools' WHERE s.monitor = $1";
const SEEN: &str = "SELECT COUNT(*) FROM tools_seen WHERE monitor = $1";

/// A server whose list of tools is made anew for each who asks; and how often it was asked for.
async fn listing(list: impl Fn(usize) -> String + Clone + Send + Sync + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let answer = move |request: axum::Json<Value>| async move { answered(&request, &counted, &list) };
    tokio::spawn(axum::serve(listener, Router::new().route("/mcp", post(answer))).into_future());
    (address, asked)
}

fn answered(request: &Value, asked: &AtomicUsize, list: &impl Fn(usize) -> String) -> Response {
    let marks = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    let result = match request["method"].as_str() {
        Some("server/discover") => {
            format!(r#"{{{marks},"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}}}"#)
        }
        Some("tools/list") => {
            format!(r#"{{{marks},"tools":[{}]}}"#, list(asked.fetch_add(1, Ordering::Relaxed)))
        }
        _ => {
            return (
                StatusCode::NOT_FOUND,
                axum::Json(json!({"jsonrpc": "2.0", "id": request["id"],
            "error": {"code": -32601, "message": "no such method"}})),
            )
                .into_response();
        }
    };
    let message = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"]);
    ([(header::CONTENT_TYPE, "application/json")], message).into_response()
}

/// Has Serin look at a server, and waits until it has looked so many times.
async fn look(stage: &Stage, pages: SocketAddr, id: &str, times: i64) {
    let path = format!("http://{pages}/api/v1/monitors/{id}/recheck");
    let answer = reqwest::Client::new().post(path).json(&json!({})).send().await.expect("serin answers");
    assert_eq!(answer.status(), 202, "somebody wants a look");
    stage.counted(id, times, "SELECT COUNT(*) FROM beats WHERE monitor = $1", &[id]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_without_measure_are_refused_or_fill_no_disk() {
    let (stage, file) = Stage::set(1).await;
    let many: String = (0..50_000).map(|nth| format!(r#"{{"name":"tool{nth}"}}"#)).collect::<Vec<_>>().join(",");
    let (many, _) = listing(move |_| many.clone()).await;
    let (long, asked) = listing(|turn| {
        let text = format!("List {turn}. {}", "Searches what was written down. ".repeat(128));
        let tool = |nth: usize| format!(r#"{{"name":"tool{nth}","description":"{}"}}"#, &text[..3_950]);
        (0..999).map(tool).collect::<Vec<_>>().join(",")
    })
    .await;
    let mut text = stage.text(&file);
    for (id, address) in [("many", many), ("long", long)] {
        let waits = "every: 1h, timeout: 40s, probe_budget: 60s";
        text.push_str(&format!("  - {{ id: {id}, url: 'http://{address}/mcp', {waits} }}\n"));
    }
    stage.write_text(&text);
    let (serin, pages) = Serin::start(&stage.config()).await;

    for turn in 1..=LISTS {
        for id in ["many", "long"] {
            look(&stage, pages, id, turn).await;
        }
    }
    let refused = "SELECT COUNT(*) FROM beats WHERE monitor = $1 AND reason = 'response_too_large'";
    let count = stage.count(refused, &["many"]).await;
    assert!(count >= LISTS, "a list of 50,000 tools is refused each time: {count}");
    let is_told = |page: &str| page.contains("50000 tools or more; a probe takes 1000");
    stage.shown(pages, "/monitors/many", "the page says why", is_told).await;
    assert_eq!(stage.count(SEEN, &["many"]).await, 0, "and nothing of it is kept");

    let faults = stage.count("SELECT COUNT(*) FROM beats WHERE monitor = $1 AND stage = 'tools'", &["long"]).await;
    assert_eq!(faults, 0, "a long list is looked at, whole");
    assert!(asked.load(Ordering::Relaxed) >= 8, "each time it was another");
    let bytes = stage.count(BYTES, &["long"]).await;
    let seen = stage.count(SEEN, &["long"]).await;
    assert!(seen >= 2, "the accepted one or the one before, and the latest: {seen}");
    assert!(bytes <= LISTS_BYTES_MAX, "{bytes} bytes of {seen} lists");
    let blobs = stage.count("SELECT COALESCE(SUM(LENGTH(data)), 0) FROM blobs WHERE kind = 'tools'", &[]);
    let blobs = blobs.await;
    assert!(blobs <= LISTS_BYTES_MAX * 2, "what nobody refers to is gone: {blobs} bytes");
    stage.more_beats("s0", 2).await;
    serin.stop().await;
}
