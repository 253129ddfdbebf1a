//! Who may ask, and who may break it.

use reqwest::StatusCode;
use serde_json::json;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;
use serin_reference::lab::server::LabError;
use tokio_util::sync::CancellationToken;

use crate::{LEGACY, healthy, server};

#[tokio::test]
async fn a_token_is_asked_for() {
    let server = server(LabOptions { bearer: Some("s3cret".to_owned()), ..LabOptions::default() }).await;
    let ask = async |token: &str| {
        let request = server.client.post(server.running.mcp_url()).bearer_auth(token);
        let request = request.header("Accept", "application/json, text/event-stream");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        request.json(&body).send().await.unwrap().status()
    };
    assert_eq!(ask("s3cret").await, StatusCode::OK);
    assert_eq!(ask("s3cre").await, StatusCode::UNAUTHORIZED);
    let bare = server.post(LEGACY, "tools/list", json!({})).await;
    assert_eq!(bare.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(bare.headers()["www-authenticate"], "Bearer realm=\"mcp\"");
    assert_eq!(server.health("health").await.0, StatusCode::OK, "health is open");
    server.running.faults().on(Fault::AuthRequired, Dose::of(Fault::AuthRequired));
    assert_eq!(ask("s3cret").await, StatusCode::UNAUTHORIZED, "a revoked token");
}

#[tokio::test]
async fn the_admin_endpoint_takes_all_or_nothing_and_only_from_here() {
    let server = healthy().await;
    let (status, told) = server.admin("faults", json!({"tool_error": true, "tool_eror": true})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told["error"].as_str().unwrap().contains("tool_eror"));
    assert!(server.running.faults().active().is_empty(), "nothing was changed");
    let url = format!("http://{}/admin/faults", server.running.admin.unwrap());
    let rebound = server.client.get(&url).header("Host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status(), StatusCode::FORBIDDEN);
    server.admin("faults", json!({"latency_step": {"ms": 5, "share": 0.5}})).await;
    assert_eq!(server.running.faults().dose(Fault::LatencyStep).unwrap().amount, 5.0);
    server.client.delete(&url).send().await.unwrap();
    assert!(server.running.faults().active().is_empty());
    assert_eq!(server.admin("crash", json!({"process": true})).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_server_that_others_reach_needs_a_token_and_its_admin_is_local() {
    let stop = CancellationToken::new();
    let everywhere = LabOptions { listen: "0.0.0.0:0".parse().unwrap(), ..LabOptions::default() };
    assert!(matches!(
        server::serve(everywhere, stop.clone()).await,
        Err(LabError::Server(serin_reference::serve::server::ServeError::TokenNeeded(_)))
    ));
    let admin = LabOptions { admin: Some("0.0.0.0:0".parse().unwrap()), ..LabOptions::default() };
    assert!(matches!(server::serve(admin, stop).await, Err(LabError::AdminNotLocal(_))));
}
