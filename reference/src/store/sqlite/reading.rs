//! What a search reads: one connection, and the vectors in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use chrono::DateTime;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, Sqlite};

use crate::store::contract::Connection;
use crate::store::filter::{Filter, SourceFacts};
use crate::store::records::{Figures, Near, Origin, Place, StoreError, StoredChunk, StoredSource, Volatility};
use crate::store::sqlite::following::{self, SharedVectors, facts};
use crate::store::sqlite::memory;
use crate::store::sqlite::terms;

/// Chunks asked for in one statement; a search asks for some dozens.
const ROWS_MAX: usize = 1_000;

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
        Ok(sqlx::query_scalar("SELECT value FROM meta WHERE key = $1")
            .bind(key.to_owned())
            .fetch_optional(&mut *self.connection)
            .await?)
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

    async fn worded(&mut self, words: &[String], filter: &Filter, depth: usize) -> Result<Vec<Place>, StoreError> {
        terms::search(&mut self.connection, words, filter, depth).await
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
        let mut chunks = Vec::with_capacity(ids.len());
        for page in ids.chunks(ROWS_MAX) {
            // Keys are our own integers: written into the text, for SQLite binds no lists.
            let list = page.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            let sql = format!("{CHUNKS} WHERE chunks.id IN ({list})");
            let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut *self.connection).await?;
            for row in &rows {
                chunks.push(chunk(row)?);
            }
        }
        Ok(chunks)
    }

    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        let sql = format!("{CHUNKS} WHERE chunks.source = $1 AND chunks.ordinal = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(source.to_owned())
            .bind(ordinal)
            .fetch_optional(&mut *self.connection)
            .await?;
        row.as_ref().map(chunk).transpose()
    }

    async fn sources(&mut self) -> Result<Vec<StoredSource>, StoreError> {
        let rows = sqlx::query(
            "SELECT sources.source, source_type, collection, tags, dated, volatility, content_hash, parser, \
             count(chunks.id), indexed_at, origin FROM sources \
             LEFT JOIN chunks ON chunks.source = sources.source AND chunks.role <> 'section' \
             GROUP BY sources.source ORDER BY 1",
        )
        .fetch_all(&mut *self.connection)
        .await?;
        rows.iter().map(source).collect()
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT text FROM texts WHERE source = $1")
            .bind(source.to_owned())
            .fetch_optional(&mut *self.connection)
            .await?)
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        let row = sqlx::query(
            "SELECT count(*), (SELECT count(*) FROM sources), coalesce(avg(tokens), 0.0), \
             (SELECT count(*) FROM answers), (SELECT count(*) FROM embeddings) FROM chunks WHERE role <> 'section'",
        )
        .fetch_one(&mut *self.connection)
        .await?;
        Ok(Figures {
            chunks: row.try_get(0)?,
            sources: row.try_get(1)?,
            mean_tokens: row.try_get(2)?,
            answers: row.try_get(3)?,
            embeddings: row.try_get(4)?,
            reachable: i64::try_from(self.memory.read().len()).unwrap_or(i64::MAX),
        })
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT coalesce(max(tokens), 0) FROM chunks WHERE role <> 'section'")
            .fetch_one(&mut *self.connection)
            .await?)
    }

    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        self.memory.follow(&mut self.connection).await?;
        let memory = self.memory.read();
        Ok(memory.first().map(|(source, vector)| (source.to_owned(), vector.to_vec())))
    }
}

const CHUNKS: &str = "SELECT chunks.id, chunks.source, source_type, collection, dated, volatility, role, ordinal, \
    parent, section, content, char_start, char_end, tokens \
    FROM chunks JOIN sources ON sources.source = chunks.source";

fn source(row: &SqliteRow) -> Result<StoredSource, StoreError> {
    let at: i64 = row.try_get(9)?;
    let SourceFacts { source, source_type, collection, tags, dated } = facts(row)?;
    Ok(StoredSource {
        source,
        source_type,
        collection,
        tags,
        dated,
        volatility: volatility(row, 5)?,
        origin: Origin::named(row.try_get(10)?).unwrap_or_default(),
        content_hash: row.try_get(6)?,
        parser: row.try_get(7)?,
        chunk_count: row.try_get(8)?,
        indexed_at: DateTime::from_timestamp_micros(at).unwrap_or_default(),
    })
}

fn chunk(row: &SqliteRow) -> Result<StoredChunk, StoreError> {
    Ok(StoredChunk {
        id: row.try_get(0)?,
        source: row.try_get(1)?,
        source_type: row.try_get(2)?,
        collection: row.try_get(3)?,
        dated: row.try_get(4)?,
        volatility: volatility(row, 5)?,
        role: row.try_get(6)?,
        ordinal: row.try_get(7)?,
        parent: row.try_get(8)?,
        section: row.try_get(9)?,
        content: row.try_get(10)?,
        char_start: row.try_get(11)?,
        char_end: row.try_get(12)?,
        tokens: row.try_get(13)?,
    })
}

fn volatility(row: &SqliteRow, column: usize) -> Result<Volatility, StoreError> {
    Ok(Volatility::named(row.try_get(column)?).unwrap_or_default())
}
