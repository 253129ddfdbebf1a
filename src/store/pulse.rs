//! How Serin itself is doing, as plain counters: what `/metrics` and `/readyz` tell of the loops.
//!
//! `daemon` counts, `web` reads. Nothing in here is stored; a restart begins at zero, as counters may.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::outcome::Verdict;

/// A loop that took no turn for this long counts as dead. Every loop polls at least twice as often.
pub const LOOP_SILENT_MAX: Duration = Duration::from_secs(60);

/// Serin's own counters.
#[derive(Debug, Default)]
pub struct Pulse {
    good: AtomicU64,
    degraded: AtomicU64,
    down: AtomicU64,
    unknown: AtomicU64,
    missed: AtomicU64,
    writer_queue: AtomicU64,
    deliveries_pending: AtomicU64,
    files: AtomicU64,
    permits: AtomicU64,
    start_late_us_max: AtomicU64,
    /// Starts by lateness, one count a bound and one beyond the last.
    start_late: [AtomicU64; Self::LATE_BOUNDS_MS.len() + 1],
    turns: Mutex<BTreeMap<&'static str, DateTime<Utc>>>,
}

impl Pulse {
    /// Bounds of the lateness histogram in milliseconds, each inclusive.
    pub const LATE_BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 15, 25, 50, 100, 250, 1000, 5000, 10_000];

    /// A loop took a turn; the name is the loop's file, such as `scheduler`.
    pub fn turn(&self, name: &'static str, now: DateTime<Utc>) {
        self.turns.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name, now);
    }

    /// Every loop that ever took a turn, with its last one.
    pub fn turns(&self) -> BTreeMap<&'static str, DateTime<Utc>> {
        self.turns.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Loops that took no turn within [`LOOP_SILENT_MAX`].
    pub fn silent_loops(&self, now: DateTime<Utc>) -> Vec<&'static str> {
        let silent = |at: DateTime<Utc>| (now - at).to_std().is_ok_and(|age| age > LOOP_SILENT_MAX);
        self.turns().into_iter().filter(|(_, at)| silent(*at)).map(|(name, _)| name).collect()
    }

    /// A beat was judged.
    pub fn beat(&self, verdict: Verdict) {
        self.counter(verdict).fetch_add(1, Ordering::Relaxed);
    }

    /// Beats judged since the start.
    pub fn beats(&self, verdict: Verdict) -> u64 {
        self.counter(verdict).load(Ordering::Relaxed)
    }

    /// Beats were due and did not take place.
    pub fn miss(&self, beats: u64) {
        self.missed.fetch_add(beats, Ordering::Relaxed);
    }

    /// Beats missed since the start.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// A beat started this late; the greatest since the last scrape is kept.
    pub fn started_late(&self, late: Duration) {
        let late_us = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
        self.start_late_us_max.fetch_max(late_us, Ordering::Relaxed);
        let bucket = Self::LATE_BOUNDS_MS.partition_point(|bound_ms| bound_ms * 1000 < late_us);
        self.start_late[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// Starts since ours, by lateness: a count for each of [`Self::LATE_BOUNDS_MS`] and one beyond.
    pub fn lateness(&self) -> Vec<u64> {
        self.start_late.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// The greatest lateness since the last call, in seconds.
    pub fn take_start_late_seconds_max(&self) -> f64 {
        Duration::from_micros(self.start_late_us_max.swap(0, Ordering::Relaxed)).as_secs_f64()
    }

    /// Records waiting for the writer.
    pub fn set_writer_queue(&self, records: u64) {
        self.writer_queue.store(records, Ordering::Relaxed);
    }

    /// Records waiting for the writer, as last told.
    pub fn writer_queue(&self) -> u64 {
        self.writer_queue.load(Ordering::Relaxed)
    }

    /// Deliveries not brought yet.
    pub fn set_deliveries_pending(&self, deliveries: u64) {
        self.deliveries_pending.store(deliveries, Ordering::Relaxed);
    }

    /// Deliveries not brought yet, as last told.
    pub fn deliveries_pending(&self) -> u64 {
        self.deliveries_pending.load(Ordering::Relaxed)
    }

    /// The limit on open files that is in force, and the probes that may be in flight at once because of it.
    pub fn set_limits(&self, files: u64, permits: u64) {
        self.files.store(files, Ordering::Relaxed);
        self.permits.store(permits, Ordering::Relaxed);
    }

    /// The limit on open files that is in force.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Probes that may be in flight at once; three quarters of these places are for probes that take long.
    pub fn permits(&self) -> u64 {
        self.permits.load(Ordering::Relaxed)
    }

    const fn counter(&self, verdict: Verdict) -> &AtomicU64 {
        match verdict {
            Verdict::Good => &self.good,
            Verdict::Degraded => &self.degraded,
            Verdict::Down => &self.down,
            Verdict::Unknown => &self.unknown,
        }
    }
}
