//! A cold server is not a slow one: what holds the latency page back, and for how long.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// A restart or `cache_warm: false` holds back the latency page for so long and no longer (DESIGN §4).
pub const WARMING_CAP: Duration = Duration::from_secs(30 * 60);

/// The word pages show while it holds.
pub const COLD_START: &str = "cold_start";

/// What is known about a server being cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Warming {
    /// When the server restarted, or first said that its cache is cold; none while it is warm.
    since: Option<DateTime<Utc>>,
    /// Whether the server's own word is what holds.
    by_word: bool,
}

impl Warming {
    /// The server restarted: the cap starts anew.
    pub const fn restarted(&mut self, now: DateTime<Utc>) {
        *self = Self { since: Some(now), by_word: false };
    }

    /// The server said whether its cache is warm. Saying "cold" for ever does not extend the cap;
    /// saying "warm" after "cold" ends it.
    pub const fn hear(&mut self, cache_warm: Option<bool>, now: DateTime<Utc>) {
        match (cache_warm, self.since) {
            (Some(false), None) => *self = Self { since: Some(now), by_word: true },
            (Some(false), Some(_)) => self.by_word = true,
            (Some(true), _) if self.by_word => *self = Self { since: None, by_word: false },
            _ => {}
        }
    }

    /// Whether the latency page is held back at this moment.
    pub fn holds(&self, now: DateTime<Utc>) -> bool {
        self.since.is_some_and(|since| (now - since).to_std().is_ok_and(|age| age < WARMING_CAP))
    }
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
        word.hear(Some(false), at(0));
        word.hear(Some(false), at(25));
        assert!(word.holds(at(29)), "its own word holds");
        assert!(!word.holds(at(31)), "repeating it does not extend the cap");

        let mut warm = Warming::default();
        warm.hear(Some(false), at(0));
        warm.hear(Some(true), at(5));
        assert!(!warm.holds(at(6)), "a warm cache ends it");
        assert!(!Warming::default().holds(at(0)), "nothing known, nothing held");
    }
}
