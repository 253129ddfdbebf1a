//! `/incidents/{id}/transcripts` and `/transcripts/{hash}`: what was said over the wire, as plain text.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};

use crate::store::write::transcript::TranscriptLine;
use crate::web::admitted::Visit;
use crate::web::format::Timestamp;
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::unknown;
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "transcripts.html")]
struct TranscriptsPage {
    frame: Frame,
    incident: String,
    monitor: String,
    summary: String,
    rows: Vec<TranscriptLink>,
}

#[derive(Debug)]
pub(crate) struct TranscriptLink {
    pub hash: String,
    /// When the beat started.
    pub at: Timestamp,
    pub reason: String,
    /// Such as `3 kB`.
    pub size: String,
}

pub(crate) async fn list(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
) -> Response {
    let now = Utc::now();
    let (incident, lines) = tokio::join!(state.ask(state.store.incident(&id)), state.ask(state.store.transcripts(&id)));
    let (Ok(incident), Ok(lines)) = (incident, lines) else {
        return unknown::away(&state, visit);
    };
    let Some(incident) = incident else {
        return unknown::missing(&state, visit, "There is no incident with this id.");
    };
    let title = format!("{}: transcripts", incident.monitor);
    let page = TranscriptsPage {
        frame: Frame::new(&state, visit, now, "incidents", title),
        incident: incident.id,
        monitor: incident.monitor.to_string(),
        summary: incident.summary,
        rows: lines.into_iter().map(|line| link(line, now)).collect(),
    };
    show(StatusCode::OK, &page)
}

/// `GET /transcripts/{hash}`: plain text, which no browser takes for anything else.
pub(crate) async fn text(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(hash): Path<String>,
) -> Response {
    match state.ask(state.store.transcript(&hash)).await {
        Ok(Some(text)) => ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response(),
        Ok(None) => unknown::missing(&state, visit, "There is no such transcript. They are kept for 30 days."),
        Err(_) => unknown::away(&state, visit),
    }
}

pub(crate) fn link(line: TranscriptLine, now: DateTime<Utc>) -> TranscriptLink {
    let size = match line.bytes {
        bytes @ ..1024 => format!("{bytes} bytes"),
        bytes => format!("{} kB", bytes / 1024),
    };
    TranscriptLink { at: Timestamp::new(line.started_at, now), size, reason: line.reason, hash: line.hash }
}
