//! What was read of the monitors' days and hours that are over, kept between two looks at a list.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use crate::domain::cell::Cell;
use crate::domain::monitor::MonitorId;
use crate::domain::quality::answers::Answers;

/// Monitors whose past is kept; some 3.5 kB each, 14 MB at most. A fleet page has a hundred.
const MONITORS_MAX: usize = 4_000;
/// The latest of what is kept is read again after so long: a day is rolled up, an hour is sealed.
const FRESH: TimeDelta = TimeDelta::minutes(10);
/// All of it is, since a late beat may join any day.
const WHOLE: TimeDelta = TimeDelta::hours(6);

/// Pasts by monitor.
#[derive(Debug, Default)]
pub struct KeptCells(Mutex<HashMap<MonitorId, KeptPast>>);

/// What was read of one monitor.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptPast {
    /// When the latest of it was read.
    pub read_at: DateTime<Utc>,
    /// When all of it was.
    pub whole_at: DateTime<Utc>,
    /// Days (UTC) that are rolled up.
    pub days: BTreeMap<DateTime<Utc>, Cell>,
    /// Answers of sealed hours that memory did not count, being of before the start.
    pub answers: BTreeMap<DateTime<Utc>, Answers>,
}

impl KeptCells {
    /// Which of these are to be read whole, and of which the latest is.
    pub(crate) fn old<'a>(&self, ids: impl Iterator<Item = &'a MonitorId>, now: DateTime<Utc>) -> [Vec<MonitorId>; 2] {
        let kept = self.0.lock();
        let mut old = [Vec::new(), Vec::new()];
        for id in ids {
            match kept.get(id) {
                Some(kept) if now - kept.read_at < FRESH => {}
                Some(kept) if now - kept.whole_at < WHOLE => old[1].push(id.clone()),
                _ => old[0].push(id.clone()),
            }
        }
        old
    }

    /// Keeps what was read, or joins the latest of it to what is kept. Where there is no room, what is old goes first, and
    /// then all.
    pub(crate) fn keep(&self, read: Vec<(MonitorId, KeptPast)>, is_whole: bool, now: DateTime<Utc>) {
        let mut kept = self.0.lock();
        if kept.len() + read.len() > MONITORS_MAX {
            kept.retain(|_, kept| now - kept.read_at < FRESH);
        }
        if kept.len() + read.len() > MONITORS_MAX {
            kept.clear();
        }
        for (id, past) in read {
            match kept.get_mut(&id) {
                Some(known) if !is_whole => {
                    known.read_at = past.read_at;
                    known.days.extend(past.days);
                    known.answers.extend(past.answers);
                }
                _ => drop(kept.insert(id, past)),
            }
        }
    }

    /// Looks at what is kept of a monitor.
    pub(crate) fn with<T>(&self, id: &MonitorId, look: impl FnOnce(Option<&KeptPast>) -> T) -> T {
        look(self.0.lock().get(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_read_again_whole() {
        let kept = KeptCells::default();
        let id = MonitorId::new("docs");
        let at = |minutes: i64| DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::minutes(minutes);
        let day = |n: i64| DateTime::UNIX_EPOCH + TimeDelta::days(n);
        let past = |now, n, up_s| KeptPast {
            read_at: now,
            whole_at: now,
            days: BTreeMap::from([(day(n), Cell { up_s, ..Cell::default() })]),
            answers: BTreeMap::new(),
        };
        let old = |now| kept.old([&id].into_iter(), now).map(|ids| ids.len());
        assert_eq!(old(at(0)), [1, 0], "what nobody read is read whole");
        kept.keep(vec![(id.clone(), past(at(0), 1, 10))], true, at(0));
        let rows =
            [(9, [0, 0], "not for a while"), (10, [0, 1], "then the latest"), (360, [1, 0], "and at last all of it")];
        for (minutes, expected, sentence) in rows {
            assert_eq!(old(at(minutes)), expected, "{sentence}");
        }
        kept.keep(vec![(id.clone(), past(at(10), 2, 20))], false, at(10));
        let days =
            || kept.with(&id, |kept| kept.map(|kept| kept.days.values().map(|cell| cell.up_s).collect::<Vec<_>>()));
        assert_eq!((days(), old(at(360))), (Some(vec![10, 20]), [1, 0]), "the latest joins what is known");
        kept.keep(vec![(id.clone(), past(at(360), 3, 30))], true, at(360));
        assert_eq!((days(), old(at(361))), (Some(vec![30]), [0, 0]), "the whole takes its place");
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let kept = KeptCells::default();
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        for begin in (0..10_000).step_by(100) {
            let read = (begin..begin + 100).map(|n| {
                (MonitorId::new(&format!("m-{n}")), KeptPast { read_at: now, whole_at: now, ..KeptPast::default() })
            });
            kept.keep(read.collect(), true, now);
            assert!(kept.0.lock().len() <= MONITORS_MAX);
        }
        assert!(kept.with(&MonitorId::new("m-9999"), |kept| kept.is_some()), "what was looked at last is there");
    }
}
