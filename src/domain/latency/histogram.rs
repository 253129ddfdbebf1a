//! How long many calls took: an HDR histogram of two digits, and the calls that never ended.
//!
//! Percentiles over any range come from merged histograms, never from averaged percentiles. A call that ran
//! into its timeout is counted as longer than every finished one; where a percentile falls among those,
//! the figure is the longest wait, and it is said that the truth is longer.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::domain::latency::code::{LONGEST, LatencyCode};
use crate::domain::latency::steps::Steps;

/// Digits that are right: two, which is 0.8 %.
const DIGITS: u8 = 2;

/// The durations of many calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Latencies {
    finished: Histogram<u32>,
    /// Most stretches have none, and a histogram is 13 kB.
    censored: Option<Histogram<u32>>,
}

/// A percentile read from a histogram, with what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// The duration, right to two digits.
    pub duration: Duration,
    /// Whether it falls among calls that ran into their timeout: the truth is longer.
    pub is_censored: bool,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { finished: empty(), censored: None }
    }
}

impl From<&Steps> for Latencies {
    fn from(steps: &Steps) -> Self {
        let mut latencies = Self::default();
        latencies.take(steps);
        latencies
    }
}

impl Latencies {
    /// Takes many calls in that fell on one step.
    pub fn record_many(&mut self, code: LatencyCode, is_censored: bool, count: u32) {
        let counted = if is_censored { self.censored.get_or_insert_with(empty) } else { &mut self.finished };
        counted.saturating_record_n(code.lowest_us(), count);
    }

    /// Takes all calls of a stretch of time in.
    pub fn take(&mut self, steps: &Steps) {
        steps.each().for_each(|(code, is_censored, count)| self.record_many(code, is_censored, count));
    }

    /// Calls counted, those that ran into their timeout included.
    pub fn count(&self) -> u64 {
        self.finished.len() + self.censored()
    }

    /// Calls that ran into their timeout.
    pub fn censored(&self) -> u64 {
        self.censored.as_ref().map_or(0, Histogram::len)
    }

    /// The percentile by nearest rank; none without calls.
    pub fn percentile(&self, percent: u32) -> Option<Percentile> {
        let count = self.count();
        let rank = (count * u64::from(percent)).div_ceil(100).max(1);
        if count == 0 {
            return None;
        }
        let finished = self.finished.len();
        if rank <= finished {
            return Some(Percentile { duration: at_rank(&self.finished, rank), is_censored: false });
        }
        let censored = self.censored.as_ref()?;
        Some(Percentile { duration: at_rank(censored, rank - finished), is_censored: true })
    }
}

/// The middle of the bucket that holds the call of a rank, counted from 1.
fn at_rank(histogram: &Histogram<u32>, rank: u64) -> Duration {
    let mut seen = 0;
    for bucket in histogram.iter_recorded() {
        seen += bucket.count_since_last_iteration();
        if seen >= rank {
            return LatencyCode::of(Duration::from_micros(bucket.value_iterated_to())).duration();
        }
    }
    LONGEST
}

#[expect(clippy::expect_used, reason = "the bounds are constants; the tests make one")]
fn empty() -> Histogram<u32> {
    let longest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
    Histogram::new_with_bounds(1, longest, DIGITS).expect("1 to 71 minutes with two digits is a histogram")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentile of raw durations by nearest rank, the straight way; a censored one is longer than all others.
    fn straight(samples: &mut [(bool, u64)], percent: usize) -> Duration {
        samples.sort_unstable();
        let rank = (samples.len() * percent).div_ceil(100).max(1);
        Duration::from_micros(samples[rank - 1].1)
    }

    #[test]
    fn merged_percentiles_are_those_of_the_raw_samples_to_two_digits() {
        let mut raw = Vec::new();
        let mut merged = Latencies::default();
        for day in 1..=90_u64 {
            let mut one = Steps::default();
            for call in 0..200_u64 {
                let micros = 900 + (call * 7919 + day * 104_729) % 50_000 + day * 300;
                let is_censored = (call + day) % 41 == 0;
                raw.push((is_censored, micros));
                one.record(LatencyCode::of(Duration::from_micros(micros)), is_censored);
            }
            merged.take(&one);
        }
        assert_eq!(
            (merged.count(), merged.censored()),
            (18_000, raw.iter().filter(|(censored, _)| *censored).count() as u64)
        );
        for percent in [1, 50, 90, 95, 97, 98, 99, 100] {
            let exact = straight(&mut raw, percent as usize);
            let given = merged.percentile(percent).unwrap();
            assert_eq!(
                LatencyCode::of(given.duration),
                LatencyCode::of(exact),
                "p{percent} of {exact:?} is in its bucket"
            );
            assert_eq!(given.is_censored, percent >= 98, "p{percent}: one call of 41 never ended");
        }
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(Latencies::default().percentile(95), None);
    }
}
