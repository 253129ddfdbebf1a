//! How long a server was up, down, or not seen: seconds made of beats.
//!
//! A beat stands for the time until the next one of the schedule, but never for longer than one and a half of
//! the usual gap: what lies beyond was not seen by anybody and is counted as nothing. Uptime is up ÷ (up + down),
//! coverage is seen ÷ the whole time asked about, and the first is never shown without the second. Time in maintenance is
//! counted apart: it is no part of uptime, and no gap.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

/// What a beat stands for at most where there is no other to tell the usual gap by: five minutes.
const ALONE_US: i64 = 300_000_000;
/// Beats on each side by which the usual gap is told.
const NEIGHBOURS: usize = 4;
const HOUR_US: i64 = 3_600_000_000;

/// What a beat of the schedule says of the time after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// The server could be asked.
    Up,
    Down,
    /// Nothing was seen: our own trouble, a beat held back, a beat missed.
    Unknown,
    /// It was expected to fail, whatever was seen.
    Maintenance,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Covered {
    /// The server could be asked.
    pub up: Duration,
    pub down: Duration,
    /// A beat was due, and nothing was seen.
    pub unknown: Duration,
    /// Inside a declared maintenance, whatever was seen.
    pub maintenance: Duration,
}

impl Covered {
    /// The time of beats sorted by their moments, hour by hour; what lies at `until` or later is not over yet.
    /// Time before the first beat belongs to nobody, so a beat from before the stretch comes first where there is one.
    pub fn by_hour(beats: &[(DateTime<Utc>, Availability)], until: DateTime<Utc>) -> BTreeMap<DateTime<Utc>, Self> {
        let moments: Vec<i64> = beats.iter().map(|(at, _)| at.timestamp_micros()).collect();
        let gaps: Vec<i64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let until = until.timestamp_micros();
        let mut hours: BTreeMap<DateTime<Utc>, Self> = BTreeMap::new();
        for (place, (at, (_, state))) in moments.iter().zip(beats).enumerate() {
            let next = moments.get(place + 1).map_or(until, |next| (*next).min(until));
            let end = next.min(at + longest_gap(&gaps, place));
            let mut from = *at;
            while from < end {
                let hour = from - from.rem_euclid(HOUR_US);
                let part = end.min(hour + HOUR_US);
                let covered = hours.entry(DateTime::from_timestamp_micros(hour).unwrap_or_default()).or_default();
                *match state {
                    Availability::Up => &mut covered.up,
                    Availability::Down => &mut covered.down,
                    Availability::Unknown => &mut covered.unknown,
                    Availability::Maintenance => &mut covered.maintenance,
                } += Duration::from_micros((part - from).unsigned_abs());
                from = part;
            }
        }
        hours
    }

    pub fn add(&mut self, other: &Self) {
        self.up += other.up;
        self.down += other.down;
        self.unknown += other.unknown;
        self.maintenance += other.maintenance;
    }

    /// The share of seen time in which the server could be asked, 0 to 1; none where nothing was seen.
    pub fn uptime(&self) -> Option<f64> {
        let seen = self.up + self.down;
        (!seen.is_zero()).then(|| self.up.as_secs_f64() / seen.as_secs_f64())
    }

    /// The share of a whole time that was seen, or was maintenance, 0 to 1.
    pub fn coverage(&self, whole: Duration) -> f64 {
        let known = self.up + self.down + self.maintenance;
        if whole.is_zero() { 0.0 } else { (known.as_secs_f64() / whole.as_secs_f64()).min(1.0) }
    }
}

/// One and a half of the usual gap around a beat, in microseconds: the median of the gaps next to it, since a rhythm may
/// be edited. A page of some weeks asks this for each of tens of thousands of beats, so it takes no allocation.
fn longest_gap(gaps: &[i64], place: usize) -> i64 {
    let around = &gaps[place.saturating_sub(NEIGHBOURS)..gaps.len().min(place + NEIGHBOURS)];
    let Some(middle) = around.len().checked_sub(1).map(|last| last / 2) else { return ALONE_US };
    let mut sorted = [0; 2 * NEIGHBOURS];
    sorted[..around.len()].copy_from_slice(around);
    let (_, gap, _) = sorted[..around.len()].select_nth_unstable(middle);
    gap.saturating_mul(3) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn beats_stand_for_the_time_after_them() {
        use Availability::{Down, Unknown, Up};
        let every_minute = |state| (0..60).map(|minute| (at(minute * 60), state)).collect::<Vec<_>>();
        let mut half = every_minute(Up);
        half[30..].iter_mut().for_each(|(_, state)| *state = Down);
        let mut blind = every_minute(Up);
        blind[10..20].iter_mut().for_each(|(_, state)| *state = Unknown);
        let gap: Vec<_> = every_minute(Up)
            .into_iter()
            .filter(|(timestamp, _)| *timestamp < at(600) || *timestamp >= at(3000))
            .collect();
        let at_second_40: Vec<_> = (-1..60).map(|minute| (at(minute * 60 + 40), Up)).collect();
        let slow = (-8..6).map(|tenth| (at(tenth * 600), Up));
        let edited: Vec<_> = slow.chain((0..60).map(|second| (at(3540 + second), Up))).collect();
        let rows: [(Vec<_>, [u64; 3], &str); 9] = [
            (Vec::new(), [0, 0, 0], "no beat covers nothing"),
            (every_minute(Up), [3600, 0, 0], "a whole hour of good beats is an hour up"),
            (half, [1800, 1800, 0], "half of it down"),
            (blind, [3000, 0, 600], "what we did not see is unknown, never up"),
            (gap, [1230, 0, 0], "a silence is covered by half a gap more than the usual one, and then by nothing"),
            (vec![(at(600), Up)], [300, 0, 0], "a single beat stands for five minutes: nobody knows its rhythm"),
            (edited, [3600, 0, 0], "a rhythm that is edited to a quicker one covers the slower past as well"),
            (at_second_40, [3600, 0, 0], "the last beat of the hour before covers the time before the first"),
            (
                vec![(at(-7200), Up), (at(-3600 - 1800), Down), (at(0), Down), (at(3600 + 1800), Up)],
                [0, 3600, 0],
                "a slow rhythm covers hours that have no beat of their own",
            ),
        ];
        for (beats, [up, down, unknown], sentence) in rows {
            let covered = Covered::by_hour(&beats, at(3600)).remove(&at(0)).unwrap_or_default();
            let seconds = [covered.up, covered.down, covered.unknown].map(|part| part.as_secs());
            assert_eq!(seconds, [up, down, unknown], "{sentence}");
        }
    }

    #[test]
    fn maintenance_is_counted_apart() {
        let state = |minute| if (10..30).contains(&minute) { Availability::Maintenance } else { Availability::Down };
        let beats: Vec<_> = (0..60).map(|minute| (at(minute * 60), state(minute))).collect();
        let covered = Covered::by_hour(&beats, at(3600))[&at(0)];
        assert_eq!((covered.down.as_secs(), covered.maintenance.as_secs()), (2400, 1200));
    }

    #[test]
    fn what_is_not_over_yet_is_not_covered() {
        let beats: Vec<_> = (0..10).map(|minute| (at(minute * 60), Availability::Up)).collect();
        let covered = Covered::by_hour(&beats, at(9 * 60 + 20));
        assert_eq!(covered[&at(0)].up, Duration::from_secs(9 * 60 + 20), "the last beat covers what passed since");
    }

    #[test]
    fn uptime_is_of_seen_time_and_comes_with_its_coverage() {
        let hour = |up: u64, down: u64| Covered {
            up: Duration::from_secs(up),
            down: Duration::from_secs(down),
            ..Covered::default()
        };
        let maintained = Covered { maintenance: Duration::from_secs(1800), ..hour(900, 900) };
        let rows = [
            (hour(0, 0), None, 0.0, "nothing seen has no uptime"),
            (hour(1800, 0), Some(1.0), 0.5, "half an hour seen, all of it up"),
            (hour(900, 900), Some(0.5), 0.5, "half of what was seen"),
            (maintained, Some(0.5), 1.0, "maintenance is no part of uptime, and no gap"),
        ];
        for (covered, uptime, coverage, sentence) in rows {
            assert_eq!(
                (covered.uptime(), covered.coverage(Duration::from_secs(3600))),
                (uptime, coverage),
                "{sentence}"
            );
        }
    }
}
