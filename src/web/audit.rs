//! The audit log: what was asked for with which right, from where, and what it was answered; and `/api/v1/audit`.

use std::net::IpAddr;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::audit::AuditLine;
use crate::store::read::keys::AUDIT_PAGE;
use crate::web::problem::Problem;
use crate::web::state::{Away, WebState};

/// Characters of an address that are kept.
const ACTION_CHARS_MAX: usize = 300;

/// A page of the audit log, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditLog {
    lines: Vec<AuditBody>,
    /// The `before` of the page after this one, where there may be more.
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AuditBody {
    id: String,
    at: DateTime<Utc>,
    /// Whose right it was, such as `token` or `key grafana`.
    who: String,
    /// The address that it came from.
    source: String,
    /// Such as `POST /api/v1/silences`.
    action: String,
    /// The HTTP status of the answer; null while there is none, or where Serin ended before there was one.
    status: Option<u16>,
}

/// Where to go on.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct AuditQuery {
    #[serde(default)]
    before: Option<String>,
}

/// Notes what is asked for before it is done: what is not on record is not done.
///
/// # Errors
/// Where the database does not answer.
pub(crate) async fn begin(state: &WebState, (who, from): (&str, IpAddr), action: &str) -> Result<AuditLine, Away> {
    let line = asked(who, from, action);
    if let Err(away) = state.ask(state.store.audit(line.clone())).await {
        // A line that waits in the queue may be written yet: it is to say that nothing was done.
        let state = state.clone();
        tokio::spawn(async move { end(&state, line, StatusCode::SERVICE_UNAVAILABLE).await });
        return Err(away);
    }
    Ok(line)
}

/// Notes what was answered; it is there before whoever asked is.
pub(crate) async fn end(state: &WebState, mut line: AuditLine, status: StatusCode) {
    line.status = Some(status.as_u16());
    let AuditLine { who, source, action, .. } = &line;
    tracing::info!(who, source, action, status = status.as_u16(), "asked for");
    // Where the database is away the log has it, and `ask` says so there.
    let _noted = state.ask(state.store.audit(line)).await;
}

/// Notes what is over already, in the log and in the database.
pub(crate) async fn note(state: &WebState, (who, from): (&str, IpAddr), action: &str, status: StatusCode) {
    end(state, asked(who, from, action), status).await;
}

fn asked(who: &str, from: IpAddr, action: &str) -> AuditLine {
    AuditLine {
        id: Uuid::now_v7().to_string(),
        at: Utc::now(),
        who: who.to_owned(),
        source: from.to_string(),
        action: action.chars().take(ACTION_CHARS_MAX).collect(),
        status: None,
    }
}

/// `GET /api/v1/audit`.
pub(crate) async fn list(
    State(state): State<WebState>,
    Query(asked): Query<AuditQuery>,
) -> Result<Json<AuditLog>, Problem> {
    let lines = state.ask(state.store.audit_log(asked.before.as_deref())).await?;
    let next = lines.last().filter(|_| lines.len() >= AUDIT_PAGE as usize).map(|line| line.id.clone());
    let body = |AuditLine { id, at, who, source, action, status }| AuditBody { id, at, who, source, action, status };
    Ok(Json(AuditLog { lines: lines.into_iter().map(body).collect(), next }))
}
