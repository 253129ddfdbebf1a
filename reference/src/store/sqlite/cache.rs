//! Cached embeddings, answers, and what conversations were shown.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::store::cache::{
    ANSWER, ANSWERS_MAX, AnswerRow, CachedAnswer, EMBEDDINGS_MAX, KEYS_MAX, NewAnswer, SHOWN, ShownChunk, ShownRow,
    StoreCache,
};
use crate::store::records::StoreError;
use crate::store::sqlite::blob::{from_blob, to_blob};
use crate::store::sqlite::following::generation;
use crate::store::sqlite::reading::SqliteReader;

#[async_trait]
impl StoreCache for SqliteReader {
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
        let mut found = HashMap::with_capacity(keys.len());
        for page in keys.chunks(KEYS_MAX) {
            let places = (1..=page.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(",");
            let sql = AssertSqlSafe(format!("SELECT key, vector FROM embeddings WHERE key IN ({places})"));
            let query = page.iter().fold(sqlx::query(sql), |query, key| query.bind(key.to_vec()));
            for row in query.fetch_all(&mut *self.connection).await? {
                let key: &[u8] = row.try_get(0)?;
                if let Ok(key) = <[u8; 32]>::try_from(key) {
                    found.insert(key, from_blob(row.try_get(1)?));
                }
            }
        }
        Ok(found)
    }

    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError> {
        let mut work = self.connection.begin_with("BEGIN IMMEDIATE").await?;
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

    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError> {
        let query = sqlx::query_as::<_, AnswerRow>(ANSWER).bind(exact.to_vec()).bind(now.timestamp_micros());
        Ok(query.fetch_optional(&mut *self.connection).await?.map(CachedAnswer::from))
    }

    async fn keep_answer(&mut self, new: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        let mut work = self.connection.begin_with("BEGIN IMMEDIATE").await?;
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
        sqlx::query("INSERT INTO answers (exact, hits, made_at, expires_at) VALUES ($1, $2, $3, $4)")
            .bind(new.exact.to_vec())
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

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        let query = sqlx::query_as::<_, ShownRow>(SHOWN).bind(conversation.to_owned()).bind(since.timestamp_micros());
        Ok(query.fetch_all(&mut *self.connection).await?.into_iter().map(ShownChunk::from).collect())
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut work = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query("DELETE FROM shown WHERE shown_at < $1")
            .bind(forget_before.timestamp_micros())
            .execute(&mut *work)
            .await?;
        for chunk in shown {
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
}
