//! What the score of a hit says: the chance that it answers.
//!
//! Fitted by logistic regression on the tuning halves of `bench/others`, each corpus in turn held back; how often it is
//! right is in `docs/reference-server.md`. It is of question and chunk alone, however many hits are wanted.

use std::collections::HashMap;

use crate::embed::Model;
use crate::search::question::RetrievalError;
#[cfg(feature = "local-models")]
use crate::search::worth;
use crate::store::contract::Connection;
use crate::store::records::{Holding, Worded};
use crate::text::terms;

/// By what a score is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// By words alone.
    Words,
    /// By words and the cosine of weights that were fitted to.
    Weights,
    /// The cosine itself, of a model that nothing was fitted to.
    Cosine,
}

/// Chunks of a corpus that was fitted to. BM25 grows with the logarithm of the index.
const FITTED_CHUNKS: f64 = 1_200.0;

impl Scale {
    /// The scale of a model's scores.
    pub fn of(model: &Model) -> Self {
        match model.dimensions {
            0 => Self::Words,
            #[cfg(feature = "local-models")]
            _ if model.revision == worth::REVISION => Self::Weights,
            _ => Self::Cosine,
        }
    }
}

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

/// The scores of candidates, 0 to 1, in their order.
///
/// # Errors
/// The store's.
pub async fn scores(
    connection: &mut dyn Connection,
    scale: Scale,
    asked: &Asked<'_>,
    fused: &[(i64, f64)],
) -> Result<Vec<f64>, RetrievalError> {
    let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
    if scale == Scale::Words {
        let holding = connection.holding(&terms::of(asked.question), &ids).await?;
        let of =
            |id: &i64| chance(-10.91 + 3.02 * asked.bm25(*id, holding.chunks).ln_1p() + 4.11 * covered(&holding, *id));
        return Ok(ids.iter().map(of).collect());
    }
    #[cfg(feature = "local-models")]
    if scale == Scale::Weights {
        return worth::scores(connection, asked, &ids).await;
    }
    let cosines = connection.cosines(asked.vector, &ids).await?;
    Ok(ids.iter().map(|id| f64::from(cosines.get(id).copied().unwrap_or(0.0))).collect())
}

pub(super) fn chance(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// How much of a question a chunk holds: the share of its terms, each by how rare it is.
fn covered(holding: &Holding, id: i64) -> f64 {
    let weight = |holders: i64| {
        let (all, holders) = (holding.chunks as f64, holders as f64);
        (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
    };
    let whole: f64 = holding.terms.iter().map(|term| weight(term.chunks)).sum();
    let held = holding.terms.iter().filter(|term| term.ids.contains(&id));
    if whole > 0.0 { held.map(|term| weight(term.chunks)).sum::<f64>() / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::{ChunkPlace, Holders};

    fn holding(chunks: i64, terms: &[(i64, &[i64])]) -> Holding {
        let holders = |(chunks, ids): &(i64, &[i64])| Holders { chunks: *chunks, ids: ids.to_vec() };
        Holding { chunks, terms: terms.iter().map(holders).collect() }
    }

    #[test]
    fn a_rare_word_covers_more_of_a_question() {
        let held = holding(1_000, &[(900, &[1]), (2, &[2]), (0, &[])]);
        assert!(covered(&held, 2) > covered(&held, 1) && covered(&held, 2) < 0.6, "one word stands nowhere");
        assert_eq!((covered(&held, 3), covered(&holding(5, &[]), 1)), (0.0, 0.0), "nothing held, nothing asked");
        assert!((covered(&holding(10, &[(1, &[7])]), 7) - 1.0).abs() < 1e-9, "all of it");
    }

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
