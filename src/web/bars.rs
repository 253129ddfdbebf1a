//! The last 24 hours and 90 days of the monitors of a list, as bars show them.
//!
//! The last day is counted in memory beat by beat, and so is a day until it is rolled up. What is over is read from
//! the database, for all monitors of a page at once, and kept: days that are over hardly change. Where the database is
//! away, the last day is still there.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::cell::Cell;
use crate::domain::monitor::MonitorId;
use crate::live::monitor_view::{HourMark, MonitorView};
use crate::store::read::cells::MONITORS_MAX;
use crate::web::kept_cells::KeptPast;
use crate::web::ranges::{day_of, hour_of};
use crate::web::state::{Away, WebState};

/// Hours of the shorter bar, the running one counted in.
pub(crate) const HOURS: usize = 24;
/// Days of the longer one, today counted in.
pub(crate) const DAYS: usize = 90;
/// What is read again of what is known: days that may be rolled up since, and hours that may be sealed.
const LATEST: (TimeDelta, i64) = (TimeDelta::days(3), 4);
const HOUR_S: u32 = 3_600;
const DAY_S: u32 = 86_400;

/// Cells of one length in a row, without a gap.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Past {
    pub grain: Grain,
    /// Where the first cell begins, UTC.
    pub from: DateTime<Utc>,
    /// The oldest first; the last one is running.
    pub cells: Vec<Cell>,
    /// Seconds of each cell that are over and in which the monitor was declared: what could have been covered.
    pub due_s: Vec<u32>,
}

/// The length of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    Hour,
    Day,
}

/// A monitor's last hours and days.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MonitorPast {
    pub hours: Past,
    /// None where the database does not answer.
    pub days: Option<Past>,
}

impl Grain {
    pub(crate) const fn seconds(self) -> u32 {
        match self {
            Self::Hour => HOUR_S,
            Self::Day => DAY_S,
        }
    }
}

impl Past {
    fn new(grain: Grain, from: DateTime<Utc>, n: usize, first_seen: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        let length = TimeDelta::seconds(i64::from(grain.seconds()));
        let begins = (0..n).scan(from, |at, _| Some(std::mem::replace(at, *at + length)));
        let due = begins.map(|at| (at + length).min(now) - at.max(first_seen));
        let due_s = due.map(|due| u32::try_from(due.num_seconds().max(0)).unwrap_or_default()).collect();
        Self { grain, from, cells: vec![Cell::default(); n], due_s }
    }

    /// Where a cell begins.
    pub(crate) fn begins(&self, place: usize) -> DateTime<Utc> {
        let seconds = i64::from(self.grain.seconds()) * i64::try_from(place).unwrap_or_default();
        self.from + TimeDelta::seconds(seconds)
    }

    fn at(&mut self, at: DateTime<Utc>) -> Option<&mut Cell> {
        let place = (at - self.from).num_seconds().div_euclid(i64::from(self.grain.seconds()));
        self.cells.get_mut(usize::try_from(place).ok()?)
    }

    /// All cells together.
    pub(crate) fn sum(&self) -> Cell {
        self.cells.iter().fold(Cell::default(), |mut sum, cell| {
            sum.add(*cell);
            sum
        })
    }

    /// The share of the time that is over which was seen or was maintenance, 0 to 1.
    pub(crate) fn coverage(&self) -> f64 {
        let due: u64 = self.due_s.iter().map(|due| u64::from(*due)).sum();
        let sum = self.sum();
        let covered = u64::from(sum.seen_s()) + u64::from(sum.apart_s);
        #[expect(clippy::cast_precision_loss, reason = "seconds of a quarter of a year")]
        let share = if due == 0 { 0.0 } else { covered as f64 / due as f64 };
        share.min(1.0)
    }
}

/// The past of some monitors, [`MONITORS_MAX`] at most: what is beyond has its last day alone. A fixed number of queries
/// where anything is not known yet or is old, else none.
pub(crate) async fn read(
    state: &WebState,
    views: &[MonitorView],
    now: DateTime<Utc>,
) -> HashMap<MonitorId, MonitorPast> {
    let [unknown, old] = state.cells.old(views.iter().take(MONITORS_MAX).map(|view| &view.id), now);
    // One that is away for the one is not asked for the other: a page waits once.
    let is_away = look(state, &unknown, true, now).await.is_err() || look(state, &old, false, now).await.is_err();
    let of = |view: &MonitorView| {
        let past = |kept: Option<&KeptPast>| assembled(view, kept, kept.is_some() || !is_away, now);
        (view.id.clone(), state.cells.with(&view.id, past))
    };
    views.iter().map(of).collect()
}

/// Reads what is over, all of it or the latest, and keeps it.
async fn look(state: &WebState, wanted: &[MonitorId], is_whole: bool, now: DateTime<Utc>) -> Result<(), Away> {
    if wanted.is_empty() {
        return Ok(());
    }
    // Memory counts from there on, but not what another machine saw: an hour that is over is read all the same.
    let is_shared = state.live.nodes().now().nodes.len() > 1;
    let counted_from = hour_of(if is_shared { now } else { state.started_at }) + TimeDelta::hours(1);
    let (days, hours) = if is_whole { (TimeDelta::days(90), 27) } else { LATEST };
    let hours_from = hour_of(now) - TimeDelta::hours(hours);
    let store = &state.store;
    let mut days = state.ask(store.day_cells(wanted, day_of(now) - days, now)).await?;
    let mut answers = if hours_from < counted_from {
        state.ask(store.hour_answers(wanted, hours_from, counted_from)).await?
    } else {
        HashMap::new()
    };
    let read = wanted.iter().map(|id| {
        let days = days.remove(id).unwrap_or_default().into_iter().collect();
        let answers = answers.remove(id).unwrap_or_default().into_iter().collect();
        (id.clone(), KeptPast { read_at: now, whole_at: now, days, answers })
    });
    state.cells.keep(read.collect(), is_whole, now);
    Ok(())
}

fn assembled(view: &MonitorView, kept: Option<&KeptPast>, has_days: bool, now: DateTime<Utc>) -> MonitorPast {
    let first_seen = known_since(view, kept);
    let hours_from = hour_of(now) - TimeDelta::hours(23);
    let mut hours = Past::new(Grain::Hour, hours_from, HOURS, first_seen, now);
    let mut days = Past::new(Grain::Day, day_of(now) - TimeDelta::days(89), DAYS, first_seen, now);
    let rolled = kept.map(|kept| &kept.days);
    for (day, cell) in rolled.into_iter().flatten() {
        if let Some(own) = days.at(*day) {
            *own = *cell;
        }
    }
    for (hour, mut cell) in by_hour(&view.day.hours, now) {
        if let Some(answers) = kept.and_then(|kept| kept.answers.get(&hour)) {
            cell.asked = u32::try_from(answers.asked).unwrap_or(u32::MAX);
            cell.right = u32::try_from(answers.right).unwrap_or(u32::MAX);
        }
        if let Some(own) = hours.at(hour) {
            *own = cell;
        }
        let day = day_of(hour);
        let is_rolled = rolled.is_some_and(|rolled| rolled.contains_key(&day));
        if let Some(own) = days.at(day).filter(|_| !is_rolled) {
            own.add(cell);
        }
    }
    MonitorPast { hours, days: has_days.then_some(days) }
}

/// Since when a monitor is known: a restart begins its view anew, and what was counted before belongs to it all the same.
fn known_since(view: &MonitorView, kept: Option<&KeptPast>) -> DateTime<Utc> {
    let first_seen = view.day.first_seen;
    // An hour or a day in which it was first seen began before it, and nothing was due then.
    let first_hour = view.day.hours.first().map(|hour| hour.hour).filter(|hour| *hour != hour_of(first_seen));
    let first_day = kept.and_then(|kept| kept.days.keys().next().copied()).filter(|day| *day != day_of(first_seen));
    [first_hour, first_day].into_iter().flatten().fold(first_seen, DateTime::min)
}

/// Counted beats as seconds: each stands for the time until the next one was due, by the rhythm of then. A rhythm slower
/// than an hour covers hours that have no beat of their own, and so far as one beat reaches.
fn by_hour(marks: &[HourMark], now: DateTime<Utc>) -> BTreeMap<DateTime<Utc>, Cell> {
    let mut hours: BTreeMap<DateTime<Utc>, Cell> = BTreeMap::new();
    for (place, mark) in marks.iter().enumerate() {
        let one = TimeDelta::seconds(i64::from(mark.due_s / mark.due.max(1))).min(TimeDelta::days(1));
        let reach = TimeDelta::hours(1) + one;
        let until = marks.get(place + 1).map_or(now, |next| next.hour.min(now)).min(mark.hour + reach);
        let mut left = u64::from(mark.due_s);
        let (mut hour, mut is_first) = (mark.hour, true);
        while left > 0 && hour < until {
            let over = (until.min(hour + TimeDelta::hours(1)) - hour).num_seconds();
            let part = left.min(u64::try_from(over).unwrap_or_default());
            let seconds =
                |beats: u32| u32::try_from(part * u64::from(beats) / u64::from(mark.due.max(1))).unwrap_or(HOUR_S);
            let (asked, right) = if is_first { (mark.asked, mark.right) } else { (0, 0) };
            let cell = Cell {
                up_s: seconds(mark.up),
                down_s: seconds(mark.seen.saturating_sub(mark.up + mark.apart)),
                apart_s: seconds(mark.apart),
                unknown_s: seconds(mark.due.saturating_sub(mark.seen)),
                asked,
                right,
            };
            hours.entry(hour).or_default().add(cell);
            left -= part;
            hour += TimeDelta::hours(1);
            is_first = false;
        }
    }
    hours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn mark(hour: &str, every_s: u32, [due, seen, up, apart]: [u32; 4]) -> HourMark {
        HourMark { hour: at(hour), due, due_s: due * every_s, seen, up, apart, asked: 2 * seen, right: up }
    }

    #[test]
    fn counted_beats_are_seconds() {
        let now = at("2026-11-21T12:30:00Z");
        let rows = [
            ([60, 60, 60, 0], 60, [3600, 0, 0, 0], "a beat a minute, all good"),
            ([60, 60, 30, 0], 60, [1800, 1800, 0, 0], "half of them down"),
            ([60, 50, 20, 10], 60, [1200, 1200, 600, 600], "maintenance and what showed nothing are apart"),
            ([30, 30, 30, 0], 60, [1800, 0, 0, 0], "half an hour that nobody watched is in none"),
            ([70, 70, 70, 0], 60, [3600, 0, 0, 0], "an hour is never longer than it is"),
        ];
        for (beats, every_s, expected, sentence) in rows {
            let hours = by_hour(&[mark("2026-11-21T09:00:00Z", every_s, beats)], now);
            let cell = hours[&at("2026-11-21T09:00:00Z")];
            assert_eq!([cell.up_s, cell.down_s, cell.apart_s, cell.unknown_s], expected, "{sentence}");
        }
        let slow = by_hour(&[mark("2026-11-21T09:00:00Z", 7_200, [1, 1, 1, 0])], now);
        let seconds: Vec<_> = slow.values().map(|cell| (cell.up_s, cell.asked)).collect();
        assert_eq!(seconds, [(3600, 2), (3600, 0)], "a slow rhythm covers the hour after, and asks once");
        let changed = [("05", 60, 60), ("06", 6, 600), ("07", 360, 10)];
        let changed =
            changed.map(|(hour, due, every_s)| mark(&format!("2026-11-21T{hour}:00:00Z"), every_s, [due, due, due, 0]));
        let hours = by_hour(&changed, now);
        let seconds: Vec<_> = hours.values().map(|cell| cell.up_s).collect();
        assert_eq!(seconds, [3600, 3600, 3600], "each hour by its own rhythm, and none covers the hours after");
        let running = by_hour(&[mark("2026-11-21T12:00:00Z", 60, [31, 31, 31, 0])], now);
        assert_eq!(running[&at("2026-11-21T12:00:00Z")].up_s, 1800, "what is not over is not covered");
    }

    #[test]
    fn only_what_is_over_and_declared_is_due() {
        let now = at("2026-11-21T12:30:00Z");
        let past = Past::new(Grain::Hour, at("2026-11-21T09:00:00Z"), 4, at("2026-11-21T10:15:00Z"), now);
        assert_eq!(past.due_s, [0, 2700, 3600, 1800]);
        assert_eq!(past.begins(3), at("2026-11-21T12:00:00Z"));
        assert!(past.coverage() < 1e-9, "nothing was seen");
    }
}
