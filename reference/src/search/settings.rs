//! How a server searches: its settings, and the steps that features add.

#[cfg(any(feature = "memory", feature = "rerank", feature = "generator"))]
use std::sync::Arc;

#[cfg(feature = "rerank")]
use crate::rerank::Reranker;
#[cfg(feature = "memory")]
use crate::search::answers::Remembering;
#[cfg(feature = "memory")]
use crate::search::query_cache::QueryCache;
#[cfg(feature = "weights")]
use crate::search::ranking::Ranking;
#[cfg(feature = "memory")]
use crate::search::recalling::Recalling;
#[cfg(feature = "rerank")]
use crate::search::reranking::Reranking;
#[cfg(feature = "weights")]
use crate::search::rewriting::Rewriting;
use crate::search::step::Step;
#[cfg(feature = "chunkers")]
use crate::search::summaries::Unfolding;
#[cfg(feature = "weights")]
use crate::search::weights::Weighing;
#[cfg(feature = "generator")]
use crate::search::writer::Writer;
#[cfg(feature = "generator")]
use crate::search::written::Rewording;

/// Chunks each retriever brings and the reranker looks at, where nothing else is set.
pub const OVER_FETCH: usize = 20;
/// The most that may be set.
pub const OVER_FETCH_MAX: usize = 100;

/// How a server searches.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Chunks each retriever brings and the reranker looks at.
    pub over_fetch: usize,
    /// What a source is worth beside its text.
    #[cfg(feature = "weights")]
    pub ranking: Ranking,
    /// What short words stand for.
    #[cfg(feature = "weights")]
    pub rewriting: Rewriting,
    /// Whether answers are remembered.
    #[cfg(feature = "memory")]
    pub remembering: Remembering,
    /// What judges question and passage together, if anything.
    #[cfg(feature = "rerank")]
    pub reranker: Option<Arc<dyn Reranker>>,
    /// What words questions anew, if anything.
    #[cfg(feature = "generator")]
    pub writer: Option<Arc<Writer>>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            over_fetch: OVER_FETCH,
            #[cfg(feature = "weights")]
            ranking: Ranking::default(),
            #[cfg(feature = "weights")]
            rewriting: Rewriting::default(),
            #[cfg(feature = "memory")]
            remembering: Remembering::default(),
            #[cfg(feature = "rerank")]
            reranker: None,
            #[cfg(feature = "generator")]
            writer: None,
        }
    }
}

impl SearchSettings {
    /// What the features add to a search, in the order of their turns.
    #[cfg_attr(
        not(any(feature = "weights", feature = "memory", feature = "rerank")),
        expect(clippy::unused_self, reason = "there is nothing to add")
    )]
    pub(super) fn steps(self, #[cfg(feature = "memory")] query_cache: &Arc<QueryCache>) -> Vec<Box<dyn Step>> {
        vec![
            #[cfg(feature = "weights")]
            Box::new(Weighing { ranking: self.ranking, rewriting: self.rewriting }),
            #[cfg(feature = "memory")]
            Box::new(Recalling { remembering: self.remembering, query_cache: Arc::clone(query_cache) }),
            #[cfg(feature = "chunkers")]
            Box::new(Unfolding),
            #[cfg(feature = "rerank")]
            Box::new(Reranking(self.reranker)),
            #[cfg(feature = "generator")]
            Box::new(Rewording(self.writer)),
        ]
    }
}
