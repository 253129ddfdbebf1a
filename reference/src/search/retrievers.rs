//! Candidates: what both retrievers bring, fused into one list, and read.

use std::collections::HashMap;
use std::sync::Arc;

use crate::search::asked::Asked;
use crate::search::found::Found;
use crate::search::fusion;
use crate::search::question::RetrievalError;
use crate::search::score::{self, Scale};
use crate::search::stages::{Stage, Stages};
use crate::search::tuning::Tuning;
#[cfg(feature = "local-models")]
use crate::search::worth;
use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::records::{ChunkPlace, Holding, StoreError, StoredChunk, Worded};
use crate::text::terms;

/// What is searched for.
#[derive(Debug, Default)]
pub struct QueryVectors {
    /// By both retrievers; the first is what was asked.
    pub questions: Vec<String>,
    /// The questions' vectors, in their order, as far as they are embedded.
    pub vectors: Vec<Arc<[f32]>>,
    /// By the vector retriever alone.
    pub passage: Option<Arc<[f32]>>,
}

/// Both retrievers, for one search.
#[derive(Debug, Clone, Copy)]
pub struct Retrievers<'a> {
    /// How long each takes.
    pub stages: &'a Stages,
    /// How they are fused.
    pub tuning: &'a Tuning,
    /// What the scores of hits say.
    pub scale: Scale,
}

/// What both retrievers bring for one question, the best first.
#[derive(Debug)]
pub struct Both {
    /// By their words.
    pub words: Vec<Worded>,
    near: Vec<ChunkPlace>,
}

impl Both {
    /// Both lists.
    pub fn lists(self) -> [Vec<ChunkPlace>; 2] {
        let words = self.words.into_iter().map(|worded| worded.place).collect();
        [words, self.near]
    }
}

impl Retrievers<'_> {
    /// Both retrievers for every question, and the vector retriever for a passage, fused into one list of candidates.
    ///
    /// # Errors
    /// The store's.
    pub async fn candidates(
        &self,
        connection: &mut dyn Connection,
        query_vectors: &QueryVectors,
        filter: &Filter,
        depth: usize,
    ) -> Result<Vec<Found>, RetrievalError> {
        let mut lists = Vec::with_capacity(query_vectors.questions.len() * 2 + 1);
        let mut asked = Vec::with_capacity(query_vectors.questions.len());
        for (question, vector) in query_vectors.questions.iter().zip(&query_vectors.vectors) {
            let found = self.both(connection, question, vector, filter, depth).await?;
            asked.push(self.asked(connection, question, vector, &found.words, depth).await?);
            lists.extend(found.lists());
        }
        if let Some(passage) = &query_vectors.passage {
            lists.push(nearest(connection, passage, filter, depth).await?);
        }
        #[cfg(feature = "local-models")]
        let mut fused = match self.scale {
            Scale::Weights if query_vectors.passage.is_none() => {
                worth::by_worth(connection, &asked, lists.into_iter().flatten().collect()).await?
            }
            _ => self.fuse(lists),
        };
        #[cfg(not(feature = "local-models"))]
        let mut fused = self.fuse(lists);
        fused.truncate(depth.min(self.tuning.fused_max));
        self.read(connection, &asked[0], fused).await
    }

    /// Both retrievers for one question, the best first.
    ///
    /// # Errors
    /// The store's.
    pub async fn both(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        vector: &[f32],
        filter: &Filter,
        depth: usize,
    ) -> Result<Both, RetrievalError> {
        let words = {
            let _timed = self.stages.time(Stage::Keyword);
            connection.worded(&terms::of(text), filter, depth).await?
        };
        let near = if vector.is_empty() {
            Vec::new()
        } else {
            let _timed = self.stages.time(Stage::Vector);
            nearest(connection, vector, filter, depth).await?
        };
        Ok(Both { words, near })
    }

    /// A question as its scores are told by, with who holds its words where they count.
    ///
    /// # Errors
    /// The store's.
    pub async fn asked<'a>(
        &self,
        connection: &mut dyn Connection,
        text: &str,
        vector: &'a [f32],
        words: &[Worded],
        depth: usize,
    ) -> Result<Asked<'a>, StoreError> {
        let holding = if self.scale == Scale::Cosine {
            Holding::default()
        } else {
            let _timed = self.stages.time(Stage::Keyword);
            let ids: Vec<i64> = words.iter().map(|worded| worded.place.id).collect();
            connection.holding(&terms::of(text), &ids).await?
        };
        Ok(Asked::new(vector, words, depth, holding))
    }

    /// One list of several: keys, the best first, each with the sum of its reciprocal ranks.
    pub fn fuse(&self, lists: Vec<Vec<ChunkPlace>>) -> Vec<(i64, f64)> {
        let Tuning { k, first_rank, .. } = *self.tuning;
        fusion::merge(lists, k, first_rank).into_iter().map(|(place, score)| (place.id, score)).collect()
    }

    /// The chunks of a fused list, each with its score.
    ///
    /// # Errors
    /// The store's.
    pub async fn read(
        &self,
        connection: &mut dyn Connection,
        asked: &Asked<'_>,
        fused: Vec<(i64, f64)>,
    ) -> Result<Vec<Found>, RetrievalError> {
        let ids: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
        let mut rows: HashMap<i64, StoredChunk> =
            connection.chunks(&ids).await?.into_iter().map(|chunk| (chunk.id, chunk)).collect();
        let scores = score::scores(connection, self.scale, asked, &fused).await?;
        let found = fused.into_iter().zip(scores).filter_map(|((id, fused_score), score)| {
            // Four digits: what is beyond them is noise, and differs between machines.
            let score = ((score + self.tuning.score_added).clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0;
            Some(Found { chunk: rows.remove(&id)?, score, fused_score, final_score: fused_score, expanded: None })
        });
        Ok(found.collect())
    }
}

/// Chunks whose vectors are near, the nearest first.
async fn nearest(
    connection: &mut dyn Connection,
    vector: &[f32],
    filter: &Filter,
    depth: usize,
) -> Result<Vec<ChunkPlace>, StoreError> {
    Ok(connection.near(vector, filter, depth).await?.into_iter().map(|near| near.place).collect())
}
