//! A chunk that answers.

use serde::{Deserialize, Serialize};

use crate::store::records::StoredChunk;

/// A chunk that answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The chunk.
    pub chunk: StoredChunk,
    /// The chance that it answers, 0 to 1, or the cosine (`score::Scale`).
    pub score: f64,
    /// What both retrievers together say of it: their worth, or the sum of reciprocal ranks.
    pub fused_score: f64,
    /// What the order follows: the reranker's score, or the fused one where it did not run, weighted,
    /// with the prior of its source and its recency added.
    pub final_score: f64,
    /// The section it is of, where that was asked for and there is one.
    pub expanded: Option<String>,
}
