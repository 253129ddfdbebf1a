//! Maintenance windows of the file: when each of them runs, by the clock of its zone.
//!
//! A start in the gap of a clock change runs at the first instant after it, one that the clock shows twice runs once, and the
//! length of a window is elapsed time. Zones are compiled in, so that no machine knows older rules than another.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

use crate::domain::route::Match;

/// No window is longer: what is quiet for longer is not watched, and belongs out of the file.
pub const WINDOW_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Further than any clock is ever changed: no start is missed in the hours around it.
const CHANGE_MAX: jiff::SignedDuration = jiff::SignedDuration::from_hours(3);
/// Starts looked at for one that counts: of each minute in the hours around a change, with room to spare.
const STARTS_MAX: usize = 1_000;

/// One entry of `maintenance:`: what is expected to fail, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct MaintenanceWindow {
    /// What it is called; empty where it has no name.
    pub name: String,
    /// What it keeps quiet; every given part has to fit.
    pub matches: Match,
    /// When it runs.
    pub runs: WindowRuns,
    /// The line of the file, from 1.
    pub line: u32,
}

/// When a window runs.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowRuns {
    /// Again and again, for so long from each start.
    Repeated {
        /// The starts, by the clock of the zone.
        starts: Box<Cron>,
        /// The zone whose clock counts.
        zone: TimeZone,
        /// Elapsed time, at most [`WINDOW_MAX`].
        lasts: Duration,
    },
    /// Once.
    Once(Stretch),
}

/// From a moment until just before another, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// The first instant of it.
    pub from: DateTime<Utc>,
    /// The first instant after it.
    pub to: DateTime<Utc>,
}

/// Reads the starts of a repeated window: five fields, a minute first.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub fn starts(text: &str) -> Result<Cron, String> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text).map_err(|error| error.to_string())
}

impl MaintenanceWindow {
    /// What a monitor's page says of it: until when it is on, or that it comes within a day; none where it does not.
    pub fn ahead(&self, now: DateTime<Utc>) -> Option<String> {
        if let Some(run) = self.run_at(now) {
            return Some(format!("{}, on until {}", self.called(), self.shown(run.to)));
        }
        let next = self.next_after(now, 1).into_iter().find(|run| run.from - now <= TimeDelta::days(1))?;
        Some(format!("{}, from {} to {}", self.called(), self.shown(next.from), self.shown(next.to)))
    }

    /// Its name, or where it has none the line it stands on.
    pub fn called(&self) -> String {
        if self.name.is_empty() { format!("line {}", self.line) } else { self.name.clone() }
    }

    /// A moment by the clock it is declared by, such as `2026-11-29 02:00 CET`; what runs once is told in UTC.
    pub fn shown(&self, at: DateTime<Utc>) -> String {
        let zone = match &self.runs {
            WindowRuns::Repeated { zone, .. } => zone.clone(),
            WindowRuns::Once(_) => TimeZone::UTC,
        };
        let at = Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or_default();
        at.to_zoned(zone).strftime("%Y-%m-%d %H:%M %Z").to_string()
    }

    /// The run that covers a moment; of several the one that ends last.
    pub fn run_at(&self, now: DateTime<Utc>) -> Option<Stretch> {
        match &self.runs {
            WindowRuns::Once(once) => Some(*once).filter(|run| run.covers(now)),
            WindowRuns::Repeated { starts, zone, lasts } => {
                let last = last_start(starts, zone, now)?;
                Some(Stretch::from(last, *lasts)).filter(|run| run.covers(now))
            }
        }
    }

    /// The next so many runs that start after a moment.
    pub fn next_after(&self, now: DateTime<Utc>, count: usize) -> Vec<Stretch> {
        match &self.runs {
            WindowRuns::Once(once) => Some(*once).filter(|run| run.from > now && count > 0).into_iter().collect(),
            WindowRuns::Repeated { starts, zone, lasts } => {
                next_starts(starts, zone, now, count).into_iter().map(|from| Stretch::from(from, *lasts)).collect()
            }
        }
    }
}

impl Stretch {
    fn from(start: DateTime<Utc>, lasts: Duration) -> Self {
        Self { from: start, to: start + TimeDelta::from_std(lasts).unwrap_or_default() }
    }

    /// Whether a moment lies in it.
    pub fn covers(&self, now: DateTime<Utc>) -> bool {
        self.from <= now && now < self.to
    }
}

/// The latest start that is not after a moment.
fn last_start(starts: &Cron, zone: &TimeZone, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let mut clock = as_shown(zone, now, CHANGE_MAX)?;
    for _ in 0..STARTS_MAX {
        clock = starts.find_previous_occurrence(&clock, false).ok()?;
        let at = instant(zone, clock.datetime())?;
        if at <= now {
            return Some(at);
        }
    }
    None
}

/// The next so many starts after a moment, each instant once.
pub(crate) fn next_starts(starts: &Cron, zone: &TimeZone, now: DateTime<Utc>, count: usize) -> Vec<DateTime<Utc>> {
    let mut found: Vec<DateTime<Utc>> = Vec::new();
    let Some(mut clock) = as_shown(zone, now, -CHANGE_MAX) else { return found };
    for _ in 0..STARTS_MAX {
        if found.len() >= count {
            break;
        }
        let Ok(next) = starts.find_next_occurrence(&clock, false) else { break };
        clock = next;
        let Some(at) = instant(zone, clock.datetime()) else { break };
        if at > now && found.last() != Some(&at) {
            found.push(at);
        }
    }
    found
}

/// What the clock of a zone shows at a moment, moved by so much, as if it were never changed.
fn as_shown(zone: &TimeZone, now: DateTime<Utc>, by: jiff::SignedDuration) -> Option<Zoned> {
    let at = Timestamp::from_microsecond(now.timestamp_micros()).ok()?;
    let shown = zone.to_datetime(at).checked_add(by).ok()?;
    shown.to_zoned(TimeZone::UTC).ok()
}

/// The instant at which a zone's clock shows this for the first time; where it skips it, the first instant after the gap.
fn instant(zone: &TimeZone, shown: civil::DateTime) -> Option<DateTime<Utc>> {
    let at = match zone.to_ambiguous_timestamp(shown).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(shown).ok()?
        }
        AmbiguousOffset::Gap { before, .. } => {
            // By the offset before it, what is shown lies behind the change: the last change up to there is this one.
            let behind = before.to_timestamp(shown).ok()?.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
            zone.preceding(behind).next()?.timestamp()
        }
    };
    DateTime::from_timestamp_micros(at.as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn window(cron: &str, zone: &str, hours: u64) -> MaintenanceWindow {
        MaintenanceWindow {
            name: String::new(),
            matches: Match::default(),
            runs: WindowRuns::Repeated {
                starts: Box::new(starts(cron).unwrap()),
                zone: TimeZone::get(zone).unwrap(),
                lasts: Duration::from_secs(hours * 3600),
            },
            line: 1,
        }
    }

    #[test]
    fn windows_run_by_the_clock_of_their_zone() {
        // Berlin: forward on 2027-03-28 at 01:00 UTC, back on 2026-10-25 at 01:00 UTC. Lord Howe changes by half an hour.
        let rows = [
            ("30 2 * * *", "UTC", "2026-11-25T00:00:00Z", "2026-11-25T02:30:00Z", "2026-11-26T02:30:00Z", "in UTC"),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-11-25T02:00:00Z",
                "2026-11-26T01:30:00Z",
                "2026-11-27T01:30:00Z",
                "by winter time, an hour ahead",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2027-03-27T12:00:00Z",
                "2027-03-28T01:00:00Z",
                "2027-03-29T00:30:00Z",
                "in the gap: the first instant after it",
            ),
            (
                "0 2,3 * * *",
                "Europe/Berlin",
                "2027-03-27T12:00:00Z",
                "2027-03-28T01:00:00Z",
                "2027-03-29T00:00:00Z",
                "two starts that become one instant are one",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-24T12:00:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-26T01:30:00Z",
                "what is shown twice starts once",
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-25T00:45:00Z",
                "2026-10-26T01:30:00Z",
                "2026-10-27T01:30:00Z",
                "also between the first time and the second",
            ),
            (
                "15 2 * * *",
                "Australia/Lord_Howe",
                "2026-10-03T12:00:00Z",
                "2026-10-03T15:30:00Z",
                "2026-10-04T15:15:00Z",
                "a gap of half an hour",
            ),
            (
                "0 22 * * 5",
                "America/New_York",
                "2026-11-25T00:00:00Z",
                "2026-11-28T03:00:00Z",
                "2026-12-05T03:00:00Z",
                "5 is Friday",
            ),
            (
                "0 4 1 * *",
                "Asia/Tokyo",
                "2026-11-25T00:00:00Z",
                "2026-11-30T19:00:00Z",
                "2026-12-31T19:00:00Z",
                "on the first of the month, there",
            ),
        ];
        for (cron, zone, now, first, second, sentence) in rows {
            let found: Vec<_> = window(cron, zone, 1).next_after(at(now), 2).iter().map(|run| run.from).collect();
            assert_eq!(found, [at(first), at(second)], "{cron} in {zone} {sentence}");
        }
    }

    #[test]
    fn a_moment_is_in_the_run_that_started_last() {
        let night = window("0 1 * * *", "Europe/Berlin", 3);
        let rows = [
            (&night, "2026-11-24T23:59:59Z", None, "before it"),
            (&night, "2026-11-25T00:00:00Z", Some("2026-11-25T03:00:00Z"), "its first instant"),
            (&night, "2026-11-25T02:59:59Z", Some("2026-11-25T03:00:00Z"), "its last second"),
            (&night, "2026-11-25T03:00:00Z", None, "its end is no part of it"),
            (
                &night,
                "2027-03-28T02:59:00Z",
                Some("2027-03-28T03:00:00Z"),
                "three hours are three hours in the short night",
            ),
            (&night, "2026-10-25T02:01:00Z", None, "and in the long one, whose fourth hour is not in it"),
            (
                &window("*/5 * * * *", "UTC", 1),
                "2026-11-25T12:07:00Z",
                Some("2026-11-25T13:05:00Z"),
                "one that starts anew before its end",
            ),
        ];
        for (window, now, to, sentence) in rows {
            assert_eq!(window.run_at(at(now)).map(|run| run.to), to.map(at), "{sentence}");
        }
        // Every minute of the nights in which the clock is changed, against the starts told one by one.
        for (night_of, starts_at) in
            [("2026-10-24T20:00:00Z", "2026-10-24T23:00:00Z"), ("2027-03-27T20:00:00Z", "2027-03-28T00:00:00Z")]
        {
            for minute in 0..600 {
                let now = at(night_of) + TimeDelta::minutes(minute);
                let inside = Stretch::from(at(starts_at), Duration::from_secs(3 * 3600)).covers(now);
                assert_eq!(night.run_at(now).is_some(), inside, "{now}");
            }
        }
    }

    #[test]
    fn what_runs_once_is_over_after_it() {
        let once = Stretch { from: at("2026-11-27T22:00:00Z"), to: at("2026-11-28T02:00:00Z") };
        let window = MaintenanceWindow { runs: WindowRuns::Once(once), ..window("0 1 * * *", "UTC", 1) };
        assert_eq!(window.next_after(at("2026-11-27T21:59:59Z"), 3), [once]);
        assert_eq!(window.next_after(at("2026-11-27T22:00:00Z"), 3), []);
        assert_eq!(window.run_at(at("2026-11-28T01:00:00Z")), Some(once));
        assert_eq!(window.run_at(at("2026-11-28T02:00:00Z")), None);
    }

    #[test]
    fn five_fields_and_no_more() {
        for (text, good) in [
            ("30 2 * * 1-5", true),
            ("0 0 30 2 *", true),
            ("30 2 * *", false),
            ("0 30 2 * * *", false),
            ("x", false),
            ("99 * * * *", false),
        ] {
            assert_eq!(starts(text).is_ok(), good, "{text}");
        }
        assert_eq!(window("0 0 30 2 *", "UTC", 1).next_after(at("2026-11-25T00:00:00Z"), 1), [], "no such day");
    }
}
