//! What is answered until the database is open: that the process lives, that it is not ready, and what it waits for.
//!
//! No page and no token yet, since nothing of the fleet is told: only the database's own words.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use crate::live::state::{LiveState, STARTING};
use crate::web::{guard, public};

/// What everybody is told meanwhile.
const NOT_YET: &str = "starting: how things are is not known yet";

/// What is answered while Serin starts.
pub(crate) fn router(live: Arc<LiveState>) -> Router {
    Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .route("/api/v1/status", get(status))
        .fallback(anything)
        .layer(from_fn(guard::armour))
        .with_state(live)
}

/// What it waits for, and since when.
fn starting(live: &LiveState) -> String {
    match live.banners().into_iter().find(|banner| banner.kind == STARTING) {
        Some(banner) => {
            format!(
                "starting: the database cannot be used since {}: {}",
                banner.since.format("%Y-%m-%d %H:%M:%S UTC"),
                banner.text
            )
        }
        None => "starting: the database is being opened".to_owned(),
    }
}

/// The process lives, and ending it would mend nothing.
async fn health(State(live): State<Arc<LiveState>>) -> String {
    format!("{}\n", starting(&live))
}

async fn ready(State(live): State<Arc<LiveState>>) -> Response {
    let body = json!({ "ready": false, "database": false, "silent_loops": [], "why": [starting(&live)] });
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}

/// As much of the document as `serin status` needs to say that Serin is ill, and why.
async fn status(State(live): State<Arc<LiveState>>) -> Response {
    let body = json!({ "well": false, "ill": [starting(&live)], "versions": { "serin": env!("CARGO_PKG_VERSION") } });
    (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
}

async fn anything(State(live): State<Arc<LiveState>>, uri: Uri) -> Response {
    refusal(uri.path(), &told(uri.path(), &live))
}

/// What keeps it from starting may name files and folders: whoever may see the public page alone does not get to know.
fn told(path: &str, live: &LiveState) -> String {
    if public::routes::is_public(path) { NOT_YET.to_owned() } else { starting(live) }
}

/// What it waits for, to programs as problem details (RFC 9457), as every later refusal is.
fn refusal(path: &str, why: &str) -> Response {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    if !path.starts_with("/api/") && path != "/mcp" && !path.starts_with("/mcp/") {
        return (status, format!("{why}\n")).into_response();
    }
    let title = status.canonical_reason();
    let body = json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": why });
    (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::Value;

    use super::*;
    use crate::live::banner::Banner;

    #[tokio::test]
    async fn programs_are_refused_in_the_one_form() {
        let rows = [
            ("/api/v1/incidents", true),
            ("/mcp", true),
            ("/mcp/", true),
            ("/", false),
            ("/mcpx", false),
            ("/metrics", false),
        ];
        for (path, is_problem) in rows {
            let answer = refusal(path, "starting: soon");
            assert_eq!(answer.status(), 503, "{path}");
            let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
            let told = to_bytes(answer.into_body(), 1024).await.unwrap();
            if is_problem {
                assert_eq!(kind, "application/problem+json", "{path}");
                let body: Value = serde_json::from_slice(&told).unwrap();
                assert_eq!((&body["detail"], &body["status"]), (&"starting: soon".into(), &503.into()), "{path}");
            } else {
                assert!(kind.starts_with("text/plain"), "{path}: {kind}");
                assert_eq!(told, "starting: soon\n", "{path}");
            }
        }
    }

    #[test]
    fn nobody_learns_from_the_public_page_what_keeps_it_from_starting() {
        let live = LiveState::default();
        let text = "cannot open /srv/serin/serin.db".to_owned();
        live.raise(Banner { kind: STARTING, text, since: chrono::Utc::now() });
        for path in ["/status", "/status/feed.atom", "/api/v2/summary.json", "/badge/x.svg"] {
            assert_eq!(told(path, &live), NOT_YET, "{path}");
        }
        assert!(told("/", &live).contains("/srv/serin"), "whoever runs it does");
    }
}
