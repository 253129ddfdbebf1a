//! What a search reads, by one connection.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::store::cache::{CachedAnswer, NewAnswer, ShownChunk, StoreCache};
use crate::store::contract::Connection;
use crate::store::filter::Filter;
use crate::store::postgres::pool::Held;
use crate::store::postgres::stems::storable;
use crate::store::postgres::{cache, nearest, terms};
use crate::store::records::{Figures, Near, Origin, Place, StoreError, StoredChunk, StoredSource, Volatility};

/// A connection of the pool.
#[derive(Debug)]
pub struct PostgresReader {
    /// The connection, given back when this is dropped.
    pub held: Held,
    /// Whether a search by HNSW can go on until a filter has let enough pass.
    pub iterates: bool,
}

impl PostgresReader {
    fn own(&mut self) -> &mut PgConnection {
        &mut self.held.connection
    }
}

#[async_trait]
impl Connection for PostgresReader {
    async fn fact(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT value FROM meta WHERE key = $1")
            .bind(storable(key).into_owned())
            .fetch_optional(self.own())
            .await?)
    }

    async fn generation(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT value::bigint FROM meta WHERE key = 'generation'").fetch_one(self.own()).await?)
    }

    async fn is_empty(&mut self) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar("SELECT vectors = 0 FROM tally").fetch_one(self.own()).await?)
    }

    async fn kinds(&mut self) -> Result<BTreeSet<String>, StoreError> {
        let kinds: Vec<String> =
            sqlx::query_scalar("SELECT DISTINCT source_type FROM sources").fetch_all(self.own()).await?;
        Ok(kinds.into_iter().collect())
    }

    async fn worded(&mut self, words: &[String], filter: &Filter, depth: usize) -> Result<Vec<Place>, StoreError> {
        terms::search(self.own(), words, filter, depth).await
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
        let rows = sqlx::query(AssertSqlSafe(format!("{CHUNKS} WHERE chunks.id = ANY($1)")))
            .bind(ids.to_vec())
            .fetch_all(self.own())
            .await?;
        rows.iter().map(chunk).collect()
    }

    async fn chunk_at(&mut self, source: &str, ordinal: i64) -> Result<Option<StoredChunk>, StoreError> {
        let row = sqlx::query(AssertSqlSafe(format!("{CHUNKS} WHERE chunks.source = $1 AND chunks.ordinal = $2")))
            .bind(storable(source).into_owned())
            .bind(ordinal)
            .fetch_optional(self.own())
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
        .fetch_all(self.own())
        .await?;
        rows.iter().map(source).collect()
    }

    async fn text(&mut self, source: &str) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar("SELECT text FROM texts WHERE source = $1")
            .bind(storable(source).into_owned())
            .fetch_optional(self.own())
            .await?)
    }

    async fn figures(&mut self) -> Result<Figures, StoreError> {
        let row = sqlx::query(
            "SELECT chunks, (SELECT count(*) FROM sources), coalesce(tokens::float8 / nullif(chunks, 0), 0), \
             (SELECT count(*) FROM answers), (SELECT count(*) FROM embeddings), vectors FROM tally",
        )
        .fetch_one(self.own())
        .await?;
        Ok(Figures {
            chunks: row.try_get(0)?,
            sources: row.try_get(1)?,
            mean_tokens: row.try_get(2)?,
            answers: row.try_get(3)?,
            embeddings: row.try_get(4)?,
            reachable: row.try_get(5)?,
        })
    }

    async fn longest(&mut self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar("SELECT coalesce(max(tokens), 0)::bigint FROM chunks WHERE role <> 'section'")
            .fetch_one(self.own())
            .await?)
    }

    async fn sample(&mut self) -> Result<Option<(String, Vec<f32>)>, StoreError> {
        Ok(sqlx::query_as("SELECT source, vector::real[] FROM chunks WHERE vector IS NOT NULL ORDER BY id LIMIT 1")
            .fetch_optional(self.own())
            .await?)
    }
}

#[async_trait]
impl StoreCache for PostgresReader {
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
        cache::embedded(self.own(), keys).await
    }

    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError> {
        cache::keep_embedded(self.own(), vectors, now).await
    }

    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError> {
        cache::answer(self.own(), exact, now).await
    }

    async fn answers(
        &mut self,
        scope: &[u8; 32],
        guard: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<CachedAnswer>, StoreError> {
        cache::answers(self.own(), scope, guard, now).await
    }

    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        cache::keep_answer(self.own(), answer, now).await
    }

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        cache::shown(self.own(), conversation, since).await
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        cache::keep_shown(self.own(), conversation, shown, now, forget_before).await
    }
}

const CHUNKS: &str = "SELECT chunks.id, chunks.source, source_type, collection, dated, volatility, role, ordinal, \
    parent, section, content, char_start, char_end, tokens \
    FROM chunks JOIN sources ON sources.source = chunks.source";

fn source(row: &PgRow) -> Result<StoredSource, StoreError> {
    Ok(StoredSource {
        source: row.try_get(0)?,
        source_type: row.try_get(1)?,
        collection: row.try_get(2)?,
        tags: row.try_get(3)?,
        dated: row.try_get(4)?,
        volatility: volatility(row, 5)?,
        content_hash: row.try_get(6)?,
        parser: row.try_get(7)?,
        chunk_count: row.try_get(8)?,
        indexed_at: DateTime::from_timestamp_micros(row.try_get(9)?).unwrap_or_default(),
        origin: Origin::named(row.try_get(10)?).unwrap_or_default(),
    })
}

fn chunk(row: &PgRow) -> Result<StoredChunk, StoreError> {
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

fn volatility(row: &PgRow, column: usize) -> Result<Volatility, StoreError> {
    Ok(Volatility::named(row.try_get(column)?).unwrap_or_default())
}
