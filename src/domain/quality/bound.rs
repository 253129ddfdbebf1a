//! How far a share of a few questions may be trusted.
//!
//! Bounds are Wilson's score interval (E. B. Wilson, "Probable inference, the law of succession, and statistical
//! inference", JASA 22, 1927): they never leave 0 to 1, and say something where all answers were right.
//!
//! A fixed index answers a fixed question almost the same each time, so only distinct canaries bound how many of all
//! questions are answered rightly (RETRIEVAL.md §1.1). Over repeats a bound says how often one and the same is wrong.

/// 95 % of answers lie within so many standard deviations, either side counted.
const TWO_SIDED_95: f64 = 1.959_964;
/// 95 % lie below so many.
pub(super) const ONE_SIDED_95: f64 = 1.644_854;
/// 99 % lie above so many.
pub(super) const ONE_SIDED_99: f64 = 2.326_348;

/// The share of all such questions that is answered rightly at least, 0 to 1, with 95 %; none where none was asked.
pub(crate) fn at_least(right: usize, asked: usize) -> Option<f64> {
    (asked > 0).then(|| lower(right as f64, asked as f64, TWO_SIDED_95))
}

/// The same as it is shown, such as `at least 86 %`; empty where none was asked.
pub(crate) fn at_least_said(right: usize, asked: usize) -> String {
    at_least(right, asked).map_or_else(String::new, |share| format!("at least {:.0} %", share * 100.0))
}

/// The lower bound of a share, 0 to 1; 0 where nothing was seen.
pub(super) fn lower(hits: f64, n: f64, deviations: f64) -> f64 {
    if n <= 0.0 { 0.0 } else { (1.0 - upper(n - hits, n, deviations)).clamp(0.0, hits / n) }
}

/// The upper bound of a share, 0 to 1; 1 where nothing was seen.
pub(super) fn upper(hits: f64, n: f64, deviations: f64) -> f64 {
    if n <= 0.0 {
        return 1.0;
    }
    let (share, square) = (hits / n, deviations * deviations);
    let middle = share + square / (2.0 * n);
    let reach = deviations * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    ((middle + reach) / (1.0 + square / n)).clamp(share, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_right_answers_promise_only_so_much() {
        let rows = [
            (0, 0, "", "nothing was asked"),
            (8, 8, "at least 68 %", "the least that statistics start with"),
            (12, 12, "at least 76 %", "a dozen"),
            (24, 24, "at least 86 %", "a good set"),
            (50, 50, "at least 93 %", "many"),
            (23, 24, "at least 80 %", "one is wrong"),
            (0, 8, "at least 0 %", "all are wrong"),
        ];
        for (right, asked, said, sentence) in rows {
            assert_eq!(at_least_said(right, asked), said, "{sentence}");
        }
    }

    #[test]
    fn bounds_hold_what_they_bound() {
        for n in 1..200 {
            for hits in 0..=n {
                let (hits, n) = (f64::from(hits), f64::from(n));
                let (low, high) = (lower(hits, n, ONE_SIDED_99), upper(hits, n, ONE_SIDED_99));
                assert!((0.0..=hits / n).contains(&low) && (hits / n..=1.0).contains(&high), "{hits} of {n}");
            }
        }
        assert!(upper(0.0, 0.0, ONE_SIDED_95) >= 1.0, "nothing seen bounds nothing");
    }
}
