//! What is answered until the database is open: that the process lives, that it is not ready, and what it waits for.
//!
//! No page and no token yet, since nothing of the fleet is told: only the database's own words.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

use crate::live::state::{LiveState, STARTING};
use crate::web::guard;

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

async fn anything(State(live): State<Arc<LiveState>>) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", starting(&live))).into_response()
}
