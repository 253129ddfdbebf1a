//! Cached embeddings, answers, and what conversations were shown.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};

use crate::store::cache::{CachedAnswer, NewAnswer, ShownChunk, StoreCache};
use crate::store::records::StoreError;
use crate::store::sqlite::blob::{from_blob, to_blob};
use crate::store::sqlite::following::generation;
use crate::store::sqlite::reading::SqliteReader;

/// Vectors remembered: 150 MB at 384 numbers each.
const EMBEDDINGS_MAX: i64 = 100_000;
/// Answers remembered: 20 MB at a usual length.
const ANSWERS_MAX: i64 = 2_000;
/// Answers of one scope and guard whose meaning is compared with a question's.
const COMPARED_MAX: i64 = 500;
/// Keys in one statement.
const KEYS_MAX: usize = 500;

#[async_trait]
impl StoreCache for SqliteReader {
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
        embedded(&mut self.connection, keys).await
    }

    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError> {
        keep_embedded(&mut self.connection, vectors, now).await
    }

    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError> {
        answer(&mut self.connection, exact, now).await
    }

    async fn answers(
        &mut self,
        scope: &[u8; 32],
        guard: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<CachedAnswer>, StoreError> {
        answers(&mut self.connection, scope, guard, now).await
    }

    async fn keep_answer(&mut self, answer: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        keep_answer(&mut self.connection, answer, now).await
    }

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        shown(&mut self.connection, conversation, since).await
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        keep_shown(&mut self.connection, conversation, shown, now, forget_before).await
    }
}

/// Vectors by the digests of their texts.
///
/// # Errors
/// `Sql`.
async fn embedded(
    connection: &mut SqliteConnection,
    keys: &[[u8; 32]],
) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
    let mut found = HashMap::with_capacity(keys.len());
    for page in keys.chunks(KEYS_MAX) {
        let places = (1..=page.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(",");
        let sql = AssertSqlSafe(format!("SELECT key, vector FROM embeddings WHERE key IN ({places})"));
        let query = page.iter().fold(sqlx::query(sql), |query, key| query.bind(key.to_vec()));
        for row in query.fetch_all(&mut *connection).await? {
            let key: &[u8] = row.try_get(0)?;
            if let Ok(key) = <[u8; 32]>::try_from(key) {
                found.insert(key, from_blob(row.try_get(1)?));
            }
        }
    }
    Ok(found)
}

/// Keeps vectors; the oldest go.
///
/// # Errors
/// `Sql`.
async fn keep_embedded(
    connection: &mut SqliteConnection,
    vectors: &[([u8; 32], Vec<f32>)],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    for (key, vector) in vectors {
        sqlx::query("INSERT OR REPLACE INTO embeddings (key, vector, made_at) VALUES ($1, $2, $3)")
            .bind(key.to_vec())
            .bind(to_blob(vector))
            .bind(now.timestamp_micros())
            .execute(&mut *work)
            .await?;
    }
    sqlx::query(
        "DELETE FROM embeddings WHERE key IN (SELECT key FROM embeddings ORDER BY made_at \
         LIMIT max(0, (SELECT count(*) FROM embeddings) - $1))",
    )
    .bind(EMBEDDINGS_MAX)
    .execute(&mut *work)
    .await?;
    Ok(work.commit().await?)
}

/// The answer to exactly this question.
///
/// # Errors
/// `Sql`.
async fn answer(
    connection: &mut SqliteConnection,
    exact: &[u8; 32],
    now: DateTime<Utc>,
) -> Result<Option<CachedAnswer>, StoreError> {
    let row = sqlx::query("SELECT vector, hits, made_at FROM answers WHERE exact = $1 AND expires_at > $2")
        .bind(exact.to_vec())
        .bind(now.timestamp_micros())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(cached).transpose()
}

/// The newest answers of a scope and guard.
///
/// # Errors
/// `Sql`.
async fn answers(
    connection: &mut SqliteConnection,
    scope: &[u8; 32],
    guard: &str,
    now: DateTime<Utc>,
) -> Result<Vec<CachedAnswer>, StoreError> {
    let rows = sqlx::query(
        "SELECT vector, hits, made_at FROM answers WHERE scope = $1 AND guard = $2 AND expires_at > $3 \
         ORDER BY made_at DESC, exact LIMIT $4",
    )
    .bind(scope.to_vec())
    .bind(guard.to_owned())
    .bind(now.timestamp_micros())
    .bind(COMPARED_MAX)
    .fetch_all(connection)
    .await?;
    rows.iter().map(cached).collect()
}

fn cached(row: &SqliteRow) -> Result<CachedAnswer, StoreError> {
    Ok(CachedAnswer {
        vector: from_blob(row.try_get(0)?),
        hits: row.try_get(1)?,
        made_at: DateTime::from_timestamp_micros(row.try_get(2)?).unwrap_or_default(),
    })
}

/// Keeps an answer, unless the index has changed since it was found.
///
/// # Errors
/// `Sql`.
async fn keep_answer(
    connection: &mut SqliteConnection,
    new: &NewAnswer<'_>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    if generation(&mut work).await? != new.generation {
        return Ok(());
    }
    sqlx::query("DELETE FROM answers WHERE exact = $1 OR expires_at <= $2")
        .bind(new.exact.to_vec())
        .bind(now.timestamp_micros())
        .execute(&mut *work)
        .await?;
    sqlx::query(
        "DELETE FROM answers WHERE exact IN (SELECT exact FROM answers ORDER BY made_at \
         LIMIT max(0, (SELECT count(*) FROM answers) + 1 - $1))",
    )
    .bind(ANSWERS_MAX)
    .execute(&mut *work)
    .await?;
    sqlx::query(
        "INSERT INTO answers (exact, scope, guard, vector, hits, made_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(new.exact.to_vec())
    .bind(new.scope.to_vec())
    .bind(new.guard)
    .bind(to_blob(new.vector))
    .bind(new.hits)
    .bind(now.timestamp_micros())
    .bind(new.expires_at.timestamp_micros())
    .execute(&mut *work)
    .await?;
    for source in &new.sources {
        sqlx::query("INSERT OR IGNORE INTO answer_sources (source, exact) VALUES ($1, $2)")
            .bind(*source)
            .bind(new.exact.to_vec())
            .execute(&mut *work)
            .await?;
    }
    Ok(work.commit().await?)
}

/// What a conversation was shown.
///
/// # Errors
/// `Sql`.
async fn shown(
    connection: &mut SqliteConnection,
    conversation: &str,
    since: DateTime<Utc>,
) -> Result<Vec<ShownChunk>, StoreError> {
    let rows = sqlx::query("SELECT chunk, score FROM shown WHERE conversation = $1 AND shown_at >= $2 ORDER BY chunk")
        .bind(conversation.to_owned())
        .bind(since.timestamp_micros())
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| Ok(ShownChunk { chunk: row.try_get(0)?, score: row.try_get(1)? })).collect()
}

/// Remembers what it is shown now.
///
/// # Errors
/// `Sql`.
async fn keep_shown(
    connection: &mut SqliteConnection,
    conversation: &str,
    chunks: &[ShownChunk],
    now: DateTime<Utc>,
    forget_before: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("DELETE FROM shown WHERE shown_at < $1")
        .bind(forget_before.timestamp_micros())
        .execute(&mut *work)
        .await?;
    for chunk in chunks {
        sqlx::query("INSERT OR REPLACE INTO shown (conversation, chunk, score, shown_at) VALUES ($1, $2, $3, $4)")
            .bind(conversation)
            .bind(&chunk.chunk)
            .bind(chunk.score)
            .bind(now.timestamp_micros())
            .execute(&mut *work)
            .await?;
    }
    Ok(work.commit().await?)
}
