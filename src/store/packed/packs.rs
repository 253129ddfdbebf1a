//! Packs as the database keeps them: whose they are, where they stand, and what their numbers mean.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};

use crate::domain::monitor::MonitorId;
use crate::store::packed::pack::answer::{PackedAnswer, answer_from};
use crate::store::packed::pack::hour::{self, Hour};
use crate::store::packed::pack::numbers::Meanings;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::numbers;
use crate::store::sql::statement::query;
use crate::store::values::change_set::LOCAL;
use crate::store::values::column::timestamp_from;
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;

pub(in crate::store) const HOUR: TimeDelta = TimeDelta::hours(1);
pub(in crate::store) const HOUR_US: i64 = 3_600_000_000;
pub(in crate::store) const DAY_HOURS: i64 = 24;

/// Where the pack of an hour, or the row of a day, stands: in the order of time, then of owners.
pub(in crate::store) const fn slot(place: i64, owner: i64) -> i64 {
    (place << 32) | owner
}

/// The hour or day of a slot, and its owner.
pub(in crate::store) const fn from_slot(slot: i64) -> (i64, i64) {
    (slot >> 32, slot & 0xffff_ffff)
}

pub(in crate::store) const fn hour_number(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros().div_euclid(HOUR_US)
}

pub(in crate::store) const fn day_number(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros().div_euclid(HOUR_US * DAY_HOURS)
}

/// The first moment of an hour by its number.
pub(in crate::store) fn hour_from(number: i64) -> Result<DateTime<Utc>, StoreError> {
    timestamp_from(number.saturating_mul(HOUR_US))
}

/// The first moment of a day by its number.
pub(in crate::store) fn day_from(number: i64) -> Result<DateTime<Utc>, StoreError> {
    timestamp_from(number.saturating_mul(HOUR_US * DAY_HOURS))
}

/// The first moment of the hour that holds a moment.
pub(crate) fn hour_of(at: DateTime<Utc>) -> DateTime<Utc> {
    first_of(at, HOUR.num_seconds())
}

/// The first moment of the day (UTC) that holds a moment.
pub(in crate::store) fn day_of(at: DateTime<Utc>) -> DateTime<Utc> {
    first_of(at, HOUR.num_seconds() * DAY_HOURS)
}

/// The first moment of the stretch of so many seconds that holds a moment. A clock counts nanoseconds and the database
/// microseconds: none may be left over, or the moment would be later than itself once it was written.
fn first_of(at: DateTime<Utc>, length_s: i64) -> DateTime<Utc> {
    at.trunc_subsecs(0) - TimeDelta::seconds(at.timestamp().rem_euclid(length_s))
}

/// The number of a monitor's packs; a monitor without one gets one.
pub(in crate::store) async fn number_of(connection: &mut Connection, monitor: &MonitorId) -> Result<i64, StoreError> {
    if let Some(number) = known_number_of(connection, monitor).await? {
        return Ok(number);
    }
    let row = query("INSERT INTO pack_owners (monitor, location) VALUES ($1, $2) RETURNING number")
        .bind(monitor.as_str())
        .bind(LOCAL)
        .fetch_one(connection)
        .await?;
    Ok(row.try_get(0)?)
}

/// The number of a monitor's packs, where it has any.
pub(in crate::store) async fn known_number_of(
    connection: &mut Connection,
    monitor: &MonitorId,
) -> Result<Option<i64>, StoreError> {
    let row = query("SELECT number FROM pack_owners WHERE monitor = $1 AND location = $2")
        .bind(monitor.as_str())
        .bind(LOCAL)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// The number of an answer that comes often; one without gets one.
pub(in crate::store) async fn number_of_answer(
    connection: &mut Connection,
    list: i64,
    bytes: &[u8],
    day: i64,
) -> Result<i64, StoreError> {
    let known = query("SELECT id, used_until FROM answers WHERE list = $1 AND data = $2")
        .bind(list)
        .bind(bytes)
        .fetch_optional(&mut *connection)
        .await?;
    let Some(known) = known else {
        let row = query("INSERT INTO answers (list, data, used_until) VALUES ($1, $2, $3) RETURNING id")
            .bind(list)
            .bind(bytes)
            .bind(day)
            .fetch_one(connection)
            .await?;
        return Ok(row.try_get(0)?);
    };
    let number: i64 = known.try_get(0)?;
    if known.try_get::<i64>(1)? < day {
        query("UPDATE answers SET used_until = $2 WHERE id = $1").bind(number).bind(day).execute(connection).await?;
    }
    Ok(number)
}

/// Notes that packs of a day name these lists.
pub(in crate::store) async fn lists_used(
    connection: &mut Connection,
    day: i64,
    lists: &[i64],
) -> Result<(), StoreError> {
    let lists: HashSet<i64> = lists.iter().copied().collect();
    query(concat!(
        "UPDATE ranked_lists SET used_until = $1, doomed_at = NULL WHERE used_until < $1 \
         AND id IN ",
        numbers!("$2")
    ))
    .bind(day)
    .bind(serde_json::json!(lists).to_string())
    .execute(connection)
    .await?;
    Ok(())
}

/// The beats of a pack, whole; none where there is no pack.
pub(in crate::store) async fn beats_of(
    connection: &mut Connection,
    owner: i64,
    hour: DateTime<Utc>,
) -> Result<Vec<PastBeat>, StoreError> {
    let row = query("SELECT data FROM beat_packs WHERE slot = $1")
        .bind(slot(hour_number(hour), owner))
        .fetch_optional(&mut *connection)
        .await?;
    let Some(row) = row else { return Ok(Vec::new()) };
    let read = [read(hour, row.try_get(0)?)?];
    let mut meanings = Meanings::default();
    learn(connection, &read, &mut meanings).await?;
    let [read] = read;
    read.named(&meanings).map_err(|error| damaged("a pack", &error))
}

pub(in crate::store) fn read(at: DateTime<Utc>, data: &[u8]) -> Result<Hour, StoreError> {
    hour::decode(at, data).map_err(|error| damaged("a pack", &error))
}

/// Learns what the numbers of packs stand for, as far as that is not known yet: two queries, however many there are.
pub(in crate::store) async fn learn(
    connection: &mut Connection,
    hours: &[Hour],
    meanings: &mut Meanings,
) -> Result<(), StoreError> {
    let canaries = hours.iter().flat_map(|hour| &hour.canaries).copied();
    let canaries: BTreeSet<i64> = canaries.filter(|number| !meanings.canaries.contains_key(number)).collect();
    if !canaries.is_empty() {
        let rows = query(concat!("SELECT id, name FROM canary_names WHERE id IN ", numbers!("$1")));
        for row in rows.bind(serde_json::json!(canaries).to_string()).fetch_all(&mut *connection).await? {
            meanings.canaries.insert(row.try_get(0)?, Arc::from(row.try_get::<&str>(1)?));
        }
    }
    let answers = hours.iter().flat_map(|hour| &hour.answers).filter_map(|entry| match entry {
        PackedAnswer::Number(number) => Some(*number),
        _ => None,
    });
    let answers: BTreeSet<i64> = answers.filter(|number| !meanings.answers.contains_key(number)).collect();
    if !answers.is_empty() {
        let rows = query(concat!("SELECT id, data FROM answers WHERE id IN ", numbers!("$1")));
        for row in rows.bind(serde_json::json!(answers).to_string()).fetch_all(&mut *connection).await? {
            let answer = answer_from(row.try_get(1)?).map_err(|error| damaged("an answer", &error))?;
            meanings.answers.insert(row.try_get(0)?, answer);
        }
    }
    Ok(())
}

/// What could not be read or written, and why.
pub(in crate::store) fn damaged(what: &str, error: &std::io::Error) -> StoreError {
    StoreError::Unreadable(format!("{what}: {error}"))
}
