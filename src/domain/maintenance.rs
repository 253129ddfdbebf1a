//! Maintenance windows of the file: when each of them runs, by the clock of its zone.
//!
//! The length of a window is elapsed time; its starts are those of a [`Recurrence`].

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::reason::Severity;
use crate::domain::recurrence::{Recurrence, shown_in_utc};
use crate::domain::route::Match;
use crate::domain::signal::Signal;

/// No window is longer: what is quiet for longer is not watched, and belongs out of the file.
pub const WINDOW_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

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
        /// The starts, by the clock of their zone.
        starts: Recurrence,
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

impl MaintenanceWindow {
    /// What a monitor's page says of it: until when it is on, or that it comes within a day; none where it does not.
    pub fn ahead(&self, now: DateTime<Utc>) -> Option<String> {
        if let Some(run) = self.run_at(now) {
            return Some(format!("{}, on until {}", self.called(), self.shown(run.to)));
        }
        let next = self.next_after(now, 1).into_iter().find(|run| run.from - now <= TimeDelta::days(1))?;
        Some(format!("{}, from {} to {}", self.called(), self.shown(next.from), self.shown(next.to)))
    }

    /// Whether it keeps outages quiet whatever their reason, as far as can be told without a monitor's rules, by which an
    /// outage is taken to be a page: only then is a monitor in maintenance while it runs.
    pub fn is_about_outages(&self) -> bool {
        let Match { severity, signal, reason, .. } = &self.matches;
        reason.is_empty()
            && (signal.is_empty() || signal.contains(&Signal::Availability))
            && (severity.is_empty() || severity.contains(&Severity::Page))
    }

    /// Its name, or where it has none the line it stands on.
    pub fn called(&self) -> String {
        if self.name.is_empty() { format!("line {}", self.line) } else { self.name.clone() }
    }

    /// A moment by the clock it is declared by, such as `2026-11-29 02:00 CET`; what runs once is told in UTC.
    pub fn shown(&self, at: DateTime<Utc>) -> String {
        match &self.runs {
            WindowRuns::Repeated { starts, .. } => starts.shown(at),
            WindowRuns::Once(_) => shown_in_utc(at),
        }
    }

    /// The run that covers a moment; of several the one that ends last.
    pub fn run_at(&self, now: DateTime<Utc>) -> Option<Stretch> {
        match &self.runs {
            WindowRuns::Once(once) => Some(*once).filter(|run| run.covers(now)),
            WindowRuns::Repeated { starts, lasts } => {
                let last = starts.last(now)?;
                Some(Stretch::from(last, *lasts)).filter(|run| run.covers(now))
            }
        }
    }

    /// The next so many runs that start after a moment.
    pub fn next_after(&self, now: DateTime<Utc>, count: usize) -> Vec<Stretch> {
        match &self.runs {
            WindowRuns::Once(once) => Some(*once).filter(|run| run.from > now && count > 0).into_iter().collect(),
            WindowRuns::Repeated { starts, lasts } => {
                starts.next_after(now, count).into_iter().map(|from| Stretch::from(from, *lasts)).collect()
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

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::domain::reason::FailureReason;
    use crate::domain::recurrence::parsed;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn window(cron: &str, zone: &str, hours: u64) -> MaintenanceWindow {
        MaintenanceWindow {
            name: String::new(),
            matches: Match::default(),
            runs: WindowRuns::Repeated {
                starts: Recurrence::new(parsed(cron).unwrap(), TimeZone::get(zone).unwrap()),
                lasts: Duration::from_secs(hours * 3600),
            },
            line: 1,
        }
    }

    #[test]
    fn a_narrow_window_puts_no_monitor_in_maintenance() {
        let of = |signal: &[Signal], severity: &[Severity], reason: &[FailureReason]| MaintenanceWindow {
            matches: Match {
                signal: signal.to_vec(),
                severity: severity.to_vec(),
                reason: reason.to_vec(),
                ..Match::default()
            },
            ..window("0 1 * * *", "UTC", 1)
        };
        let rows = [
            (of(&[], &[], &[]), true, "all of it"),
            (of(&[Signal::Latency, Signal::Availability], &[], &[]), true, "outages among others"),
            (of(&[Signal::Quality], &[], &[]), false, "only what is wrong"),
            (of(&[], &[Severity::Ticket], &[]), false, "nothing that wakes somebody"),
            (of(&[], &[], &[FailureReason::Timeout]), false, "one reason of many"),
        ];
        for (window, expected, sentence) in rows {
            assert_eq!(window.is_about_outages(), expected, "{sentence}");
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
}
