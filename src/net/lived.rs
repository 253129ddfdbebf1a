//! The time since the machine started, which nobody sets.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time since the machine started, its sleep counted in: what passed while it slept did pass, and was not seen.
pub(crate) fn lived() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
