//! A day as one row: its seconds by state, its histograms, and its hours. Made of the day's packs, so it can be made again.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::coverage::{Availability, Covered};
use crate::domain::quality::answers::Answers;
use crate::store::packed::pack::day::{self, Histograms};
use crate::store::packed::pack::heat;
use crate::store::packed::packs::{self, DAY_HOURS, damaged, slot};
use crate::store::packed::sealing;
use crate::store::packed::slices;
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Debug)]
pub(in crate::store) struct DayRow {
    slot: i64,
    covered: Covered,
    answers: Answers,
    latencies: Vec<u8>,
    hours: Vec<u8>,
}

/// What a stretch of time came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stretch {
    /// How much of it was up, down or unknown.
    pub covered: Covered,
    /// Durations of calls, from which percentiles are read.
    pub histograms: Histograms,
    /// How often canaries were right.
    pub answers: Answers,
    /// Whether a part of it was rolled up by a Serin that did not count answers: there may have been more.
    pub is_uncounted: bool,
}

impl Stretch {
    /// Adds what another stretch came to.
    pub fn add(&mut self, other: &Self) {
        self.covered.add(&other.covered);
        day::merge(&mut self.histograms, &other.histograms);
        self.answers.add(other.answers);
        self.is_uncounted |= other.is_uncounted;
    }
}

/// Beats being counted, hour by hour. Weeks of them are taken in pack by pack: kept at once, they would be tens of
/// megabytes.
#[derive(Debug, Default)]
pub(in crate::store) struct Counting {
    states: Vec<(DateTime<Utc>, Availability)>,
    hours: BTreeMap<DateTime<Utc>, Stretch>,
}

impl Counting {
    /// Takes beats in, each once, in whatever order.
    pub(in crate::store) fn take(&mut self, beats: &[PastBeat]) {
        let scheduled = beats.iter().filter(|beat| beat.is_scheduled());
        self.states.extend(scheduled.map(|beat| (beat.scheduled_at, beat.state())));
        for beats in beats.chunk_by(|one, other| packs::hour_of(one.started_at) == packs::hour_of(other.started_at)) {
            let hour = self.hours.entry(packs::hour_of(beats[0].started_at)).or_default();
            day::count(&mut hour.histograms, beats);
            let scheduled = beats.iter().filter(|beat| beat.is_scheduled());
            let asked = scheduled.flat_map(|beat| &beat.asks).filter(|ask| ask.is_asked_by_schedule());
            asked.for_each(|ask| hour.answers.count(ask.shape.verdict == "right"));
        }
    }

    /// What each hour came to. `until` as in [`Covered::by_hour`].
    pub(in crate::store) fn by_hour(mut self, until: DateTime<Utc>) -> BTreeMap<DateTime<Utc>, Stretch> {
        self.states.sort_by_key(|(at, _)| *at);
        for (hour, covered) in Covered::by_hour(&self.states, until) {
            self.hours.entry(hour).or_default().covered = covered;
        }
        self.hours
    }
}

pub(in crate::store) async fn keep(connection: &mut Connection, rows: &[DayRow]) -> Result<(), StoreError> {
    for row in rows {
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let seconds = |time: Duration| count(time.as_secs());
        query(
            "INSERT INTO days (slot, up, down, unknown, maintenance, latencies, hours, asked, right_answers) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (slot) DO UPDATE SET up = excluded.up, \
             down = excluded.down, unknown = excluded.unknown, maintenance = excluded.maintenance, \
             latencies = excluded.latencies, hours = excluded.hours, asked = excluded.asked, \
             right_answers = excluded.right_answers",
        )
        .bind(row.slot)
        .bind(seconds(row.covered.up))
        .bind(seconds(row.covered.down))
        .bind(seconds(row.covered.unknown))
        .bind(seconds(row.covered.maintenance))
        .bind(&row.latencies)
        .bind(&row.hours)
        .bind(count(row.answers.asked))
        .bind(count(row.answers.right))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// See [`crate::store::Store::rolled`].
pub(in crate::store) async fn rolled(connection: &mut Connection, until: DateTime<Utc>) -> Result<(), StoreError> {
    query("UPDATE sealing SET rolled_until = $1 WHERE rolled_until < $1")
        .bind(until.timestamp_micros())
        .execute(connection)
        .await?;
    Ok(())
}

/// Makes the row of a day again, where the day has been rolled up already: a late beat joined one of its packs.
pub(in crate::store) async fn roll_again(
    connection: &mut Connection,
    owner: i64,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let day = packs::day_of(at);
    if day >= sealing::rolled_until(connection).await? {
        return Ok(());
    }
    let row = rolled_up(connection, owner, day).await?;
    keep(connection, row.as_slice()).await
}

/// The row of a day; none where it has no packs.
pub(in crate::store) async fn rolled_up(
    connection: &mut Connection,
    owner: i64,
    day: DateTime<Utc>,
) -> Result<Option<DayRow>, StoreError> {
    let first = packs::hour_number(day);
    let (mut counting, mut is_empty) = (Counting::default(), true);
    // The last hour of the day before covers the time until this day's first beat.
    for hour in first - 1..first + DAY_HOURS {
        let row = query("SELECT data FROM beat_packs WHERE slot = $1")
            .bind(slot(hour, owner))
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else { continue };
        let beats = packs::read(packs::hour_from(hour)?, row.try_get(0)?)?.beats;
        is_empty &= beats.iter().all(|beat| beat.started_at < day);
        counting.take(&beats);
    }
    if is_empty {
        return Ok(None);
    }
    let hours = counting.by_hour(packs::day_from(packs::day_number(day) + 1)?).split_off(&day);
    let mut whole = Stretch::default();
    hours.values().for_each(|hour| whole.add(hour));
    let hours = slices::of_histograms(hours.iter().map(|(at, hour)| (*at, &hour.histograms)), day, HOUR);
    Ok(Some(DayRow {
        slot: slot(packs::day_number(day), owner),
        covered: whole.covered,
        answers: whole.answers,
        latencies: day::encode(&whole.histograms).map_err(|error| damaged("histograms to be written", &error))?,
        hours: heat::encode(day, &hours).map_err(|error| damaged("hours to be written", &error))?,
    }))
}
