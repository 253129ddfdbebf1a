//! A row a beat, whether its row is still there or its hour is sealed.

use std::io::Write;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::cli::export::rows::Rows;
use crate::cli::export::{moment, monitors, ms};
use crate::domain::fleet::MonitorId;
use crate::store::Store;
use crate::store::export::Span;
use crate::store::past::{PastAsk, PastBeat};

/// The columns.
pub(super) const COLUMNS: &[&str] = &[
    "monitor",
    "scheduled_at",
    "started_at",
    "kind",
    "era",
    "transport",
    "fresh_connection",
    "seen",
    "outcome",
    "failure_reason",
    "failed_stage",
    "elapsed_ms",
    "connect_ms",
    "handshake_ms",
    "tools_ms",
    "health_ms",
    "asks",
];
/// Read at once of one monitor: of one that beats every second that is some 20,000 beats.
const PART: TimeDelta = TimeDelta::hours(6);

/// Writes them; answers how many.
pub(super) async fn write<W: Write>(store: &Store, span: &Span, mut rows: Rows<W>) -> anyhow::Result<u64> {
    let mut written = 0;
    for (monitor, mut from) in monitors(store, span).await? {
        while from < span.to {
            let to = (from + PART).min(span.to);
            for beat in store.past(&monitor, from, to).await? {
                rows.row(values(&monitor, &beat))?;
                written += 1;
            }
            from = to;
        }
    }
    rows.end()?.flush()?;
    Ok(written)
}

fn values(monitor: &MonitorId, beat: &PastBeat) -> Vec<Value> {
    let shape = &beat.shape;
    vec![
        json!(monitor.as_str()),
        json!(moment(beat.scheduled_at)),
        json!(moment(beat.started_at)),
        json!(shape.kind.slug()),
        json!(shape.era.map(|era| era.slug())),
        json!(shape.transport.slug()),
        json!(shape.fresh_connection),
        json!(shape.seen.slug()),
        json!(shape.verdict.slug()),
        json!(shape.reason.map(|reason| reason.slug())),
        json!(shape.stage.map(|stage| stage.slug())),
        json!(ms(beat.elapsed)),
        json!(beat.stages.connect.map(ms)),
        json!(beat.stages.handshake.map(ms)),
        json!(beat.stages.tools.map(ms)),
        json!(beat.stages.health.map(ms)),
        Value::Array(beat.asks.iter().map(ask).collect()),
    ]
}

fn ask(ask: &PastAsk) -> Value {
    json!({
        "canary": &*ask.canary,
        "variant": ask.shape.variant.slug(),
        "turn": ask.shape.turn.slug(),
        "fresh_connection": ask.shape.fresh_connection,
        "verdict": ask.shape.verdict,
        "failure_reason": ask.shape.reason.map(|reason| reason.slug()),
        "rank": ask.shape.rank,
        "elapsed_ms": ms(ask.elapsed),
        "bytes": ask.bytes,
        "tokens": ask.tokens,
    })
}
