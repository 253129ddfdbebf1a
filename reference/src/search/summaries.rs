//! A long document is found by its summary first, and by its passages second.

use std::collections::HashSet;

use crate::search::found::Found;
use crate::search::question::{Question, RetrievalError};
use crate::search::retrievers::Retrievers;
use crate::store::contract::Connection;
use crate::store::filter::Filter;

/// Passages of a long document that come in the place of its summary.
const PASSAGES_OF_SUMMARY: usize = 5;

/// Puts the passages of a long document in the place of its summary, with its standing.
///
/// # Errors
/// The store's.
pub async fn unfold(
    retrievers: Retrievers<'_>,
    connection: &mut dyn Connection,
    question: &Question,
    vector: &[f32],
    candidates: Vec<Found>,
) -> Result<Vec<Found>, RetrievalError> {
    if candidates.iter().all(|found| found.chunk.role != "summary") {
        return Ok(candidates);
    }
    let mut present: HashSet<i64> = candidates.iter().map(|found| found.chunk.id).collect();
    let mut unfolded = Vec::with_capacity(candidates.len());
    for found in candidates {
        if found.chunk.role != "summary" {
            unfolded.push(found);
            continue;
        }
        let filter = Filter { source: found.chunk.source.clone(), ..question.filter.clone() };
        let depth = PASSAGES_OF_SUMMARY + 1;
        let lists = retrievers.both(connection, &question.text, vector, &filter, depth).await?;
        let passages = retrievers.read(connection, vector, retrievers.fuse(lists.into())).await?;
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
