//! Rows of beats whose hour is not sealed yet, or that came late, as remembered beats.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::monitor::MonitorId;
use crate::domain::observation::{BeatKind, Stage};
use crate::domain::outcome::Verdict;
use crate::domain::protocol::{Era, Transport};
use crate::domain::reason::FailureReason;
use crate::domain::shard::Shards;
use crate::store::packed::sealing;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::numbers;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::beat_rows::BeatRows;
use crate::store::values::change_set::{BeatSeen, LOCAL, SourcesLook, StageTimes};
use crate::store::values::column::{ask_verdict, judged, length, timestamp, timestamp_or_none, word, word_or_none};
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
/// Rows whose starts are read at once.
const STARTS_AT_ONCE: u32 = 4_096;

/// A query for beats with their asks, a row an ask, to be read by [`Beats::take`]; asks of a beat follow each other, since
/// each beat is looked up and then its asks, both by the whole of their keys.
macro_rules! beats {
    ($source:expr, $rest:expr) => {
        concat!(
            "SELECT b.monitor, b.started_at, b.scheduled_at, b.kind, b.era, b.transport, b.fresh_connection, b.seen, \
             b.outcome, b.reason, b.stage, b.config, b.elapsed, b.connect_elapsed, b.handshake_elapsed, \
             b.tools_elapsed, b.health_elapsed, ",
            is_late!(),
            ", a.canary, a.variant, a.turn, a.fresh_connection, a.verdict, a.reason, a.rank, a.elapsed, a.list, \
             a.scores, a.lengths, a.bytes, a.tokens, a.cache, a.self_reported, b.lock, b.signals, b.source_count, \
             b.newest_source, b.newest_known, b.maintenance FROM ",
            $source,
            " LEFT JOIN asks a ON a.started_at = b.started_at AND a.monitor = b.monitor AND a.location = b.location ",
            $rest
        )
    };
}

/// Beats of one monitor whose starts are known.
const OF_MONITOR: &str = beats!(
    "beats b",
    concat!(
        "WHERE b.started_at IN ",
        numbers!("$1"),
        " AND b.monitor = $2 AND b.location = $3 ORDER BY b.started_at, a.position LIMIT $4"
    )
);
/// Beats of a stretch of time, of all monitors between two ids, in order of time.
const OF_SPAN: &str = beats!(
    "beats b",
    "WHERE b.started_at >= $1 AND b.started_at < $2 AND b.monitor >= $3 AND b.monitor <= $4 AND b.location = $5 \
     ORDER BY b.started_at, b.monitor, a.position"
);
/// Starts and monitors of the rows after one, in order of time, as one text: a row each would cost several times as much.
const STARTS: &str = "SELECT COALESCE(string_agg(started_at || ' ' || monitor, ' '), '') FROM \
     (SELECT started_at, monitor FROM beats WHERE (started_at, monitor) > ($1, $2) ORDER BY started_at, monitor LIMIT $3) AS listed";
const LATE: &str = "SELECT COALESCE(string_agg(started_at || ' ' || monitor, ' '), '') FROM \
     (SELECT started_at, monitor FROM late_beats WHERE (started_at, monitor) > ($1, $2) \
     ORDER BY started_at, monitor LIMIT $3) AS listed";

/// A beat that still has its row, and whether it came late.
#[derive(Debug)]
pub(in crate::store) struct Unsealed {
    pub(in crate::store) beat: PastBeat,
    pub(in crate::store) is_late: bool,
}

/// The beats of a monitor that started at these microseconds and have a row, the oldest first.
pub(in crate::store) async fn beats_of(
    connection: &mut Connection,
    monitor: &MonitorId,
    starts: &[i64],
) -> Result<Vec<Unsealed>, StoreError> {
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = query(OF_MONITOR)
        .bind(serde_json::json!(starts).to_string())
        .bind(monitor.as_str())
        .bind(LOCAL)
        .bind(ROWS_MAX)
        .fetch(connection);
    let mut beats = Beats::default();
    while let Some(row) = rows.try_next().await? {
        beats.take(&row)?;
    }
    Ok(beats.by_monitor.into_values().next().unwrap_or_default())
}

/// The beats that started between two moments (the second is left out) and have a row, of these shards' monitors between two
/// ids, both of which are in; by monitor, the oldest first.
pub(in crate::store) async fn beats_between(
    connection: &mut Connection,
    (from, until): (DateTime<Utc>, DateTime<Utc>),
    (shards, first, last): (&Shards, &MonitorId, &MonitorId),
) -> Result<BTreeMap<String, Vec<Unsealed>>, StoreError> {
    let mut rows = query(OF_SPAN)
        .bind(from.timestamp_micros())
        .bind(until.timestamp_micros())
        .bind(first.as_str())
        .bind(last.as_str())
        .bind(LOCAL)
        .fetch(connection);
    let mut beats = Beats::default();
    while let Some(row) = rows.try_next().await? {
        // Others' are not worth being read.
        if beats.by_monitor.contains_key(row.try_get::<&str>(0)?)
            || shards.hold_monitor(&MonitorId::new(row.try_get(0)?))
        {
            beats.take(&row)?;
        }
    }
    Ok(beats.by_monitor)
}

/// Where a monitor's rows stand on a server, which has an index of them: several machines write them, and each draws pages.
pub(in crate::store) async fn starts_of(
    connection: &mut Connection,
    monitor: &MonitorId,
) -> Result<Vec<i64>, StoreError> {
    let sealed_until = sealing::sealed_until(connection, monitor).await?;
    let rows = query(
        "SELECT started_at FROM beats WHERE monitor = $1 AND started_at >= $2 \
         UNION SELECT started_at FROM late_beats WHERE monitor = $1 ORDER BY 1",
    );
    let rows = rows.bind(monitor.as_str()).bind(sealed_until.timestamp_micros()).fetch_all(connection).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Where the rows of a file stand whose hour is not sealed, or that came late: read once, when it is opened. A server is asked
/// where somebody wants to know ([`starts_of`]).
pub(in crate::store) async fn known_rows(connection: &mut Connection) -> Result<BeatRows, StoreError> {
    if connection.is_postgres() {
        return Ok(BeatRows::default());
    }
    let sealed_until = sealing::sealing(connection).await?.first_sealed;
    let known = BeatRows::default();
    for (statement, is_late, from) in [(STARTS, false, sealed_until.timestamp_micros()), (LATE, true, i64::MIN)] {
        let mut after = (from, String::new());
        loop {
            let row =
                query(statement).bind(after.0).bind(&after.1).bind(STARTS_AT_ONCE).fetch_one(&mut *connection).await?;
            let mut words = row.try_get::<&str>(0)?.split(' ');
            let mut rows = Vec::new();
            while let (Some(start), Some(monitor)) = (words.next(), words.next()) {
                rows.push((monitor, start.parse().map_err(|_| StoreError::Unreadable(format!("moment {start}")))?));
            }
            known.find(rows.iter().copied(), is_late);
            let Some((start, monitor)) = rows.iter().map(|(monitor, start)| (*start, *monitor)).max() else { break };
            after = (start, monitor.to_owned());
        }
    }
    Ok(known)
}

/// Beats that are being read.
#[derive(Debug, Default)]
struct Beats {
    by_monitor: BTreeMap<String, Vec<Unsealed>>,
    /// A canary's name comes with every row and is kept once.
    canaries: HashMap<String, Arc<str>>,
}

impl Beats {
    fn take(&mut self, row: &Row) -> Result<(), StoreError> {
        let monitor: &str = row.try_get(0)?;
        if !self.by_monitor.contains_key(monitor) {
            self.by_monitor.insert(monitor.to_owned(), Vec::new());
        }
        let Some(beats) = self.by_monitor.get_mut(monitor) else { return Ok(()) };
        let started_at = timestamp(row, 1)?;
        if beats.last().is_none_or(|last| last.beat.started_at != started_at) {
            beats.push(Unsealed { beat: beat(row)?, is_late: row.try_get(17)? });
        }
        let Some(canary) = row.try_get::<Option<&str>>(18)? else { return Ok(()) };
        if !self.canaries.contains_key(canary) {
            self.canaries.insert(canary.to_owned(), Arc::from(canary));
        }
        if let Some(last) = beats.last_mut() {
            last.beat.asks.push(ask(row, Arc::clone(&self.canaries[canary]))?);
        }
        Ok(())
    }
}

fn beat(row: &Row) -> Result<PastBeat, StoreError> {
    Ok(PastBeat {
        started_at: timestamp(row, 1)?,
        scheduled_at: timestamp(row, 2)?,
        shape: BeatShape {
            kind: word(row.try_get(3)?, "kind", BeatKind::from_slug)?,
            era: word_or_none(row.try_get(4)?, "era", Era::from_slug)?,
            transport: word(row.try_get(5)?, "transport", Transport::from_slug)?,
            fresh_connection: row.try_get(6)?,
            seen: word(row.try_get(7)?, "seen", BeatSeen::from_slug)?,
            verdict: word(row.try_get(8)?, "outcome", Verdict::from_slug)?,
            reason: word_or_none(row.try_get(9)?, "reason", FailureReason::from_slug)?,
            stage: word_or_none(row.try_get(10)?, "stage", Stage::from_slug)?,
            config: row.try_get(11)?,
            lock: row.try_get(33)?,
            judged: judged(row.try_get(34)?)?,
            in_maintenance: row.try_get(38)?,
        },
        elapsed: length(row, 12)?,
        stages: StageTimes {
            connect: length_or_none(row, 13)?,
            handshake: length_or_none(row, 14)?,
            tools: length_or_none(row, 15)?,
            health: length_or_none(row, 16)?,
        },
        sources: sources(row)?,
        asks: Vec::new(),
    })
}

fn sources(row: &Row) -> Result<Option<SourcesLook>, StoreError> {
    let Some(count) = row.try_get::<Option<u32>>(35)? else { return Ok(None) };
    Ok(Some(SourcesLook { count, newest: timestamp_or_none(row, 36)?, knows_newest: row.try_get(37)? }))
}

fn ask(row: &Row, canary: Arc<str>) -> Result<PastAsk, StoreError> {
    let list: Option<i64> = row.try_get(26)?;
    let scores: Option<&[u8]> = row.try_get(27)?;
    let lengths: Option<&[u8]> = row.try_get(28)?;
    Ok(PastAsk {
        canary,
        shape: AskShape {
            variant: word(row.try_get(19)?, "variant", Variant::from_slug)?,
            turn: word(row.try_get(20)?, "turn", Turn::from_slug)?,
            fresh_connection: row.try_get(21)?,
            verdict: word(row.try_get(22)?, "verdict", ask_verdict)?,
            reason: word_or_none(row.try_get(23)?, "reason", FailureReason::from_slug)?,
            rank: row.try_get(24)?,
            cache: word(row.try_get(31)?, "cache", CacheWord::from_slug)?,
        },
        elapsed: length(row, 25)?,
        answer: list.map(|list| PastAnswer {
            list,
            scores: fours(scores).map(f32::from_le_bytes).collect(),
            lengths: fours(lengths).map(u32::from_le_bytes).collect(),
        }),
        bytes: u64::try_from(row.try_get::<i64>(29)?).unwrap_or_default(),
        tokens: row.try_get(30)?,
        self_reported: row.try_get::<Option<&str>>(32)?.map(Arc::from),
    })
}

/// Numbers of four bytes each.
fn fours(bytes: Option<&[u8]>) -> impl Iterator<Item = [u8; 4]> {
    bytes.unwrap_or_default().as_chunks::<4>().0.iter().copied()
}

fn length_or_none(row: &Row, index: usize) -> Result<Option<Duration>, StoreError> {
    Ok(row
        .try_get::<Option<i64>>(index)?
        .map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;

    use super::*;
    use crate::store::file::schema;
    use crate::store::sql::statement::assembled;

    #[tokio::test]
    async fn no_reading_walks_over_rows_that_it_does_not_want() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serin.db");
        let mut connection = schema::connecting(&path).create_if_missing(true).connect().await.unwrap();
        schema::migrate(&path, &mut connection).await.unwrap();
        for statement in [OF_MONITOR, OF_SPAN, STARTS, LATE] {
            let plan = assembled(format!("EXPLAIN QUERY PLAN {statement}").into());
            let steps = plan.fetch_all(&mut connection).await.unwrap();
            let steps: Vec<&str> = steps.iter().map(|row| row.try_get(3).unwrap()).collect();
            let mut searches = steps.iter().filter(|step| step.starts_with("SEARCH"));
            assert!(
                searches
                    .all(|step| step.contains("PRIMARY KEY ((started_at") || step.contains("PRIMARY KEY (started_at")),
                "{steps:?}"
            );
            let mut scans = steps.iter().filter(|step| step.starts_with("SCAN"));
            assert!(
                scans.all(|step| step.starts_with("SCAN json_each") || step.starts_with("SCAN listed")),
                "{steps:?}"
            );
            // The asks of one beat are few; all that is read at once is not.
            let mut sorts = steps.iter().filter(|step| step.contains("TEMP B-TREE"));
            assert!(sorts.all(|step| step.ends_with("FOR LAST TERM OF ORDER BY")), "it is sorted already: {steps:?}");
        }
    }
}
