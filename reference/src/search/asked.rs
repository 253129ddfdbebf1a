//! A question, and what the keyword retriever knows of it.
//!
//! In an index of thirty chunks half of them hold most words of the subject, and BM25 gives those nothing. So what was fitted
//! on a thousand chunks is told of every index as if it had as many.

use std::collections::HashMap;

use crate::store::records::{Holders, Holding, Worded};

/// Chunks of a corpus that was fitted to.
const FITTED_CHUNKS: f64 = 1_200.0;
/// Of a smaller index: 0 says that no chunk beyond it holds a word, 1 that as large a share does. Found as `score` says.
const SHARED: f64 = 0.25;
/// The least idf of a chunk's words by which its BM25 says anything: a word that half of the chunks hold has none.
const IDF_MIN: f64 = 0.5;

/// A question, and what the keyword retriever knows of it.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Its vector; empty where there is none.
    pub vector: &'a [f32],
    holding: Holding,
    bm25: HashMap<i64, f64>,
    /// BM25 of a chunk that is not among those at most: nothing, where they are all that hold a word of it.
    bm25_beyond: f64,
}

impl<'a> Asked<'a> {
    /// A question's vector, the best that the keyword retriever found of `depth` it was asked for, and who holds its terms.
    pub fn new(vector: &'a [f32], words: &[Worded], depth: usize, holding: Holding) -> Self {
        let bm25: HashMap<_, _> = words.iter().map(|worded| (worded.place.id, fitted(worded, &holding))).collect();
        let least = bm25.values().copied().fold(f64::INFINITY, f64::min);
        Self { vector, holding, bm25, bm25_beyond: if words.len() < depth { 0.0 } else { least } }
    }

    /// BM25 of a chunk as if the index were of the size that was fitted to.
    pub(super) fn bm25(&self, id: i64) -> f64 {
        *self.bm25.get(&id).unwrap_or(&self.bm25_beyond)
    }

    /// How much of the question a chunk holds: the share of its terms, each by how rare it is.
    pub(super) fn covered(&self, id: i64) -> f64 {
        let Holding { chunks, terms } = &self.holding;
        let weight = |term: &&Holders| idf(term.chunks, *chunks);
        let whole: f64 = terms.iter().map(|term| weight(&term)).sum();
        let held = terms.iter().filter(|term| term.ids.contains(&id));
        if whole > 0.0 { held.map(|term| weight(&term)).sum::<f64>() / whole } else { 0.0 }
    }
}

/// What a chunk that was found has as if the index were of the size that was fitted to.
fn fitted(worded: &Worded, holding: &Holding) -> f64 {
    let held = || holding.terms.iter().filter(|term| term.ids.contains(&worded.place.id)).map(|term| term.chunks);
    let here: f64 = held().map(|holders| idf_here(holders, holding.chunks)).sum();
    let there: f64 = held().map(|holders| idf(holders, holding.chunks)).sum();
    if here < IDF_MIN { there } else { worded.score * there / here }
}

/// The idf of a word that so many chunks hold, as if the index were of the size that was fitted to.
fn idf(holders: i64, chunks: i64) -> f64 {
    let size = FITTED_CHUNKS / (chunks as f64).max(1.0);
    let holders = (holders as f64 * if size > 1.0 { size.powf(SHARED) } else { size }).min(FITTED_CHUNKS);
    (1.0 + (FITTED_CHUNKS - holders + 0.5) / (holders + 0.5)).ln()
}

/// The same as the store counts it.
fn idf_here(holders: i64, chunks: i64) -> f64 {
    (((chunks - holders) as f64 + 0.5) / (holders as f64 + 0.5)).ln().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::ChunkPlace;

    fn holding(chunks: i64, terms: &[(i64, &[i64])]) -> Holding {
        let holders = |(chunks, ids): &(i64, &[i64])| Holders { chunks: *chunks, ids: ids.to_vec() };
        Holding { chunks, terms: terms.iter().map(holders).collect() }
    }

    fn worded(id: i64, score: f64) -> Worded {
        Worded { place: ChunkPlace { source: String::new(), ordinal: 0, id }, score }
    }

    /// BM25 of a chunk of such an index, of whose words so many chunks hold each, and which has this of the store.
    fn bm25(chunks: i64, holders: i64, score: f64) -> f64 {
        Asked::new(&[], &[worded(7, score)], 2, holding(chunks, &[(holders, &[7])])).bm25(7)
    }

    #[test]
    fn a_larger_index_makes_no_hit_better() {
        let (small, large) = (bm25(1_200, 12, 4.6), bm25(120_000, 1_200, 4.6));
        assert!((small - large).abs() < 0.1, "as large a share holds it: {small} and {large}");
    }

    #[test]
    fn a_word_that_half_of_a_small_index_holds_is_worth_something() {
        assert!((2.0..bm25(29, 2, 2.3)).contains(&bm25(29, 20, 1e-6)), "less than a rare one's");
        assert!(bm25(1_200, 1_150, 1e-6) < 0.1, "in a large one it is not");
    }

    #[test]
    fn what_was_not_brought_has_the_least_of_what_was() {
        let asked = |depth| {
            let words = [worded(1, 9.0), worded(2, 3.0)];
            Asked::new(&[], &words, depth, holding(1_200, &[(12, &[1, 2])]))
        };
        assert_eq!(asked(2).bm25(9), asked(2).bm25(2));
        assert_eq!(asked(3).bm25(9), 0.0, "and nothing where those are all that hold a word");
    }

    #[test]
    fn a_rare_word_covers_more_of_a_question() {
        let covered = |chunks, terms: &[(i64, &[i64])], id| Asked::new(&[], &[], 1, holding(chunks, terms)).covered(id);
        let terms: &[(i64, &[i64])] = &[(900, &[1]), (2, &[2]), (0, &[])];
        assert!(covered(1_000, terms, 2) > covered(1_000, terms, 1));
        assert!(covered(1_000, terms, 2) < 0.6, "one word stands nowhere");
        assert_eq!((covered(1_000, terms, 3), covered(5, &[], 1)), (0.0, 0.0), "nothing held, nothing asked");
        assert!((covered(10, &[(1, &[7])], 7) - 1.0).abs() < 1e-9, "all of it");
    }
}
