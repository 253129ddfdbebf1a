//! How much of a difference is chance.

use serin_reference::text::draw::mix;

/// Draws of a test: the third digit of a probability is still certain enough.
const DRAWS: u64 = 100_000;
/// Draws of an interval.
const SAMPLES: u64 = 10_000;

/// The probability that paired differences this far from 0, on either side, come about where signs are chance.
pub(crate) fn permuted(differences: &[f64]) -> f64 {
    let seen = differences.iter().sum::<f64>().abs();
    let as_far = (0..DRAWS).filter(|draw| {
        let signed = (0_u64..)
            .zip(differences)
            .map(|(place, difference)| if mix(mix(*draw) ^ place) & 1 == 0 { *difference } else { -difference });
        signed.sum::<f64>().abs() >= seen - 1e-9
    });
    (as_far.count() as f64 + 1.0) / (DRAWS as f64 + 1.0)
}

/// The 99 % interval of the mean of differences, by drawing them again with replacement.
pub(crate) fn interval(differences: &[f64]) -> (f64, f64) {
    if differences.is_empty() {
        return (0.0, 0.0);
    }
    let many = differences.len() as u64;
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|sample| {
            let drawn = (0..many).map(|place| {
                let index = mix(mix(sample ^ 0x5E41) ^ place) % many;
                differences[usize::try_from(index).unwrap_or(0)]
            });
            drawn.sum::<f64>() / many as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((means.len() as f64 * share) as usize).min(means.len() - 1)];
    (at(0.005), at(0.995))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_told_from_difference() {
        assert!(permuted(&[0.0; 20]) > 0.99, "no difference is chance");
        assert!(permuted(&[0.5; 20]) < 0.001, "twenty times better is none");
        let mixed: Vec<f64> = (0..20).map(|place| if place % 2 == 0 { 0.5 } else { -0.5 }).collect();
        assert!(permuted(&mixed) > 0.5, "as often worse as better is chance");
        let (low, high) = interval(&mixed);
        assert!(low < 0.0 && high > 0.0, "{low} to {high}");
        let (low, high) = interval(&[0.3; 9]);
        assert!((low - 0.3).abs() < 1e-9 && (high - 0.3).abs() < 1e-9, "{low} to {high}");
    }
}
