//! What was read of the monitors' days and hours that are over, kept between two looks at a list.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use crate::domain::cell::Cell;
use crate::domain::monitor::MonitorId;
use crate::domain::quality::answers::Answers;

/// Monitors whose past is kept; some 3.5 kB each, 14 MB at most. A fleet page has a hundred.
const MONITORS_MAX: usize = 4_000;
/// What is kept is read again after so long: a day is rolled up, a late beat joins one.
const FRESH: TimeDelta = TimeDelta::minutes(10);

/// Pasts by monitor.
#[derive(Debug, Default)]
pub struct KeptCells(Mutex<HashMap<MonitorId, KeptPast>>);

/// What was read of one monitor.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptPast {
    pub read_at: DateTime<Utc>,
    /// Days (UTC) that are rolled up.
    pub days: BTreeMap<DateTime<Utc>, Cell>,
    /// Answers of sealed hours that memory did not count, being of before the start.
    pub answers: BTreeMap<DateTime<Utc>, Answers>,
}

impl KeptCells {
    /// Which of these were not read, or too long ago.
    pub(crate) fn old<'a>(&self, ids: impl Iterator<Item = &'a MonitorId>, now: DateTime<Utc>) -> Vec<MonitorId> {
        let kept = self.0.lock();
        ids.filter(|id| kept.get(*id).is_none_or(|kept| now - kept.read_at >= FRESH)).cloned().collect()
    }

    /// Keeps what was read. Where there is no room, what is old goes first, and then all.
    pub(crate) fn keep(&self, read: Vec<(MonitorId, KeptPast)>, now: DateTime<Utc>) {
        let mut kept = self.0.lock();
        if kept.len() + read.len() > MONITORS_MAX {
            kept.retain(|_, kept| now - kept.read_at < FRESH);
        }
        if kept.len() + read.len() > MONITORS_MAX {
            kept.clear();
        }
        kept.extend(read);
    }

    /// Looks at what is kept of a monitor.
    pub(crate) fn with<T>(&self, id: &MonitorId, look: impl FnOnce(Option<&KeptPast>) -> T) -> T {
        look(self.0.lock().get(id))
    }
}
