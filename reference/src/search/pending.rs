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
        let degraded = &mut search.findings.degraded;
        if degraded.is_empty() && search.connection.fact(PENDING).await?.is_some() {
            degraded.push(VECTORS);
        }
        Ok(())
    }
}
