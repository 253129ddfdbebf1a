//! How a server searches: its settings, and the steps that features add.

use crate::search::step::Step;

/// Chunks each retriever brings and the reranker looks at, where nothing else is set.
pub const OVER_FETCH: usize = 20;

/// How a server searches.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Chunks each retriever brings and the reranker looks at.
    pub over_fetch: usize,
    /// What a source is worth beside its text.
    #[cfg(feature = "weights")]
    pub ranking: crate::search::ranking::Ranking,
    /// What short words stand for.
    #[cfg(feature = "weights")]
    pub rewriting: crate::search::rewriting::Rewriting,
    /// Whether answers are remembered.
    #[cfg(feature = "memory")]
    pub remembering: crate::search::answers::Remembering,
    /// What judges question and passage together, if anything.
    #[cfg(feature = "rerank")]
    pub reranker: Option<std::sync::Arc<dyn crate::rerank::Reranker>>,
    /// What words questions anew, if anything.
    #[cfg(feature = "generator")]
    pub writer: Option<std::sync::Arc<crate::search::writer::Writer>>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            over_fetch: OVER_FETCH,
            #[cfg(feature = "weights")]
            ranking: Default::default(),
            #[cfg(feature = "weights")]
            rewriting: Default::default(),
            #[cfg(feature = "memory")]
            remembering: Default::default(),
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
    pub(super) fn steps(
        self,
        #[cfg(feature = "memory")] query_cache: &std::sync::Arc<crate::search::query_cache::QueryCache>,
    ) -> Vec<Box<dyn Step>> {
        vec![
            #[cfg(feature = "weights")]
            Box::new(crate::search::weights::Weighing { ranking: self.ranking, rewriting: self.rewriting }),
            #[cfg(feature = "memory")]
            Box::new(crate::search::recalling::Recalling {
                remembering: self.remembering,
                query_cache: std::sync::Arc::clone(query_cache),
            }),
            #[cfg(feature = "chunkers")]
            Box::new(crate::search::summaries::Unfolding),
            #[cfg(feature = "rerank")]
            Box::new(crate::search::reranking::Reranking(self.reranker)),
            #[cfg(feature = "generator")]
            Box::new(crate::search::written::Rewording(self.writer)),
            #[cfg(feature = "names")]
            Box::new(crate::search::unknown::Knowing),
            #[cfg(feature = "remote")]
            Box::new(crate::search::pending::Waiting),
        ]
    }
}
