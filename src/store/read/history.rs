//! What a monitor did over hours, days and months, read from rows, packs and days alike.
//!
//! Each function reads in one transaction, so that an hour that is being sealed is seen once: by its rows or
//! by its pack. Where a monitor's rows stand is asked before it begins (`beat_rows` says why).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::coverage::Covered;
use crate::domain::monitor::MonitorId;
use crate::domain::quality::answers::Answers;
use crate::store::packed::pack::hour::Hour;
use crate::store::packed::pack::numbers::Meanings;
use crate::store::packed::pack::{day, heat};
use crate::store::packed::packs::{self, damaged, hour_number};
use crate::store::packed::roll::{Counting, Stretch};
use crate::store::packed::sealing;
use crate::store::packed::slices;
use crate::store::packed::slices::{LatencySlice, Sliced, joined};
use crate::store::read::readers::Readers;
use crate::store::read::unsealed;
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::numbers;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{length, timestamp};
use crate::store::values::error::StoreError;
use crate::store::values::past::PastBeat;

/// Packs of one hour each that lie between two hours, both counted in; `$1` is the first hour, `$2` the last, `$3` the owner.
const PACKS: &str = "WITH RECURSIVE hours (h) AS (VALUES (CAST($1 AS BIGINT)) UNION ALL SELECT h + 1 FROM hours WHERE h < $2) \
     SELECT h, data FROM hours CROSS JOIN beat_packs WHERE slot = (h << 32) | $3 ORDER BY h";
const DAYS: &str = "WITH RECURSIVE days_asked (d) AS (VALUES (CAST($1 AS BIGINT)) UNION ALL SELECT d + 1 FROM days_asked WHERE d < $2) \
     SELECT d, up, down, unknown, maintenance, latencies, hours, asked, right_answers FROM days_asked CROSS JOIN days WHERE slot = (d << 32) | $3 \
     ORDER BY d";
const HOUR: Duration = Duration::from_secs(3_600);

/// From when on each part of a [`Summary`] is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// Hours from this one on.
    pub hours: DateTime<Utc>,
    /// Days (UTC) from this one on.
    pub days: DateTime<Utc>,
    /// The first day of the heat map.
    pub heat: DateTime<Utc>,
}

/// A monitor's past by hours, days and for the heat map, each as far as it was asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// As `Readers::hours` gives them.
    pub hours: Vec<(DateTime<Utc>, Stretch)>,
    /// As `Readers::days` gives them.
    pub days: Vec<(DateTime<Utc>, Stretch)>,
    /// Percentiles of each hour with a call, as `Readers::latency` gives them, the oldest first.
    pub heat: Vec<LatencySlice>,
}

impl Readers {
    /// What each hour of a monitor came to between two moments, the oldest first; hours that no beat covers are
    /// left out. The first hour is counted whole, the last one up to `until`. As far back as packs are kept.
    ///
    /// # Errors
    /// Where the database does not answer, or holds a pack that cannot be read.
    pub async fn hours(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<(DateTime<Utc>, Stretch)>, StoreError> {
        let (mut reading, starts) = self.reading_of(monitor).await?;
        Ok(hours(&mut reading, (monitor, &starts), from, until).await?.into_iter().collect())
    }

    /// What each day (UTC) of a monitor came to between two moments, the oldest first; days without a beat are
    /// left out. Days at the edges are counted whole.
    ///
    /// # Errors
    /// Where the database does not answer, or holds something that cannot be read.
    pub async fn days(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<(DateTime<Utc>, Stretch)>, StoreError> {
        let since = Since { hours: until, days: from, heat: until };
        self.summary(monitor, since, until).await.map(|summary| summary.days)
    }

    /// Hours, days and a heat map of a monitor up to a moment, in one reading: what is not rolled up yet is part of
    /// all three.
    ///
    /// # Errors
    /// Where the database does not answer, or holds something that cannot be read.
    pub async fn summary(
        &self,
        monitor: &MonitorId,
        since: Since,
        until: DateTime<Utc>,
    ) -> Result<Summary, StoreError> {
        let (days_from, heat_from) = (packs::day_of(since.days), packs::day_of(since.heat));
        let first = days_from.min(heat_from);
        let (mut reading, starts) = self.reading_of(monitor).await?;
        let rolled_until = sealing::rolled_until(&mut reading).await?;
        let rolled = rolled(&mut reading, monitor, first, rolled_until.min(until)).await?;
        // Days that were rolled up before rows knew their hours are still known by their packs.
        let hourless = rolled.iter().find(|day| day.hours.is_none() && day.at >= heat_from).map_or(until, |day| day.at);
        let from = since.hours.min(hourless).min(rolled_until.max(first));
        let of = (monitor, &*starts);
        let hours = if from < until { hours(&mut reading, of, from, until).await? } else { BTreeMap::new() };
        drop(reading);

        let mut days: BTreeMap<DateTime<Utc>, Stretch> = BTreeMap::new();
        let (mut heat, mut known) = (Vec::new(), HashSet::new());
        for day in rolled {
            if let Some(hours) = day.hours.filter(|_| day.at >= heat_from) {
                known.insert(day.at);
                heat.push(hours);
            }
            if day.at >= days_from {
                days.insert(day.at, day.stretch);
            }
        }
        for (hour, stretch) in hours.range(rolled_until.max(days_from)..) {
            days.entry(packs::day_of(*hour)).or_default().add(stretch);
        }
        let rest = hours.range(heat_from..).filter(|(hour, _)| !known.contains(&packs::day_of(**hour)));
        let rest = rest.map(|(hour, stretch)| (*hour, &stretch.histograms));
        heat.push(slices::of_histograms(rest, heat_from, HOUR));
        Ok(Summary {
            hours: hours.into_iter().filter(|(hour, _)| *hour >= packs::hour_of(since.hours)).collect(),
            days: days.into_iter().collect(),
            heat: joined(heat),
        })
    }

    /// Every beat of a monitor between two moments (the second is left out), the oldest first, as far back as packs
    /// are kept.
    ///
    /// # Errors
    /// Where the database does not answer, or holds a pack that cannot be read.
    pub async fn past(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<PastBeat>, StoreError> {
        let (mut reading, starts) = self.reading_of(monitor).await?;
        let PastCounts { packs, mut rows } = remembered(&mut reading, (monitor, &starts), from, until).await?;
        let mut meanings = Meanings::default();
        let hours = packs.into_iter().map(Pack::read).collect::<Result<Vec<_>, _>>()?;
        packs::learn(&mut reading, &hours, &mut meanings).await?;
        for hour in hours {
            rows.extend(hour.named(&meanings).map_err(|error| damaged("a pack", &error))?);
        }
        Ok(between(rows, from, until))
    }

    /// Every beat as in [`Readers::past`], but its asks have neither the canary's name nor the answer: a fixed number of
    /// queries, however many canaries there are.
    ///
    /// # Errors
    /// Where the database does not answer, or holds a pack that cannot be read.
    pub(in crate::store) async fn unnamed(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Vec<PastBeat>, StoreError> {
        let (mut reading, starts) = self.reading_of(monitor).await?;
        let PastCounts { packs, mut rows } = remembered(&mut reading, (monitor, &starts), from, until).await?;
        for pack in packs {
            rows.extend(pack.read()?.beats);
        }
        Ok(between(rows, from, until))
    }

    /// When a monitor was first declared; none where it never was.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn first_seen(&self, monitor: &MonitorId) -> Result<Option<DateTime<Utc>>, StoreError> {
        let row = query("SELECT first_seen FROM monitors WHERE id = $1")
            .bind(monitor.as_str())
            .fetch_optional(&self.readers)
            .await?;
        row.map(|row| timestamp(&row, 0)).transpose()
    }

    /// The sources of ranked lists, by the lists' numbers; a list that is forgotten is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn lists(&self, numbers: &[i64]) -> Result<HashMap<i64, Vec<String>>, StoreError> {
        let rows = query(concat!("SELECT id, sources FROM ranked_lists WHERE id IN ", numbers!("$1")))
            .bind(serde_json::json!(numbers).to_string())
            .fetch_all(&self.readers)
            .await?;
        let lists = rows.iter().map(|row| {
            let ids: &str = row.try_get(1)?;
            let ids: Vec<i64> = ids.split(',').filter_map(|id| id.parse().ok()).collect();
            Ok((row.try_get(0)?, ids))
        });
        let lists: Vec<(i64, Vec<i64>)> = lists.collect::<Result<_, StoreError>>()?;
        let ids: Vec<i64> = lists.iter().flat_map(|(_, ids)| ids).copied().collect();
        let rows = query(concat!("SELECT id, name FROM sources WHERE id IN ", numbers!("$1")))
            .bind(serde_json::json!(ids).to_string())
            .fetch_all(&self.readers)
            .await?;
        let names: HashMap<i64, String> =
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, StoreError>>()?;
        let named = |ids: Vec<i64>| ids.iter().map(|id| names.get(id).cloned().unwrap_or_default()).collect();
        Ok(lists.into_iter().map(|(list, ids)| (list, named(ids))).collect())
    }
}

/// What each hour came to, as [`Readers::hours`].
async fn hours(
    reading: &mut Connection,
    of: (&MonitorId, &[i64]),
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<BTreeMap<DateTime<Utc>, Stretch>, StoreError> {
    let from = packs::hour_of(from);
    // The last beat of the hour before covers the time until the first beat of this one.
    let PastCounts { packs, rows } = remembered(reading, of, from - packs::HOUR, until).await?;
    let mut counting = Counting::default();
    for pack in packs {
        counting.take(&pack.read()?.beats);
    }
    counting.take(&rows);
    Ok(counting.by_hour(until).split_off(&from))
}

/// A day that was rolled up.
struct Rolled {
    at: DateTime<Utc>,
    stretch: Stretch,
    /// None where the row is of an older Serin.
    hours: Option<Sliced>,
}

/// Days between two moments, the oldest first, both edges whole. A day that is being rolled up is not the truth yet.
async fn rolled(
    reading: &mut Connection,
    monitor: &MonitorId,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Rolled>, StoreError> {
    let Some(owner) = packs::known_number_of(reading, monitor).await? else { return Ok(Vec::new()) };
    let (first, last) = (packs::day_number(from), packs::day_number(until - TimeDelta::microseconds(1)));
    if last < first {
        return Ok(Vec::new());
    }
    let rows = query(DAYS).bind(first).bind(last).bind(owner).fetch_all(reading).await?;
    rows.iter().map(rolled_day).collect()
}

fn rolled_day(row: &Row) -> Result<Rolled, StoreError> {
    let at = packs::day_from(row.try_get(0)?)?;
    let seconds = |index| length(row, index).map(|micros| micros * 1_000_000);
    let covered = Covered { up: seconds(1)?, down: seconds(2)?, unknown: seconds(3)?, maintenance: seconds(4)? };
    let histograms = day::decode(row.try_get(5)?).map_err(|error| damaged("a day's histograms", &error))?;
    let hours: Option<&[u8]> = row.try_get(6)?;
    let hours = hours.map(|hours| heat::decode(at, hours)).transpose();
    let hours = hours.map_err(|error| damaged("a day's hours", &error))?;
    let [asked, right] = [7, 8].map(|index| row.try_get::<Option<i64>>(index));
    let counted =
        asked?.zip(right?).and_then(|(asked, right)| Some((u64::try_from(asked).ok()?, u64::try_from(right).ok()?)));
    let answers = counted.map(|(asked, right)| Answers { asked, right });
    let is_uncounted = answers.is_none();
    Ok(Rolled {
        at,
        stretch: Stretch { covered, histograms, answers: answers.unwrap_or_default(), is_uncounted },
        hours,
    })
}

/// What is remembered of a monitor, each beat once.
pub(in crate::store::read) struct PastCounts {
    /// Packs of hours that are sealed, not read yet; those at the edges are whole.
    pub(in crate::store::read) packs: Vec<Pack>,
    /// Beats whose row is the truth: of hours that are not sealed, and late ones.
    pub(in crate::store::read) rows: Vec<PastBeat>,
}

pub(in crate::store::read) struct Pack {
    hour: DateTime<Utc>,
    data: Vec<u8>,
}

impl Pack {
    pub(in crate::store::read) fn ends_at(&self) -> DateTime<Utc> {
        self.hour + packs::HOUR
    }

    pub(in crate::store::read) fn read(self) -> Result<Hour, StoreError> {
        packs::read(self.hour, &self.data)
    }
}

/// Reads of a monitor, whose rows may stand at these microseconds.
pub(in crate::store::read) async fn remembered(
    connection: &mut Connection,
    (monitor, starts): (&MonitorId, &[i64]),
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<PastCounts, StoreError> {
    let sealed_until = sealing::sealed_until(connection, monitor).await?;
    let packs = match packs::known_number_of(connection, monitor).await? {
        Some(owner) => packs_between(connection, owner, from, until.min(sealed_until)).await?,
        None => Vec::new(),
    };
    let [first, last] = [from, until].map(|at| starts.partition_point(|start| *start < at.timestamp_micros()));
    let within = starts.get(first..last).unwrap_or_default();
    let rows = unsealed::beats_of(connection, monitor, within).await?;
    let truth = rows.into_iter().filter(|row| row.is_late || row.beat.started_at >= sealed_until);
    Ok(PastCounts { packs, rows: truth.map(|row| row.beat).collect() })
}

/// Packs of the hours that begin before `until`. A pack of an hour that is being sealed is not the truth yet.
async fn packs_between(
    connection: &mut Connection,
    owner: i64,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Vec<Pack>, StoreError> {
    let before = hour_number(until - TimeDelta::microseconds(1));
    let rows = query(PACKS).bind(hour_number(from)).bind(before).bind(owner).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(Pack { hour: packs::hour_from(row.try_get(0)?)?, data: row.try_get(1)? })).collect()
}

/// The beats between two moments, the oldest first.
fn between(mut beats: Vec<PastBeat>, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<PastBeat> {
    beats.retain(|beat| beat.started_at >= from && beat.started_at < until);
    beats.sort_by_key(|beat| beat.started_at);
    beats
}
