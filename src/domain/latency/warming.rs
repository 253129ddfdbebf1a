//! A cold server is not a slow one: what holds the latency page back, and for how long.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// A restart or `cache_warm: false` holds back the latency page for so long and no longer (DESIGN §4).
pub(crate) const WARMING_CAP: Duration = Duration::from_secs(30 * 60);

/// What is known about a server being cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Warming {
    /// When the server restarted, or first said that its cache is cold; none where neither happened.
    since: Option<DateTime<Utc>>,
    /// Whether the server's own word is what holds.
    by_word: bool,
    /// Since when it has said that its cache is warm again.
    warm_since: Option<DateTime<Utc>>,
}

impl Warming {
    /// The server restarted: the cap starts anew.
    pub(crate) const fn restarted(&mut self, now: DateTime<Utc>) {
        *self = Self { since: Some(now), by_word: false, warm_since: None };
    }

    /// The server said whether its cache is warm; once it is warm again, the start of the cold
    /// stretch that held until now.
    ///
    /// Neither saying "cold" for ever nor changing one's mind extends the cap: it starts anew only
    /// after the cache was warm for as long as the cap is.
    pub(crate) fn hear(&mut self, cache_warm: bool, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        if !cache_warm {
            let anew = self.since.is_none() || self.warm_since.is_some_and(|at| !within_cap(at, now));
            let since = if anew { Some(now) } else { self.since };
            *self = Self { since, by_word: true, warm_since: None };
            return None;
        }
        if !self.by_word || self.warm_since.is_some() {
            return None;
        }
        let held = self.since.filter(|_| self.holds(now));
        self.warm_since = Some(now);
        held
    }

    /// Whether the latency page is held back at this moment.
    pub(crate) fn holds(&self, now: DateTime<Utc>) -> bool {
        self.warm_since.is_none() && self.since.is_some_and(|since| within_cap(since, now))
    }
}

fn within_cap(since: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    (now - since).to_std().is_ok_and(|age| age < WARMING_CAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + minute * 60, 0).unwrap()
    }

    #[test]
    fn coldness_holds_up_to_the_cap() {
        let mut restarted = Warming::default();
        restarted.restarted(at(0));
        assert!(restarted.holds(at(29)), "inside the cap after a restart");
        assert!(!restarted.holds(at(30)), "not beyond it");

        let mut word = Warming::default();
        word.hear(false, at(0));
        word.hear(false, at(25));
        assert!(word.holds(at(29)), "its own word holds");
        assert!(!word.holds(at(31)), "repeating it does not extend the cap");

        let mut warm = Warming::default();
        warm.hear(false, at(0));
        assert_eq!(warm.hear(true, at(5)), Some(at(0)), "the stretch that ended is told");
        assert!(!warm.holds(at(6)), "a warm cache ends it");
        assert_eq!(warm.hear(true, at(6)), None, "and told once");
        warm.hear(false, at(7));
        assert!(warm.holds(at(8)), "cold again holds again");
        assert!(!warm.holds(at(30)), "but never beyond the cap of the first time");
        assert_eq!(warm.hear(true, at(31)), None, "what the cap let through is not taken back");
        warm.hear(false, at(40));
        assert!(!warm.holds(at(41)), "warm for a moment does not earn another cap");
        warm.hear(true, at(42));
        warm.hear(false, at(72));
        assert!(warm.holds(at(73)), "warm for as long as the cap does");
        assert!(!Warming::default().holds(at(0)), "nothing known, nothing held");
    }
}
