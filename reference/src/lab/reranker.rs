//! A reranker that is off, upside down, out of memory or too slow, on request.

use std::sync::Arc;

use async_trait::async_trait;

use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::rerank::{Passage, RerankError, Reranker};

/// A reranker behind the switchboard.
#[derive(Debug)]
pub struct FaultyReranker {
    inner: Arc<dyn Reranker>,
    faults: Faults,
}

impl FaultyReranker {
    /// A reranker that fails as the switches say.
    pub fn new(inner: Arc<dyn Reranker>, faults: Faults) -> Self {
        Self { inner, faults }
    }
}

#[async_trait]
impl Reranker for FaultyReranker {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_asked(&self) -> bool {
        self.faults.activated(Fault::RerankerOff).is_none()
    }

    fn share(&self) -> f64 {
        self.inner.share()
    }

    async fn scores(&self, question: &str, passages: &[Passage<'_>]) -> Result<Vec<f64>, RerankError> {
        self.inner.scores(question, passages).await
    }

    async fn final_scores(
        &self,
        question: &str,
        passages: &[Passage<'_>],
        cosines: &[f64],
    ) -> Result<Vec<f64>, RerankError> {
        let is_reversed = self.faults.activated(Fault::RerankerReversed).is_some();
        let scores = match self.faults.activated(Fault::RerankerFails) {
            Some(dose) if dose.mode == "memory" => {
                Err(RerankError::Local { why: "out of memory, on request".to_owned() })
            }
            Some(_slow) => std::future::pending().await,
            None => self.inner.final_scores(question, passages, cosines).await,
        };
        let turned = |score: f64| if is_reversed { 1.0 - score } else { score };
        scores.map(|scores| scores.into_iter().map(turned).collect())
    }
}
