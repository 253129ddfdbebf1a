//! Finds where a text turns to another topic, by the words that neighbouring stretches share.
//!
//! TextTiling (M. Hearst, "TextTiling: Segmenting Text into Multi-paragraph Subtopic Passages",
//! Computational Linguistics 23(1), 1997), with sentences in the place of its sequences of words:
//! the cosine between the stems of the blocks before and after each gap; the depth of each valley
//! against the peaks beside it; a turn wherever the depth passes the mean less half a deviation.

use std::collections::HashMap;

use crate::text::words;

/// Sentences on each side of a gap: about the length of a paragraph.
const BLOCK: usize = 6;
/// The fewest sentences a topic has; two turns closer than this are one.
const TOPIC_MIN: usize = 3;

/// The sentences that begin a topic, the first one left out, in order.
pub(crate) fn turns(sentences: &[&str]) -> Vec<usize> {
    if sentences.len() < 2 * TOPIC_MIN {
        return Vec::new();
    }
    let scores = smooth(&cohesion(&stems(sentences)));
    let (before, after) = peaks_beside(&scores);
    let depths: Vec<f64> = (0..scores.len()).map(|gap| before[gap] + after[gap] - 2.0 * scores[gap]).collect();
    let count = depths.len() as f64;
    let mean = depths.iter().sum::<f64>() / count;
    let deviation = (depths.iter().map(|depth| (depth - mean).powi(2)).sum::<f64>() / count).sqrt();
    let cutoff = mean - deviation / 2.0;
    // A slope has a peak on one side only, and is no valley.
    let is_valley = |gap: usize| before[gap] > scores[gap] && after[gap] > scores[gap];
    let mut deepest: Vec<usize> = (0..depths.len()).filter(|gap| is_valley(*gap) && depths[*gap] > cutoff).collect();
    deepest.sort_by(|a, b| depths[*b].total_cmp(&depths[*a]).then(a.cmp(b)));
    let mut turns = std::collections::BTreeSet::from([0, sentences.len()]);
    for gap in deepest {
        // The gap with number 0 lies before the second sentence.
        let turn = gap + 1;
        let is_crowded = turns.range(turn.saturating_sub(TOPIC_MIN - 1)..turn + TOPIC_MIN).next().is_some();
        if !is_crowded {
            turns.insert(turn);
        }
    }
    turns.into_iter().filter(|turn| (1..sentences.len()).contains(turn)).collect()
}

/// Each sentence's stems as numbers.
fn stems(sentences: &[&str]) -> Vec<Vec<usize>> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut number = |stem: String| {
        let next = known.len();
        *known.entry(stem).or_insert(next)
    };
    sentences.iter().map(|text| words::content_stems(text).into_iter().map(&mut number).collect()).collect()
}

/// Counts of stems in one block, and the sum of their squares.
#[derive(Default)]
struct StemCounts {
    of: Vec<u64>,
    squares: u64,
}

impl StemCounts {
    fn add(&mut self, stem: usize) {
        self.squares += 2 * self.of[stem] + 1;
        self.of[stem] += 1;
    }

    fn remove(&mut self, stem: usize) {
        self.of[stem] -= 1;
        self.squares -= 2 * self.of[stem] + 1;
    }
}

/// The cosine between the blocks on both sides of each gap. Both blocks slide by one sentence at a
/// time and their product is kept in whole numbers, so the work is linear and the result exact.
fn cohesion(sentences: &[Vec<usize>]) -> Vec<f64> {
    let size = sentences.iter().flatten().max().map_or(0, |most| most + 1);
    let (mut left, mut right) =
        (StemCounts { of: vec![0; size], squares: 0 }, StemCounts { of: vec![0; size], squares: 0 });
    let mut product = 0_u64;
    sentences.iter().take(BLOCK).flatten().for_each(|stem| right.add(*stem));
    let mut cosines = Vec::with_capacity(sentences.len());
    for gap in 0..sentences.len() - 1 {
        for stem in &sentences[gap] {
            right.remove(*stem);
            product -= left.of[*stem];
            left.add(*stem);
            product += right.of[*stem];
        }
        for stem in sentences.get(gap + BLOCK).into_iter().flatten() {
            right.add(*stem);
            product += left.of[*stem];
        }
        for stem in gap.checked_sub(BLOCK).into_iter().flat_map(|old| &sentences[old]) {
            left.remove(*stem);
            product -= right.of[*stem];
        }
        let norm = (left.squares as f64 * right.squares as f64).sqrt();
        cosines.push(if norm > 0.0 { product as f64 / norm } else { 0.0 });
    }
    cosines
}

/// Each score as the mean of itself and its neighbours.
fn smooth(scores: &[f64]) -> Vec<f64> {
    (0..scores.len())
        .map(|at| {
            let near = &scores[at.saturating_sub(1)..(at + 2).min(scores.len())];
            near.iter().sum::<f64>() / near.len() as f64
        })
        .collect()
}

/// For each gap the peaks on its two sides.
fn peaks_beside(scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut after = peaks(scores.iter().rev());
    after.reverse();
    (peaks(scores.iter()), after)
}

/// For each score the peak that is reached by climbing back from it.
fn peaks<'a>(scores: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let mut last = None;
    scores
        .map(|score| {
            let peak = match last {
                Some((before, peak)) if before >= *score => peak,
                _ => *score,
            };
            last = Some((*score, peak));
            peak
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, sentences: &[&str], expected: &[usize]) {
        assert_eq!(turns(sentences), expected, "{says}");
    }

    const BREAD: &str = "Knead the dough, rest the dough, bake the bread in a hot oven.";
    const ROCKETS: &str = "The rocket burns fuel, the engine lifts the rocket into orbit.";

    #[test]
    fn a_turn_is_where_the_words_change() {
        check("nothing", &[], &[]);
        check("too short to turn", &[BREAD, ROCKETS], &[]);
        check("one topic has no turn", &[BREAD; 20], &[]);
        check("no words, no turn", &["..."; 20], &[]);
        let two: Vec<&str> = [[BREAD; 8], [ROCKETS; 8]].concat();
        check("two topics turn once, between them", &two, &[8]);
        let three: Vec<&str> = [[BREAD; 10], [ROCKETS; 10], [BREAD; 10]].concat();
        check("and back", &three, &[10, 20]);
    }

    #[test]
    fn sliding_counts_are_those_of_a_straight_computation() {
        let sentences: Vec<Vec<usize>> =
            (0..40).map(|at| (0..at % 7).map(|stem| (at * 3 + stem * stem) % 11).collect()).collect();
        let straight: Vec<f64> = (1..sentences.len())
            .map(|gap| {
                let count = |block: &[Vec<usize>]| {
                    let mut counts = [0.0_f64; 11];
                    block.iter().flatten().for_each(|stem| counts[*stem] += 1.0);
                    counts
                };
                let left = count(&sentences[gap.saturating_sub(BLOCK)..gap]);
                let right = count(&sentences[gap..(gap + BLOCK).min(sentences.len())]);
                let dot = |a: &[f64; 11], b: &[f64; 11]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let norm = (dot(&left, &left) * dot(&right, &right)).sqrt();
                if norm > 0.0 { dot(&left, &right) / norm } else { 0.0 }
            })
            .collect();
        for (gap, (slid, straight)) in cohesion(&sentences).iter().zip(&straight).enumerate() {
            assert!((slid - straight).abs() < 1e-12, "gap {gap}: {slid} and {straight}");
        }
    }
}
