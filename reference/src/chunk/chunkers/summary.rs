//! A summary taken out of a text: its own sentences, those that say most of what it is about.
//!
//! SumBasic (A. Nenkova and L. Vanderwende, "The Impact of Frequency on Summarization", 2005): a
//! sentence is worth the mean probability of its content stems; when it is taken, its stems' are
//! squared, so that the next one says something else. A sentence near the beginning is worth more
//! (P. Baxendale, 1958). No model, no draw: the same text gives the same summary.

use std::collections::{BTreeSet, HashMap};

use crate::chunk::units::Unit;
use crate::text::words;

/// The best sentences that are considered, so that the work stays linear in the text.
const CANDIDATES_MAX: usize = 200;
/// Different stems a sentence needs: fewer are a label, not a statement.
const STEMS_MIN: usize = 4;
/// How much more the very first sentence is worth than the last.
const LEAD: f64 = 0.5;

struct Candidate {
    unit: usize,
    stems: Vec<usize>,
    weight: f64,
}

/// The chosen sentences in their order, one a line, with what `fits` says of them; the first one that
/// fits where none says enough. `budget` is about how many tokens fit; `fits` has the last word.
pub(crate) fn extract(
    text: &str,
    units: &[Unit],
    budget: usize,
    fits: impl Fn(&str) -> Option<usize>,
) -> Option<(String, usize)> {
    let (mut candidates, mut probability) = candidates(text, units);
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    let mut best = None;
    let mut spent = 0;
    while let Some(next) = strongest(&candidates, &probability) {
        let candidate = candidates.swap_remove(next);
        let cost = units[candidate.unit].tokens + 1;
        if spent + cost > budget {
            continue;
        }
        chosen.insert(candidate.unit);
        let joined = joined(text, units, &chosen);
        let Some(tokens) = fits(&joined) else {
            chosen.remove(&candidate.unit);
            break;
        };
        spent += cost;
        for stem in &candidate.stems {
            probability[*stem] *= probability[*stem];
        }
        best = Some((joined, tokens));
    }
    best.or_else(|| {
        let first = units.first()?;
        let content = &text[first.start..first.end];
        fits(content).map(|tokens| (content.to_owned(), tokens))
    })
}

fn joined(text: &str, units: &[Unit], chosen: &BTreeSet<usize>) -> String {
    chosen.iter().map(|unit| &text[units[*unit].start..units[*unit].end]).collect::<Vec<_>>().join("\n")
}

/// The sentences worth considering, and the probability of each stem in the whole text.
fn candidates(text: &str, units: &[Unit]) -> (Vec<Candidate>, Vec<f64>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut counts: Vec<f64> = Vec::new();
    let mut candidates = Vec::new();
    for (unit, place) in units.iter().enumerate() {
        let mut stems: Vec<usize> = Vec::new();
        for stem in words::content_stems(&text[place.start..place.end]) {
            let next = known.len();
            let number = *known.entry(stem).or_insert(next);
            if number == counts.len() {
                counts.push(0.0);
            }
            counts[number] += 1.0;
            stems.push(number);
        }
        stems.sort_unstable();
        stems.dedup();
        if stems.len() >= STEMS_MIN {
            let weight = 1.0 + LEAD * (1.0 - unit as f64 / units.len() as f64);
            candidates.push(Candidate { unit, stems, weight });
        }
    }
    let total = counts.iter().sum::<f64>().max(1.0);
    let probability: Vec<f64> = counts.iter().map(|count| count / total).collect();
    candidates.sort_by(|a, b| score(b, &probability).total_cmp(&score(a, &probability)).then(a.unit.cmp(&b.unit)));
    candidates.truncate(CANDIDATES_MAX);
    (candidates, probability)
}

fn score(candidate: &Candidate, probability: &[f64]) -> f64 {
    let sum: f64 = candidate.stems.iter().map(|stem| probability[*stem]).sum();
    candidate.weight * sum / candidate.stems.len() as f64
}

/// The candidate worth most now; of equals the one that comes first in the text.
fn strongest(candidates: &[Candidate], probability: &[f64]) -> Option<usize> {
    (0..candidates.len()).max_by(|a, b| {
        let (left, right) = (&candidates[*a], &candidates[*b]);
        score(left, probability).total_cmp(&score(right, probability)).then(right.unit.cmp(&left.unit))
    })
}
