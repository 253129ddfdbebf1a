//! What a start needs, so that every window, phase and promise goes on where it stood.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use sqlx::Row;

use crate::domain::fleet::MonitorId;
use crate::domain::incident::Incident;
use crate::domain::observation::{ToolsSeen, Turn, Variant};
use crate::domain::outcome::Verdict;
use crate::domain::protocol::Era;
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Phase, Signal, SignalState};
use crate::domain::tools::{Listing, ToolSeen};
use crate::store::board::{BeatMark, STRIP_LEN};
use crate::store::column::{incident, incidents, length, moment, moment_from, moment_or_none, word, word_or_none};
use crate::store::decide::DETECTOR_VERSION;
use crate::store::record::{Addressee, LOCAL, MarksRow, SignalRow, ToolsRow};
use crate::store::{Store, StoreError};

/// Asks read back at a start, the newest: 50,000 monitors with the 40 of a 20 min window each.
const ASKS_MAX: u32 = 2_000_000;
/// Microseconds of an hour.
const HOUR: i64 = 3_600_000_000;

/// One answer of the recent past, as windows want it.
#[derive(Debug, Clone, PartialEq)]
pub struct AskLine {
    /// Whose.
    pub monitor: MonitorId,
    /// The canary.
    pub canary: String,
    /// Which text.
    pub variant: Variant,
    /// Why it was asked.
    pub turn: Turn,
    /// Whether its beat was one of the schedule's.
    pub scheduled: bool,
    /// When its beat started.
    pub started_at: DateTime<Utc>,
    /// Duration of the call.
    pub elapsed: Duration,
    /// `right`, `wrong`, `failed`; as [`crate::domain::outcome::AskVerdict::slug`].
    pub verdict: &'static str,
    /// Why, where it is not right.
    pub reason: Option<FailureReason>,
    /// Rank of the expected source.
    pub rank: Option<u32>,
    /// Tokens of the answer, where they were counted.
    pub tokens: Option<u32>,
}

/// Beats of one monitor in one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourCount {
    /// The hour's first moment.
    pub hour: DateTime<Utc>,
    /// Scheduled beats that were due.
    pub due: u32,
    /// Those that showed us anything.
    pub seen: u32,
    /// Those that found the server able to answer.
    pub up: u32,
}

impl Store {
    /// Every signal that is not quiet, or that remembers something.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn signal_states(&self) -> Result<Vec<SignalRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT monitor, signal, subject, phase, since, streak, covered, held_by, rule_hash FROM signal_state \
             WHERE location = $1 AND detector_version = $2",
        )
        .bind(LOCAL)
        .bind(DETECTOR_VERSION)
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(SignalRow {
                    monitor: MonitorId::new(row.try_get(0)?),
                    signal: word(row.try_get(1)?, "signal", Signal::from_slug)?,
                    subject: row.try_get(2)?,
                    state: SignalState {
                        phase: word(row.try_get(3)?, "phase", Phase::from_slug)?,
                        since: moment(row, 4)?,
                        streak: row.try_get(5)?,
                        covered: length(row, 6)?,
                        held_by: row.try_get(7)?,
                    },
                    rule_hash: row.try_get(8)?,
                })
            })
            .collect()
    }

    /// Every incident that has not ended, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn open_incidents(&self) -> Result<Vec<Incident>, StoreError> {
        let rows = sqlx::query(incidents!("WHERE resolved_at IS NULL ORDER BY opened_at, id"))
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(incident).collect()
    }

    /// Answers since a moment, the oldest first; what was not asked is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn recent_asks(&self, since: DateTime<Utc>) -> Result<Vec<AskLine>, StoreError> {
        let mut rows = sqlx::query(
            "SELECT a.monitor, a.canary, a.variant, a.turn, b.kind, a.started_at, a.elapsed, a.verdict, a.reason, a.rank, a.tokens \
             FROM asks a JOIN beats b USING (started_at, monitor, location) \
             WHERE a.started_at >= $1 AND a.turn <> 'not_asked' ORDER BY a.started_at DESC, a.monitor DESC, a.location DESC, a.position DESC LIMIT $2",
        )
        .bind(since.timestamp_micros())
        .bind(ASKS_MAX)
        .fetch(&self.readers);
        let mut asks = Vec::new();
        // One id a monitor instead of one a row: a fleet of thousands comes back at once.
        let mut ids: HashMap<String, MonitorId> = HashMap::new();
        while let Some(row) = rows.try_next().await? {
            let id: &str = row.try_get(0)?;
            if !ids.contains_key(id) {
                ids.insert(id.to_owned(), MonitorId::new(id));
            }
            asks.push(AskLine {
                monitor: ids[id].clone(),
                canary: row.try_get(1)?,
                variant: word(row.try_get(2)?, "variant", variant)?,
                turn: word(row.try_get(3)?, "turn", turn)?,
                scheduled: row.try_get::<&str, _>(4)? == "scheduled",
                started_at: moment(&row, 5)?,
                elapsed: length(&row, 6)?,
                verdict: word(row.try_get(7)?, "verdict", verdict)?,
                reason: word_or_none(row.try_get(8)?, "reason", FailureReason::from_slug)?,
                rank: row.try_get(9)?,
                tokens: row.try_get(10)?,
            });
        }
        asks.reverse();
        Ok(asks)
    }

    /// Beats that showed us anything since a moment, at most [`STRIP_LEN`] a monitor, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn recent_beats(&self, since: DateTime<Utc>) -> Result<HashMap<MonitorId, Vec<BeatMark>>, StoreError> {
        let mut rows = sqlx::query(
            "SELECT monitor, started_at, outcome, reason, elapsed FROM beats \
             WHERE started_at >= $1 AND seen = 'seen' ORDER BY started_at DESC",
        )
        .bind(since.timestamp_micros())
        .fetch(&self.readers);
        let mut strips: HashMap<MonitorId, Vec<BeatMark>> = HashMap::new();
        while let Some(row) = rows.try_next().await? {
            let strip = strips.entry(MonitorId::new(row.try_get(0)?)).or_default();
            if strip.len() < STRIP_LEN {
                strip.push(BeatMark {
                    at: moment(&row, 1)?,
                    verdict: word(row.try_get(2)?, "outcome", Verdict::from_slug)?,
                    reason: word_or_none(row.try_get(3)?, "reason", FailureReason::from_slug)?,
                    elapsed_ms: length(&row, 4)?.as_secs_f32() * 1000.0,
                });
            }
        }
        strips.values_mut().for_each(|strip| strip.reverse());
        Ok(strips)
    }

    /// The baseline of every monitor's tools.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn tools_baselines(&self) -> Result<Vec<ToolsRow>, StoreError> {
        let rows = sqlx::query(
            "SELECT t.monitor, t.era, t.hash, t.from_at, t.accepted_by, t.search_tool, t.invalid_call, b.data \
             FROM monitor_tools t JOIN blobs b ON b.hash = t.hash AND b.kind = 'tools' WHERE t.to_at IS NULL",
        )
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                let (tools, json) = tools_from(row.try_get(7)?)?;
                Ok(ToolsRow {
                    monitor: MonitorId::new(row.try_get(0)?),
                    era: Era::from_slug(row.try_get(1)?),
                    tools: ToolsSeen {
                        listing: Arc::new(Listing { hash: row.try_get(2)?, tools, json, ..Listing::default() }),
                        search_tool: row.try_get(5)?,
                        invalid_call: row.try_get(6)?,
                        ..ToolsSeen::default()
                    },
                    from: moment(row, 3)?,
                    accepted_by: row.try_get(4)?,
                })
            })
            .collect()
    }

    /// The marks by which a restart of a server is recognised.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn marks(&self) -> Result<Vec<MarksRow>, StoreError> {
        let rows = sqlx::query("SELECT monitor, instance, version, process_started_at, restarted_at FROM marks")
            .fetch_all(&self.readers)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(MarksRow {
                    monitor: row.try_get(0)?,
                    instance: row.try_get(1)?,
                    version: row.try_get(2)?,
                    process_started_at: moment_or_none(row, 3)?,
                    restarted_at: moment_or_none(row, 4)?,
                })
            })
            .collect()
    }

    /// Scheduled beats by monitor and hour since a moment, the oldest hour first. An hour without a
    /// row is one in which nothing was even due, or Serin did not run: unknown, never up.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn coverage(&self, since: DateTime<Utc>) -> Result<HashMap<MonitorId, Vec<HourCount>>, StoreError> {
        let mut rows = sqlx::query(
            "SELECT monitor, started_at / $2 AS hour, COUNT(*), COUNT(*) FILTER (WHERE seen = 'seen'), \
             COUNT(*) FILTER (WHERE seen = 'seen' AND outcome IN ('good', 'degraded')) FROM beats \
             WHERE started_at >= $1 AND kind = 'scheduled' GROUP BY monitor, hour ORDER BY hour",
        )
        .bind(since.timestamp_micros())
        .bind(HOUR)
        .fetch(&self.readers);
        let mut hours: HashMap<MonitorId, Vec<HourCount>> = HashMap::new();
        while let Some(row) = rows.try_next().await? {
            let hour = row.try_get::<i64, _>(1)?.saturating_mul(HOUR);
            hours.entry(MonitorId::new(row.try_get(0)?)).or_default().push(HourCount {
                hour: moment_from(hour)?,
                due: row.try_get(2)?,
                seen: row.try_get(3)?,
                up: row.try_get(4)?,
            });
        }
        Ok(hours)
    }

    /// Every receiver that was ever promised a message of this incident, woken fallbacks included.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn told(&self, incident: &str) -> Result<Vec<Addressee>, StoreError> {
        let rows = sqlx::query(
            "SELECT receiver, MAX(receiver_hash), MAX(fallback) FROM deliveries WHERE incident = $1 \
             GROUP BY receiver ORDER BY MIN(created_at), receiver",
        )
        .bind(incident)
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Addressee { receiver: row.try_get(0)?, receiver_hash: row.try_get(1)?, fallback: row.try_get(2)? })
            })
            .collect()
    }
}

fn verdict(slug: &str) -> Option<&'static str> {
    ["right", "wrong", "failed", "not_asked"].into_iter().find(|verdict| *verdict == slug)
}

fn variant(slug: &str) -> Option<Variant> {
    [Variant::Plain, Variant::Fresh].into_iter().find(|variant| variant.slug() == slug)
}

fn turn(slug: &str) -> Option<Turn> {
    [Turn::Scheduled, Turn::ReAsk, Turn::NotAsked].into_iter().find(|turn| turn.slug() == slug)
}

/// Reads a snapshot back; see `listing::snapshot`.
fn tools_from(data: &[u8]) -> Result<(Vec<ToolSeen>, String), StoreError> {
    let unreadable = |what: &dyn std::fmt::Display| StoreError::Unreadable(format!("tools snapshot: {what}"));
    let mut value: serde_json::Value = serde_json::from_slice(data).map_err(|error| unreadable(&error))?;
    let tools: Vec<(String, String, String)> =
        serde_json::from_value(value["tools"].take()).map_err(|error| unreadable(&error))?;
    let json = value["json"].as_str().ok_or_else(|| unreadable(&"no listing"))?.to_owned();
    let tools = tools.into_iter().map(|(name, full_hash, shape_hash)| ToolSeen { name, full_hash, shape_hash });
    Ok((tools.collect(), json))
}
