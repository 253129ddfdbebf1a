//! A question, and what the keyword retriever knows of it.

use std::collections::HashMap;

use crate::store::records::Worded;

/// Chunks of a corpus that was fitted to. BM25 grows with the logarithm of the index.
const FITTED_CHUNKS: f64 = 1_200.0;

/// A question, and what the keyword retriever knows of it.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The question.
    pub question: &'a str,
    /// Its vector; empty where there is none.
    pub vector: &'a [f32],
    /// BM25 of the chunks that hold its words best.
    pub bm25: HashMap<i64, f64>,
    /// What a chunk has at most that is not among these: nothing, where they are all that hold a word of it.
    pub bm25_beyond: f64,
}

impl<'a> Asked<'a> {
    /// A question, its vector, and the best that the keyword retriever found of `depth` it was asked for.
    pub fn new(question: &'a str, vector: &'a [f32], words: &[Worded], depth: usize) -> Self {
        let bm25 = words.iter().map(|worded| (worded.place.id, worded.score)).collect();
        let bm25_beyond = words.last().filter(|_| words.len() >= depth).map_or(0.0, |worded| worded.score);
        Self { question, vector, bm25, bm25_beyond }
    }

    /// BM25 of a chunk as if the index were of the size that was fitted to.
    pub(super) fn bm25(&self, id: i64, chunks: i64) -> f64 {
        self.bm25.get(&id).unwrap_or(&self.bm25_beyond) * FITTED_CHUNKS.ln() / (chunks as f64 + 2.0).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::ChunkPlace;

    #[test]
    fn a_larger_index_makes_no_hit_better() {
        let place = |id| ChunkPlace { source: String::new(), ordinal: 0, id };
        let asked = |score| {
            Asked::new("", &[], &[(1, score), (2, 3.0)].map(|(id, score)| Worded { place: place(id), score }), 2)
        };
        let (small, large) = (asked(10.0).bm25(1, 1_000), asked(16.5).bm25(1, 100_000));
        assert!((small - large).abs() < 0.3, "{small} and {large}: BM25 grows with the index");
        assert_eq!(asked(10.0).bm25(9, 1_198), 3.0, "what was not brought has the least of what was");
        let all = Asked::new("", &[], &[Worded { place: place(1), score: 20.0 }], 2);
        assert_eq!(all.bm25(9, 1_198), 0.0, "and nothing where those are all that hold a word");
    }
}
