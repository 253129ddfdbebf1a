//! Candidates of a codebase: few rules are never crowded out by much code.

use crate::find::found::Found;
use crate::find::gathering::Gathering;
use crate::find::question::RetrievalError;
use crate::find::ranking::{self, Pool};
use crate::find::sought::Sought;
use crate::store::contract::Connection;
use crate::store::filter::Filter;

/// Candidates from each pool of the index, or from all of it where the question names kinds of sources.
///
/// # Errors
/// The store's.
pub async fn gather(
    gathering: Gathering<'_>,
    connection: &mut dyn Connection,
    sought: &Sought,
    filter: &Filter,
    depth: usize,
) -> Result<Vec<Found>, RetrievalError> {
    let asks_all = filter.source_types.is_empty();
    let pools = if asks_all { ranking::pools(&connection.kinds().await?) } else { None };
    let Some(pools) = pools else { return gathering.gather(connection, sought, filter, depth).await };
    let mut candidates = Vec::new();
    for Pool { kinds, size } in pools {
        let filter = Filter { source_types: kinds, ..filter.clone() };
        let mut pool = gathering.gather(connection, sought, &filter, depth).await?;
        pool.truncate(size);
        candidates.extend(pool);
    }
    Ok(candidates)
}
