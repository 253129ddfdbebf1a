//! Figures of one ranked list against what was expected, and of two lists against each other.
//!
//! All of them look at sources, the best hit of each: chunks may be renumbered or cut anew without
//! anything having changed for a reader. Ranks count from 1.

use crate::data::question::Expected;

/// How fast attention falls along a list in RBO: .9 puts 86 % of the weight on the first ten.
pub const RBO_P: f64 = 0.9;

/// A hit: its source and the score that the list is ordered by.
pub type SourceHit<'a> = (&'a str, f64);

/// The list without repeats: of each source its first hit.
pub fn distinct<'a>(hits: &[SourceHit<'a>]) -> Vec<SourceHit<'a>> {
    let mut list: Vec<SourceHit<'a>> = Vec::with_capacity(hits.len());
    for hit in hits {
        if !list.iter().any(|(source, _)| *source == hit.0) {
            list.push(*hit);
        }
    }
    list
}

/// Whether a full answer is among the first `k`. A near-duplicate is none where there is a better one.
pub fn hit_at(list: &[SourceHit<'_>], expected: &[Expected], k: usize) -> bool {
    list.iter().take(k).any(|(source, _)| is_full(expected, source))
}

/// Found ÷ declared among the first `k`, 0 to 1; near-duplicates count. 0 where nothing is declared.
pub fn recall_at(list: &[SourceHit<'_>], expected: &[Expected], k: usize) -> f64 {
    if expected.is_empty() {
        return 0.0;
    }
    let found = list.iter().take(k).filter(|(source, _)| grade(expected, source) > 0).count();
    found as f64 / expected.len() as f64
}

/// 1 ÷ rank of the first full answer, 0 where there is none. Among equal scores it takes the last
/// place, for their order is nobody's merit.
pub fn reciprocal_rank(list: &[SourceHit<'_>], expected: &[Expected]) -> f64 {
    let Some(at) = list.iter().position(|(source, _)| is_full(expected, source)) else { return 0.0 };
    // Lists need not be sorted by this score, so only neighbours count as tied.
    let tied = list[at + 1..].iter().take_while(|(_, score)| *score == list[at].1).count();
    1.0 / (at + tied + 1) as f64
}

/// Normalised discounted cumulative gain of the first `k`, 0 to 1: Σ grade ÷ log₂(rank + 1), over the
/// same sum of the ideal order (Järvelin and Kekäläinen, 2002).
pub fn ndcg_at(list: &[SourceHit<'_>], expected: &[Expected], k: usize) -> f64 {
    let mut ideal: Vec<u8> = expected.iter().map(|expected| expected.grade).collect();
    ideal.sort_unstable_by(|left, right| right.cmp(left));
    let best = gain(ideal.into_iter().take(k));
    if best == 0.0 { 0.0 } else { gain(list.iter().take(k).map(|(source, _)| grade(expected, source))) / best }
}

/// Rank-biased overlap of two lists without repeats, extrapolated, 0 to 1; lists may differ in length
/// (Webber, Moffat and Zobel, 2010, equation 32). Two empty lists are the same list.
pub fn rbo(left: &[&str], right: &[&str], p: f64) -> f64 {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let (s, l) = (short.len(), long.len());
    if s == 0 {
        return if l == 0 { 1.0 } else { 0.0 };
    }
    let overlap = |depth: usize| {
        let within = &long[..depth.min(l)];
        short.iter().take(depth).filter(|source| within.contains(source)).count() as f64
    };
    let (at_short, at_long) = (overlap(s), overlap(l));
    let power = |depth: usize| p.powi(i32::try_from(depth).unwrap_or(i32::MAX));
    let agreement: f64 = (1..=l).map(|depth| overlap(depth) / depth as f64 * power(depth)).sum();
    let beyond: f64 =
        (s + 1..=l).map(|depth| at_short * (depth - s) as f64 / (s as f64 * depth as f64) * power(depth)).sum();
    let rest = ((at_long - at_short) / l as f64 + at_short / s as f64) * power(l);
    (1.0 - p) / p * (agreement + beyond) + rest
}

/// The middle of some numbers, the mean of both middles where their count is even; `None` of nothing.
pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let upper = *numbers.get(middle)?;
    Some(if numbers.len() % 2 == 1 { upper } else { (numbers[middle - 1] + upper) / 2.0 })
}

fn gain(grades: impl Iterator<Item = u8>) -> f64 {
    (1_u32..).zip(grades).map(|(rank, grade)| f64::from(grade) / f64::from(rank + 1).log2()).sum()
}

fn grade(expected: &[Expected], source: &str) -> u8 {
    expected.iter().find(|expected| expected.source == source).map_or(0, |expected| expected.grade)
}

fn is_full(expected: &[Expected], source: &str) -> bool {
    let best = expected.iter().map(|expected| expected.grade).max().unwrap_or(0);
    best > 0 && grade(expected, source) == best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(sources: &[(&str, u8)]) -> Vec<Expected> {
        sources.iter().map(|(source, grade)| Expected { source: (*source).to_owned(), grade: *grade }).collect()
    }

    /// A list of hits by falling score.
    fn ranked<'a>(sources: &[&'a str]) -> Vec<SourceHit<'a>> {
        (0..).zip(sources).map(|(place, source)| (*source, 1.0 - f64::from(place) / 100.0)).collect()
    }

    fn near(says: &str, got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-9, "{says}: {got}, not {wanted}");
    }

    #[test]
    fn repeats_go_and_the_first_stays() {
        assert_eq!(distinct(&[("a", 3.0), ("a", 2.0), ("b", 1.0), ("a", 0.5)]), [("a", 3.0), ("b", 1.0)]);
        assert!(distinct(&[]).is_empty());
    }

    #[test]
    fn hits_and_recall() {
        let check = |says: &str, list: &[&str], wanted: &[(&str, u8)], k, hit, recall| {
            assert_eq!(hit_at(&ranked(list), &expected(wanted), k), hit, "{says}");
            near(says, recall_at(&ranked(list), &expected(wanted), k), recall);
        };
        check("first", &["a", "b"], &[("a", 2)], 1, true, 1.0);
        check("just within", &["x", "y", "a"], &[("a", 2)], 3, true, 1.0);
        check("just outside", &["x", "y", "a"], &[("a", 2)], 2, false, 0.0);
        check("a short list is no trouble", &["a"], &[("a", 2)], 10, true, 1.0);
        check("one of two declared is a half", &["a", "x"], &[("a", 2), ("b", 2)], 5, true, 0.5);
        check("a near-duplicate is found, and no hit", &["b"], &[("a", 2), ("b", 1)], 5, false, 0.5);
        check("grades of one are full where none is better", &["b"], &[("b", 1)], 5, true, 1.0);
        check("nothing brings nothing", &[], &[("a", 2)], 5, false, 0.0);
        check("nothing declared, nothing hit", &["a"], &[], 5, false, 0.0);
    }

    #[test]
    fn reciprocal_ranks() {
        let check = |says: &str, list: &[SourceHit<'_>], wanted| {
            near(says, reciprocal_rank(list, &expected(&[("a", 2)])), wanted)
        };
        check("first is one", &[("a", 9.0), ("b", 8.0)], 1.0);
        check("third is a third", &[("x", 9.0), ("b", 8.0), ("a", 7.0)], 1.0 / 3.0);
        check("absent is zero", &[("x", 9.0)], 0.0);
        check("a tie for the first place takes the second", &[("a", 9.0), ("b", 9.0), ("c", 1.0)], 0.5);
        check("a tie of three takes the third", &[("a", 9.0), ("b", 9.0), ("c", 9.0)], 1.0 / 3.0);
        check("a tie before it costs nothing more", &[("b", 9.0), ("a", 9.0), ("c", 1.0)], 0.5);
    }

    #[test]
    fn discounted_gains() {
        let wanted = [("a", 2), ("b", 1)];
        let check =
            |says: &str, list: &[&str], k, ndcg| near(says, ndcg_at(&ranked(list), &expected(&wanted), k), ndcg);
        // log2: of 2 is 1, of 3 is 1.584962500721156, of 4 is 2. Ideal: 2 + 1/1.58496 = 2.630929753571457.
        check("the ideal order is one", &["a", "b"], 10, 1.0);
        check("swapped: (1 + 2/1.58496) / 2.63093", &["b", "a"], 10, 0.859_718_699_852_857_4);
        check("third place alone: (2/2) / 2.63093", &["x", "y", "a"], 10, 0.380_093_766_715_934_26);
        check("cut at one the ideal is 2 alone", &["b"], 1, 0.5);
        check("nothing is zero", &[], 10, 0.0);
    }

    #[test]
    fn overlaps_of_lists() {
        let check = |says: &str, left: &[&str], right: &[&str], wanted| {
            near(says, rbo(left, right, RBO_P), wanted);
            near(says, rbo(right, left, RBO_P), wanted);
        };
        check("the same list", &["a", "b", "c"], &["a", "b", "c"], 1.0);
        check("nothing in common", &["a", "b"], &["c", "d"], 0.0);
        check("nothing and nothing", &[], &[], 1.0);
        check("something and nothing", &["a"], &[], 0.0);
        // (.1/.9)·(0·.9 + 1·.81) + 1·.81
        check("swapped", &["a", "b"], &["b", "a"], 0.9);
        // (.1/.9)·(1·.9 + ½·.81) + ½·.81
        check("the first of two agrees", &["a", "b"], &["a", "c"], 0.55);
        // (.1/.9)·(0·.9 + ½·.81) + ½·.81
        check("the first against the second", &["a", "b"], &["c", "a"], 0.45);
        // s=1, l=2, X1=1, X2=1: (.1/.9)·(.9 + ½·.81 + 1·1/(1·2)·.81) + (0 + 1)·.81
        check("a beginning is taken to go on as it began", &["a"], &["a", "b"], 1.0);
        // s=1, l=2, X1=0, X2=1: (.1/.9)·(0 + ½·.81 + 0) + ½·.81
        check("found late in the longer list", &["b"], &["a", "b"], 0.45);
    }

    #[test]
    fn middles() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
