//! How long beats gather, so that many start in one turn and share a commit, and the machine sleeps between.

use std::time::Duration;

use crate::domain::fleet::Fleet;
use crate::domain::monitor::Monitor;
use crate::domain::schedule::jitter_max;

/// The width up to [`NARROW_RATE_MAX`], and the least there is.
const NARROW: Duration = Duration::from_millis(10);
/// Beats a second up to which a tick stays narrow: ten starts in one turn cost no more a beat than a hundred would,
/// and the last of a hundred would be timed while the others still work.
const NARROW_RATE_MAX: f64 = 1_000.0;
/// The widest tick, far below the second within which 99 of 100 beats start.
const WIDE: Duration = Duration::from_millis(100);

/// A beat that decided nothing waits for others to share its commit for this part of the fleet's shortest interval: with
/// the usual probe budget, three quarters of it, the beat is over before the next one.
const COMPANY_PART: u32 = 8;
/// And at most so long: what is not written yet is lost with a crash, and charts are that far behind.
const COMPANY_MAX: Duration = Duration::from_secs(5);
/// And at least so long; below, a commit would hold a single beat at 100 beats a second.
const COMPANY_MIN: Duration = Duration::from_millis(20);

/// How long a beat that decided nothing may wait until others share its commit.
pub(crate) fn company(fleet: &Fleet) -> Duration {
    // What a beat that uses up its budget, and comes as late as it may, leaves until the next.
    let spare = |monitor: &Monitor| monitor.every.saturating_sub(monitor.probe_budget + jitter_max(monitor.every));
    let shortest = fleet.monitors.iter().map(|monitor| (monitor.every / COMPANY_PART).min(spare(monitor))).min();
    shortest.unwrap_or_default().clamp(COMPANY_MIN, COMPANY_MAX)
}

/// The width of a tick at so many beats a second.
pub(crate) fn width(beats_per_second: f64) -> Duration {
    NARROW.mul_f64((beats_per_second / NARROW_RATE_MAX).max(1.0)).min(WIDE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn beats_wait_for_company_as_long_as_the_shortest_interval_allows() {
        let fleet = |intervals_ms: &[(u64, u64)]| {
            let monitor = |(every_ms, budget_ms): &(u64, u64)| {
                let url = Address { shown: String::new(), resolved: Secret::new("") };
                let mut monitor = Monitor::undeclared("docs", url);
                monitor.every = Duration::from_millis(*every_ms);
                monitor.probe_budget = Duration::from_millis(*budget_ms);
                Arc::new(monitor)
            };
            Fleet { monitors: intervals_ms.iter().map(monitor).collect(), ..Fleet::default() }
        };
        let rows = [
            (&[(60_000, 45_000), (300_000, 45_000)][..], 5_000, "five seconds of beats are one commit"),
            (&[(60_000, 45_000), (1_000, 750)][..], 125, "the quickest monitor says how long"),
            (&[(60_000, 55_000)][..], 2_000, "a long probe leaves less until the next beat"),
            (&[(60_000, 60_000)][..], 20, "and one that may take the whole interval nothing"),
            (&[(10, 7)][..], 20, "never too short to gather anything"),
            (&[][..], 20, "nobody waits"),
        ];
        for (intervals_ms, expected_ms, sentence) in rows {
            assert_eq!(company(&fleet(intervals_ms)), Duration::from_millis(expected_ms), "{sentence}");
        }
    }

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
