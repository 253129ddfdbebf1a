//! `/api/v1`: what was said over the wire while an incident was open, and the text of each.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::store::write::transcript::TranscriptLine;
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// The transcripts of an incident, those of the failures that led to it first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Transcripts {
    incident: String,
    monitor: String,
    signal: &'static str,
    transcripts: Vec<TranscriptBody>,
}

/// One of them, without its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TranscriptBody {
    hash: String,
    started_at: DateTime<Utc>,
    failure_reason: String,
    bytes: u32,
    url: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TranscriptText {
    hash: String,
    text: String,
}

/// `GET /api/v1/incidents/{id}/transcripts`.
///
/// # Errors
/// 404 where there is no such incident, 503 where the database does not answer.
pub(crate) async fn of_incident(
    State(state): State<WebState>,
    Path(id): Path<String>,
) -> Result<Json<Transcripts>, Problem> {
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id");
    let incident = state.ask(state.store.incident(&id)).await?.ok_or(missing)?;
    let lines = state.ask(state.store.transcripts(&id)).await?;
    Ok(Json(Transcripts {
        incident: incident.id,
        monitor: incident.monitor.to_string(),
        signal: incident.signal.slug(),
        transcripts: lines.into_iter().map(body).collect(),
    }))
}

/// `GET /api/v1/transcripts/{hash}`.
///
/// # Errors
/// 404 where there is none, or none any more; 503 where the database does not answer.
pub(crate) async fn text(
    State(state): State<WebState>,
    Path(hash): Path<String>,
) -> Result<Json<TranscriptText>, Problem> {
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no such transcript; they are kept for 30 days");
    let text = state.ask(state.store.transcript(&hash)).await?.ok_or(missing)?;
    Ok(Json(TranscriptText { hash, text }))
}

fn body(line: TranscriptLine) -> TranscriptBody {
    TranscriptBody {
        url: format!("/transcripts/{}", line.hash),
        started_at: line.started_at,
        failure_reason: line.reason,
        bytes: line.bytes,
        hash: line.hash,
    }
}
