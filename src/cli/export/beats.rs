//! A row a beat, whether its row is still there or its hour is sealed.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use chrono::TimeDelta;
use serde_json::{Map, Value, json};

use crate::cli::export::rows::RowWriter;
use crate::cli::export::timestamps::{monitors, ms, timestamp};
use crate::domain::monitor::MonitorId;
use crate::domain::outcome::Judged;
use crate::domain::signal::{Level, Signal};
use crate::store::read::export::Span;
use crate::store::read::readers::Readers;
use crate::store::values::past::{PastAsk, PastBeat};

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
    "signals",
    "sources",
    "newest_source",
    "asks",
];
/// Read at once of one monitor: of one that beats every second that is some 20,000 beats.
const PART: TimeDelta = TimeDelta::hours(6);

/// Writes them; answers how many.
pub(super) async fn write<W: Write>(store: &Readers, span: &Span, mut rows: RowWriter<W>) -> anyhow::Result<u64> {
    let mut written = 0;
    for (monitor, mut from) in monitors(store, span).await? {
        while from < span.to {
            let to = (from + PART).min(span.to);
            let beats = store.past(&monitor, from, to).await?;
            let answers = beats.iter().flat_map(|beat| &beat.asks).filter_map(|ask| ask.answer.as_ref());
            let numbers: BTreeSet<i64> = answers.map(|answer| answer.list).collect();
            let lists = store.lists(&numbers.into_iter().collect::<Vec<_>>()).await?;
            for beat in beats {
                rows.row(values(&monitor, &beat, &lists))?;
                written += 1;
            }
            from = to;
        }
    }
    rows.end()?.flush()?;
    Ok(written)
}

/// Sources of ranked lists by the lists' numbers.
type SourceLists = HashMap<i64, Vec<String>>;

fn values(monitor: &MonitorId, beat: &PastBeat, lists: &SourceLists) -> Vec<Value> {
    let shape = &beat.shape;
    vec![
        json!(monitor.as_str()),
        json!(timestamp(beat.scheduled_at)),
        json!(timestamp(beat.started_at)),
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
        signals(&shape.judged),
        json!(beat.sources.map(|sources| sources.count)),
        json!(beat.sources.and_then(|sources| sources.newest).map(timestamp)),
        Value::Array(beat.asks.iter().map(|one| ask(one, lists)).collect()),
    ]
}

/// The level of each signal that was looked at, and of an elevated one its reason.
fn signals(judged: &[Judged; 8]) -> Value {
    let seen = Signal::ALL.into_iter().zip(judged).filter(|(_, judged)| judged.level != Level::Unknown);
    let said = |judged: &Judged| judged.reason.map_or(judged.level.slug(), |reason| reason.slug());
    seen.map(|(signal, judged)| (signal.slug().to_owned(), json!(said(judged)))).collect::<Map<_, _>>().into()
}

fn ask(ask: &PastAsk, lists: &SourceLists) -> Value {
    let answer = ask.answer.as_ref();
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
        "cache": ask.shape.cache.slug(),
        "self_reported": ask.self_reported.as_deref().map(|said| said.lines().collect::<Vec<_>>()),
        "sources": answer.and_then(|answer| lists.get(&answer.list)),
        "scores": answer.map(|answer| answer.scores.iter().map(|score| four_digits(*score)).collect::<Vec<_>>()),
        "lengths": answer.map(|answer| &answer.lengths),
    })
}

/// A score as it is kept, to some four digits; none where the server gave none.
fn four_digits(score: f32) -> Option<f64> {
    let score = f64::from(score);
    let digits = 10_f64.powf(3.0 - score.abs().max(1e-30).log10().floor());
    score.is_finite().then(|| (score * digits).round() / digits)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::domain::answer::{CacheWord, Turn, Variant};
    use crate::store::values::past::{AskShape, PastAnswer};

    #[test]
    fn an_ask_tells_what_was_found_and_how_well() {
        let shape = AskShape {
            variant: Variant::Plain,
            turn: Turn::Scheduled,
            fresh_connection: false,
            verdict: "right",
            reason: None,
            rank: Some(1),
            cache: CacheWord::Hit,
        };
        let answer = PastAnswer { list: 7, scores: vec![0.912_345_6, f32::NAN, -30.512_34], lengths: vec![800, 0, 12] };
        let answered = PastAsk {
            canary: Arc::from("c"),
            shape,
            elapsed: Duration::ZERO,
            answer: None,
            bytes: 9,
            tokens: None,
            self_reported: Some(Arc::from("partial: true")),
        };
        let asked = PastAsk { answer: Some(answer), ..answered.clone() };
        let lists = SourceLists::from([(7, vec!["a.md".to_owned(), "b.md".to_owned(), "c.md".to_owned()])]);
        let row = ask(&asked, &lists);
        assert_eq!(row["sources"], json!(["a.md", "b.md", "c.md"]));
        assert_eq!(row["scores"], json!([0.9123, null, -30.51]), "as many digits as are kept, and none where none was");
        assert_eq!(row["lengths"], json!([800, 0, 12]));
        assert_eq!((&row["cache"], &row["self_reported"]), (&json!("hit"), &json!(["partial: true"])));
        let row = ask(&answered, &lists);
        assert_eq!((&row["sources"], &row["scores"]), (&Value::Null, &Value::Null), "no answer is not an empty one");
    }
}
