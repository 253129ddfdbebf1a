//! What a search reads: one connection to the file, and the vectors by HTTP.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;

use crate::store::chroma::client::Chroma;
use crate::store::chroma::nearest::{Met, VectorSearch};
use crate::store::chroma::{ledger, places};
use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::records::{Figures, Holding, Near, StoreError, StoredChunk, StoredSource, Worded};
use crate::store::sqlite::reading::SqliteReader;

/// How often vectors are looked for anew because the index has changed meanwhile.
const LOOKS: usize = 3;
/// Vectors that are looked for one by one, which need not be there: half a second.
const BESIDES_MAX: usize = 20_000;

/// A connection of the pool, and the way to the vectors.
#[derive(Debug)]
pub struct ChromaReader {
    /// The file, whose vectors are lengths.
    pub file: SqliteReader,
    /// The vectors.
    pub chroma: Arc<Chroma>,
    /// Whether some were missed.
    pub lacks: bool,
}

impl ChromaReader {
    /// Vectors that should be there.
    async fn expected(&mut self) -> Result<usize, StoreError> {
        self.file.memory.follow(&mut self.file.connection).await?;
        Ok(self.file.memory.read().reachable())
    }

    /// Vectors that are there, of those that should be. What Chroma may have besides is taken off: first all are
    /// counted and then these, so that what goes meanwhile never makes a hole.
    async fn reachable(&mut self) -> Result<usize, StoreError> {
        let mut looks = 1;
        loop {
            let expected = self.expected().await?;
            let generation = self.file.memory.read().generation;
            if expected == 0 {
                return Ok(0);
            }
            let besides = ledger::besides(&mut self.file.connection, BESIDES_MAX).await?;
            let count = self.chroma.count().await?;
            let there = count.saturating_sub(self.chroma.present(&besides).await?).min(expected);
            if there == expected || looks >= LOOKS || self.file.generation().await? == generation {
                return Ok(there);
            }
            looks += 1;
        }
    }
}

#[async_trait]
impl Connection for ChromaReader {
    async fn near(&mut self, vector: &[f32], filter: &Filter, depth: usize) -> Result<Vec<Near>, StoreError> {
        let mut looks = 1;
        loop {
            let expected = self.expected().await?;
            let generation = self.file.memory.read().generation;
            if depth == 0 || expected == 0 || ledger::width(&mut self.file.connection).await? != vector.len() {
                return Ok(Vec::new());
            }
            let (chroma, memory) = (self.chroma.as_ref(), self.file.memory.as_ref());
            let met = VectorSearch { chroma, memory, vector, filter, expected }.find(depth).await;
            // What is missing may be what another server has just replaced.
            let is_whole = matches!(met, Ok(Met { lacks: false, .. }));
            if is_whole || looks >= LOOKS || self.file.generation().await? == generation {
                let Met { near, lacks } = met?;
                self.lacks |= lacks;
                return Ok(near);
            }
            looks += 1;
        }
    }

    async fn cosines(&mut self, vector: &[f32], ids: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        if self.expected().await? == 0 || ledger::width(&mut self.file.connection).await? != vector.len() {
            return Ok(HashMap::new());
        }
        let wanted = places::directed(&self.file.memory.read(), ids);
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let vectors = self.chroma.vectors(&wanted).await?;
        self.lacks |= vectors.len() < wanted.len();
        Ok(vectors.into_iter().map(|(id, found)| (id, places::cosine(vector, &found))).collect())
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        let figures = self.file.figures().await?;
        // Where nobody answers nothing can be reached, and all other counts are right.
        let reachable = self.reachable().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "vectors cannot be counted");
            0
        });
        Ok(Figures { reachable: i64::try_from(reachable).unwrap_or(i64::MAX), ..figures })
    }

    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        let expected = self.expected().await?;
        let first = places::first(&self.file.memory.read());
        let Some((id, source)) = first else { return Ok(None) };
        match self.chroma.vectors(&[id]).await?.remove(&id) {
            Some(vector) => Ok(Some((source, vector))),
            None if self.chroma.count().await? == 0 => Err(self.chroma.emptied(expected)),
            None => {
                Err(self.chroma.unusable("it lacks vectors: run `serin reference index --full-rebuild`".to_owned()))
            }
        }
    }

    fn lacks_vectors(&self) -> bool {
        self.lacks
    }

    async fn fact(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.file.fact(key).await
    }

    async fn generation(&mut self) -> Result<i64, StoreError> {
        self.file.generation().await
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        self.file.is_empty().await
    }

    async fn kinds(&mut self) -> Result<BTreeSet<String>, StoreError> {
        self.file.kinds().await
    }

    async fn worded(&mut self, words: &[String], filter: &Filter, depth: usize) -> Result<Vec<Worded>, StoreError> {
        self.file.worded(words, filter, depth).await
    }

    async fn holding(&mut self, words: &[String], ids: &[i64]) -> Result<Holding, StoreError> {
        self.file.holding(words, ids).await
    }

    async fn chunks(&mut self, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError> {
        self.file.chunks(ids).await
    }

    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        self.file.chunk_at(source, ordinal).await
    }

    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError> {
        self.file.sources().await
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        self.file.text(source).await
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        self.file.longest().await
    }
}
