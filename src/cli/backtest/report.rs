//! What a back-test came to, monitor by monitor.

use chrono::{DateTime, TimeDelta, Utc};

use crate::cli::backtest::comparing::{Difference, Stretch, differences};
use crate::domain::fleet::Provenance;
use crate::domain::monitor::MonitorId;
use crate::domain::reason::Severity;
use crate::domain::signal::Signal;
use crate::hindsight::declared::NotComparable;
use crate::hindsight::replaying::{Replayed, ToldIncident};

/// So long after the first beat that is kept, windows, streaks and what was open before stand as they stood.
const SETTLES: TimeDelta = TimeDelta::days(1);
/// A monitor that is known for no longer than this before its first beat began with it.
const BEGINS_WITHIN: TimeDelta = TimeDelta::hours(1);
/// Days of the month that pages are counted by.
const MONTH_DAYS: f64 = 30.0;

/// Of one monitor.
#[derive(Debug)]
pub(crate) struct MonitorReport {
    pub(crate) id: MonitorId,
    /// What is compared of the past; none where nothing of it is kept.
    pub(crate) stretch: Option<Stretch>,
    /// What the proposed file makes another.
    pub(crate) differences: Vec<Difference>,
    /// What comes out otherwise under the rules that were in force: the record does not hold all that it was judged by.
    pub(crate) not_reproduced: Vec<Difference>,
    pub(crate) not_comparable: NotComparable,
    /// Whether a file that was in force can be read, so that what changes is known.
    pub(crate) knows_file: bool,
    pub(crate) replayed: Replayed,
    /// When its rules were edited in the stretch: what happened before was judged by others.
    pub(crate) edits: Vec<DateTime<Utc>>,
    /// Pages then, and with the proposed file.
    pub(crate) pages: (usize, usize),
}

/// Of a fleet.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) provenance: Provenance,
    pub(crate) stretch: Stretch,
    pub(crate) monitors: Vec<MonitorReport>,
    /// Monitors that were never looked at.
    pub(crate) unknown: Vec<MonitorId>,
    /// Monitors with incidents in the stretch that the file does not declare, and how often they paged.
    pub(crate) removed: Vec<(MonitorId, usize)>,
}

impl MonitorReport {
    /// Puts side by side what happened, what would have, and what the rules of then come to.
    pub(crate) fn new(
        (id, first_seen): (MonitorId, DateTime<Utc>),
        then: &[ToldIncident],
        (mut now, as_it_was): (Replayed, Option<Replayed>),
        (not_comparable, knows_file): (NotComparable, bool),
        stretch: Stretch,
    ) -> Self {
        let stretch = now.span.map(|(first, _)| settled(first, first_seen, stretch));
        let within = stretch.unwrap_or(Stretch { from: DateTime::UNIX_EPOCH, until: DateTime::UNIX_EPOCH });
        let changed = differences(then, &now.incidents, within);
        let (differences, not_reproduced) = match &as_it_was {
            // The file says of it what it said: nothing is another way by it.
            None => (Vec::new(), changed),
            Some(as_it_was) => {
                let missed = differences(then, &as_it_was.incidents, within);
                let is_own = |one: &Difference| !missed.iter().any(|other| one.is_as(other));
                (changed.into_iter().filter(is_own).collect(), missed)
            }
        };
        if let Some(Replayed { without_file, other_lock, otherwise, .. }) = &as_it_was {
            (now.without_file, now.other_lock, now.otherwise) = (*without_file, *other_lock, *otherwise);
        }
        let edits = as_it_was.as_ref().unwrap_or(&now).edits.iter().copied().filter(|at| *at >= within.from).collect();
        let pages = |all: &[ToldIncident]| all.iter().filter(|one| one.is_page_of(within)).count();
        let pages_now = match &as_it_was {
            None => pages(then),
            Some(_) => pages(&now.incidents),
        };
        let pages = (pages(then), pages_now);
        Self { id, stretch, differences, not_reproduced, not_comparable, knows_file, replayed: now, edits, pages }
    }

    /// Signals whose levels came out otherwise than live, and on how many beats.
    pub(crate) fn otherwise(&self) -> impl Iterator<Item = (Signal, u64)> {
        Signal::ALL.into_iter().zip(self.replayed.otherwise).filter(|(_, beats)| *beats > 0)
    }
}

impl ToldIncident {
    /// Whether it woke somebody in that stretch.
    fn is_page_of(&self, stretch: Stretch) -> bool {
        let at = self.incident.opened_at;
        self.told_at.is_some() && self.incident.severity == Severity::Page && at >= stretch.from && at < stretch.until
    }
}

impl Report {
    pub(crate) fn differences(&self) -> usize {
        self.monitors.iter().map(|monitor| monitor.differences.len()).sum()
    }

    /// Pages then and with the proposed file, over all monitors.
    pub(crate) fn pages(&self) -> (usize, usize) {
        self.monitors.iter().fold((0, 0), |(then, now), one| (then + one.pages.0, now + one.pages.1))
    }

    /// Beats that were weighed again.
    pub(crate) fn beats(&self) -> u64 {
        self.monitors.iter().map(|monitor| monitor.replayed.beats).sum()
    }

    /// Months of monitors that were compared.
    pub(crate) fn monitor_months(&self) -> f64 {
        let stretches = self.monitors.iter().filter_map(|monitor| monitor.stretch);
        let seconds = |stretch: Stretch| (stretch.until - stretch.from).as_seconds_f64().max(0.0);
        stretches.map(seconds).sum::<f64>() / (MONTH_DAYS * 86_400.0)
    }
}

/// From when on a monitor's record is compared: from its beginning, or once what is not kept matters no more.
fn settled(first: DateTime<Utc>, first_seen: DateTime<Utc>, stretch: Stretch) -> Stretch {
    let is_its_beginning = first_seen >= first - BEGINS_WITHIN;
    let from = if is_its_beginning { first } else { first + SETTLES };
    Stretch { from: stretch.from.max(from), ..stretch }
}
