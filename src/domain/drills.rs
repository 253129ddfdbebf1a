//! Drills of the file: when receivers are told that nothing is wrong, so that it is known that they would hear of a page.
//!
//! A drill is known by when and whom it tells, not by where it stands: an edit elsewhere in the file makes no other drill of
//! it. One that was missed while nobody ran is told up to an hour later, and not at all after that: nobody rehearses at
//! night what was to be rehearsed in the morning.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::recurrence::Recurrence;

/// How late a drill may begin.
pub const LATE_MAX: TimeDelta = TimeDelta::hours(1);
/// How long a receiver may take where the file says nothing else: what a restart or a rollout of it takes.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);

/// One entry of `drills:`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledDrill {
    /// When it is told.
    pub starts: Recurrence,
    /// Names of the receivers that are told; empty: everybody whom a route can reach.
    pub to: Vec<String>,
    /// How long a receiver may take to accept it.
    pub timeout: Duration,
    /// The line of the file, from 1.
    pub line: u32,
    /// Changes exactly when it is told to others or at other times; lowercase hex.
    pub id: String,
}

/// What is to be done about a drill now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrillDue {
    /// Nothing since it is known.
    Not,
    /// It is told, for this moment.
    Now(DateTime<Utc>),
    /// It was to be told at this moment, and that is too long ago.
    Missed(DateTime<Utc>),
}

impl ScheduledDrill {
    /// What is due, `since` being when this drill came to be known. Whether it was done already, the store knows.
    pub fn due(&self, now: DateTime<Utc>, since: DateTime<Utc>) -> DrillDue {
        match self.starts.last(now).filter(|at| *at > since) {
            None => DrillDue::Not,
            Some(at) if now - at > LATE_MAX => DrillDue::Missed(at),
            Some(at) => DrillDue::Now(at),
        }
    }

    /// When it comes next, by the clock it is declared by, such as `2026-11-30 10:00 CET`.
    pub fn next_shown(&self, now: DateTime<Utc>) -> Option<String> {
        self.starts.next_after(now, 1).first().map(|at| self.starts.shown(*at))
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::domain::recurrence::parsed;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn drill(cron: &str, zone: &str) -> ScheduledDrill {
        ScheduledDrill {
            starts: Recurrence::new(parsed(cron).unwrap(), TimeZone::get(zone).unwrap()),
            to: Vec::new(),
            timeout: TIMEOUT_DEFAULT,
            line: 1,
            id: String::new(),
        }
    }

    #[test]
    fn a_drill_is_due_once_it_is_known_and_for_an_hour() {
        use DrillDue::{Missed, Not, Now};
        let long_ago = "2026-01-01T00:00:00Z";
        let monday = at("2026-11-23T09:00:00Z");
        let rows = [
            ("2026-11-23T08:59:59Z", "2026-11-17T00:00:00Z", Not, "a second too early; the one before came before it"),
            ("2026-11-23T09:00:00Z", long_ago, Now(monday), "ten o'clock in Berlin, by winter time"),
            ("2026-11-23T10:00:00Z", long_ago, Now(monday), "an hour late is late enough"),
            ("2026-11-23T10:00:01Z", long_ago, Missed(monday), "more is too late"),
            ("2026-11-23T09:30:00Z", "2026-11-23T09:10:00Z", Not, "it was written down after its time"),
            ("2026-11-23T09:00:00Z", "2026-11-23T09:00:00Z", Not, "or just then"),
            ("2026-11-23T09:00:00Z", "2026-11-23T08:59:59Z", Now(monday), "or just before"),
        ];
        let weekly = drill("0 10 * * mon", "Europe/Berlin");
        for (now, since, expected, sentence) in rows {
            assert_eq!(weekly.due(at(now), at(since)), expected, "{sentence}");
        }
        assert_eq!(weekly.next_shown(at("2026-11-25T00:00:00Z")).as_deref(), Some("2026-11-30 10:00 CET"));
        assert_eq!(weekly.next_shown(at("2027-03-26T00:00:00Z")).as_deref(), Some("2027-03-29 10:00 CEST"));
    }

    #[test]
    fn each_minute_of_both_clock_changes_has_one_drill_due_at_most_and_each_night_has_one() {
        // Berlin: back on 2026-10-25 at 01:00 UTC, where 02:30 comes twice; forward on 2027-03-28, where it never comes.
        let nightly = drill("30 2 * * *", "Europe/Berlin");
        let rows = [
            ("2026-10-24T20:00:00Z", "2026-10-25T00:30:00Z", "the first of two half past two"),
            ("2027-03-27T20:00:00Z", "2027-03-28T01:00:00Z", "the first instant after the gap"),
        ];
        for (evening, expected, sentence) in rows {
            let due = (0..600).map(|minute| at(evening) + TimeDelta::minutes(minute));
            let mut told: Vec<DateTime<Utc>> = due
                .filter_map(|now| match nightly.due(now, at(evening)) {
                    DrillDue::Now(at) => Some(at),
                    DrillDue::Not | DrillDue::Missed(_) => None,
                })
                .collect();
            assert_eq!(told.len(), 61, "{sentence}: due from its minute until an hour after it");
            told.dedup();
            assert_eq!(told, [at(expected)], "{sentence}");
        }
    }
}
