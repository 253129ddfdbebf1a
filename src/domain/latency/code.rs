//! A duration as one of some 3,300 steps, each within 0.8 % of the next.
//!
//! The steps are the buckets of an HDR histogram of two significant digits over microseconds, so a histogram
//! made of codes is the very histogram made of the durations: below 256 µs every microsecond is a step, and
//! from there on 128 steps are a doubling.
//! Source of the layout: Gil Tene, HdrHistogram (<https://hdrhistogram.github.io/HdrHistogram/>), with
//! lowest 1 and two digits: 256 sub-buckets, half of them for each doubling.

use std::time::Duration;

/// Codes below this are microseconds.
const EXACT: u32 = 256;
const STEPS: u32 = 128;
/// The longest duration that has a code of its own: 2^32 µs are 71 minutes, and a probe ends long before.
pub const LONGEST: Duration = Duration::from_micros(u32::MAX as u64);

/// One step of the scale. Greater codes are longer durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LatencyCode(pub u16);

impl LatencyCode {
    /// The step a duration falls on; anything beyond [`LONGEST`] falls on the last one.
    #[expect(clippy::cast_possible_truncation, reason = "the greatest code is 3,327")]
    pub fn of(duration: Duration) -> Self {
        let micros = u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
        if micros < EXACT {
            return Self(micros as u16);
        }
        let doublings = micros.ilog2() - 7;
        Self((EXACT + (doublings - 1) * STEPS + ((micros >> doublings) - STEPS)) as u16)
    }

    /// The shortest duration on this step, in microseconds.
    pub fn lowest_us(self) -> u64 {
        let (doublings, steps) = self.parts();
        u64::from(steps) << doublings
    }

    /// The duration in the middle of this step: at most 0.4 % from every duration that fell on it.
    pub fn duration(self) -> Duration {
        let (doublings, _) = self.parts();
        Duration::from_micros(self.lowest_us() + ((1 << doublings) >> 1))
    }

    /// How often the step doubled, and how many of the first steps that is.
    fn parts(self) -> (u32, u32) {
        let code = u32::from(self.0);
        if code < EXACT {
            return (0, code);
        }
        // A code that no duration has (from a damaged file) is the last step.
        let above = (code - EXACT).min(24 * STEPS - 1);
        (above / STEPS + 1, above % STEPS + STEPS)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    #[test]
    fn codes_are_the_histograms_own_buckets() {
        let histogram = Histogram::<u32>::new_with_bounds(1, 1 << 33, 2).unwrap();
        let mut micros: Vec<u64> = (0..3000).collect();
        micros.extend((8..32).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + 1, 3 << (power - 1)]));
        for micros in micros {
            let code = LatencyCode::of(Duration::from_micros(micros));
            assert_eq!(code.lowest_us(), histogram.lowest_equivalent(micros), "{micros} µs begin their bucket there");
            let back = u64::try_from(code.duration().as_micros()).unwrap();
            assert!(histogram.equivalent(back, micros), "{micros} µs come back as {back}, in their bucket");
        }
    }

    #[test]
    fn odd_codes_and_durations_have_an_answer() {
        assert_eq!(LatencyCode::of(Duration::MAX), LatencyCode::of(LONGEST), "beyond the scale is its last step");
        assert_eq!(
            LatencyCode(u16::MAX).duration(),
            LatencyCode::of(LONGEST).duration(),
            "a code that no duration has is the last"
        );
    }
}
