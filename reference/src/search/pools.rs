//! Candidates of a codebase: few rules are never crowded out by much code.

use crate::search::found::Found;
use crate::search::query_vectors::QueryVectors;
use crate::search::question::RetrievalError;
use crate::search::ranking::{self, Pool};
use crate::search::retrievers::Retrievers;
use crate::store::contract::Connection;
use crate::store::filter::Filter;

/// Candidates from each pool of the index, or from all of it where the question names kinds of sources.
///
/// # Errors
/// The store's.
pub async fn candidates(
    retrievers: Retrievers<'_>,
    connection: &mut dyn Connection,
    query_vectors: &QueryVectors,
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Found>, RetrievalError> {
    let asks_all = filter.source_types.is_empty();
    let pools = if asks_all { ranking::pools(&connection.kinds().await?) } else { None };
    let Some(pools) = pools else { return retrievers.candidates(connection, query_vectors, filter, depth).await };
    let mut candidates = Vec::new();
    for Pool { kinds, size } in pools {
        let filter = Filter { source_types: kinds, ..filter.clone() };
        let mut pool = retrievers.candidates(connection, query_vectors, &filter, depth).await?;
        pool.truncate(size);
        candidates.extend(pool);
    }
    Ok(candidates)
}
