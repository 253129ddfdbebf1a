//! Cached embeddings, answers, and what conversations were shown.

use std::collections::HashMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::store::cache::{
    ANSWER, ANSWERS_MAX, AnswerRow, CachedAnswer, EMBEDDINGS_MAX, KEYS_MAX, NewAnswer, SHOWN, ShownChunk, ShownRow,
    StoreCache,
};
use crate::store::records::StoreError;
use crate::store::sqlite::blob::{from_blob, to_blob};
use crate::store::sqlite::following::generation;
use crate::store::sqlite::reading::SqliteReader;

/// Terms as FTS5 takes them apart: by the very tokenizer of the words that are searched (`schema::WORDS`).
const ASKED: &str = "
CREATE VIRTUAL TABLE IF NOT EXISTS temp.asked USING fts5 (
    term, content='', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE IF NOT EXISTS temp.asked_tokens USING fts5vocab ('temp', 'asked', 'instance');
INSERT INTO temp.asked (asked) VALUES ('delete-all');
";

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

    async fn looked_for(&mut self, terms: &[String]) -> Result<Vec<String>, StoreError> {
        sqlx::raw_sql(ASKED).execute(&mut *self.connection).await?;
        sqlx::query("INSERT INTO temp.asked (rowid, term) SELECT key, value FROM json_each($1)")
            .bind(Json(terms))
            .execute(&mut *self.connection)
            .await?;
        let query = sqlx::query("SELECT doc, term FROM temp.asked_tokens ORDER BY doc, offset");
        let mut all = vec![String::new(); terms.len()];
        for row in query.fetch_all(&mut *self.connection).await? {
            if let Some(term) = usize::try_from(row.try_get::<i64, _>(0)?).ok().and_then(|place| all.get_mut(place)) {
                term.push(' ');
                term.push_str(row.try_get(1)?);
            }
        }
        Ok(all)
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
