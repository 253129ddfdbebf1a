//! Turning the rows of an hour that is over into one pack a monitor, and leaving no row behind.
//!
//! An hour goes through four steps, each of which may be repeated after we died in it:
//! 1. *begun*: from here on a beat from before its shard's `begun_until` is late, and is noted as late with its row;
//! 2. *sealed*, monitor by monitor: the rows that are not late become a pack; written twice it is the same pack;
//! 3. `sealed_until` moves: in that moment packs are the truth for the shard's hour, and the rows are left over;
//! 4. *swept*: what every shard has left over is deleted, in the order of time, which touches few pages.
//!
//! A late beat (our clock was set back, or a commit waited very long) is visible by its row until it has
//! joined its pack, which is one transaction. So a beat is counted exactly once, whenever we die.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::TryStreamExt as _;

use crate::domain::coverage::Availability;
use crate::domain::monitor::MonitorId;
use crate::domain::shard::{Shard, Shards};
use crate::store::packed::pack::answer::answer_bytes;
use crate::store::packed::pack::hour;
use crate::store::packed::pack::numbers::Numbers;
use crate::store::packed::packs::{self, damaged, slot};
use crate::store::packed::roll;
use crate::store::packed::sealing::{self, Begun};
use crate::store::read::unsealed::{self, is_late};
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::numbers;
use crate::store::sql::statement::query;
use crate::store::values::beat_rows::{BeatRows, RowChanges};
use crate::store::values::change_set::{ChangeSet, LOCAL};
use crate::store::values::column::timestamp_from;
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;
use crate::store::write::append::Names;

/// How long an hour is over before it is sealed: the longest probe, and a clock that is put right by minutes.
pub(crate) const GRACE: TimeDelta = TimeDelta::minutes(15);
/// Answers that came so often in an hour get a number, which later hours will name as well.
const OFTEN: usize = 3;
/// Beats deleted in one transaction: some 10 ms of the writer with their asks.
const SWEPT_AT_ONCE: u32 = 1_000;
/// Late beats whose monitors' hours join their packs in one transaction.
const JOINED_AT_ONCE: usize = 8;

/// One monitor's beats of one hour, the oldest first.
#[derive(Debug)]
pub struct Owned {
    /// Whose they are.
    pub monitor: MonitorId,
    /// Those that did not come late.
    pub beats: Vec<PastBeat>,
}

/// See [`crate::store::Store::begin_sealing`].
pub(in crate::store) async fn begin(
    connection: &mut Connection,
    shards: &Shards,
    until: DateTime<Utc>,
) -> Result<(), StoreError> {
    // Where a beat came meanwhile whose hour would be passed over, the janitor looks again.
    let passed_over = query(concat!(
        "SELECT EXISTS (SELECT 1 FROM beats WHERE started_at < $1 AND started_at >= \
         (SELECT MIN(sealed_until) FROM shards WHERE shard IN ",
        numbers!("$2"),
        "))"
    ))
    .bind((until - packs::HOUR).timestamp_micros())
    .bind(numbers_of(shards))
    .fetch_one(&mut *connection)
    .await?;
    if passed_over.try_get(0)? {
        return Ok(());
    }
    query(concat!("UPDATE shards SET begun_until = $1 WHERE begun_until < $1 AND shard IN ", numbers!("$2")))
        .bind(until.timestamp_micros())
        .bind(numbers_of(shards))
        .execute(connection)
        .await?;
    Ok(())
}

/// See [`crate::store::Store::sealed`].
pub(in crate::store) async fn sealed(
    connection: &mut Connection,
    changes: &mut RowChanges,
    shards: &Shards,
    until: DateTime<Utc>,
) -> Result<(), StoreError> {
    changes.sealed_until.push((*shards, until));
    query(concat!("UPDATE shards SET sealed_until = $1 WHERE sealed_until < $1 AND shard IN ", numbers!("$2")))
        .bind(until.timestamp_micros())
        .bind(numbers_of(shards))
        .execute(connection)
        .await?;
    Ok(())
}

fn numbers_of(shards: &Shards) -> String {
    serde_json::json!(shards.iter().map(Shard::number).collect::<Vec<_>>()).to_string()
}

/// Notes which of the records came after their hour's sealing had begun.
pub(in crate::store) async fn note_late(
    connection: &mut Connection,
    begun: &Begun,
    records: &[&ChangeSet],
) -> Result<(), sqlx::Error> {
    let beats = records.iter().filter_map(|record| record.beat.as_ref());
    for beat in beats.filter(|beat| begun.is_late(&beat.monitor, beat.started_at)) {
        query("INSERT INTO late_beats (started_at, monitor, location) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(beat.started_at.timestamp_micros())
            .bind(beat.monitor.as_str())
            .bind(LOCAL)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Writes the packs of some monitors.
pub(in crate::store) async fn seal(
    connection: &mut Connection,
    names: &mut Names,
    hour: DateTime<Utc>,
    owned: &[Owned],
) -> Result<(), StoreError> {
    let canaries = owned.iter().flat_map(|owned| &owned.beats).flat_map(|beat| &beat.asks).map(|ask| &*ask.canary);
    names.canaries.learn(connection, canaries).await?;
    let mut used = Vec::new();
    for owned in owned.iter().filter(|owned| !owned.beats.is_empty()) {
        let number = packs::number_of(connection, &owned.monitor).await?;
        let numbers = numbers(connection, names, packs::day_number(hour), &owned.beats, &mut used).await?;
        let data =
            hour::encode(hour, &owned.beats, &numbers).map_err(|error| damaged("a pack to be written", &error))?;
        let scheduled = || owned.beats.iter().filter(|beat| beat.is_scheduled());
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        query(
            "INSERT INTO beat_packs (slot, due, seen, up, apart, data) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (slot) DO UPDATE SET due = excluded.due, seen = excluded.seen, up = excluded.up, \
             apart = excluded.apart, data = excluded.data",
        )
        .bind(slot(packs::hour_number(hour), number))
        .bind(count(scheduled().count()))
        .bind(count(scheduled().filter(|beat| beat.is_seen()).count()))
        .bind(count(scheduled().filter(|beat| beat.state() == Availability::Up).count()))
        .bind(count(scheduled().filter(|beat| beat.is_seen() && beat.shape.in_maintenance).count()))
        .bind(data)
        .execute(&mut *connection)
        .await?;
    }
    packs::lists_used(connection, packs::day_number(hour), &used).await
}

/// The numbers for a monitor's canaries, and for the answers that came often; `used` gathers the lists of all.
async fn numbers(
    connection: &mut Connection,
    names: &Names,
    day: i64,
    beats: &[PastBeat],
    used: &mut Vec<i64>,
) -> Result<Numbers, StoreError> {
    let mut numbers = Numbers::default();
    let mut often: HashMap<Vec<u8>, (i64, usize)> = HashMap::new();
    for ask in beats.iter().flat_map(|beat| &beat.asks) {
        if !numbers.canaries.contains_key(&ask.canary) {
            let number = names.canaries.get(&ask.canary).unwrap_or_default();
            numbers.canaries.insert(Arc::clone(&ask.canary), number);
        }
        if let Some(answer) = &ask.answer {
            let bytes = answer_bytes(answer).map_err(|error| damaged("an answer to be written", &error))?;
            often.entry(bytes).or_insert((answer.list, 0)).1 += 1;
        }
    }
    used.extend(often.values().map(|(list, _)| *list));
    for (bytes, (list, times)) in often {
        if times >= OFTEN {
            let number = packs::number_of_answer(connection, list, &bytes, day).await?;
            numbers.answers.insert(bytes, number);
        }
    }
    Ok(numbers)
}

/// See [`crate::store::Store::sweep`].
pub(in crate::store) async fn sweep(connection: &mut Connection) -> Result<bool, StoreError> {
    let sealing = sealing::sealing(connection).await?;
    let (from, end) = (sealing.swept_until.timestamp_micros(), sealing.first_sealed.timestamp_micros());
    if from >= end {
        return Ok(false);
    }
    let next: Option<i64> = query(
        "SELECT started_at FROM beats WHERE started_at >= $1 AND started_at < $2 ORDER BY started_at LIMIT 1 OFFSET $3",
    )
    .bind(from)
    .bind(end)
    .bind(SWEPT_AT_ONCE)
    .fetch_optional(&mut *connection)
    .await?
    .map(|row| row.try_get(0))
    .transpose()?;
    // Many beats of one moment would never be stepped over: the step takes in the whole moment.
    let until = next.map_or(end, |next| if next == from { next + 1 } else { next });
    let statements = [
        concat!("DELETE FROM asks AS b WHERE b.started_at >= $1 AND b.started_at < $2 AND NOT ", is_late!()),
        concat!("DELETE FROM beats AS b WHERE b.started_at >= $1 AND b.started_at < $2 AND NOT ", is_late!()),
        "UPDATE sealing SET swept_until = $2 WHERE swept_until >= $1",
    ];
    for statement in statements {
        query(statement).bind(from).bind(until).execute(&mut *connection).await?;
    }
    Ok(true)
}

/// See [`crate::store::Store::join_late`].
pub(in crate::store) async fn join_late(
    connection: &mut Connection,
    names: &mut Names,
    (rows, changes): (&BeatRows, &mut RowChanges),
    (shards, now): (&Shards, DateTime<Utc>),
) -> Result<bool, StoreError> {
    // An hour that is not over (our clock was set back) still gets late beats: they join all at once.
    let late = ripe(connection, shards, packs::hour_of(now - GRACE)).await?;
    for (monitor, started_at) in &late {
        let (hour, start) = (packs::hour_of(*started_at), started_at.timestamp_micros());
        if changes.joined.iter().any(|(other, starts)| other == monitor && starts.contains(&start)) {
            continue;
        }
        let end = (hour + packs::HOUR).timestamp_micros();
        let mut starts = match connection.is_postgres() {
            true => unsealed::starts_of(connection, monitor).await?,
            false => rows.of(monitor),
        };
        starts.retain(|start| (hour.timestamp_micros()..end).contains(start));
        // The one that was found in the table goes, whatever else is known: there is an end to this.
        if let Err(place) = starts.binary_search(&start) {
            starts.insert(place, start);
        }
        join(connection, names, monitor, (hour, &starts)).await?;
        changes.joined.push((monitor.clone(), starts));
    }
    Ok(!late.is_empty())
}

/// Some late beats of these shards from before a moment whose hour is sealed, the oldest first.
async fn ripe(
    connection: &mut Connection,
    shards: &Shards,
    before: DateTime<Utc>,
) -> Result<Vec<(MonitorId, DateTime<Utc>)>, StoreError> {
    let any = query("SELECT EXISTS (SELECT 1 FROM late_beats WHERE started_at < $1)");
    if !any.bind(before.timestamp_micros()).fetch_one(&mut *connection).await?.try_get(0)? {
        return Ok(Vec::new());
    }
    let sealing = sealing::sealing(connection).await?;
    let mut rows =
        query("SELECT started_at, monitor FROM late_beats WHERE started_at < $1 ORDER BY started_at, monitor")
            .bind(sealing.last_sealed.min(before).timestamp_micros())
            .fetch(connection);
    let mut ripe = Vec::new();
    while ripe.len() < JOINED_AT_ONCE
        && let Some(row) = rows.try_next().await?
    {
        let (monitor, started_at) = (MonitorId::new(row.try_get(1)?), timestamp_from(row.try_get(0)?)?);
        if shards.hold_monitor(&monitor) && started_at < sealing.of(&monitor).sealed_until {
            ripe.push((monitor, started_at));
        }
    }
    Ok(ripe)
}

/// Has those of a monitor's beats of an hour that came late join their pack; `starts` is where they may stand.
async fn join(
    connection: &mut Connection,
    names: &mut Names,
    monitor: &MonitorId,
    (hour, starts): (DateTime<Utc>, &[i64]),
) -> Result<(), StoreError> {
    let rows = unsealed::beats_of(connection, monitor, starts).await?;
    let late: Vec<PastBeat> = rows.into_iter().filter(|row| row.is_late).map(|row| row.beat).collect();
    let joined: Vec<i64> = late.iter().map(|beat| beat.started_at.timestamp_micros()).collect();
    let number = packs::number_of(connection, monitor).await?;
    let mut beats = packs::beats_of(connection, number, hour).await?;
    beats.extend(late);
    beats.sort_by_key(|beat| (beat.started_at, beat.scheduled_at));
    seal(connection, names, hour, &[Owned { monitor: monitor.clone(), beats }]).await?;
    // What is noted as late and has no row has nothing to join.
    for (statement, starts) in [
        (concat!("DELETE FROM asks WHERE started_at IN ", numbers!("$1"), " AND monitor = $2"), &*joined),
        (concat!("DELETE FROM beats WHERE started_at IN ", numbers!("$1"), " AND monitor = $2"), &joined),
        (concat!("DELETE FROM late_beats WHERE started_at IN ", numbers!("$1"), " AND monitor = $2"), starts),
    ] {
        let starts = serde_json::json!(starts).to_string();
        query(statement).bind(starts).bind(monitor.as_str()).execute(&mut *connection).await?;
    }
    roll::roll_again(connection, number, hour).await
}
