//! What opens again and again within the hour: one incident that stays open until it is calm for long enough, instead of
//! a page and a resolve every few minutes.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::wording::as_written;

/// So many openings within [`WITHIN`], and the last of them stays open.
pub const OPENINGS: usize = 4;
/// How far back openings count.
pub const WITHIN: Duration = Duration::from_secs(60 * 60);
/// It has to be calm for at least so long, however short its calm stretches were.
pub const CALM_MIN: Duration = Duration::from_secs(15 * 60);
/// And for no longer than this: twice what fits between two openings that count.
pub const CALM_MAX: Duration = Duration::from_secs(2 * 60 * 60);
/// Openings that are remembered of one signal: those of an hour, where each but the first four is calm for [`CALM_MIN`].
const BOUTS_KEPT: usize = 8;

/// One opening of a signal, and since when it was calm before it ended; none while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bout {
    /// When its incident opened, UTC.
    pub opened_at: DateTime<Utc>,
    /// When the calm began that ended it, UTC.
    pub calm_since: Option<DateTime<Utc>>,
}

/// The latest openings of one signal, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bouts(Vec<Bout>);

/// What keeps an incident open although its signal is calm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flapping {
    /// How often it opened within [`WITHIN`], this time counted.
    pub openings: u32,
    /// How long it has to be calm before it ends, in whole minutes.
    pub calm: Duration,
    /// Whether people were told of that.
    pub told: bool,
}

impl Bouts {
    /// Notes an opening; what keeps its incident open, where it is one too many.
    pub fn open(&mut self, now: DateTime<Utc>) -> Option<Flapping> {
        // By a clock that was set back, what is still to come was a moment ago.
        self.0.retain(|bout| (now - bout.opened_at).abs().to_std().is_ok_and(|age| age < WITHIN));
        self.keep(Bout { opened_at: now, calm_since: None });
        let longest = self.0.windows(2).filter_map(|pair| Some(pair[1].opened_at - pair[0].calm_since?)).max();
        (self.0.len() >= OPENINGS).then(|| Flapping {
            openings: self.0.len() as u32,
            calm: twice(longest.unwrap_or_default()),
            told: false,
        })
    }

    /// Notes that the latest opening ended, by a calm that began then.
    pub fn calm(&mut self, since: DateTime<Utc>) {
        if let Some(last) = self.0.last_mut() {
            last.calm_since.get_or_insert(since);
        }
    }

    /// Forgets the latest opening.
    pub fn forget_last(&mut self) {
        self.0.pop();
    }

    /// Puts a remembered opening back, after all that were before it.
    pub fn keep(&mut self, bout: Bout) {
        self.0.push(bout);
        let aged = self.0.len().saturating_sub(BOUTS_KEPT);
        self.0.drain(..aged);
    }
}

/// Twice as long, in whole minutes and within the bounds.
fn twice(longest: TimeDelta) -> Duration {
    let seconds = (longest * 2).to_std().unwrap_or_default().as_millis().div_ceil(1_000);
    let minutes = u64::try_from(seconds).unwrap_or(u64::MAX).div_ceil(60).min(CALM_MAX.as_secs() / 60);
    Duration::from_secs(minutes * 60).max(CALM_MIN)
}

impl Flapping {
    /// In words, such as `opened 4 times in 60 min; stays open until calm for 15 min`.
    pub fn said(&self) -> String {
        let minutes = WITHIN.as_secs() / 60;
        format!("opened {} times in {minutes} min; stays open until calm for {}", self.openings, self.calm_said())
    }

    /// What ends it, in words.
    pub fn ends_said(&self) -> String {
        format!("it is calm for {} without a break, since it flaps", self.calm_said())
    }

    fn calm_said(&self) -> String {
        format!("{} min", self.calm.as_secs() / 60)
    }

    /// How far the calm is, such as `calm for 4m of 15m`.
    pub fn far(&self, covered: Duration) -> String {
        let seconds = covered.as_secs();
        format!("calm for {} of {}", as_written(Duration::from_secs(seconds - seconds % 60)), as_written(self.calm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    /// Bouts as (opened, calm since) in seconds; what the next opening comes to, as openings and minutes of calm.
    fn flaps(bouts: &[(i64, i64)], next: i64) -> Option<(u32, u64)> {
        let mut known = Bouts::default();
        for (opened, calm) in bouts {
            known.open(at(*opened));
            known.calm(at(*calm));
        }
        known.open(at(next)).map(|flapping| (flapping.openings, flapping.calm.as_secs() / 60))
    }

    #[test]
    fn the_fourth_opening_in_an_hour_is_one_too_many() {
        let rows = [
            (&[][..], 0, None, "the first is none"),
            (&[(0, 60), (300, 360)], 600, None, "nor is the third"),
            (&[(0, 60), (300, 360), (600, 660)], 900, Some((4, 15)), "the fourth is, calm for a quarter of an hour"),
            (&[(0, 60), (300, 360), (600, 660)], 3_599, Some((4, 98)), "twice the longest calm, to the minute"),
            (&[(0, 60), (300, 360), (600, 660)], 3_600, None, "the first of them is an hour ago"),
            (&[(0, 60), (700, 760), (1_400, 1_460)], 1_501, Some((4, 22)), "the longest calm, not the last"),
            (&[(0, 60), (120, 180), (240, 300)], 360, Some((4, 15)), "two minutes of calm are not asked for"),
            (&[(0, 60), (300, 360), (600, 660), (900, 960)], 1_920, Some((5, 32)), "it adapts to what was not enough"),
            (&[(-7_000, 0), (0, 60), (60, 120)], 180, None, "what opened long ago does not count"),
        ];
        for (bouts, next, expected, sentence) in rows {
            assert_eq!(flaps(bouts, next), expected, "{sentence}");
        }
    }

    #[test]
    fn a_clock_that_jumps_asks_for_no_endless_calm() {
        assert_eq!(flaps(&[(0, 60), (300, 360), (600, 660)], -3_000), None, "what is over an hour ahead says nothing");
        assert_eq!(
            flaps(&[(0, 60), (100, 160), (200, 260)], -3_300),
            Some((4, 15)),
            "set back within the hour it does"
        );
        assert_eq!(flaps(&[(-3_000, -6_000), (0, 60), (100, 160)], 200), Some((4, 120)), "and two hours are the most");
        let many: Vec<(i64, i64)> = (0..50).map(|nth| (nth * 20, nth * 20 + 10)).collect();
        assert_eq!(flaps(&many, 1_000), Some((8, 15)), "no more are remembered than are of use");
    }

    #[test]
    fn it_says_what_it_waits_for() {
        let flapping = Flapping { openings: 4, calm: CALM_MIN, told: false };
        assert_eq!(flapping.said(), "opened 4 times in 60 min; stays open until calm for 15 min");
        assert_eq!(flapping.far(Duration::from_secs(299)), "calm for 4m of 15m");
        assert_eq!(flapping.far(Duration::from_secs(59)), "calm for 0s of 15m");
    }
}
