//! Where the rows of each monitor's beats stand, in memory: rows lie in order of time, so that writing is appending, and a
//! monitor's page must not read everybody's hours.
//!
//! - Four bytes a beat, some 0.5 kB a monitor with a beat a minute: what is not sealed yet, and what came late.
//! - A beat is added once its commit is on disk, before whoever asked is answered; an hour is left out once the commit
//!   after which its packs are the truth is. So who looks here first, and then reads in a transaction, misses nothing: what
//!   was sealed meanwhile is in its pack.
//! - A start that is known here and has no row any more is harmless: nothing is found there.
//! - Nothing is deleted or sealed by what stands here; the tables alone say what is there.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::domain::monitor::MonitorId;
use crate::domain::shard::{Shard, Shards};

/// Microseconds of an hour; they fit into four bytes.
const HOUR_US: i64 = 3_600_000_000;

/// Starts of beats by hour and monitor.
#[derive(Debug, Default)]
struct Starts(BTreeMap<i64, HashMap<Box<str>, HourStarts>>);

/// Starts of one monitor's beats in microseconds of their hour, sorted.
#[derive(Debug)]
struct HourStarts {
    shard: Shard,
    within: Vec<u32>,
}

impl Starts {
    fn add(&mut self, monitor: &str, started_at_us: i64) {
        let (hour, within) = placed(started_at_us);
        let hour = self.0.entry(hour).or_default();
        let new = || HourStarts { shard: Shard::of(monitor), within: Vec::new() };
        let starts = match hour.get_mut(monitor) {
            Some(known) => &mut known.within,
            None => &mut hour.entry(Box::from(monitor)).or_insert_with(new).within,
        };
        // A beat ends after those that started before it, mostly.
        if starts.last().is_none_or(|last| *last < within) {
            starts.push(within);
        } else if let Err(place) = starts.binary_search(&within) {
            starts.insert(place, within);
        }
    }

    fn remove(&mut self, monitor: &str, started_at_us: i64) {
        let (hour, within) = placed(started_at_us);
        let Some(monitors) = self.0.get_mut(&hour) else { return };
        if let Some(starts) = monitors.get_mut(monitor) {
            starts.within.retain(|start| *start != within);
            if starts.within.is_empty() {
                monitors.remove(monitor);
            }
        }
        if monitors.is_empty() {
            self.0.remove(&hour);
        }
    }

    /// Leaves out the hours of some shards before one.
    fn leave_out(&mut self, shards: &Shards, until: i64) {
        for (_, monitors) in self.0.range_mut(..until) {
            monitors.retain(|_, starts| !shards.has(starts.shard));
        }
        self.0.retain(|_, monitors| !monitors.is_empty());
    }

    fn of(&self, monitor: &str) -> impl Iterator<Item = i64> {
        self.0.iter().flat_map(move |(hour, monitors)| {
            let starts = monitors.get(monitor).map_or(&[][..], |starts| &starts.within);
            starts.iter().map(move |within| hour * HOUR_US + i64::from(*within))
        })
    }
}

/// The hour of a moment, and how far into it that is.
fn placed(started_at_us: i64) -> (i64, u32) {
    (started_at_us.div_euclid(HOUR_US), u32::try_from(started_at_us.rem_euclid(HOUR_US)).unwrap_or_default())
}

/// What is known of rows of beats; see the head of the file.
#[derive(Debug, Default)]
pub(in crate::store) struct BeatRows(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    unsealed: Starts,
    /// Of those that came when their hour's sealing had begun: they stay until they have joined their packs.
    late: Starts,
}

/// What a transaction changed of it.
#[derive(Debug, Default)]
pub(in crate::store) struct RowChanges {
    /// Beats that got a row: whose, when it started, and whether it came late.
    pub(in crate::store) added: Vec<(MonitorId, DateTime<Utc>, bool)>,
    /// Before these moments packs are the truth for these shards.
    pub(in crate::store) sealed_until: Vec<(Shards, DateTime<Utc>)>,
    /// Whose late beats joined their pack, and the microseconds of their starts.
    pub(in crate::store) joined: Vec<(MonitorId, Vec<i64>)>,
}

impl BeatRows {
    /// Takes in what a transaction changed, once that is on disk.
    pub(in crate::store) fn apply(&self, changes: &RowChanges) {
        let mut known = self.0.lock();
        for (monitor, started_at, is_late) in &changes.added {
            let starts = if *is_late { &mut known.late } else { &mut known.unsealed };
            starts.add(monitor.as_str(), started_at.timestamp_micros());
        }
        for (shards, until) in &changes.sealed_until {
            known.unsealed.leave_out(shards, placed(until.timestamp_micros()).0);
        }
        for (monitor, starts) in &changes.joined {
            starts.iter().for_each(|start| known.late.remove(monitor.as_str(), *start));
        }
    }

    /// Takes in rows that were found in the tables: whose, and the microsecond of their start.
    pub(in crate::store) fn find<'r>(&self, rows: impl Iterator<Item = (&'r str, i64)>, is_late: bool) {
        let mut known = self.0.lock();
        let starts = if is_late { &mut known.late } else { &mut known.unsealed };
        rows.for_each(|(monitor, started_at_us)| starts.add(monitor, started_at_us));
    }

    /// Microseconds at which a monitor's beats that may have a row started, in order of time.
    pub(in crate::store) fn of(&self, monitor: &MonitorId) -> Vec<i64> {
        let known = self.0.lock();
        let mut starts: Vec<i64> = known.unsealed.of(monitor.as_str()).collect();
        let unsealed = starts.len();
        starts.extend(known.late.of(monitor.as_str()));
        if starts.len() > unsealed {
            starts.sort_unstable();
            starts.dedup();
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000 / 3_600 * 3_600 + seconds, 7_000).unwrap_or_default()
    }

    fn us(seconds: i64) -> i64 {
        at(seconds).timestamp_micros()
    }

    fn added(beats: &[(&str, i64, bool)]) -> RowChanges {
        let added = beats.iter().map(|(monitor, seconds, is_late)| (MonitorId::new(monitor), at(*seconds), *is_late));
        RowChanges { added: added.collect(), ..RowChanges::default() }
    }

    #[test]
    fn a_start_is_known_from_its_commit_until_its_hour_is_sealed() {
        let rows = BeatRows::default();
        let known = |monitor: &str| {
            let starts = rows.of(&MonitorId::new(monitor)).into_iter();
            starts.map(|us| (us - at(0).timestamp_micros()) / 1_000_000).collect::<Vec<_>>()
        };
        let table: [(RowChanges, &[i64], &str); 7] = [
            (added(&[("docs", 3_599, false), ("other", 0, false)]), &[3_599], "the last second of an hour"),
            (added(&[("docs", 3_600, false), ("docs", 60, false)]), &[60, 3_599, 3_600], "in order of time"),
            (added(&[("docs", 60, false)]), &[60, 3_599, 3_600], "and each once"),
            (
                RowChanges { sealed_until: vec![(Shards::ALL, at(3_600))], ..RowChanges::default() },
                &[3_600],
                "packs are the truth before",
            ),
            (added(&[("docs", 120, true), ("docs", 3_600, true)]), &[120, 3_600], "a late one stays known"),
            (
                RowChanges { sealed_until: vec![(Shards::ALL, at(7_200))], ..RowChanges::default() },
                &[120, 3_600],
                "also when the next hour is sealed",
            ),
            (
                RowChanges { joined: vec![(MonitorId::new("docs"), vec![us(120)])], ..added(&[("docs", 180, true)]) },
                &[180, 3_600],
                "until it has joined its pack, and another of that hour until it has",
            ),
        ];
        for (changes, expected, sentence) in table {
            rows.apply(&changes);
            assert_eq!(known("docs"), expected, "{sentence}");
        }
        assert!(known("never").is_empty(), "of a monitor that never was");
    }
}
