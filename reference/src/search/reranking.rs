//! Question and passages read together, within a time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::rerank::{Passage, Reranker};
use crate::search::found::Found;
use crate::search::question::RetrievalError;
use crate::search::stages::{Stage, Stages};
use crate::search::step::{QuestionEmbedder, Search, Step};

/// How long the reranker may take: past this the fused order is the better answer.
const RERANK_WITHIN: Duration = Duration::from_secs(2);
/// The name of what is degraded where it fails.
pub const SCOPE: &str = "rerank";

/// Has a reranker score the candidates, where there is one.
#[derive(Debug)]
pub struct Reranking(pub Option<Arc<dyn Reranker>>);

#[async_trait]
impl Step for Reranking {
    fn line(&self) -> Option<String> {
        Some(self.0.as_ref().map_or("", |reranker| reranker.name()).to_owned())
    }

    fn reads_wording(&self) -> bool {
        self.0.is_some()
    }

    async fn refine(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        let Search { question, embedding: QuestionEmbedder { stages, .. }, .. } = *search;
        if let Some(reranker) = &self.0
            && !rerank(reranker, &question.text, &mut search.findings.hits, stages).await
        {
            search.findings.degraded.push(SCOPE);
        }
        Ok(())
    }
}

/// Scores every candidate for the question it may answer; whether that could be done. Where not, the
/// fused order stands.
async fn rerank(reranker: &Arc<dyn Reranker>, question: &str, candidates: &mut [Found], stages: &Stages) -> bool {
    let _timed = stages.time(Stage::Rerank);
    if !reranker.is_asked() || candidates.is_empty() {
        return true;
    }
    let passages: Vec<Passage<'_>> = candidates.iter().map(passage).collect();
    let scores: Vec<f64> = candidates.iter().map(|found| found.score).collect();
    let scoring = reranker.final_scores(question, &passages, &scores);
    let scores = tokio::time::timeout(RERANK_WITHIN, scoring)
        .await
        .map_err(|_late| format!("it took longer than {} ms", RERANK_WITHIN.as_millis()))
        .and_then(|scores| scores.map_err(|error| error.to_string()));
    match scores {
        Ok(scores) if scores.len() == candidates.len() => {
            for (found, score) in candidates.iter_mut().zip(scores) {
                found.final_score = score;
            }
            true
        }
        Ok(_short) => false,
        Err(error) => {
            tracing::warn!(error, "the reranker failed: the fused order is answered");
            false
        }
    }
}

fn passage(found: &Found) -> Passage<'_> {
    Passage { section: &found.chunk.section, content: &found.chunk.content }
}
