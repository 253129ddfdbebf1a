//! The admin endpoint: faults on and off, and the crash. On loopback, at an address of its own, so that
//! it still answers while the server refuses.
//!
//! It asks for JSON and for a loopback Host, so that no web page a user happens to visit can use it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::lab::crash::CrashControl;
use crate::lab::kinds as fault;
use crate::lab::switches::Faults;

/// The longest a crashed server stays away: a day.
const DOWN_MS_MAX: u64 = 86_400_000;

/// What the admin endpoint needs.
#[derive(Debug, Clone)]
pub(super) struct Admin {
    pub(super) faults: Faults,
    pub(super) crash: CrashControl,
    /// Whether a crash may take the process with it.
    pub(super) may_exit: bool,
}

/// Answers until stopped.
pub(super) async fn serve(listener: TcpListener, admin: Admin, stop: CancellationToken) {
    let router = Router::new()
        .route("/admin/faults", get(show).post(change).delete(mend))
        .route("/admin/crash", post(crash))
        .layer(middleware::from_fn(only_local))
        .with_state(admin);
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await {
        tracing::error!(%error, "the admin endpoint stopped");
    }
}

async fn show(State(admin): State<Admin>) -> Json<Value> {
    Json(admin.faults.report())
}

/// Names and values; all of them are understood, or none is changed.
async fn change(State(admin): State<Admin>, Json(wanted): Json<Map<String, Value>>) -> Response {
    let read: Result<Vec<_>, _> = wanted.iter().map(|(name, value)| fault::read(name, value)).collect();
    match read {
        Ok(settings) => settings.into_iter().for_each(|(fault, dose)| admin.faults.set(fault, dose)),
        Err(error) => {
            return (StatusCode::BAD_REQUEST, Json(json!({ "error": error.to_string() }))).into_response();
        }
    }
    admin.faults.settled().await;
    Json(admin.faults.report()).into_response()
}

async fn mend(State(admin): State<Admin>) -> Json<Value> {
    admin.faults.all_off();
    admin.faults.settled().await;
    Json(admin.faults.report())
}

/// How to crash.
#[derive(Debug, Deserialize)]
struct CrashRequest {
    /// How long to stay away before it starts again.
    #[serde(default)]
    down_ms: u64,
    /// End the process instead.
    #[serde(default)]
    process: bool,
}

async fn crash(State(admin): State<Admin>, Json(wanted): Json<CrashRequest>) -> Response {
    if wanted.process {
        if !admin.may_exit {
            let why = "this server shares its process with others: crash it with down_ms";
            return (StatusCode::CONFLICT, Json(json!({ "error": why }))).into_response();
        }
        admin.crash.abort();
    }
    let down_for = Duration::from_millis(wanted.down_ms.min(DOWN_MS_MAX));
    admin.crash.crash(down_for).await;
    Json(json!({ "crashed": true, "down_ms": wanted.down_ms.min(DOWN_MS_MAX) })).into_response()
}

async fn only_local(headers: HeaderMap, request: Request, next: Next) -> Response {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_local = host
        .parse::<SocketAddr>()
        .map(|at| at.ip())
        .or_else(|_| host.parse::<IpAddr>())
        .map_or_else(|_| host.split(':').next() == Some("localhost"), |address| address.is_loopback());
    if is_local { next.run(request).await } else { (StatusCode::FORBIDDEN, "only for this machine\n").into_response() }
}
