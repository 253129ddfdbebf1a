//! Drills since the start: how long receivers took to accept them, and which did not.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

/// Upper bounds of the times' buckets in seconds: from a webhook at once to a mail server that is tried again and again.
pub const SECONDS: [f64; 12] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0];

/// The counts; a restart begins at zero.
#[derive(Debug, Default)]
pub struct DrillMetrics {
    /// By receiver: as many as the file had since the start.
    times: Mutex<BTreeMap<String, DrillTimes>>,
    failed: Mutex<Vec<String>>,
}

/// How long one receiver took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DrillTimes {
    /// Drills accepted, a count for each of [`SECONDS`] and one beyond.
    pub counts: [u64; SECONDS.len() + 1],
    /// All of them together.
    pub took: Duration,
}

impl DrillMetrics {
    /// A receiver accepted a drill after so long.
    pub fn accepted(&self, receiver: &str, took: Duration) {
        let mut times = self.times.lock();
        let of = times.entry(receiver.to_owned()).or_default();
        of.counts[SECONDS.partition_point(|bound| *bound < took.as_secs_f64())] += 1;
        of.took = of.took.saturating_add(took);
    }

    /// How long a receiver took; nothing where it accepted none.
    pub fn times(&self, receiver: &str) -> DrillTimes {
        self.times.lock().get(receiver).cloned().unwrap_or_default()
    }

    /// Receivers that did not accept their last drill, by name.
    pub fn set_failed(&self, names: Vec<String>) {
        *self.failed.lock() = names;
    }

    /// Receivers that did not accept their last drill, as last told.
    pub fn failed(&self) -> Vec<String> {
        self.failed.lock().clone()
    }
}
