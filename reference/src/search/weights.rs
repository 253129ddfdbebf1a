//! The step that makes more of a question than its words, and of a source than its text.

use std::mem;

use async_trait::async_trait;

use crate::search::question::RetrievalError;
use crate::search::ranking::{self, CandidatePool, Ranking};
use crate::search::rewriting::Rewriting;
use crate::search::step::{Search, Step};
use crate::store::filter::Filter;

/// Rewrites questions by tables, draws candidates from pools, and ranks them with what their sources are worth.
#[derive(Debug)]
pub struct Weighing {
    /// What a source is worth beside its text.
    pub ranking: Ranking,
    /// What short words stand for.
    pub rewriting: Rewriting,
}

#[async_trait]
impl Step for Weighing {
    fn line(&self) -> Option<String> {
        Some(format!("{}\n{}", self.ranking.line(), self.rewriting.line()))
    }

    async fn prepare(&self, search: &mut Search<'_>) -> Result<bool, RetrievalError> {
        search.query_vectors.questions = self.rewriting.questions(&search.question.text);
        Ok(false)
    }

    /// Of a codebase from each pool, so that few rules are never crowded out by much code; a question that names kinds
    /// of sources is asked of those.
    async fn candidates(&self, search: &mut Search<'_>, depth: usize) -> Result<bool, RetrievalError> {
        let filter = &search.question.filter;
        let asks_all = filter.source_types.is_empty();
        let pools = if asks_all { ranking::pools(&search.connection.kinds().await?) } else { None };
        let Some(pools) = pools else { return Ok(false) };
        let (retrievers, connection) = (search.retrievers(), search.connection.as_mut());
        for CandidatePool { kinds, size } in pools {
            let filter = Filter { source_types: kinds, ..filter.clone() };
            let mut pool = retrievers.candidates(connection, &search.query_vectors, &filter, depth).await?;
            pool.truncate(size);
            search.findings.hits.extend(pool);
        }
        Ok(true)
    }

    fn order(&self, search: &mut Search<'_>) {
        let candidates = mem::take(&mut search.findings.hits);
        search.findings.hits = ranking::rank(candidates, &self.ranking, search.now);
    }
}
