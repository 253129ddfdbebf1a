//! A score as it is judged and kept: sign, exponent and the first 11 bits of its fraction.
//!
//! Live and replayed judgement are only equal where they see the same number, so a score is judged as it will be kept. The
//! nearest of these is at most 0.025 % away, far above any embedding's jitter in the fourth decimal and far
//! below what a limit is written with; halves, quarters and whole numbers stay what they are.

/// Bits of a score.
pub(crate) const SCORE_BITS: u32 = 20;
/// Bits of a single-precision number that are left out.
const CUT: u32 = 32 - SCORE_BITS;

/// The first bits of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ScoreCode(pub(crate) u32);

impl ScoreCode {
    /// The nearest to a score; one that is no number, or beyond all numbers, is that.
    pub(crate) fn of(score: f32) -> Self {
        let bits = score.to_bits();
        let rounded = bits.saturating_add(1 << (CUT - 1));
        // What rounds up to infinity is still a number.
        let is_lost = score.is_finite() && !f32::from_bits(rounded >> CUT << CUT).is_finite();
        Self(if score.is_finite() && !is_lost { rounded >> CUT } else { bits >> CUT })
    }

    /// The score that it stands for.
    pub(crate) fn score(self) -> f32 {
        f32::from_bits(self.0 << CUT)
    }
}

/// A score as it is judged and kept.
#[expect(clippy::cast_possible_truncation, reason = "the digits beyond are cut anyway")]
pub(crate) fn rounded(score: f64) -> f64 {
    f64::from(ScoreCode::of(score as f32).score())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_rounded_once_and_hardly() {
        let exact = [0.0, 1.0, -1.0, 0.5, 0.75, 0.625, 100.0, 12.5];
        for score in exact {
            assert_eq!(rounded(score).to_bits(), f64::to_bits(score), "{score} stays");
        }
        for score in [0.3, 0.91, 0.016_393, -0.2, 17.318, 1e-9, 3.4e38] {
            let kept = rounded(score);
            assert!((kept - score).abs() <= score.abs() * 2.5e-4, "{score} is kept as {kept}");
            assert_eq!(rounded(kept).to_bits(), kept.to_bits(), "{score}: what is kept is kept as it is");
        }
        assert!(ScoreCode::of(f32::NAN).score().is_nan(), "no score is none");
        assert!(rounded(f64::from(f32::MAX)).is_finite(), "a number stays one");
        assert!(rounded(0.8) <= rounded(0.8001), "their order stays");
    }
}
