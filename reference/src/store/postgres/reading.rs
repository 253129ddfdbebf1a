//! What a search reads, by one connection.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::postgres::pool::Held;
use crate::store::postgres::stems::storable;
use crate::store::postgres::{nearest, terms};
use crate::store::records::{Figures, Holding, Near, StoreError, StoredChunk, StoredSource, Worded};
use crate::store::rows::{self, CHUNKS, ChunkRow};

/// A connection of the pool.
#[derive(Debug)]
pub struct PostgresReader {
    /// The connection, given back when this is dropped.
    pub held: Held,
    /// Whether a search by HNSW can go on until a filter has let enough pass.
    pub iterates: bool,
}

impl PostgresReader {
    /// The connection itself.
    pub fn own(&mut self) -> &mut PgConnection {
        &mut self.held.connection
    }
}

#[async_trait]
impl Connection for PostgresReader {
    async fn fact(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar(rows::FACT).bind(storable(key).into_owned()).fetch_optional(self.own()).await?)
    }

    async fn generation(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar(rows::GENERATION).fetch_one(self.own()).await?)
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar("SELECT chunks = 0 FROM tally").fetch_one(self.own()).await?)
    }

    async fn kinds(&mut self) -> Result<BTreeSet<String>, StoreError> {
        let kinds: Vec<String> =
            sqlx::query_scalar("SELECT DISTINCT source_type FROM sources").fetch_all(self.own()).await?;
        Ok(kinds.into_iter().collect())
    }

    async fn worded(&mut self, words: &[String], filter: &Filter, depth: usize) -> Result<Vec<Worded>, StoreError> {
        terms::search(self.own(), words, filter, depth).await
    }

    async fn holding(&mut self, words: &[String], ids: &[i64]) -> Result<Holding, StoreError> {
        let chunks = sqlx::query_scalar("SELECT worded FROM tally").fetch_one(self.own()).await?;
        Ok(Holding { chunks, terms: terms::holders(self.own(), words, ids).await? })
    }

    async fn near(&mut self, vector: &[f32], filter: &Filter, depth: usize) -> Result<Vec<Near>, StoreError> {
        let iterates = self.iterates;
        nearest::search(self.own(), iterates, vector, filter, depth).await
    }

    #[expect(clippy::cast_possible_truncation, reason = "a cosine, made of f32 numbers, needs no more")]
    async fn cosines(&mut self, vector: &[f32], ids: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        if ids.is_empty() || vector.is_empty() || nearest::width(self.own()).await? != vector.len() {
            return Ok(HashMap::new());
        }
        let rows: Vec<(i64, f64)> = sqlx::query_as(
            "SELECT id, 1 - (vector <=> $1::real[]::vector) FROM chunks WHERE id = ANY($2) AND vector IS NOT NULL",
        )
        .bind(vector.to_vec())
        .bind(ids.to_vec())
        .fetch_all(self.own())
        .await?;
        // Of a vector of zeros the cosine is no number; it is as far as a right angle.
        Ok(rows.into_iter().map(|(id, cosine)| (id, if cosine.is_nan() { 0.0 } else { cosine as f32 })).collect())
    }

    async fn chunks(&mut self, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError> {
        let sql = format!("{CHUNKS} WHERE chunks.id = ANY($1)");
        let query = sqlx::query_as::<_, ChunkRow>(AssertSqlSafe(sql)).bind(ids.to_vec());
        Ok(query.fetch_all(self.own()).await?.into_iter().map(StoredChunk::from).collect())
    }

    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        let sql = format!("{CHUNKS} WHERE chunks.source = $1 AND chunks.ordinal = $2");
        let query = sqlx::query_as::<_, ChunkRow>(AssertSqlSafe(sql)).bind(storable(source).into_owned()).bind(ordinal);
        Ok(query.fetch_optional(self.own()).await?.map(StoredChunk::from))
    }

    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError> {
        let rows = sqlx::query_as(rows::SOURCES).fetch_all(self.own()).await?;
        Ok(rows.into_iter().map(|row| rows::source(row, |tags| tags)).collect())
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar(rows::TEXT).bind(storable(source).into_owned()).fetch_optional(self.own()).await?)
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        let (chunks, sources, mean_tokens, answers, embeddings, reachable) = sqlx::query_as(
            "SELECT chunks, (SELECT count(*) FROM sources), coalesce(tokens::float8 / nullif(chunks, 0), 0), \
             (SELECT count(*) FROM answers), (SELECT count(*) FROM embeddings), vectors FROM tally",
        )
        .fetch_one(self.own())
        .await?;
        Ok(Figures { chunks, sources, mean_tokens, answers, embeddings, reachable })
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar(rows::LONGEST).fetch_one(self.own()).await?)
    }

    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        Ok(sqlx::query_as("SELECT source, vector::real[] FROM chunks WHERE vector IS NOT NULL ORDER BY id LIMIT 1")
            .fetch_optional(self.own())
            .await?)
    }
}
