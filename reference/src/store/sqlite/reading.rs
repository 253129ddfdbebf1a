//! What a search reads: one connection, and the vectors in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::pool::PoolConnection;
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, Sqlite};

use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::records::{Figures, Holding, Near, StoreError, StoredChunk, StoredSource, Worded};
use crate::store::rows::{self, CHUNKS, ChunkRow};
use crate::store::sqlite::following::{self, SharedVectors};
use crate::store::sqlite::memory;
use crate::store::sqlite::terms;

/// A connection of the pool.
#[derive(Debug)]
pub struct SqliteReader {
    /// The connection, given back when this is dropped.
    pub connection: PoolConnection<Sqlite>,
    /// The vectors.
    pub memory: Arc<SharedVectors>,
}

#[async_trait]
impl Connection for SqliteReader {
    async fn fact(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar(rows::FACT).bind(key.to_owned()).fetch_optional(&mut *self.connection).await?)
    }

    async fn generation(&mut self) -> Result<i64, StoreError> {
        following::generation(&mut self.connection).await
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        Ok(self.memory.read().is_empty())
    }

    async fn kinds(&mut self) -> Result<BTreeSet<String>, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        Ok(self.memory.read().kinds())
    }

    async fn worded(&mut self, words: &[String], filter: &Filter, depth: usize) -> Result<Vec<Worded>, StoreError> {
        terms::search(&mut self.connection, words, filter, depth).await
    }

    async fn holding(&mut self, words: &[String], ids: &[i64]) -> Result<Holding, StoreError> {
        let chunks = i64::try_from(self.memory.read().len()).unwrap_or(i64::MAX);
        Ok(Holding { chunks, terms: terms::holders(&mut self.connection, words, ids).await? })
    }

    async fn near(&mut self, vector: &[f32], filter: &Filter, depth: usize) -> Result<Vec<Near>, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        Ok(self.memory.read().near(vector, filter, depth))
    }

    async fn cosines(&mut self, vector: &[f32], ids: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        let memory = self.memory.read();
        Ok(ids.iter().filter_map(|id| Some((*id, memory::dot(vector, memory.vector(*id)?)))).collect())
    }

    async fn chunks(&mut self, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError> {
        let sql = format!("{CHUNKS} WHERE chunks.id IN (SELECT value FROM json_each($1))");
        let query = sqlx::query_as::<_, ChunkRow>(AssertSqlSafe(sql)).bind(Json(ids));
        Ok(query.fetch_all(&mut *self.connection).await?.into_iter().map(StoredChunk::from).collect())
    }

    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        let sql = format!("{CHUNKS} WHERE chunks.source = $1 AND chunks.ordinal = $2");
        let query = sqlx::query_as::<_, ChunkRow>(AssertSqlSafe(sql)).bind(source.to_owned()).bind(ordinal);
        Ok(query.fetch_optional(&mut *self.connection).await?.map(StoredChunk::from))
    }

    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError> {
        let rows = sqlx::query_as(rows::SOURCES).fetch_all(&mut *self.connection).await?;
        Ok(rows.into_iter().map(|row| rows::source(row, |Json(tags)| tags)).collect())
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar(rows::TEXT).bind(source.to_owned()).fetch_optional(&mut *self.connection).await?)
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        let (chunks, sources, mean_tokens, answers, embeddings) = sqlx::query_as(
            "SELECT count(*), (SELECT count(*) FROM sources), coalesce(avg(tokens), 0.0), \
             (SELECT count(*) FROM answers), (SELECT count(*) FROM embeddings) FROM chunks WHERE role <> 'section'",
        )
        .fetch_one(&mut *self.connection)
        .await?;
        let reachable = i64::try_from(self.memory.read().reachable()).unwrap_or(i64::MAX);
        Ok(Figures { chunks, sources, mean_tokens, answers, embeddings, reachable })
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar(rows::LONGEST).fetch_one(&mut *self.connection).await?)
    }

    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        let memory = self.memory.read();
        Ok(memory.first().map(|(source, vector)| (source.to_owned(), vector.to_vec())))
    }
}
