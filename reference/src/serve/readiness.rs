//! `/ready`: whether a search asked now would be answered. Store, vectors, pool and embedder are
//! each used, not asked about.
//!
//! Warmth is told (`cache_warm`) and never a reason to refuse: a server that gets no questions until
//! it is warm never becomes so.

use std::time::{Duration, Instant};

use crate::serve::report::{HealthReport, Trouble, millis, pool};
use crate::serve::state::ServerState;
use crate::store::contract::{Connection, Patience};
use crate::store::filter::Filter;
use crate::store::records::{PoolFigures, StoreError};

/// How long a vector query may take: five times the scan of a million chunks.
const VECTOR_QUERY_WITHIN: Duration = Duration::from_millis(500);
/// How long the embedding provider may take for one short text.
const EMBEDDING_WITHIN: Duration = Duration::from_secs(2);
/// A full pool is looked at again after this: a burst that is over by then starves nobody. It is a
/// fifth of what a search waits, so this is said before searches come back empty.
const POOL_SECOND_LOOK: Duration = Duration::from_millis(50);
/// The text whose embedding shows that the embedder answers.
const EMBEDDER_PROBE: &str = "health";

/// Uses every part; the first that does not work is the trouble.
///
/// # Errors
/// What does not work.
pub async fn look(state: &ServerState, report: &mut HealthReport) -> Result<(), Trouble> {
    let store = state.retrieval.library.store();
    if is_saturated(store.pool()) {
        tokio::time::sleep(POOL_SECOND_LOOK).await;
        report.pool = pool(store.pool());
        if is_saturated(store.pool()) {
            return Err(Trouble::of("pool_saturated", "no connection is idle, and searches wait for one"));
        }
    }
    let mut held = store.connect(Patience::Search).await.map_err(|error| Trouble::of_store(&error))?;
    let began = Instant::now();
    let asked = tokio::time::timeout(VECTOR_QUERY_WITHIN, finds_itself(held.as_mut())).await;
    drop(held);
    report.vector_query_ms = Some(millis(began.elapsed()));
    let found = asked.map_err(|_late| {
        let why = format!("a vector query took longer than {} ms", VECTOR_QUERY_WITHIN.as_millis());
        Trouble::of("vector_store_unreachable", why)
    })?;
    if !found.map_err(|error| Trouble::of_store(&error))? {
        return Err(Trouble::of("vector_store_unreachable", "a stored vector does not find its own chunk"));
    }
    let began = Instant::now();
    let asking = state.retrieval.library.vectors().ask(EMBEDDER_PROBE);
    let embedded = tokio::time::timeout(EMBEDDING_WITHIN, asking).await;
    report.embedding_ms = Some(millis(began.elapsed()));
    match embedded {
        Ok(Ok(_vector)) => Ok(()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "health found the embedding provider failing");
            Err(Trouble::of("external_api_failure", "the embedding provider does not answer"))
        }
        Err(_late) => {
            let why = format!("the embedding provider took longer than {} s", EMBEDDING_WITHIN.as_secs());
            Err(Trouble::of("external_api_failure", why))
        }
    }
}

/// Whether the vector arm brings the chunk whose vector it is asked with; so it does where there is none.
async fn finds_itself(connection: &mut dyn Connection) -> Result<bool, StoreError> {
    let Some((source, vector)) = connection.sample().await? else { return Ok(true) };
    let filter = Filter { source, ..Filter::default() };
    Ok(!connection.near(&vector, &filter, 1).await?.is_empty())
}

/// Whether searches wait and nothing is left to give them.
fn is_saturated(PoolFigures { size, idle, waiting, max }: PoolFigures) -> bool {
    size >= max && idle == 0 && waiting > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, size: u32, idle: usize, waiting: usize, expected: bool) {
        assert_eq!(is_saturated(PoolFigures { size, idle, waiting, max: 4 }), expected, "{says}");
    }

    #[test]
    fn a_pool_is_saturated_once_somebody_waits_in_vain() {
        check("idle", 4, 4, 0, false);
        check("busy, and nobody waits", 4, 0, 0, false);
        check("somebody waits and none is idle", 4, 0, 1, true);
        check("somebody is just being served", 4, 1, 1, false);
        check("a further one may still be opened", 3, 0, 1, false);
    }
}
