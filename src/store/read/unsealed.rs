//! Rows of beats whose hour is not sealed yet, or that came late, as remembered beats.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use crate::domain::answer::{Turn, Variant};
use crate::domain::monitor::MonitorId;
use crate::domain::observation::{BeatKind, Stage};
use crate::domain::outcome::Verdict;
use crate::domain::protocol::{Era, Transport};
use crate::domain::reason::FailureReason;
use crate::store::values::change_set::{BeatSeen, LOCAL, StageTimes};
use crate::store::values::column::{ask_verdict, length, timestamp, word, word_or_none};
use crate::store::values::error::StoreError;
use crate::store::values::past::{AskShape, BeatShape, PastAnswer, PastAsk, PastBeat};

/// Whether a beat came late; `b` is its row.
macro_rules! is_late {
    () => {
        "EXISTS (SELECT 1 FROM late_beats l WHERE l.started_at = b.started_at AND l.monitor = b.monitor \
         AND l.location = b.location)"
    };
}
pub(in crate::store) use is_late;

/// Rows one monitor may bring at once: an hour of a beat a second with some asks each, many times over.
const ROWS_MAX: u32 = 200_000;

const BEATS: &str = concat!(
    "SELECT b.started_at, b.scheduled_at, b.kind, b.era, b.transport, b.fresh_connection, b.seen, b.outcome, b.reason, \
     b.stage, b.config, b.elapsed, b.connect_elapsed, b.handshake_elapsed, b.tools_elapsed, b.health_elapsed, ",
    is_late!(),
    " FROM beats b WHERE b.monitor = $1 AND b.location = $2 AND b.started_at >= $3 AND b.started_at < $4 \
     ORDER BY b.started_at LIMIT $5"
);
const ASKS: &str = "SELECT a.started_at, a.canary, a.variant, a.turn, a.fresh_connection, a.verdict, a.reason, a.rank, \
     a.elapsed, a.list, a.scores, a.lengths, a.bytes, a.tokens FROM beats b JOIN asks a \
     ON a.started_at = b.started_at AND a.monitor = b.monitor AND a.location = b.location \
     WHERE b.monitor = $1 AND b.location = $2 AND b.started_at >= $3 AND b.started_at < $4 \
     ORDER BY a.started_at, a.position LIMIT $5";

/// A beat that still has its row, and whether it came late.
#[derive(Debug)]
pub(in crate::store) struct Unsealed {
    pub(in crate::store) beat: PastBeat,
    pub(in crate::store) is_late: bool,
}

/// The beats of a monitor between two moments (the second is left out) that have a row, the oldest first.
pub(in crate::store) async fn beats_of(
    connection: &mut SqliteConnection,
    monitor: &MonitorId,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Unsealed>, StoreError> {
    let mut asks = asks_of(connection, monitor, from, until).await?;
    let mut rows = sqlx::query(BEATS)
        .bind(monitor.as_str())
        .bind(LOCAL)
        .bind(from.timestamp_micros())
        .bind(until.timestamp_micros())
        .bind(ROWS_MAX)
        .fetch(connection);
    let mut beats = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let asks = asks.remove(&row.try_get::<i64, _>(0)?).unwrap_or_default();
        beats.push(Unsealed { beat: beat(&row, asks)?, is_late: row.try_get(16)? });
    }
    Ok(beats)
}

async fn asks_of(
    connection: &mut SqliteConnection,
    monitor: &MonitorId,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<HashMap<i64, Vec<PastAsk>>, StoreError> {
    let mut rows = sqlx::query(ASKS)
        .bind(monitor.as_str())
        .bind(LOCAL)
        .bind(from.timestamp_micros())
        .bind(until.timestamp_micros())
        .bind(ROWS_MAX)
        .fetch(connection);
    let mut asks: HashMap<i64, Vec<PastAsk>> = HashMap::new();
    // A canary's name comes with every row and is kept once.
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let name: &str = row.try_get(1)?;
        if !names.contains_key(name) {
            names.insert(name.to_owned(), Arc::from(name));
        }
        let canary = Arc::clone(&names[name]);
        asks.entry(row.try_get(0)?).or_default().push(ask(&row, canary)?);
    }
    Ok(asks)
}

fn beat(row: &SqliteRow, asks: Vec<PastAsk>) -> Result<PastBeat, StoreError> {
    Ok(PastBeat {
        started_at: timestamp(row, 0)?,
        scheduled_at: timestamp(row, 1)?,
        shape: BeatShape {
            kind: word(row.try_get(2)?, "kind", BeatKind::from_slug)?,
            era: word_or_none(row.try_get(3)?, "era", Era::from_slug)?,
            transport: word(row.try_get(4)?, "transport", Transport::from_slug)?,
            fresh_connection: row.try_get(5)?,
            seen: word(row.try_get(6)?, "seen", BeatSeen::from_slug)?,
            verdict: word(row.try_get(7)?, "outcome", Verdict::from_slug)?,
            reason: word_or_none(row.try_get(8)?, "reason", FailureReason::from_slug)?,
            stage: word_or_none(row.try_get(9)?, "stage", Stage::from_slug)?,
            config: row.try_get(10)?,
        },
        elapsed: length(row, 11)?,
        stages: StageTimes {
            connect: length_or_none(row, 12)?,
            handshake: length_or_none(row, 13)?,
            tools: length_or_none(row, 14)?,
            health: length_or_none(row, 15)?,
        },
        asks,
    })
}

fn ask(row: &SqliteRow, canary: Arc<str>) -> Result<PastAsk, StoreError> {
    let list: Option<i64> = row.try_get(9)?;
    let scores: Option<&[u8]> = row.try_get(10)?;
    let lengths: Option<&[u8]> = row.try_get(11)?;
    Ok(PastAsk {
        canary,
        shape: AskShape {
            variant: word(row.try_get(2)?, "variant", Variant::from_slug)?,
            turn: word(row.try_get(3)?, "turn", Turn::from_slug)?,
            fresh_connection: row.try_get(4)?,
            verdict: word(row.try_get(5)?, "verdict", ask_verdict)?,
            reason: word_or_none(row.try_get(6)?, "reason", FailureReason::from_slug)?,
            rank: row.try_get(7)?,
        },
        elapsed: length(row, 8)?,
        answer: list.map(|list| PastAnswer {
            list,
            scores: fours(scores).map(f32::from_le_bytes).collect(),
            lengths: fours(lengths).map(u32::from_le_bytes).collect(),
        }),
        bytes: u64::try_from(row.try_get::<i64, _>(12)?).unwrap_or_default(),
        tokens: row.try_get(13)?,
    })
}

/// Numbers of four bytes each.
fn fours(bytes: Option<&[u8]>) -> impl Iterator<Item = [u8; 4]> {
    bytes.unwrap_or_default().as_chunks::<4>().0.iter().copied()
}

fn length_or_none(row: &SqliteRow, index: usize) -> Result<Option<Duration>, StoreError> {
    Ok(row
        .try_get::<Option<i64>, _>(index)?
        .map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or_default())))
}
