//! Scores from a cross-encoder in a folder, on this machine; one pass at a time, as in `embed::local`.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::bert::folder::FolderError;
use crate::bert::pair::{BATCH_MAX, PairEncoder};
use crate::rerank::{Passage, RerankError, Reranker, bounded, readable};

/// Reranks with weights from a folder.
#[derive(Debug)]
pub struct CrossReranker {
    encoder: Arc<PairEncoder>,
    pass: Arc<Mutex<()>>,
}

impl CrossReranker {
    /// Reads a folder.
    ///
    /// # Errors
    /// Which file cannot be used, why, and the mend.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        Ok(Self { encoder: Arc::new(PairEncoder::open(folder)?), pass: Arc::default() })
    }
}

#[async_trait::async_trait]
impl Reranker for CrossReranker {
    fn name(&self) -> &str {
        self.encoder.name()
    }

    async fn scores(&self, question: &str, passages: &[Passage<'_>]) -> Result<Vec<f64>, RerankError> {
        bounded(passages)?;
        let question: Arc<str> = readable(question).into();
        let mut scores = Vec::with_capacity(passages.len());
        for batch in passages.chunks(BATCH_MAX) {
            let pass = Arc::clone(&self.pass).lock_owned().await;
            let texts: Vec<String> = batch.iter().map(Passage::whole).collect();
            let (encoder, question) = (Arc::clone(&self.encoder), Arc::clone(&question));
            let judging = tokio::task::spawn_blocking(move || {
                let _until_done = pass;
                encoder.scores(&question, &texts)
            });
            let judged = judging.await.map_err(|error| local(&error))?.map_err(|error| local(&error))?;
            if judged.iter().any(|score| !score.is_finite()) {
                return Err(RerankError::Local { why: "a score is no number".to_owned() });
            }
            scores.extend(judged);
        }
        Ok(scores)
    }
}

fn local(error: &dyn std::error::Error) -> RerankError {
    RerankError::Local { why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bert::tiny::{numbers, write};

    #[tokio::test]
    async fn more_than_a_pass_keeps_its_order() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &numbers(5), str::to_owned);
        let reranker = CrossReranker::open(folder.path()).unwrap();
        let contents: Vec<String> = (0..40).map(|number| format!("valve {number}")).collect();
        let passages: Vec<Passage<'_>> = contents.iter().map(|content| Passage { section: "pump", content }).collect();
        let scores = reranker.scores("warm?", &passages).await.unwrap();
        assert_eq!(scores.len(), 40);
        for (passage, score) in passages.iter().zip(&scores) {
            let alone = reranker.scores("warm?", &[*passage]).await.unwrap();
            assert!((alone[0] - score).abs() < 1e-4, "{}", passage.content);
        }
        assert!(scores.iter().any(|score| (score - scores[0]).abs() > 1e-3), "the passages matter");
    }
}
