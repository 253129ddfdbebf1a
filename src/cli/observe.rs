//! One probe of a command's own, which ends when somebody presses Ctrl-C.

use crate::domain::observation::Observation;
use crate::probe::{Assignment, Prober};

/// The exit code of an interrupted program, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// One probe with its transcript; none where somebody interrupted it.
pub(crate) async fn observe(assignment: &Assignment) -> Option<Observation> {
    let prober = Prober::new(1).once();
    let seen = tokio::select! {
        (seen, _) = prober.record(assignment) => seen,
        // What the probe started ends with it.
        _ = tokio::signal::ctrl_c() => return None,
    };
    prober.release_all().await;
    Some(seen)
}
