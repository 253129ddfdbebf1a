//! Question and passages read together, within a time.

use std::sync::Arc;
use std::time::Duration;

use crate::find::found::Found;
use crate::find::stages::{Stage, Stages};
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::rerank::{Passage, Reranker};

/// How long the reranker may take: past this the fused order is the better answer.
const RERANK_WITHIN: Duration = Duration::from_secs(2);
/// The name of what is degraded where it fails.
pub const SCOPE: &str = "rerank";

/// Scores every candidate for the question it may answer; whether that could be done. Where not, the
/// fused order stands.
pub async fn rerank(
    reranker: &Arc<dyn Reranker>,
    question: &str,
    candidates: &mut [Found],
    stages: &Stages,
    faults: &Faults,
) -> bool {
    let _timed = stages.time(Stage::Rerank);
    if faults.strikes(Fault::RerankerOff).is_some() || candidates.is_empty() {
        return true;
    }
    let is_reversed = faults.strikes(Fault::RerankerReversed).is_some();
    let scoring = scores(reranker, question, candidates, faults);
    let scores = tokio::time::timeout(RERANK_WITHIN, scoring)
        .await
        .unwrap_or_else(|_late| Err(format!("it took longer than {} ms", RERANK_WITHIN.as_millis())));
    match scores {
        Ok(scores) if scores.len() == candidates.len() => {
            let share = reranker.share();
            for (found, score) in candidates.iter_mut().zip(scores) {
                let score = score * share + found.score * (1.0 - share);
                found.final_score = if is_reversed { 1.0 - score } else { score };
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

async fn scores(
    reranker: &Arc<dyn Reranker>,
    question: &str,
    candidates: &[Found],
    faults: &Faults,
) -> Result<Vec<f64>, String> {
    match faults.strikes(Fault::RerankerFails) {
        Some(dose) if dose.mode == "memory" => Err("out of memory, on request".to_owned()),
        Some(_slow) => std::future::pending().await,
        None => {
            let passages: Vec<Passage<'_>> = candidates.iter().map(passage).collect();
            reranker.scores(question, &passages).await.map_err(|error| error.to_string())
        }
    }
}

fn passage(found: &Found) -> Passage<'_> {
    Passage { section: &found.chunk.section, content: &found.chunk.content }
}
