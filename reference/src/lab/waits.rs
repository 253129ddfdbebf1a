//! Waiting on request.

use std::time::{Duration, Instant};

use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;

/// The part of a cold start's wait below which it counts as over.
const COLD_ABOVE: f64 = 0.1;

/// How long the vector arm waits before it scans.
pub async fn nearest(faults: &Faults, started: Instant) {
    let mut wait_ms = faults.activated(Fault::LatencyStep).map_or(0.0, |dose| dose.amount);
    if let Some(dose) = faults.activated(Fault::LatencyDecay) {
        wait_ms += dose.amount * fading(started.elapsed(), dose.tau_ms);
    }
    if wait_ms >= 1.0 {
        tokio::time::sleep(Duration::from_secs_f64(wait_ms / 1_000.0)).await;
    }
}

/// Whether a cold start that began at `started` is still felt.
pub fn is_cold(faults: &Faults, started: Instant) -> bool {
    faults.dose(Fault::LatencyDecay).is_some_and(|dose| fading(started.elapsed(), dose.tau_ms) > COLD_ABOVE)
}

/// What is left of a disturbance after a while: 1 at its beginning, a third after `tau_ms`.
pub fn fading(since: Duration, tau_ms: f64) -> f64 {
    (-(since.as_secs_f64() * 1_000.0) / tau_ms).exp()
}
