//! Tells when the wall clock is set, by the time since the machine started, which nobody sets.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// A wall clock that is behind by less is one that goes a little slow.
const SET_BACK_MIN: Duration = Duration::from_secs(1);
/// One that is ahead by less goes a little fast.
const SET_FORWARD_MIN: Duration = Duration::from_secs(10);

/// How both clocks stood when they were last read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock(Option<(DateTime<Utc>, Duration)>);

impl Clock {
    /// Takes note of how they stand.
    pub(crate) fn read(&mut self, now: DateTime<Utc>, lived: Duration) {
        self.0 = Some((now, lived));
    }

    /// Whether the wall clock was set back since, by which everything that waits was reckoned. Also where it is read for
    /// the first time: nobody knows what happened before.
    pub(crate) fn was_set_back(&self, now: DateTime<Utc>, lived: Duration) -> bool {
        self.unset(lived).is_none_or(|unset| now + SET_BACK_MIN < unset)
    }

    /// The stretch that the wall clock was set forward over since: nobody lived through it.
    pub(crate) fn skipped(&self, now: DateTime<Utc>, lived: Duration) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let unset = self.unset(lived)?;
        (now > unset + SET_FORWARD_MIN).then_some((unset, now))
    }

    /// What the wall clock would show had nobody set it.
    fn unset(&self, lived: Duration) -> Option<DateTime<Utc>> {
        self.0.map(|(wall, at)| wall + lived.saturating_sub(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_told_from_one_that_goes() {
        let (wall, start) = (DateTime::from_timestamp(1_790_000_000, 0).unwrap(), Duration::from_secs(500));
        let mut clock = Clock::default();
        assert!(clock.was_set_back(wall, start), "nobody knows what it was before the start");
        assert_eq!(clock.skipped(wall, start), None, "and nothing is said to be skipped by it");
        clock.read(wall, start);
        let rows = [
            (30, 30, false, None, "it goes"),
            (7_200, 7_200, false, None, "the machine slept for two hours, and they count"),
            (30, 29, false, None, "it goes a little slow"),
            (30, 20, true, None, "it was set back by ten seconds"),
            (30, -7_200, true, None, "it was set back by hours"),
            (30, 7_230, false, Some((30, 7_230)), "it was set forward by two hours"),
        ];
        for (passed, shown, back, skipped, sentence) in rows {
            let at = |seconds| wall + chrono::TimeDelta::seconds(seconds);
            let lived = start + Duration::from_secs(passed);
            assert_eq!(clock.was_set_back(at(shown), lived), back, "{sentence}");
            let skipped = skipped.map(|(from, to)| (at(from), at(to)));
            assert_eq!(clock.skipped(at(shown), lived), skipped, "{sentence}");
        }
    }
}
