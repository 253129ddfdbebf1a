//! `/healthz` (the process answers) and `/readyz` (the database answers a read and takes writes, its file is in its place,
//! and every loop takes its turns).

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::store::read::pages::IncidentFilter;
use crate::web::state::WebState;

/// The database answers a read within this, or Serin is not ready.
const READ_WITHIN: Duration = Duration::from_secs(1);

#[derive(Debug, Serialize)]
struct Readiness {
    ready: bool,
    database: bool,
    silent_loops: Vec<&'static str>,
    /// What is missing, a line each.
    why: Vec<String>,
}

pub(crate) async fn health() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 200, or 503 with what is missing.
pub(crate) async fn ready(State(state): State<WebState>) -> Response {
    let filter = IncidentFilter { open: Some(true), ..IncidentFilter::default() };
    let read = tokio::time::timeout(READ_WITHIN, state.store.incidents(&filter)).await;
    let mut why = Vec::new();
    if !matches!(read, Ok(Ok(_))) {
        why.push("the database does not answer a read".to_owned());
    }
    let troubles = state.alerts.open().into_iter().filter(|(kind, _)| kind.forgets());
    why.extend(troubles.map(|(kind, open)| format!("{}: {}", kind.slug(), open.detail)));
    let database = why.is_empty();
    let silent_loops = state.live.metrics().silent_loops();
    why.extend(silent_loops.iter().map(|name| format!("the {name} loop takes no turns")));
    let ready = why.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Readiness { ready, database, silent_loops, why })).into_response()
}
