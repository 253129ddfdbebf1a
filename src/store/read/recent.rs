//! The recent past of the whole fleet, as a start needs it: answers for windows, beats for strips, hours for coverage.
//!
//! Each reads rows and packs in one transaction, so that an hour that is being sealed is seen once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection};

use crate::domain::answer::{CacheWord, Turn, Variant};
use crate::domain::monitor::MonitorId;
use crate::domain::observation::BeatKind;
use crate::domain::outcome::Verdict;
use crate::domain::reason::FailureReason;
use crate::live::state::{BeatMark, STRIP_LEN};
use crate::store::file::readers::Readers;
use crate::store::packed::pack::hour::Hour;
use crate::store::packed::pack::numbers::Meanings;
use crate::store::packed::packs::{self, HOUR, HOUR_US, damaged, from_slot, hour_from, hour_number, slot};
use crate::store::read::unsealed::is_late;
use crate::store::values::column::{ask_verdict, length, timestamp, word, word_or_none};
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;
use crate::store::values::whose::{Whose, is_of};

/// Asks read back at a start, the newest: 50,000 monitors with the 40 of a 20 min window each.
const ASKS_MAX: usize = 2_000_000;

/// Rows whose hour is not sealed, `$2` being how far that is, and late ones; `b` is the beat.
macro_rules! is_truth {
    () => {
        concat!("(b.started_at >= $2 OR ", is_late!(), ")")
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
        let sealed_until = packs::sealing(&mut reading).await?.sealed_until;
        let mut asks = asks_of_rows(&mut reading, (since, whose), sealed_until).await?;
        let owners = Owners::of(&mut reading, whose).await?;
        let mut meanings = Meanings::default();
        let mut hour = packs::hour_of(since);
        while hour < sealed_until {
            for (owner, read) in owners.packs(&mut reading, hour, &HashSet::new()).await? {
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
        let sealed_until = packs::sealing(&mut reading).await?.sealed_until;
        let mut strips = strips_of_rows(&mut reading, (since, whose), sealed_until).await?;
        let owners = Owners::of(&mut reading, whose).await?;
        // Backwards, hour by hour, until every strip is full: with a beat a minute that is an hour or two.
        let mut hour = sealed_until;
        let mut full: HashSet<i64> = HashSet::new();
        while hour > packs::hour_of(since) {
            hour -= HOUR;
            let is_full = |id: &MonitorId| strips.get(id).is_some_and(|strip| strip.len() >= STRIP_LEN);
            full.extend(owners.ids.iter().filter(|(_, id)| is_full(id)).map(|(owner, _)| *owner));
            if full.len() == owners.ids.len() {
                break;
            }
            for (owner, read) in owners.packs(&mut reading, hour, &full).await? {
                let Some(monitor) = owners.ids.get(&owner) else { continue };
                let strip = strips.entry(monitor.clone()).or_default();
                let seen = read.beats.iter().rev().filter(|beat| beat.is_seen() && beat.started_at >= since);
                strip.extend(seen.map(mark).take(STRIP_LEN.saturating_sub(strip.len())));
            }
        }
        for strip in strips.values_mut() {
            strip.sort_by_key(|mark| mark.at);
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
        let sealed_until = packs::sealing(&mut reading).await?.sealed_until;
        let mut counts: HashMap<MonitorId, BTreeMap<i64, [u32; 4]>> = HashMap::new();
        let rows = concat!(
            "SELECT b.monitor, b.started_at / $3, COUNT(*), COUNT(*) FILTER (WHERE b.seen = 'seen'), \
             COUNT(*) FILTER (WHERE b.seen = 'seen' AND b.outcome IN ('good', 'degraded') AND NOT b.maintenance), \
             COUNT(*) FILTER (WHERE b.seen = 'seen' AND b.maintenance) FROM beats b \
             WHERE b.started_at >= $1 AND b.kind = 'scheduled' AND ",
            is_truth!(),
            " AND ",
            is_of!("b.monitor", "$4"),
            " GROUP BY b.monitor, b.started_at / $3"
        );
        let mut rows = sqlx::query(rows)
            .bind(since.timestamp_micros())
            .bind(sealed_until.timestamp_micros())
            .bind(HOUR_US)
            .bind(whose.ids())
            .fetch(&mut *reading);
        while let Some(row) = rows.try_next().await? {
            let hours = counts.entry(MonitorId::new(row.try_get(0)?)).or_default();
            add(
                hours.entry(row.try_get(1)?).or_default(),
                [row.try_get(2)?, row.try_get(3)?, row.try_get(4)?, row.try_get(5)?],
            );
        }
        drop(rows);
        let owners = Owners::of(&mut reading, whose).await?;
        let mut rows = owners.slots(
            "SELECT slot, due, seen, up, apart FROM beat_packs WHERE ",
            hour_number(since)..hour_number(sealed_until),
            &HashSet::new(),
        );
        let mut rows = rows.build().fetch(&mut *reading);
        while let Some(row) = rows.try_next().await? {
            let (hour, owner) = from_slot(row.try_get(0)?);
            let Some(monitor) = owners.ids.get(&owner) else { continue };
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

/// The numbers under which packs of some monitors lie.
struct Owners {
    ids: HashMap<i64, MonitorId>,
    /// Whether those are all there are.
    is_all: bool,
}

impl Owners {
    async fn of(connection: &mut SqliteConnection, whose: Whose<'_>) -> Result<Self, StoreError> {
        let rows = concat!("SELECT number, monitor FROM pack_owners WHERE ", is_of!("monitor", "$1"));
        let rows = sqlx::query(rows).bind(whose.ids()).fetch_all(connection).await?;
        let ids = rows.iter().map(|row| Ok((row.try_get(0)?, MonitorId::new(row.try_get(1)?))));
        let ids = ids.collect::<Result<_, StoreError>>()?;
        Ok(Self { ids, is_all: matches!(whose, Whose::Everybodys) })
    }

    /// A statement over their packs of these hours, but for some owners'. Those of all lie side by side; of few each is looked up.
    fn slots(&self, select: &str, hours: Range<i64>, but: &HashSet<i64>) -> QueryBuilder<Sqlite> {
        let mut query = QueryBuilder::new(select);
        if self.is_all {
            query.push("slot >= ").push_bind(slot(hours.start, 0)).push(" AND slot < ").push_bind(slot(hours.end, 0));
        } else {
            let owners = || self.ids.keys().filter(|owner| !but.contains(owner));
            let slots: Vec<i64> = hours.flat_map(|hour| owners().map(move |owner| slot(hour, *owner))).collect();
            let slots = serde_json::json!(slots).to_string();
            query.push("slot IN (SELECT value FROM json_each(").push_bind(slots).push("))");
        }
        query
    }

    /// Their packs of an hour by owner, but for some owners'.
    async fn packs(
        &self,
        connection: &mut SqliteConnection,
        hour: DateTime<Utc>,
        but: &HashSet<i64>,
    ) -> Result<Vec<(i64, Hour)>, StoreError> {
        let number = hour_number(hour);
        let mut query = self.slots("SELECT slot, data FROM beat_packs WHERE ", number..number + 1, but);
        let mut rows = query.build().fetch(connection);
        let mut packs = Vec::new();
        while let Some(row) = rows.try_next().await? {
            let (_, owner) = from_slot(row.try_get(0)?);
            if !but.contains(&owner) {
                packs.push((owner, packs::read(hour, row.try_get(1)?)?));
            }
        }
        Ok(packs)
    }
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
    connection: &mut SqliteConnection,
    (since, whose): (DateTime<Utc>, Whose<'_>),
    sealed_until: DateTime<Utc>,
) -> Result<Vec<AskLine>, StoreError> {
    let rows = concat!(
        "SELECT b.monitor, a.canary, a.variant, a.turn, b.kind, b.started_at, a.elapsed, a.verdict, a.reason, a.rank, a.tokens, a.cache \
         FROM asks a JOIN beats b ON b.started_at = a.started_at AND b.monitor = a.monitor AND b.location = a.location \
         WHERE a.started_at >= $1 AND a.turn IN ('scheduled', 're-ask') AND ",
        is_truth!(),
        " AND ",
        is_of!("b.monitor", "$4"),
        " ORDER BY a.started_at DESC, a.monitor DESC, a.location DESC, a.position DESC LIMIT $3"
    );
    let mut rows = sqlx::query(rows)
        .bind(since.timestamp_micros())
        .bind(sealed_until.timestamp_micros())
        .bind(u32::try_from(ASKS_MAX).unwrap_or(u32::MAX))
        .bind(whose.ids())
        .fetch(connection);
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
            variant: word(row.try_get(2)?, "variant", Variant::from_slug)?,
            turn: word(row.try_get(3)?, "turn", Turn::from_slug)?,
            scheduled: row.try_get::<&str, _>(4)? == "scheduled",
            started_at: timestamp(&row, 5)?,
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
    connection: &mut SqliteConnection,
    (since, whose): (DateTime<Utc>, Whose<'_>),
    sealed_until: DateTime<Utc>,
) -> Result<HashMap<MonitorId, Vec<BeatMark>>, StoreError> {
    let rows = concat!(
        "SELECT b.monitor, b.started_at, b.outcome, b.reason, b.elapsed FROM beats b \
         WHERE b.started_at >= $1 AND b.seen = 'seen' AND ",
        is_truth!(),
        " AND ",
        is_of!("b.monitor", "$3"),
        " ORDER BY b.started_at DESC"
    );
    let mut rows = sqlx::query(rows)
        .bind(since.timestamp_micros())
        .bind(sealed_until.timestamp_micros())
        .bind(whose.ids())
        .fetch(connection);
    let mut strips: HashMap<MonitorId, Vec<BeatMark>> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let strip = strips.entry(MonitorId::new(row.try_get(0)?)).or_default();
        if strip.len() < STRIP_LEN {
            strip.push(BeatMark {
                at: timestamp(&row, 1)?,
                verdict: word(row.try_get(2)?, "outcome", Verdict::from_slug)?,
                reason: word_or_none(row.try_get(3)?, "reason", FailureReason::from_slug)?,
                elapsed_ms: length(&row, 4)?.as_secs_f32() * 1000.0,
            });
        }
    }
    Ok(strips)
}
