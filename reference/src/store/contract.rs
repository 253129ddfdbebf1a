//! What a store of chunks can do, whichever database is behind it.
//!
//! SQLite scans vectors in memory, PostgreSQL finds them by HNSW, and Chroma keeps them for an SQLite that has the rest.
//! A further one needs an implementation of the two traits here and nothing else.
//!
//! A search holds one connection at a time, and gives it back while a language model writes for it:
//! whoever holds one never waits for a second, so the pool is one narrow place and saturation is one error.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;

use async_trait::async_trait;

#[cfg(feature = "memory")]
use crate::store::cache::StoreCache as Besides;
use crate::store::filter::Filter;
use crate::store::records::{
    Figures, Holding, Near, NewSource, PoolFigures, Replaced, StoreError, StoredChunk, StoredSource, Worded,
};

/// The version of every store's tables; a store of an older one is migrated, of a newer one refused.
pub const SCHEMA_VERSION: u32 = 3;

/// How long a caller waits for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// A search: it gives up within a quarter of a second, so that its caller learns of it in time.
    Search,
    /// A start, a writer: it has time, and a busy machine is no saturated pool.
    Writer,
}

/// A store of sources, their chunks, words and vectors; and of cached embeddings, answers and conversations.
#[async_trait]
pub trait Store: Debug + Send + Sync {
    /// A connection of the pool, held until it is dropped.
    ///
    /// # Errors
    /// `Saturated` when the patience is over, `Sql`.
    async fn connect(&self, patience: Patience) -> Result<Box<dyn Connection>, StoreError>;

    /// The pool, which is what runs out first.
    fn pool(&self) -> PoolFigures;

    /// Replaces a source in one transaction: a reader sees the old text or the new one, and no
    /// remembered answer that touches it outlives the moment the new one shows.
    ///
    /// # Errors
    /// `Full`, `Saturated`, `Sql`; nothing has changed then.
    async fn replace(&self, new: NewSource<'_>) -> Result<Replaced, StoreError>;

    /// Takes a source away; whether it was there.
    ///
    /// # Errors
    /// `Saturated`, `Sql`.
    async fn remove(&self, source: &str) -> Result<bool, StoreError>;

    /// Takes everything away: sources, answers, conversations; and the vectors of texts that were
    /// embedded, which another index of the same texts would need again, where `embeddings` is said.
    ///
    /// # Errors
    /// `Saturated`, `Sql`.
    async fn wipe(&self, embeddings: bool) -> Result<(), StoreError>;

    /// Writes a fact about the index, such as the fingerprint of its embedder; `None` forgets it.
    ///
    /// # Errors
    /// `Saturated`, `Sql`.
    async fn set_fact(&self, key: &str, value: Option<&str>) -> Result<(), StoreError>;

    /// Closes every connection, waiting for those in use at most a second.
    async fn close(&self);
}

/// What a connection can do besides: nothing, without the feature `memory`.
#[cfg(not(feature = "memory"))]
pub trait Besides {}

#[cfg(not(feature = "memory"))]
impl<T> Besides for T {}

/// One connection of a store. Whatever is asked of it fails with `Sql` where the database does.
#[async_trait]
pub trait Connection: Debug + Send + Besides {
    /// A fact about the index.
    async fn fact(&mut self, key: &str) -> Result<Option<String>, StoreError>;

    /// Counts every change of the index; an answer found under another count may be out of date.
    async fn generation(&mut self) -> Result<i64, StoreError>;

    /// Whether nothing can be found at all.
    async fn is_empty(&mut self) -> Result<bool, StoreError>;

    /// The kinds of sources there are.
    async fn kinds(&mut self) -> Result<BTreeSet<String>, StoreError>;

    /// Chunks that hold terms of a question, the best first by BM25; equal ones by place.
    async fn worded(&mut self, terms: &[String], filter: &Filter, depth: usize) -> Result<Vec<Worded>, StoreError>;

    /// Who holds each of these terms: of the whole index how many, and which of these chunks.
    async fn holding(&mut self, terms: &[String], ids: &[i64]) -> Result<Holding, StoreError>;

    /// Chunks whose vectors are near, the nearest first; equal ones by place. A chunk at a right angle
    /// or beyond is not near.
    async fn near(&mut self, vector: &[f32], filter: &Filter, depth: usize) -> Result<Vec<Near>, StoreError>;

    /// Cosines of a vector and the chunks with these keys.
    async fn cosines(&mut self, vector: &[f32], ids: &[i64]) -> Result<HashMap<i64, f32>, StoreError>;

    /// The chunks with these keys, in no order.
    async fn chunks(&mut self, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError>;

    /// The chunk at a place of a source, such as the section around a passage.
    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError>;

    /// Every source, by name.
    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError>;

    /// The text of a source as it was indexed, secrets already taken out.
    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError>;

    /// Counts over the whole index.
    async fn figures(&mut self) -> Result<Figures, StoreError>;

    /// Tokens of the longest chunk that is searched, 0 where there is none. It may read the whole index.
    async fn longest(&mut self) -> Result<i64, StoreError>;

    /// Any stored vector, with its source: what a health check searches with.
    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError>;

    /// Whether vectors that should be there were missed in what was asked so far.
    fn lacks_vectors(&self) -> bool {
        false
    }
}
