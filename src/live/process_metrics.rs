//! How Serin itself is doing, as plain counters: what `/metrics` and `/readyz` tell of the loops.
//!
//! `daemon` counts, `web` reads. Nothing in here is stored; a restart begins at zero, as counters may.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use crate::domain::outcome::Verdict;
use crate::live::drill_metrics::DrillMetrics;
use crate::live::search_metrics::SearchMetrics;

/// A loop that took no turn for this long counts as dead. Every loop polls at least twice as often.
pub const LOOP_SILENT_MAX: Duration = Duration::from_secs(60);

/// The stretch that "lately" means: long enough for every monitor to have been due, short enough to be now.
pub const LATELY: Duration = Duration::from_secs(300);
/// Looks kept for it, at one every few seconds.
const SNAPSHOTS_MAX: usize = 128;

/// How the file that declares the fleet came into force, and why a newer one did not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileNote {
    /// Its name, such as `monitors.yaml`.
    pub file: String,
    /// SHA-256 of its bytes.
    pub hash: String,
    /// Its commit, where it is in git.
    pub commit: Option<String>,
    /// When it came into force.
    pub since: DateTime<Utc>,
    /// When a newer one was refused, and why; none where none was since.
    pub refused: Option<(DateTime<Utc>, String)>,
}

/// How the sign of life stands that somebody outside waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeartbeatNote {
    /// When one was last taken; none since the start.
    pub taken_at: Option<DateTime<Utc>>,
    /// Why the latest was kept back, or did not get through; none where it did.
    pub failing: Option<String>,
}

/// Beats of the last [`LATELY`], or since the start where that is less.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecentBeats {
    /// How long it is: [`LATELY`], or since the start where that is less.
    pub over: Duration,
    /// Starts by lateness, as in [`ProcessMetrics::lateness`].
    pub late: Vec<u64>,
    /// Beats that fell due and were not made.
    pub missed: u64,
}

impl RecentBeats {
    /// Beats that were started, late or not.
    pub fn starts(&self) -> u64 {
        self.late.iter().sum()
    }

    /// An upper bound, in milliseconds, of this share of the starts, from 0 to 1; none where nothing started, or
    /// the bound is beyond the last of [`ProcessMetrics::LATE_BOUNDS_MS`].
    pub fn late_ms_at_most(&self, share: f64) -> Option<u64> {
        let starts = self.starts();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of starts is far below 2^52"
        )]
        let wanted = ((starts as f64 * share).ceil() as u64).max(1);
        let mut counted = 0;
        let at = self.late.iter().position(|count| {
            counted += count;
            counted >= wanted
        });
        at.and_then(|at| ProcessMetrics::LATE_BOUNDS_MS.get(at)).copied()
    }
}

#[derive(Debug)]
struct Snapshot {
    at: Instant,
    late: Vec<u64>,
    missed: u64,
}

/// Serin's own counters.
#[derive(Debug, Default)]
pub struct ProcessMetrics {
    /// What was asked of all monitors.
    pub searches: SearchMetrics,
    /// What came of drills.
    pub drills: DrillMetrics,
    good: AtomicU64,
    degraded: AtomicU64,
    down: AtomicU64,
    unknown: AtomicU64,
    missed: AtomicU64,
    writer_queue: AtomicU64,
    deliveries_pending: AtomicU64,
    receivers_failing: Mutex<Vec<String>>,
    files: AtomicU64,
    permits: AtomicU64,
    start_late_us_max: AtomicU64,
    /// Starts by lateness, one count a bound and one beyond the last.
    start_late: [AtomicU64; Self::LATE_BOUNDS_MS.len() + 1],
    /// By both clocks: people read the one, silence is told by the other, which nobody sets.
    turns: Mutex<BTreeMap<&'static str, (DateTime<Utc>, Instant)>>,
    /// The counters as they stood, the oldest first.
    looks: Mutex<VecDeque<Snapshot>>,
    file: Mutex<FileNote>,
    sign: Mutex<HeartbeatNote>,
}

impl ProcessMetrics {
    /// Bounds of the lateness histogram in milliseconds, each inclusive.
    pub const LATE_BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 15, 25, 50, 100, 250, 1000, 5000, 10_000];

    /// A loop took a turn; the name is the loop's file, such as `scheduler`.
    pub fn turn(&self, name: &'static str, now: DateTime<Utc>) {
        let mut turns = self.turns.lock();
        turns.insert(name, (now, Instant::now()));
    }

    /// Every loop that ever took a turn, with its last one.
    pub fn turns(&self) -> BTreeMap<&'static str, DateTime<Utc>> {
        let turns = self.turns.lock();
        turns.iter().map(|(name, (at, _))| (*name, *at)).collect()
    }

    /// Loops that took no turn within [`LOOP_SILENT_MAX`].
    pub fn silent_loops(&self) -> Vec<&'static str> {
        let turns = self.turns.lock();
        turns.iter().filter(|(_, (_, at))| at.elapsed() > LOOP_SILENT_MAX).map(|(name, _)| *name).collect()
    }

    /// Counts a beat by its verdict.
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

    /// Keeps how the counters stand now, so that [`ProcessMetrics::lately`] can tell what came since.
    pub fn snapshot(&self, now: Instant) {
        let mut looks = self.looks.lock();
        let old = |look: &Snapshot| now.saturating_duration_since(look.at) > LATELY;
        // The newest of the old ones stays: from it on, the stretch is a whole one.
        while looks.len() >= SNAPSHOTS_MAX || looks.get(1).is_some_and(old) {
            looks.pop_front();
        }
        looks.push_back(Snapshot { at: now, late: self.lateness(), missed: self.missed() });
    }

    /// Beats of the last minutes.
    pub fn lately(&self, now: Instant) -> RecentBeats {
        let looks = self.looks.lock();
        let Some(first) = looks.front() else { return RecentBeats::default() };
        let late = self.lateness().into_iter().zip(&first.late).map(|(now, then)| now.saturating_sub(*then));
        RecentBeats {
            over: now.saturating_duration_since(first.at),
            late: late.collect(),
            missed: self.missed().saturating_sub(first.missed),
        }
    }

    /// A file came into force.
    pub fn file_in_force(&self, note: FileNote) {
        *self.file.lock() = note;
    }

    /// A file was refused; the one in force stays.
    pub fn file_refused(&self, why: &str, now: DateTime<Utc>) {
        let mut file = self.file.lock();
        file.refused = Some((now, why.to_owned()));
    }

    /// Which file is in force since when, and whether a newer one was refused.
    pub fn file(&self) -> FileNote {
        self.file.lock().clone()
    }

    /// A sign of life was taken.
    pub fn heartbeat_sent(&self, now: DateTime<Utc>) {
        *self.sign.lock() = HeartbeatNote { taken_at: Some(now), failing: None };
    }

    /// One was kept back, or did not get through.
    pub fn heartbeat_failed(&self, why: String) {
        self.sign.lock().failing = Some(why);
    }

    /// How the sign of life stands.
    pub fn heartbeat(&self) -> HeartbeatNote {
        self.sign.lock().clone()
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

    /// Receivers that keep failing, by name.
    pub fn set_receivers_failing(&self, names: Vec<String>) {
        *self.receivers_failing.lock() = names;
    }

    /// Receivers that keep failing, as last told.
    pub fn receivers_failing(&self) -> Vec<String> {
        self.receivers_failing.lock().clone()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts so late, in milliseconds, and what is said of this share of them.
    fn check(late_ms: &[u64], share: f64, expected: Option<u64>, sentence: &str) {
        let metrics = ProcessMetrics::default();
        let start = Instant::now();
        metrics.snapshot(start);
        late_ms.iter().for_each(|late_ms| metrics.started_late(Duration::from_millis(*late_ms)));
        let lately = metrics.lately(start + Duration::from_secs(10));
        assert_eq!(lately.late_ms_at_most(share), expected, "{sentence}");
        assert_eq!((lately.starts(), lately.over.as_secs()), (late_ms.len() as u64, 10), "{sentence}");
    }

    #[test]
    fn lateness_is_bounded_from_above() {
        check(&[], 0.99, None, "nothing started, nothing is said");
        check(&[0], 0.5, Some(1), "one is its own median");
        check(&[0, 0, 0, 90], 0.5, Some(1), "half of them in time");
        check(&[0, 0, 0, 90], 0.99, Some(100), "and one not");
        check(&[20_000], 0.99, None, "beyond the last bound there is no bound");
    }

    #[test]
    fn lately_forgets_what_is_older() {
        let metrics = ProcessMetrics::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        metrics.snapshot(at(0));
        metrics.miss(3);
        for seconds in 1..=100 {
            metrics.snapshot(at(seconds * 5));
        }
        metrics.miss(1);
        let lately = metrics.lately(at(501));
        assert_eq!(lately.missed, 1, "what was missed in the first seconds is over");
        assert!(lately.over >= LATELY && lately.over < LATELY + Duration::from_secs(10), "{lately:?}");
    }
}
