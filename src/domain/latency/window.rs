//! The samples P95 is taken over: a ring in time order, no histogram resident per monitor.

use std::collections::VecDeque;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::latency::code::LatencyCode;
use crate::domain::rules::LatencyRule;
use crate::domain::signal::{Level, Reading};

/// Samples kept at most, whatever the window: 8 canaries a second over 10 minutes, 8 bytes each.
const SAMPLES_MAX: usize = 4_800;
/// Room that a copy has beyond what it holds: the state is copied with each beat, which adds its own.
const ROOM: usize = 4;

/// The bit of a sample's duration that says that its timeout cut it.
const CENSORED: u32 = 1 << 31;

/// A search call of the window, in eight bytes: every monitor of a fleet keeps some sixty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    /// When its beat started, in hundredths of a second since the window's `from`; before it where the clock was set back. In
    /// milliseconds it would not reach over the longest window, 35 days.
    at: i32,
    /// Its duration in microseconds, capped at some 35 minutes, with [`CENSORED`] where that is only how long we waited: so
    /// what was cut counts as longer than all that was not.
    elapsed: u32,
}

/// The samples of one monitor's window, the oldest first.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct LatencyWindow {
    samples: VecDeque<Sample>,
    /// What the samples' times count from, in UTC hundredths of a second.
    from: i64,
}

impl Clone for LatencyWindow {
    fn clone(&self) -> Self {
        let mut samples = VecDeque::with_capacity(self.samples.len() + ROOM);
        samples.extend(&self.samples);
        Self { samples, from: self.from }
    }
}

impl LatencyWindow {
    /// Adds a search call whose beat started then: how long it took, and whether its timeout cut it. Where the window is
    /// full, the oldest goes. It is judged as it will be kept: to the step of [`LatencyCode`], within 0.4 %.
    pub fn push(&mut self, at: DateTime<Utc>, elapsed: Duration, censored: bool) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        if self.samples.len() == self.samples.capacity() {
            self.samples.reserve_exact(ROOM);
        }
        let at = self.place(at);
        let elapsed = LatencyCode::of(elapsed).duration();
        let elapsed = u32::try_from(elapsed.as_micros()).unwrap_or(u32::MAX).min(CENSORED - 1);
        self.samples.push_back(Sample { at, elapsed: if censored { elapsed | CENSORED } else { elapsed } });
    }

    /// The moment as samples hold it; from now on all count from it where they could not hold it otherwise.
    fn place(&mut self, at: DateTime<Utc>) -> i32 {
        let moved = hundredths(at) - self.from;
        if let Ok(since) = i32::try_from(moved)
            && !self.samples.is_empty()
        {
            return since;
        }
        for sample in &mut self.samples {
            sample.at = clamped(i64::from(sample.at) - moved);
        }
        self.from += moved;
        0
    }

    /// Forgets what is older than the window.
    pub fn trim(&mut self, window: Duration, now: DateTime<Utc>) {
        let length = i64::try_from(window.as_millis() / 10).unwrap_or(i64::MAX);
        let oldest = clamped(hundredths(now).saturating_sub(length).saturating_sub(self.from));
        while self.samples.front().is_some_and(|sample| sample.at < oldest) {
            self.samples.pop_front();
        }
    }

    /// Forgets what was taken at a moment or later, as a cold start that is over: it says nothing about the server as it is now.
    pub fn forget_since(&mut self, start: DateTime<Utc>) {
        let start = clamped(hundredths(start) - self.from);
        self.samples.retain(|sample| sample.at < start);
    }

    /// P95 by nearest rank, with its sample count; none without samples. A censored sample counts
    /// as longer than every finished one, so the figure never flatters a server that hangs.
    pub fn p95(&self) -> Option<(Duration, u32)> {
        let mut values: Vec<u32> = self.samples.iter().map(|sample| sample.elapsed).collect();
        let rank = (values.len() * 95).div_ceil(100).checked_sub(1)?;
        let (_, p95, _) = values.select_nth_unstable(rank);
        Some((Duration::from_micros(u64::from(*p95 & !CENSORED)), u32::try_from(values.len()).unwrap_or(u32::MAX)))
    }

    /// How many samples it holds.
    pub fn len(&self) -> u32 {
        u32::try_from(self.samples.len()).unwrap_or(u32::MAX)
    }

    /// Whether no call lies in the window.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// P95 of the window against the rule.
    pub fn reading(&self, rule: &LatencyRule) -> Reading {
        let needed = rule.min_samples;
        let Some((p95, samples)) = self.p95() else {
            return Reading { level: Level::Unknown, figure: format!("0 of {needed} samples").into(), samples: 0 };
        };
        let said = format!("p95 {} ms of {} ms", p95.as_millis(), rule.p95.as_millis());
        let (level, figure) = match samples {
            few if few < needed => (Level::Unknown, format!("{few} of {needed} samples, so far {said}")),
            _ if p95 > rule.p95 => (Level::Elevated, format!("{said} (n={samples})")),
            _ => (Level::Calm, format!("{said} (n={samples})")),
        };
        Reading { level, figure: figure.into(), samples }
    }
}

fn hundredths(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis().div_euclid(10)
}

fn clamped(since: i64) -> i32 {
    i32::try_from(since).unwrap_or(if since < 0 { i32::MIN } else { i32::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::reason::Severity;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn rule() -> LatencyRule {
        LatencyRule {
            p95: Duration::from_millis(800),
            window: Duration::from_secs(100),
            window_derived: false,
            sustained: Duration::from_secs(100),
            min_samples: 20,
            severity: Severity::Ticket,
            line: 1,
        }
    }

    fn filled(slow: usize, fast: usize, censored: usize) -> LatencyWindow {
        let mut window = LatencyWindow::default();
        for (count, ms, censored) in [(slow, 1000, false), (fast, 10, false), (censored, 5, true)] {
            for _ in 0..count {
                window.push(at(0), Duration::from_millis(ms), censored);
            }
        }
        window
    }

    #[test]
    fn p95_decides_and_few_samples_say_nothing() {
        let rows = [
            (filled(0, 0, 0), Level::Unknown, "0 of 20 samples", "no sample"),
            (filled(19, 0, 0), Level::Unknown, "19 of 20 samples, so far p95 1001 ms of 800 ms", "one sample too few"),
            (filled(0, 20, 0), Level::Calm, "p95 10 ms of 800 ms (n=20)", "all fast"),
            (filled(1, 19, 0), Level::Calm, "p95 10 ms of 800 ms (n=20)", "one slow of twenty is the 5 % above P95"),
            (filled(2, 18, 0), Level::Elevated, "p95 1001 ms of 800 ms (n=20)", "two slow of twenty are not"),
        ];
        for (window, level, figure, sentence) in rows {
            let reading = window.reading(&rule());
            assert_eq!((reading.level, &*reading.figure), (level, figure), "{sentence}");
        }
    }

    #[test]
    fn a_hanging_call_is_longer_than_any_finished_one() {
        let (p95, _) = filled(0, 18, 2).p95().unwrap();
        assert_eq!(p95, Duration::from_micros(5_008), "the censored ones are ranked last, with the time we waited");
    }

    #[test]
    fn samples_of_a_cold_stretch_are_forgotten() {
        let mut window = LatencyWindow::default();
        for second in 0..10 {
            window.push(at(second), Duration::from_millis(5), false);
        }
        window.forget_since(at(7));
        assert_eq!(window.p95().map(|(_, n)| n), Some(7), "those before it stay");
    }

    #[test]
    fn the_longest_window_holds_its_days_and_no_other() {
        let (day, mut window) = (24 * 60 * 60, LatencyWindow::default());
        for beat in 0..700 {
            window.push(at(beat * day), Duration::from_millis(5), false);
            window.trim(Duration::from_secs(35 * 24 * 60 * 60), at(beat * day));
            assert_eq!(window.len(), u32::try_from(beat + 1).unwrap().min(36), "on day {beat}");
        }
        window.forget_since(at(690 * day));
        assert_eq!(window.len(), 26, "what was taken since then goes");
        window.push(at(0), Duration::from_millis(5), false);
        window.trim(Duration::from_secs(60), at(30));
        assert_eq!(window.p95().map(|(_, n)| n), Some(27), "the clock was set back: none of them is older than now");
    }

    #[test]
    fn samples_older_than_the_window_are_forgotten() {
        let mut window = filled(20, 0, 0);
        window.trim(Duration::from_secs(100), at(101));
        assert_eq!(window.p95(), None);
    }
}
