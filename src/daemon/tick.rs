//! How long the scheduler lets due beats gather, so that many start in one turn and the machine sleeps between.

use std::time::Duration;

use crate::domain::fleet::Fleet;

/// The width up to [`NARROW_RATE_MAX`], and the least there is.
const NARROW: Duration = Duration::from_millis(10);
/// Beats a second up to which a tick stays narrow: ten starts in one turn cost no more a beat than a hundred would,
/// and the last of a hundred would be timed while the others still work.
const NARROW_RATE_MAX: f64 = 1_000.0;
/// The widest tick, far below the second within which 99 of 100 beats start.
const WIDE: Duration = Duration::from_millis(100);

/// The width of a tick at so many beats a second.
pub fn width(beats_per_second: f64) -> Duration {
    NARROW.mul_f64((beats_per_second / NARROW_RATE_MAX).max(1.0)).min(WIDE)
}

/// Scheduled beats a second that a fleet amounts to.
pub fn rate(fleet: &Fleet) -> f64 {
    fleet.monitors.iter().map(|monitor| 1.0 / monitor.every.as_secs_f64().max(1e-3)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_widens_with_the_fleet_and_never_far() {
        let rows = [
            (0.0, 10, "an idle Serin"),
            (17.0, 10, "a thousand monitors a minute"),
            (100.0, 10, "at most 10 ms up to 100 beats a second"),
            (833.0, 10, "fifty thousand a minute: eight starts a turn are enough"),
            (5_000.0, 50, "beyond, the tick widens"),
            (1e9, 100, "and never so far that a beat starts a second late"),
        ];
        for (rate, expected_ms, sentence) in rows {
            assert_eq!(width(rate), Duration::from_millis(expected_ms), "{sentence}");
        }
    }
}
