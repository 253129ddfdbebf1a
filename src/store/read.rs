//! What pages and the API ask for. Every query is bounded and takes the read pool, never the writer.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::domain::fleet::MonitorId;
use crate::domain::incident::Incident;
use crate::domain::signal::Signal;
use crate::store::column::{incident, incidents, length, micros, moment, moment_or_none};
use crate::store::{Store, StoreError};

/// Rows one page of a list holds.
pub const PAGE_ROWS: u32 = 50;
/// Lines of a timeline shown: an incident that has more is read from its end.
const TIMELINE_MAX: u32 = 500;
/// Beats that one page may ask for.
const BEATS_MAX: u32 = 1000;
/// Incidents drawn into one chart.
const SHADES_MAX: u32 = 500;
/// Samples behind one chart, the newest: 35 days of two canaries a minute are 100,800.
const SAMPLES_MAX: u32 = 120_000;

/// A query for lines of the ledger, to be read by [`delivery_line`]; `$1` is the limit.
macro_rules! deliveries {
    ($condition:literal) => {
        concat!(
            "SELECT d.id, d.notification, d.incident, n.event, d.sequence, d.receiver, d.fallback_of, d.state, ",
            "d.created_at, CASE WHEN d.state = 'pending' THEN d.next_at END, d.attempts, a.ended_at, ",
            "CASE a.ended WHEN 'accepted' THEN 'ok' ELSE a.note END ",
            "FROM deliveries d JOIN notifications n ON n.id = d.notification ",
            "LEFT JOIN attempts a ON a.delivery = d.id ",
            "AND a.number = (SELECT MAX(number) FROM attempts WHERE delivery = d.id) ",
            $condition,
            " ORDER BY d.created_at DESC, d.id DESC LIMIT $1"
        )
    };
}

/// Which incidents a list wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncidentFilter {
    /// Only of this monitor.
    pub monitor: Option<MonitorId>,
    /// Only of this signal.
    pub signal: Option<Signal>,
    /// Only open ones (true) or only ended ones (false).
    pub open: Option<bool>,
    /// Only those opened before this moment: the next page.
    pub before: Option<DateTime<Utc>>,
}

/// One line of an incident's timeline, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineLine {
    /// When.
    pub at: DateTime<Utc>,
    /// `opened`, `updated`, `acknowledged`, `resolved`, `held` and the like.
    pub kind: String,
    /// Who did it.
    pub actor: String,
    /// One line.
    pub text: String,
}

/// One delivery of the ledger, with its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLine {
    /// Its id.
    pub id: String,
    /// The notification.
    pub notification: String,
    /// Its incident, where it has one.
    pub incident: Option<String>,
    /// The event's word.
    pub event: String,
    /// Its place in the incident.
    pub sequence: u32,
    /// The receiver.
    pub receiver: String,
    /// The receiver it stands in for, where it is a fallback.
    pub fallback_of: Option<String>,
    /// The state's word.
    pub state: String,
    /// When it came to be.
    pub created_at: DateTime<Utc>,
    /// When it is tried next, where it is pending.
    pub next_at: Option<DateTime<Utc>>,
    /// Attempts made.
    pub attempts: u32,
    /// When the last attempt ended.
    pub last_at: Option<DateTime<Utc>>,
    /// How it ended: `ok`, or why not, in one line.
    pub last: Option<String>,
}

/// Percentiles of search calls in one slice of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySlice {
    /// The slice's start.
    pub at: DateTime<Utc>,
    /// Samples in it.
    pub n: u32,
    /// Median in milliseconds.
    pub p50_ms: f64,
    /// 95th percentile in milliseconds; none below 59 samples in the slice is the page's business, not ours.
    pub p95_ms: f64,
    /// The slowest in milliseconds.
    pub max_ms: f64,
    /// Calls that ran into the timeout.
    pub censored: u32,
}

/// One beat of a monitor's recent past.
#[derive(Debug, Clone, PartialEq)]
pub struct BeatLine {
    /// When it started.
    pub at: DateTime<Utc>,
    /// The kind's word.
    pub kind: String,
    /// The verdict's word.
    pub verdict: String,
    /// `seen`, `missed`, `internal`, `uplink`.
    pub seen: String,
    /// The leading cause's word.
    pub reason: Option<String>,
    /// Duration of the whole probe in milliseconds.
    pub elapsed_ms: f64,
}

impl Store {
    /// Incidents, the newest first, at most [`PAGE_ROWS`].
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn incidents(&self, filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError> {
        let rows = sqlx::query(incidents!(
            "WHERE ($1 IS NULL OR monitor = $1) AND ($2 IS NULL OR signal = $2) \
             AND ($3 IS NULL OR (resolved_at IS NULL) = $3) AND opened_at < $4 \
             ORDER BY opened_at DESC, id DESC LIMIT $5"
        ))
        .bind(filter.monitor.as_ref().map(MonitorId::as_str))
        .bind(filter.signal.map(Signal::slug))
        .bind(filter.open)
        .bind(filter.before.map_or(i64::MAX, |before| before.timestamp_micros()))
        .bind(PAGE_ROWS)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(incident).collect()
    }

    /// One incident.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn incident(&self, id: &str) -> Result<Option<Incident>, StoreError> {
        let row = sqlx::query(incidents!("WHERE id = $1")).bind(id).fetch_optional(&self.readers).await?;
        row.as_ref().map(incident).transpose()
    }

    /// An incident's timeline, the oldest first; of a very long one the latest lines.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn timeline(&self, incident: &str) -> Result<Vec<TimelineLine>, StoreError> {
        let rows = sqlx::query(
            "SELECT at, kind, actor, text FROM incident_events WHERE incident = $1 ORDER BY seq DESC LIMIT $2",
        )
        .bind(incident)
        .bind(TIMELINE_MAX)
        .fetch_all(&self.readers)
        .await?;
        let line = |row: &SqliteRow| {
            Ok(TimelineLine {
                at: moment(row, 0)?,
                kind: row.try_get(1)?,
                actor: row.try_get(2)?,
                text: row.try_get(3)?,
            })
        };
        rows.iter().rev().map(line).collect()
    }

    /// Deliveries, the newest first, at most [`PAGE_ROWS`]; of one incident, or of all.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn deliveries(&self, incident: Option<&str>) -> Result<Vec<DeliveryLine>, StoreError> {
        let rows = match incident {
            Some(incident) => sqlx::query(deliveries!("WHERE d.incident = $2"))
                .bind(PAGE_ROWS)
                .bind(incident)
                .fetch_all(&self.readers),
            None => sqlx::query(deliveries!("")).bind(PAGE_ROWS).fetch_all(&self.readers),
        };
        rows.await?.iter().map(delivery_line).collect()
    }

    /// Incidents of a monitor that were open at some time between two moments, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn incidents_between(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Result<Vec<Incident>, StoreError> {
        let rows = sqlx::query(incidents!(
            "WHERE monitor = $1 AND opened_at < $3 AND (resolved_at IS NULL OR resolved_at >= $2) \
             ORDER BY opened_at DESC, id DESC LIMIT $4"
        ))
        .bind(monitor.as_str())
        .bind(from.timestamp_micros())
        .bind(to.timestamp_micros())
        .bind(SHADES_MAX)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().rev().map(incident).collect()
    }

    /// Percentiles of scheduled search calls (tools/list where a monitor has none), a value a slice; empty slices are left out.
    ///
    /// Of the plain variant: a fresh one pierces caches and is another population. A call that ran
    /// into its timeout stands in at the timeout and is counted as censored; calls that failed
    /// otherwise have no duration worth the name.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn latency(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        slice: Duration,
    ) -> Result<Vec<LatencySlice>, StoreError> {
        let asks = "SELECT a.started_at, a.elapsed, COALESCE(a.reason, '') = 'timeout' FROM beats b JOIN asks a \
             ON a.started_at = b.started_at AND a.monitor = b.monitor AND a.location = b.location \
             WHERE b.monitor = $1 AND b.started_at >= $2 AND b.started_at < $3 AND b.kind = 'scheduled' \
             AND a.turn = 'scheduled' AND a.variant = 'plain' \
             AND (a.verdict IN ('right', 'wrong') OR a.reason = 'timeout') ORDER BY b.started_at DESC LIMIT $4";
        let mut samples = self.samples(asks, monitor, from, to).await?;
        if samples.is_empty() {
            let tools = "SELECT started_at, tools_elapsed, 0 FROM beats WHERE monitor = $1 AND started_at >= $2 \
                 AND started_at < $3 AND kind = 'scheduled' AND tools_elapsed IS NOT NULL \
                 ORDER BY started_at DESC LIMIT $4";
            samples = self.samples(tools, monitor, from, to).await?;
        }
        Ok(sliced(samples, from, slice))
    }

    async fn samples(
        &self,
        sql: &'static str,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Result<Vec<Sample>, StoreError> {
        let mut rows = sqlx::query(sql)
            .bind(monitor.as_str())
            .bind(from.timestamp_micros())
            .bind(to.timestamp_micros())
            .bind(SAMPLES_MAX)
            .fetch(&self.readers);
        let mut samples = Vec::new();
        while let Some(row) = rows.try_next().await? {
            samples.push(Sample { at: row.try_get(0)?, elapsed: row.try_get(1)?, censored: row.try_get(2)? });
        }
        Ok(samples)
    }

    /// A monitor's latest beats, the newest first, at most `limit` (1,000 at most).
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn beats(&self, monitor: &MonitorId, limit: u32) -> Result<Vec<BeatLine>, StoreError> {
        let rows = sqlx::query(
            "SELECT started_at, kind, outcome, seen, reason, elapsed FROM beats WHERE monitor = $1 \
             ORDER BY started_at DESC LIMIT $2",
        )
        .bind(monitor.as_str())
        .bind(limit.min(BEATS_MAX))
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(BeatLine {
                    at: moment(row, 0)?,
                    kind: row.try_get(1)?,
                    verdict: row.try_get(2)?,
                    seen: row.try_get(3)?,
                    reason: row.try_get(4)?,
                    elapsed_ms: length(row, 5)?.as_secs_f64() * 1000.0,
                })
            })
            .collect()
    }
}

fn delivery_line(row: &SqliteRow) -> Result<DeliveryLine, StoreError> {
    Ok(DeliveryLine {
        id: row.try_get(0)?,
        notification: row.try_get(1)?,
        incident: row.try_get(2)?,
        event: row.try_get(3)?,
        sequence: row.try_get(4)?,
        receiver: row.try_get(5)?,
        fallback_of: row.try_get(6)?,
        state: row.try_get(7)?,
        created_at: moment(row, 8)?,
        next_at: moment_or_none(row, 9)?,
        attempts: row.try_get(10)?,
        last_at: moment_or_none(row, 11)?,
        last: row.try_get(12)?,
    })
}

/// One duration, all in microseconds.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: i64,
    elapsed: i64,
    censored: bool,
}

/// Exact percentiles over the raw samples of each slice, the oldest slice first.
fn sliced(samples: Vec<Sample>, from: DateTime<Utc>, slice: Duration) -> Vec<LatencySlice> {
    let width = micros(slice).max(1);
    let mut slices: BTreeMap<i64, Vec<Sample>> = BTreeMap::new();
    for sample in samples {
        slices.entry((sample.at - from.timestamp_micros()) / width).or_default().push(sample);
    }
    slices
        .into_iter()
        .map(|(place, samples)| summed_up(from + TimeDelta::microseconds(place * width), samples))
        .collect()
}

fn summed_up(at: DateTime<Utc>, mut samples: Vec<Sample>) -> LatencySlice {
    samples.sort_unstable_by_key(|sample| sample.elapsed);
    LatencySlice {
        at,
        n: u32::try_from(samples.len()).unwrap_or(u32::MAX),
        p50_ms: nearest_rank(&samples, 50),
        p95_ms: nearest_rank(&samples, 95),
        max_ms: nearest_rank(&samples, 100),
        censored: u32::try_from(samples.iter().filter(|sample| sample.censored).count()).unwrap_or(u32::MAX),
    }
}

/// The nearest-rank percentile of sorted samples, in milliseconds; 0 where there is none.
#[expect(clippy::cast_precision_loss, reason = "microseconds of a call fit a double exactly")]
fn nearest_rank(sorted: &[Sample], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(0.0, |sample| sample.elapsed as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_and_by_slice() {
        let from = DateTime::from_timestamp_micros(1_000_000_000).unwrap_or_default();
        let at = |seconds: i64| from.timestamp_micros() + seconds * 1_000_000;
        let mut samples: Vec<Sample> =
            (1..=100).map(|ms| Sample { at: at(1), elapsed: ms * 1000, censored: false }).collect();
        samples.push(Sample { at: at(130), elapsed: 10_000_000, censored: true });
        let slices = sliced(samples, from, Duration::from_secs(60));
        let row = |seconds: i64, n, p50_ms, p95_ms, max_ms, censored| LatencySlice {
            at: from + TimeDelta::seconds(seconds),
            n,
            p50_ms,
            p95_ms,
            max_ms,
            censored,
        };
        assert_eq!(slices[0], row(0, 100, 50.0, 95.0, 100.0, 0), "nearest rank of 1 to 100 ms");
        assert_eq!(
            slices[1],
            row(120, 1, 10_000.0, 10_000.0, 10_000.0, 1),
            "an empty slice is left out, a timeout counted"
        );
    }
}
