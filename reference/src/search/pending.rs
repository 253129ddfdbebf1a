//! Says of an answer that some of the index still waits for its vectors.

use async_trait::async_trait;

use crate::index::later::PENDING;
use crate::search::question::RetrievalError;
use crate::search::step::{Search, Step};

/// The scope of an answer that had to do without vectors, or without some of them.
pub(super) const VECTORS: &str = "vectors";

/// Looks whether vectors are still to come.
#[derive(Debug)]
pub(super) struct Waiting;

#[async_trait]
impl Step for Waiting {
    async fn refine(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        // Where nothing has vectors, none are to come.
        let has_vectors = search.query_vectors.vectors.first().is_some_and(|vector| !vector.is_empty());
        let is_told = search.findings.degraded.contains(&VECTORS);
        if has_vectors && !is_told && search.connection.fact(PENDING).await?.is_some() {
            search.findings.degraded.push(VECTORS);
        }
        Ok(())
    }
}
