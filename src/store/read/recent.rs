//! The recent past of the whole fleet, as a start needs it: answers for windows, beats for strips, hours for coverage.
//!
//! Each reads rows and packs in one transaction, so that an hour that is being sealed is seen once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::monitor::MonitorId;
use crate::domain::observation::BeatKind;
use crate::domain::outcome::Verdict;
use crate::domain::reason::FailureReason;
use crate::live::monitor_view::{BeatMark, STRIP_LEN};
use crate::store::packed::pack::numbers::Meanings;
use crate::store::packed::packs::{self, HOUR, HOUR_US, damaged, from_slot, hour_from, hour_number};
use crate::store::packed::sealing::{self, Sealing};
use crate::store::read::owners::Owners;
use crate::store::read::readers::Readers;
use crate::store::read::unsealed::is_late;
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::column::{ask_verdict, length, timestamp, word, word_or_none};
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;
use crate::store::values::whose::{Whose, is_of};

/// Asks read back at a start, the newest: 50,000 monitors with the 40 of a 20 min window each.
const ASKS_MAX: usize = 2_000_000;

/// Rows that may be the truth: from `$2` on for somebody, or late; `b` is the beat. See [`Sealing::is_truth`].
macro_rules! may_be_truth {
    () => {
        concat!("(b.started_at >= $2 OR ", is_late!(), ")")
    };
}

/// Whether a row came late, as far as that matters: from this parameter on rows are the truth for everybody.
macro_rules! is_late_before {
    ($last_sealed:literal) => {
        concat!("(b.started_at < ", $last_sealed, " AND ", is_late!(), ")")
    };
}

/// One answer of the recent past, as windows want it.
#[derive(Debug, Clone, PartialEq)]
pub struct AskLine {
    pub monitor: MonitorId,
    pub canary: String,
    pub variant: Variant,
    /// In its turn of the round, or again because of a doubt.
    pub turn: Turn,
    /// Whether its beat was one of the schedule's.
    pub scheduled: bool,
    /// When its beat started.
    pub started_at: DateTime<Utc>,
    /// From the call's start to the last byte.
    pub elapsed: Duration,
    /// `right`, `wrong`, `failed`; as [`crate::domain::outcome::AskVerdict::slug`].
    pub verdict: &'static str,
    /// Why, where it is not right.
    pub reason: Option<FailureReason>,
    /// Rank of the expected source.
    pub rank: Option<u32>,
    /// Tokens of the answer, where they were counted.
    pub tokens: Option<u32>,
    /// What the answer says of a cache.
    pub cache: CacheWord,
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
    /// Those that found the server able to answer, outside maintenance.
    pub up: u32,
    /// Of those that showed us anything, how many fell into maintenance.
    pub apart: u32,
}

impl Readers {
    /// Answers since a moment, the oldest first; what was not asked is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn recent_asks(&self, since: DateTime<Utc>, whose: Whose<'_>) -> Result<Vec<AskLine>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let sealing = sealing::sealing(&mut reading).await?;
        let mut asks = asks_of_rows(&mut reading, (since, whose), &sealing).await?;
        let owners = Owners::of(&mut reading, whose).await?;
        let mut meanings = Meanings::default();
        let mut hour = packs::hour_of(since);
        while hour < sealing.last_sealed {
            for (owner, read) in owners.packs(&mut reading, hour, &owners.unsealed(&sealing, hour)).await? {
                let Some(monitor) = owners.ids.get(&owner) else { continue };
                packs::learn(&mut reading, std::slice::from_ref(&read), &mut meanings).await?;
                let beats = read.named(&meanings).map_err(|error| damaged("a pack", &error))?;
                let wanted = beats.iter().filter(|beat| beat.started_at >= since);
                asks.extend(wanted.flat_map(|beat| lines(monitor, beat)));
            }
            hour += HOUR;
        }
        asks.sort_by_key(|ask| ask.started_at);
        let surplus = asks.len().saturating_sub(ASKS_MAX);
        asks.drain(..surplus);
        Ok(asks)
    }

    /// Beats that showed us anything since a moment, at most [`STRIP_LEN`] a monitor, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn recent_beats(
        &self,
        since: DateTime<Utc>,
        whose: Whose<'_>,
    ) -> Result<HashMap<MonitorId, Vec<BeatMark>>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let sealing = sealing::sealing(&mut reading).await?;
        let mut strips = strips_of_rows(&mut reading, (since, whose), &sealing).await?;
        let owners = Owners::of(&mut reading, whose).await?;
        // Backwards, hour by hour, until every strip is full: with a beat a minute that is an hour or two.
        let mut hour = sealing.last_sealed;
        let mut full: HashSet<i64> = HashSet::new();
        while hour > packs::hour_of(since) {
            // A late beat may be older than what is still to be read: it makes no strip full.
            let is_newer = |mark: &&BeatMark| mark.at >= hour;
            let is_full =
                |id: &MonitorId| strips.get(id).is_some_and(|s| s.iter().filter(is_newer).count() >= STRIP_LEN);
            let filled = owners.ids.iter().filter(|(owner, id)| !full.contains(owner) && is_full(id));
            let filled: Vec<i64> = filled.map(|(owner, _)| *owner).collect();
            full.extend(filled);
            if full.len() == owners.ids.len() {
                break;
            }
            hour -= HOUR;
            let mut but = owners.unsealed(&sealing, hour);
            but.extend(&full);
            for (owner, read) in owners.packs(&mut reading, hour, &but).await? {
                let Some(monitor) = owners.ids.get(&owner) else { continue };
                let strip = strips.entry(monitor.clone()).or_default();
                let seen = read.beats.iter().rev().filter(|beat| beat.is_seen() && beat.started_at >= since);
                strip.extend(seen.map(mark).take(STRIP_LEN));
            }
        }
        for strip in strips.values_mut() {
            strip.sort_by_key(|mark| mark.at);
            strip.drain(..strip.len().saturating_sub(STRIP_LEN));
        }
        Ok(strips)
    }

    /// Scheduled beats by monitor and hour since a moment, the oldest hour first. An hour without a
    /// row is one in which nothing was even due, or Serin did not run: unknown, never up.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn coverage(
        &self,
        since: DateTime<Utc>,
        whose: Whose<'_>,
    ) -> Result<HashMap<MonitorId, Vec<HourCount>>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let sealing = sealing::sealing(&mut reading).await?;
        let mut counts: HashMap<MonitorId, BTreeMap<i64, [u32; 4]>> = HashMap::new();
        let rows = concat!(
            "SELECT b.monitor, b.started_at / $3, COUNT(*), COUNT(*) FILTER (WHERE b.seen = 'seen'), \
             COUNT(*) FILTER (WHERE b.seen = 'seen' AND b.outcome IN ('good', 'degraded') AND b.maintenance = 0), \
             COUNT(*) FILTER (WHERE b.seen = 'seen' AND b.maintenance <> 0), ",
            is_late_before!("$5"),
            " FROM beats b WHERE b.started_at >= $1 AND b.kind = 'scheduled' AND ",
            may_be_truth!(),
            " AND ",
            is_of!("b.monitor", "$4"),
            " GROUP BY 1, 2, 7"
        );
        let mut rows = query(rows)
            .bind(since.timestamp_micros())
            .bind(sealing.first_sealed.timestamp_micros())
            .bind(HOUR_US)
            .bind(whose.ids())
            .bind(sealing.last_sealed.timestamp_micros())
            .fetch(&mut reading);
        while let Some(row) = rows.try_next().await? {
            let monitor = MonitorId::new(row.try_get(0)?);
            if !sealing.is_truth(&monitor, hour_from(row.try_get(1)?)?, row.try_get(6)?) {
                continue;
            }
            let hours = counts.entry(monitor).or_default();
            add(
                hours.entry(row.try_get(1)?).or_default(),
                [row.try_get(2)?, row.try_get(3)?, row.try_get(4)?, row.try_get(5)?],
            );
        }
        drop(rows);
        let owners = Owners::of(&mut reading, whose).await?;
        let rows = owners.slots(
            "SELECT slot, due, seen, up, apart FROM beat_packs WHERE ",
            hour_number(since)..hour_number(sealing.last_sealed),
            &HashSet::new(),
        );
        let mut rows = rows.fetch(&mut reading);
        while let Some(row) = rows.try_next().await? {
            let (hour, owner) = from_slot(row.try_get(0)?);
            let Some(monitor) = owners.ids.get(&owner) else { continue };
            if !sealing.has_packs(monitor, hour_from(hour)?) {
                continue;
            }
            let hours = counts.entry(monitor.clone()).or_default();
            add(hours.entry(hour).or_default(), [row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?]);
        }
        let whole = |(monitor, hours): (MonitorId, BTreeMap<i64, [u32; 4]>)| {
            let hours = hours
                .into_iter()
                .map(|(hour, [due, seen, up, apart])| Ok(HourCount { hour: hour_from(hour)?, due, seen, up, apart }));
            Ok((monitor, hours.collect::<Result<_, StoreError>>()?))
        };
        counts.into_iter().map(whole).collect()
    }
}

fn add(count: &mut [u32; 4], more: [u32; 4]) {
    count.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

fn lines<'a>(monitor: &'a MonitorId, beat: &'a PastBeat) -> impl Iterator<Item = AskLine> + 'a {
    beat.asks.iter().filter(|ask| is_own(ask.shape.turn)).map(|ask| AskLine {
        monitor: monitor.clone(),
        canary: ask.canary.as_ref().to_owned(),
        variant: ask.shape.variant,
        turn: ask.shape.turn,
        scheduled: beat.shape.kind == BeatKind::Scheduled,
        started_at: beat.started_at,
        elapsed: ask.elapsed,
        verdict: ask.shape.verdict,
        reason: ask.shape.reason,
        rank: ask.shape.rank,
        tokens: ask.tokens,
        cache: ask.shape.cache,
    })
}

/// Whether a canary's own question was asked.
fn is_own(turn: Turn) -> bool {
    turn != Turn::NotAsked && !turn.is_altered()
}

fn mark(beat: &PastBeat) -> BeatMark {
    BeatMark {
        at: beat.started_at,
        verdict: beat.shape.verdict,
        reason: beat.shape.reason,
        elapsed_ms: beat.elapsed.as_secs_f32() * 1000.0,
    }
}

async fn asks_of_rows(
    connection: &mut Connection,
    (since, whose): (DateTime<Utc>, Whose<'_>),
    sealing: &Sealing,
) -> Result<Vec<AskLine>, StoreError> {
    let rows = concat!(
        "SELECT b.monitor, a.canary, a.variant, a.turn, b.kind, b.started_at, a.elapsed, a.verdict, a.reason, a.rank, a.tokens, a.cache, ",
        is_late_before!("$5"),
        " FROM asks a JOIN beats b ON b.started_at = a.started_at AND b.monitor = a.monitor AND b.location = a.location \
         WHERE a.started_at >= $1 AND a.turn IN ('scheduled', 're-ask') AND ",
        may_be_truth!(),
        " AND ",
        is_of!("b.monitor", "$4"),
        " ORDER BY a.started_at DESC, a.monitor DESC, a.location DESC, a.position DESC LIMIT $3"
    );
    let mut rows = query(rows)
        .bind(since.timestamp_micros())
        .bind(sealing.first_sealed.timestamp_micros())
        .bind(u32::try_from(ASKS_MAX).unwrap_or(u32::MAX))
        .bind(whose.ids())
        .bind(sealing.last_sealed.timestamp_micros())
        .fetch(connection);
    let mut asks = Vec::new();
    // One id a monitor instead of one a row: a fleet of thousands comes back at once.
    let mut ids: HashMap<String, MonitorId> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let id: &str = row.try_get(0)?;
        if !ids.contains_key(id) {
            ids.insert(id.to_owned(), MonitorId::new(id));
        }
        let started_at = timestamp(&row, 5)?;
        if !sealing.is_truth(&ids[id], started_at, row.try_get(12)?) {
            continue;
        }
        asks.push(AskLine {
            monitor: ids[id].clone(),
            canary: row.try_get(1)?,
            variant: word(row.try_get(2)?, "variant", Variant::from_slug)?,
            turn: word(row.try_get(3)?, "turn", Turn::from_slug)?,
            scheduled: row.try_get::<&str>(4)? == "scheduled",
            started_at,
            elapsed: length(&row, 6)?,
            verdict: word(row.try_get(7)?, "verdict", ask_verdict)?,
            reason: word_or_none(row.try_get(8)?, "reason", FailureReason::from_slug)?,
            rank: row.try_get(9)?,
            tokens: row.try_get(10)?,
            cache: word(row.try_get(11)?, "cache", CacheWord::from_slug)?,
        });
    }
    asks.reverse();
    Ok(asks)
}

async fn strips_of_rows(
    connection: &mut Connection,
    (since, whose): (DateTime<Utc>, Whose<'_>),
    sealing: &Sealing,
) -> Result<HashMap<MonitorId, Vec<BeatMark>>, StoreError> {
    let rows = concat!(
        "SELECT b.monitor, b.started_at, b.outcome, b.reason, b.elapsed, ",
        is_late_before!("$4"),
        " FROM beats b WHERE b.started_at >= $1 AND b.seen = 'seen' AND ",
        may_be_truth!(),
        " AND ",
        is_of!("b.monitor", "$3"),
        " ORDER BY b.started_at DESC"
    );
    let mut rows = query(rows)
        .bind(since.timestamp_micros())
        .bind(sealing.first_sealed.timestamp_micros())
        .bind(whose.ids())
        .bind(sealing.last_sealed.timestamp_micros())
        .fetch(connection);
    let mut strips: HashMap<MonitorId, Vec<BeatMark>> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let (monitor, at) = (MonitorId::new(row.try_get(0)?), timestamp(&row, 1)?);
        if !sealing.is_truth(&monitor, at, row.try_get(5)?) {
            continue;
        }
        let strip = strips.entry(monitor).or_default();
        if strip.len() < STRIP_LEN {
            strip.push(BeatMark {
                at,
                verdict: word(row.try_get(2)?, "outcome", Verdict::from_slug)?,
                reason: word_or_none(row.try_get(3)?, "reason", FailureReason::from_slug)?,
                elapsed_ms: length(&row, 4)?.as_secs_f32() * 1000.0,
            });
        }
    }
    Ok(strips)
}
