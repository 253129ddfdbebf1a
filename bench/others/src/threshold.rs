//! One `min_score` for every corpus: what it keeps of right first hits, and what it silences of questions off the subject.

use crate::answered::Answered;
use crate::corpus::Kind;
use crate::table::row;

/// The `min_score` that is recommended.
const MIN_SCORE: f64 = 0.05;

/// Prints what the recommended `min_score` does in a half.
pub(crate) fn print(of_half: &[&Answered]) {
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
}

fn top(answered: &Answered) -> f64 {
    answered.scores.first().map_or(0.0, |(score, _)| *score)
}

fn kept(tops: &[f64], min_score: f64) -> usize {
    tops.iter().filter(|score| **score >= min_score).count()
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
}
