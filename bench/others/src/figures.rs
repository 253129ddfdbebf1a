//! The tables: each arm by corpus, and what of the difference is chance.

use crate::answered::{Answered, Arm, Measured, SOURCES};
use crate::chance::{interval, permuted};
use crate::corpus::{Half, Kind};
use crate::table::row;
use crate::threshold;

/// Prints every table; the answer is the corpora that are certainly worse off than with the better baseline.
pub(crate) fn print(measured: &[Measured], half: Half, each: bool) -> Vec<&str> {
    let whole: Vec<&Answered> = measured.iter().flat_map(|corpus| &corpus.answers).collect();
    let better = better(&of_half(&whole, Half::Tuning));
    let (_, named) = Arm::ALL[if better == Arm::Bm25 { 1 } else { 2 }];
    anstream::println!("hit@{} and MRR of the {:?} half\n", SOURCES, half);
    anstream::println!(
        "| corpus | server | BM25 | TF-IDF | vectors alone | server − {named}, 99 % |\n|---|---|---|---|---|---|"
    );
    let mut worse = Vec::new();
    for corpus in measured {
        let asked = of_half(&corpus.answers.iter().collect::<Vec<_>>(), half);
        let (low, high) = interval(&differences(&asked, better));
        if high < 0.0 {
            worse.push(corpus.name.as_str());
        }
        let label = format!(
            "{} ({} chunks of {} sources, {} questions)",
            corpus.name,
            corpus.chunks,
            corpus.sources,
            asked.len()
        );
        line(&label, &asked, &format!("{low:+.3} to {high:+.3}"));
    }
    let asked = of_half(&whole, half);
    let differing = differences(&asked, better);
    let mean = differing.iter().sum::<f64>() / differing.len().max(1) as f64;
    line(&format!("**all** ({})", asked.len()), &asked, &format!("{mean:+.3}, p = {:.4}", permuted(&differing)));
    for (kind, is_of) in groups() {
        let some: Vec<&Answered> = asked.iter().copied().filter(|answered| is_of(answered)).collect();
        let hits: Vec<f64> = some.iter().map(|one| hit(one, Arm::Server) - hit(one, better)).collect();
        let mean = hits.iter().sum::<f64>() / hits.len().max(1) as f64;
        line(&format!("{kind} ({})", some.len()), &some, &format!("hit {mean:+.2}, p = {:.4}", permuted(&hits)));
    }
    reliability(&whole, half);
    if each {
        for Answered { asked, ranks, .. } in asked {
            anstream::println!("{} {ranks:?} {}", asked.id, asked.question);
        }
    }
    worse
}

/// Some of the questions, and which.
type Group = (&'static str, fn(&Answered) -> bool);

fn groups() -> [Group; 3] {
    [
        ("in others' words", |answered| answered.asked.kind == Kind::Found),
        ("written from the documents", |answered| answered.asked.kind == Kind::Written),
        ("no stem shared with the source", |answered| answered.asked.disjoint),
    ]
}

/// Questions of a half that something answers.
fn of_half<'a>(answers: &[&'a Answered], half: Half) -> Vec<&'a Answered> {
    answers.iter().copied().filter(|one| one.asked.half == half && !one.asked.sources.is_empty()).collect()
}

/// The better of the two baselines.
fn better(tuning: &[&Answered]) -> Arm {
    let sum = |arm| tuning.iter().map(|answered| reciprocal(answered, arm)).sum::<f64>();
    if sum(Arm::TfIdf) > sum(Arm::Bm25) { Arm::TfIdf } else { Arm::Bm25 }
}

fn place(answered: &Answered, arm: Arm) -> Option<usize> {
    answered.ranks.iter().find(|(of, _)| *of == arm).and_then(|(_, rank)| *rank)
}

fn reciprocal(answered: &Answered, arm: Arm) -> f64 {
    place(answered, arm).map_or(0.0, |rank| 1.0 / rank as f64)
}

fn hit(answered: &Answered, arm: Arm) -> f64 {
    if place(answered, arm).is_some() { 1.0 } else { 0.0 }
}

fn differences(asked: &[&Answered], better: Arm) -> Vec<f64> {
    asked.iter().map(|one| reciprocal(one, Arm::Server) - reciprocal(one, better)).collect()
}

fn line(label: &str, asked: &[&Answered], difference: &str) {
    let many = asked.len().max(1) as f64;
    let figures: Vec<String> = Arm::ALL
        .iter()
        .map(|(arm, _)| {
            if !asked.iter().any(|one| one.ranks.iter().any(|(of, _)| of == arm)) {
                return "–".to_owned();
            }
            let mean = |of: fn(&Answered, Arm) -> f64| asked.iter().map(|one| of(one, *arm)).sum::<f64>() / many;
            format!("{:.2}/{:.2}", mean(hit), mean(reciprocal))
        })
        .collect();
    row(label, &figures.join(" | "), difference);
}

/// How often sources of a score answer: ten bins of equal mass over the first five sources of every question that
/// something answers; and what a `min_score` keeps and silences.
fn reliability(whole: &[&Answered], half: Half) {
    let mut scored: Vec<(f64, bool)> = of_half(whole, half).iter().flat_map(|one| one.scores.clone()).collect();
    scored.sort_by(|left, right| left.0.total_cmp(&right.0));
    if scored.is_empty() {
        return;
    }
    anstream::println!("\n| score, mean of a tenth | answer | of |\n|---|---|---|");
    let mut error = 0.0;
    for bin in scored.chunks(scored.len().div_ceil(10)) {
        let many = bin.len() as f64;
        let (mean, right) = (
            bin.iter().map(|(score, _)| score).sum::<f64>() / many,
            bin.iter().filter(|(_, right)| *right).count() as f64 / many,
        );
        error += (mean - right).abs() * many / scored.len() as f64;
        row(&format!("{mean:.2}"), &format!("{right:.2}"), &bin.len().to_string());
    }
    row("error of ten bins; area under the curve", &format!("{error:.3}; {:.3}", area(&scored)), "≤ .08; ≥ .75");
    let of_half: Vec<&Answered> = whole.iter().copied().filter(|one| one.asked.half == half).collect();
    threshold::print(&of_half);
}

/// The chance that of two sources the one that answers has the higher score; `scored` is sorted.
fn area(scored: &[(f64, bool)]) -> f64 {
    let (mut wrong, mut pairs, mut won) = (0.0, 0.0, 0.0);
    let all_wrong = scored.iter().filter(|(_, right)| !right).count() as f64;
    let mut from = 0;
    while from < scored.len() {
        let to = from + scored[from..].iter().take_while(|(score, _)| *score == scored[from].0).count();
        let right = scored[from..to].iter().filter(|(_, right)| *right).count() as f64;
        let wrong_here = (to - from) as f64 - right;
        won += right * (wrong + wrong_here / 2.0);
        pairs += right * all_wrong;
        wrong += wrong_here;
        from = to;
    }
    if pairs > 0.0 { won / pairs } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_tells_right_from_wrong_has_an_area_of_one() {
        assert!((area(&[(0.1, false), (0.2, false), (0.8, true), (0.9, true)]) - 1.0).abs() < 1e-9);
        assert!((area(&[(0.1, true), (0.9, false)])).abs() < 1e-9, "the wrong way round");
        assert!((area(&[(0.5, true), (0.5, false)]) - 0.5).abs() < 1e-9, "a tie is half");
    }
}
