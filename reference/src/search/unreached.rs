//! What becomes of a search whose vectors cannot be had: it goes by words, and says so.

use std::sync::Arc;

use crate::search::pending::VECTORS;
use crate::search::question::RetrievalError;
use crate::search::step::Search;
use crate::store::records::StoreError;

impl Search<'_> {
    /// Whether candidates are to be gathered once more, by words alone, because nobody gives the vectors. Where some
    /// are missing only, what was gathered stays.
    pub(super) fn goes_by_words(&mut self, gathered: &Result<(), RetrievalError>) -> bool {
        match gathered {
            Err(RetrievalError::Store(StoreError::Vectors(error))) if self.question.may_be_partial => {
                tracing::warn!(%error, "a search goes by words alone");
                self.query_vectors.passage = None;
                for vector in &mut self.query_vectors.vectors {
                    *vector = Arc::new([]);
                }
                self.findings.hits.clear();
                self.findings.degraded.push(VECTORS);
                true
            }
            Ok(()) if self.connection.lacks_vectors() => {
                self.findings.degraded.push(VECTORS);
                false
            }
            _ => false,
        }
    }
}
