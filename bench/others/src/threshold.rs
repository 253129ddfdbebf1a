//! One `min_score` for every corpus: what it keeps of right first hits, and what it silences of questions off the subject.
//!
//! It is chosen on the tuning half with weights, by a rule that was written down before it was looked at: of the scores
//! 0.01 to 0.30, in steps of 0.01, that with which the smaller of two margins is largest, the margins of the two shares'
//! lower bounds over their goals; where several have it, the middle of the first row of them.

use crate::answered::Answered;
use crate::corpus::{Half, Kind};
use crate::table::row;

/// The `min_score` that is recommended.
const MIN_SCORE: f64 = 0.05;
/// Of right first hits, at least so many are to be kept.
const KEPT_MIN: f64 = 0.85;
/// Of questions off the subject, at least so many are to be silenced.
const SILENCED_MIN: f64 = 0.75;
/// Scores that are tried, in hundredths.
const TRIED: std::ops::RangeInclusive<u32> = 1..=30;

/// Prints what the recommended `min_score` does in a half, and of the tuning half which one the rule chooses.
pub(crate) fn print(of_half: &[&Answered], half: Half) {
    let tops = |wanted: fn(&Answered) -> bool| -> Vec<f64> {
        of_half.iter().filter(|one| wanted(one)).map(|one| top(one)).collect()
    };
    let right = tops(|one| one.scores.first().is_some_and(|(_, right)| *right));
    let outside = tops(|one| one.asked.kind == Kind::Outside);
    let inside = tops(|one| one.asked.kind == Kind::Inside);
    row(
        &format!("right top hits kept by min_score {MIN_SCORE}"),
        &share(kept(&right, MIN_SCORE), right.len()),
        "≥ .85",
    );
    for (tops, named, goal) in
        [(&outside, "off the subject", "≥ .75"), (&inside, "in the subject, not answered,", "stated")]
    {
        let quiet = tops.len() - kept(tops, MIN_SCORE);
        row(&format!("questions {named} silenced by it"), &share(quiet, tops.len()), goal);
    }
    for (mut tops, named) in [(outside.clone(), "off the subject"), (inside, "in the subject, not answered")] {
        tops.sort_by(f64::total_cmp);
        let at = |share: f64| {
            tops.get(((tops.len() as f64 * share) as usize).min(tops.len().saturating_sub(1))).copied().unwrap_or(0.0)
        };
        let spread = format!("p50 {:.2}, p90 {:.2}, worst {:.2}", at(0.5), at(0.9), at(1.0));
        row(&format!("top scores {named} ({})", tops.len()), &spread, "stated");
    }
    if half == Half::Tuning {
        let (min_score, margin) = chosen(&right, &outside);
        row("min_score with the largest margin", &format!("{min_score:.2}, {margin:+.3}"), "chosen so");
    }
}

fn top(answered: &Answered) -> f64 {
    answered.scores.first().map_or(0.0, |(score, _)| *score)
}

fn kept(tops: &[f64], min_score: f64) -> usize {
    tops.iter().filter(|score| **score >= min_score).count()
}

/// The `min_score` that the rule chooses, and its smaller margin.
fn chosen(right: &[f64], outside: &[f64]) -> (f64, f64) {
    let margin = |hundredths: u32| {
        let min_score = f64::from(hundredths) / 100.0;
        let silenced = outside.len() - kept(outside, min_score);
        let keeping = lower(kept(right, min_score), right.len()) - KEPT_MIN;
        keeping.min(lower(silenced, outside.len()) - SILENCED_MIN)
    };
    let best = TRIED.map(margin).fold(f64::NEG_INFINITY, f64::max);
    let is_best = |hundredths: &u32| margin(*hundredths) >= best;
    let row: Vec<u32> = TRIED.skip_while(|tried| !is_best(tried)).take_while(is_best).collect();
    (f64::from(row[(row.len() - 1) / 2]) / 100.0, best)
}

fn share(some: usize, all: usize) -> String {
    format!("{some} of {all}, {:.2}, at least {:.2}", some as f64 / all.max(1) as f64, lower(some, all))
}

/// The lower bound of a share's 95 % interval (Wilson, 1927).
fn lower(some: usize, all: usize) -> f64 {
    const Z: f64 = 1.96;
    let many = all.max(1) as f64;
    let part = some as f64 / many;
    let spread = (part * (1.0 - part) / many + Z * Z / (4.0 * many * many)).sqrt();
    ((part + Z * Z / (2.0 * many) - Z * spread) / (1.0 + Z * Z / many)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_few_is_not_certain() {
        assert_eq!(share(9, 10), "9 of 10, 0.90, at least 0.60");
        assert_eq!(share(90, 100), "90 of 100, 0.90, at least 0.83");
        assert_eq!(share(0, 10), "0 of 10, 0.00, at least 0.00");
    }

    fn check(says: &str, right: &[f64], outside: &[f64], expected: f64) {
        let (min_score, _) = chosen(right, outside);
        assert!((min_score - expected).abs() < 1e-9, "{says}: {min_score}");
    }

    #[test]
    fn a_score_between_right_and_wrong_is_chosen() {
        check("the middle of those that part them", &[0.21; 40], &[0.105; 40], 0.16);
        check("where they overlap, what costs less", &[0.055, 0.5].repeat(20), &[0.105; 40], 0.20);
        check("none apart", &[0.5; 40], &[0.0; 40], 0.15);
    }
}
