//! What probes cost one server, by day, and what it asked to be spared.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::monitor::Monitor;
use crate::domain::observation::{BeatKind, Observation};
use crate::domain::rate_limit::{self, Hold, Quiet, Spent};

/// The days' footprints are written this often: each writing is a row more in the beat's commit.
const DAYS_SAVED_EVERY: Duration = Duration::from_secs(600);

/// What probes of one monitor cost its server, and how long that wants to be left alone.
#[derive(Debug)]
pub(crate) struct Spending {
    /// The quiet its server asked for.
    pub quiet: Quiet,
    /// Yesterday and today, UTC; today last.
    days: [Spent; 2],
    days_saved_at: DateTime<Utc>,
    last_beat_at: Option<DateTime<Utc>>,
}

impl Spending {
    /// Nothing spent yet.
    pub(crate) fn new(now: DateTime<Utc>) -> Self {
        Self {
            quiet: Quiet::default(),
            days: [Spent::default(), Spent { day: Spent::day_of(now), ..Spent::default() }],
            days_saved_at: now,
            last_beat_at: None,
        }
    }

    /// Yesterday and today, UTC; today last.
    pub(crate) const fn days(&self) -> [Spent; 2] {
        self.days
    }

    /// Goes on from the days that an earlier run wrote down.
    pub(crate) fn restore_days(&mut self, days: &[Spent]) {
        for day in &mut self.days {
            if let Some(remembered) = days.iter().find(|one| one.day == day.day) {
                *day = *remembered;
            }
        }
        if let Some(before) = days.iter().find(|one| one.day + 1 == self.days[1].day) {
            self.days[0] = *before;
        }
    }

    /// Why a beat of this kind is not to be made now.
    pub(crate) fn hold(&self, monitor: &Monitor, kind: BeatKind, now: DateTime<Utc>) -> Option<Hold> {
        rate_limit::hold(monitor, kind, &self.quiet, &self.days[1], self.last_beat_at, now)
    }

    /// Calls beyond the schedule that today's caps leave room for.
    pub(crate) fn spare_calls(&self, monitor: &Monitor, now: DateTime<Utc>) -> usize {
        rate_limit::spare_calls(monitor, &self.days[1], now)
    }

    /// Takes in what a probe cost, whether or not it can be remembered, and whether it was told to slow down; `every` is
    /// the time between beats.
    pub(crate) fn spend(&mut self, seen: &Observation, every: Duration) {
        let day = Spent::day_of(seen.started_at);
        if day != self.days[1].day {
            self.days = [self.days[1], Spent { day, ..Spent::default() }];
        }
        self.days[1].add(seen.footprint);
        self.last_beat_at = Some(seen.started_at);
        self.quiet.hear(seen, every);
    }

    /// The days whose figures are to be written with this beat; none most of the time.
    pub(crate) fn unsaved_days(&self, now: DateTime<Utc>) -> Vec<Spent> {
        if (now - self.days_saved_at).to_std().is_ok_and(|age| age < DAYS_SAVED_EVERY) {
            return Vec::new();
        }
        self.days.into_iter().filter(|day| day.beats > 0).collect()
    }

    /// Those that were due are on disk.
    pub(crate) fn days_saved(&mut self, now: DateTime<Utc>) {
        if !self.unsaved_days(now).is_empty() {
            self.days_saved_at = now;
        }
    }
}
