//! A row an incident.

use std::io::Write;

use futures_util::TryStreamExt as _;
use serde_json::{Map, Value, json};

use crate::cli::export::rows::RowWriter;
use crate::cli::export::timestamps::timestamp;
use crate::domain::incident::{Incident, ResolveCause};
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;

pub(super) const COLUMNS: &[&str] = &[
    "id",
    "monitor",
    "signal",
    "subject",
    "severity",
    "failure_reason",
    "failed_stage",
    "summary",
    "opened_at",
    "resolved_at",
    "duration_seconds",
    "resolve_cause",
    "absorbed_into",
    "acknowledged_by",
    "acknowledged_at",
    "rule_file",
    "rule_line",
    "rule_commit",
    "evidence",
];

/// Writes them; answers how many.
pub(super) async fn write<W: Write>(store: &Readers, span: &Span, mut rows: RowWriter<W>) -> anyhow::Result<u64> {
    let mut written = 0;
    let mut found = store.incidents_of(span);
    while let Some(incident) = found.try_next().await? {
        rows.row(values(incident))?;
        written += 1;
    }
    rows.end()?.flush()?;
    Ok(written)
}

fn values(incident: Incident) -> Vec<Value> {
    let (acknowledged_by, acknowledged_at) = incident.acknowledged.unzip();
    let duration = incident.resolved_at.map(|at| (at - incident.opened_at).as_seconds_f64());
    let evidence: Map<String, Value> =
        incident.evidence.into_iter().map(|piece| (piece.key, Value::String(piece.value))).collect();
    let into = match &incident.resolve_cause {
        Some(ResolveCause::Absorbed { into }) => Some(into.clone()),
        _ => None,
    };
    vec![
        json!(incident.id),
        json!(incident.monitor.as_str()),
        json!(incident.signal.slug()),
        json!(incident.subject),
        json!(incident.severity.slug()),
        json!(incident.reason.slug()),
        json!(incident.stage),
        json!(incident.summary),
        json!(timestamp(incident.opened_at)),
        json!(incident.resolved_at.map(timestamp)),
        json!(duration),
        json!(incident.resolve_cause.as_ref().map(ResolveCause::slug)),
        json!(into),
        json!(acknowledged_by),
        json!(acknowledged_at.map(timestamp)),
        json!(incident.rule.file),
        json!(incident.rule.line),
        json!(incident.rule.commit),
        Value::Object(evidence),
    ]
}
