//! Searches of all monitors since the start: how long they took, and what canaries were judged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::domain::answer::Ask;
use crate::domain::classify;
use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::observation::Observation;
use crate::domain::outcome::{AskVerdict, Outcome};

/// Upper bounds of the durations' buckets in seconds, as the OpenTelemetry conventions for MCP advise for
/// `mcp.client.operation.duration`.
pub const SECONDS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// What comes of a canary that was asked, in the order of the counts.
pub const VERDICTS: [&str; 3] = ["right", "wrong", "failed"];

/// The counts; a restart begins at zero.
#[derive(Debug, Default)]
pub struct SearchMetrics {
    durations: [AtomicU64; SECONDS.len() + 1],
    took_us: AtomicU64,
    verdicts: [[AtomicU64; VERDICTS.len()]; CanaryKind::ALL.len()],
}

impl SearchMetrics {
    /// Counts what a beat asked.
    pub fn count(&self, monitor: &Monitor, seen: &Observation, outcome: &Outcome) {
        for (ask, verdict) in seen.asks.iter().zip(&outcome.asks) {
            if let Some(canary) = monitor.canaries.iter().find(|canary| canary.id == ask.canary) {
                self.count_one(canary.kind, ask, verdict);
            }
        }
        if let Some((harvested, verdict)) = seen.harvested.as_deref().zip(classify::harvested(seen)) {
            self.count_one(CanaryKind::Harvested, &harvested.ask, &verdict);
        }
    }

    fn count_one(&self, kind: CanaryKind, ask: &Ask, verdict: &AskVerdict) {
        let verdict = match verdict {
            AskVerdict::Right { .. } => 0,
            AskVerdict::Wrong { .. } => 1,
            AskVerdict::Failed { .. } => 2,
            AskVerdict::NotAsked => return,
        };
        self.verdicts[kind as usize][verdict].fetch_add(1, Ordering::Relaxed);
        if ask.result.as_ref().is_some_and(Result::is_ok) {
            self.time(ask.elapsed);
        }
    }

    fn time(&self, took: Duration) {
        let bucket = SECONDS.partition_point(|bound| *bound < took.as_secs_f64());
        self.durations[bucket].fetch_add(1, Ordering::Relaxed);
        self.took_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Answered searches by duration, a count for each of [`SECONDS`] and one beyond; and the seconds they took together.
    pub fn durations(&self) -> (Vec<u64>, f64) {
        let counts = self.durations.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        (counts, Duration::from_micros(self.took_us.load(Ordering::Relaxed)).as_secs_f64())
    }

    /// How often canaries of a kind were judged so, by the place in [`VERDICTS`].
    pub fn verdicts(&self, kind: CanaryKind) -> [u64; VERDICTS.len()] {
        std::array::from_fn(|verdict| self.verdicts[kind as usize][verdict].load(Ordering::Relaxed))
    }
}
