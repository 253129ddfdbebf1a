//! The numbers of one search that nobody sets in a configuration, since only one value of each is right.

use std::time::Duration;

use crate::search::fusion;
use crate::store::contract::Patience;

// Laboratory: fusion and budgets that are deliberately wrong are settings of one search, read nowhere else.
/// How one search is done. What it is by default is what it ought to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// How long the search waits for a connection.
    pub patience: Patience,
    /// The constant of reciprocal rank fusion.
    pub k: f64,
    /// The rank of the first hit of a retriever.
    pub first_rank: u32,
    /// Hits that are left of the fused list, at most.
    pub fused_max: usize,
    /// The fused score from which a hit is left.
    pub fused_min: f64,
    /// What is added to every score that callers see.
    pub score_added: f64,
    /// Decides the order of the hits in the place of their scores.
    pub shuffled_by: Option<u64>,
    /// Decides the order of hits with equal scores in the place of their places.
    pub ties_by: Option<u64>,
    /// How many times the budget of tokens is spent.
    pub budget_times: f64,
    /// Whether answers of one model are kept apart from those of another.
    pub is_keyed_by_model: bool,
    /// How long a question waits whose answer is not remembered.
    pub miss_waits: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            patience: Patience::Search,
            k: fusion::K,
            first_rank: fusion::FIRST_RANK,
            fused_max: usize::MAX,
            fused_min: 0.0,
            score_added: 0.0,
            shuffled_by: None,
            ties_by: None,
            budget_times: 1.0,
            is_keyed_by_model: true,
            miss_waits: Duration::ZERO,
        }
    }
}
