//! A long document is found by its summary first, and by its passages second.

use std::collections::HashSet;
use std::mem;

use async_trait::async_trait;

use crate::search::found::Found;
use crate::search::question::RetrievalError;
use crate::search::step::{Search, Step};
use crate::store::filter::Filter;

/// Passages of a long document that come in the place of its summary.
const PASSAGES_OF_SUMMARY: usize = 5;

/// Puts the passages of a long document in the place of its summary, with its standing.
#[derive(Debug)]
pub struct Unfolding;

#[async_trait]
impl Step for Unfolding {
    async fn refine(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        if search.findings.hits.iter().any(is_summary) {
            let candidates = mem::take(&mut search.findings.hits);
            search.findings.hits = unfold(search, candidates).await?;
        }
        Ok(())
    }
}

fn is_summary(found: &Found) -> bool {
    found.chunk.role == "summary"
}

async fn unfold(search: &mut Search<'_>, candidates: Vec<Found>) -> Result<Vec<Found>, RetrievalError> {
    let (question, retrievers, connection) = (search.question, search.retrievers(), search.connection.as_mut());
    let vector = &search.query_vectors.vectors[0];
    let mut present: HashSet<i64> = candidates.iter().map(|found| found.chunk.id).collect();
    let mut unfolded = Vec::with_capacity(candidates.len());
    for found in candidates {
        if !is_summary(&found) {
            unfolded.push(found);
            continue;
        }
        let filter = Filter { source: found.chunk.source.clone(), ..question.filter.clone() };
        let depth = PASSAGES_OF_SUMMARY + 1;
        let both = retrievers.both(connection, &question.text, vector, &filter, depth).await?;
        let asked = retrievers.asked(connection, &question.text, vector, &both.words, depth).await?;
        let passages = retrievers.read(connection, &asked, retrievers.fuse(both.lists().into())).await?;
        let of_document = passages
            .into_iter()
            .filter(|passage| passage.chunk.source == found.chunk.source && passage.chunk.role == "passage")
            .filter(|passage| present.insert(passage.chunk.id))
            .take(PASSAGES_OF_SUMMARY)
            .map(|passage| Found { fused_score: found.fused_score, final_score: found.final_score, ..passage });
        unfolded.extend(of_document.collect::<Vec<_>>());
    }
    Ok(unfolded)
}
