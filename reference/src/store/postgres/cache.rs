//! Cached embeddings, answers, and what conversations were shown.
//!
//! Many servers write here at once. Rows are written in the order of their keys, and what is too old
//! or too much is taken away only where nobody else has it in hand: no two wait for each other in a circle.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sqlx::{Connection as _, PgConnection, Row as _};

use crate::store::cache::{
    ANSWER, ANSWERS_MAX, AnswerRow, CachedAnswer, EMBEDDINGS_MAX, KEYS_MAX, NewAnswer, SHOWN, ShownChunk, ShownRow,
    StoreCache,
};
use crate::store::postgres::reading::PostgresReader;
use crate::store::postgres::stems::{self, storable};
use crate::store::records::StoreError;

#[async_trait]
impl StoreCache for PostgresReader {
    async fn embedded(&mut self, keys: &[[u8; 32]]) -> Result<HashMap<[u8; 32], Vec<f32>>, StoreError> {
        let mut found = HashMap::with_capacity(keys.len());
        for page in keys.chunks(KEYS_MAX) {
            let page: Vec<Vec<u8>> = page.iter().map(|key| key.to_vec()).collect();
            let query = sqlx::query("SELECT key, vector FROM embeddings WHERE key = ANY($1)").bind(page);
            for row in query.fetch_all(self.own()).await? {
                let key: &[u8] = row.try_get(0)?;
                if let Ok(key) = <[u8; 32]>::try_from(key) {
                    found.insert(key, row.try_get(1)?);
                }
            }
        }
        Ok(found)
    }

    async fn keep_embedded(&mut self, vectors: &[([u8; 32], Vec<f32>)], now: DateTime<Utc>) -> Result<(), StoreError> {
        let ordered: BTreeMap<&[u8; 32], &Vec<f32>> = vectors.iter().map(|(key, vector)| (key, vector)).collect();
        let ordered: Vec<_> = ordered.into_iter().collect();
        let mut work = self.own().begin().await?;
        for page in ordered.chunks(KEYS_MAX) {
            insert_embedded(&mut work, page, now).await?;
        }
        sqlx::query(
            "DELETE FROM embeddings WHERE key IN (SELECT key FROM embeddings ORDER BY made_at, key \
             LIMIT greatest(0, (SELECT count(*) FROM embeddings) - $1) FOR UPDATE SKIP LOCKED)",
        )
        .bind(EMBEDDINGS_MAX)
        .execute(&mut *work)
        .await?;
        Ok(work.commit().await?)
    }

    async fn looked_for(&mut self, terms: &[String]) -> Result<Vec<String>, StoreError> {
        Ok(terms.iter().map(|term| stems::parts(term).join(" ")).collect())
    }

    async fn answer(&mut self, exact: &[u8; 32], now: DateTime<Utc>) -> Result<Option<CachedAnswer>, StoreError> {
        let query = sqlx::query_as::<_, AnswerRow>(ANSWER).bind(exact.to_vec()).bind(now.timestamp_micros());
        Ok(query.fetch_optional(self.own()).await?.map(CachedAnswer::from))
    }

    /// A writer holds the row that is asked for here while it changes the index, and the answer would be out of date
    /// when it is done.
    async fn keep_answer(&mut self, new: &NewAnswer<'_>, now: DateTime<Utc>) -> Result<(), StoreError> {
        let mut work = self.own().begin().await?;
        let generation: Option<i64> =
            sqlx::query_scalar("SELECT value::bigint FROM meta WHERE key = 'generation' FOR SHARE SKIP LOCKED")
                .fetch_optional(&mut *work)
                .await?;
        if generation != Some(new.generation) {
            return Ok(());
        }
        make_room(&mut work, now).await?;
        sqlx::query(
            "INSERT INTO answers (exact, hits, made_at, expires_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (exact) DO UPDATE SET hits = excluded.hits, made_at = excluded.made_at, \
             expires_at = excluded.expires_at",
        )
        .bind(new.exact.to_vec())
        .bind(storable(new.hits).into_owned())
        .bind(now.timestamp_micros())
        .bind(new.expires_at.timestamp_micros())
        .execute(&mut *work)
        .await?;
        sqlx::query("DELETE FROM answer_sources WHERE exact = $1").bind(new.exact.to_vec()).execute(&mut *work).await?;
        let sources: Vec<String> = new.sources.iter().map(|source| storable(source).into_owned()).collect();
        sqlx::query("INSERT INTO answer_sources (source, exact) SELECT DISTINCT source, $2 FROM unnest($1::text[]) AS touched (source)")
            .bind(sources)
            .bind(new.exact.to_vec())
            .execute(&mut *work)
            .await?;
        Ok(work.commit().await?)
    }

    async fn shown(&mut self, conversation: &str, since: DateTime<Utc>) -> Result<Vec<ShownChunk>, StoreError> {
        let query = sqlx::query_as::<_, ShownRow>(SHOWN)
            .bind(storable(conversation).into_owned())
            .bind(since.timestamp_micros());
        Ok(query.fetch_all(self.own()).await?.into_iter().map(ShownChunk::from).collect())
    }

    async fn keep_shown(
        &mut self,
        conversation: &str,
        shown: &[ShownChunk],
        now: DateTime<Utc>,
        forget_before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let ordered: BTreeMap<String, f64> =
            shown.iter().map(|chunk| (storable(&chunk.chunk).into_owned(), chunk.score)).collect();
        let (names, scores): (Vec<String>, Vec<f64>) = ordered.into_iter().unzip();
        let mut work = self.own().begin().await?;
        sqlx::query(
            "DELETE FROM shown WHERE (conversation, chunk) IN \
             (SELECT conversation, chunk FROM shown WHERE shown_at < $1 FOR UPDATE SKIP LOCKED)",
        )
        .bind(forget_before.timestamp_micros())
        .execute(&mut *work)
        .await?;
        sqlx::query(
            "INSERT INTO shown (conversation, chunk, score, shown_at) \
             SELECT $1, chunk, score, $4 FROM unnest($2::text[], $3::float8[]) AS new (chunk, score) \
             ON CONFLICT (conversation, chunk) DO UPDATE SET score = excluded.score, shown_at = excluded.shown_at",
        )
        .bind(storable(conversation).into_owned())
        .bind(names)
        .bind(scores)
        .bind(now.timestamp_micros())
        .execute(&mut *work)
        .await?;
        Ok(work.commit().await?)
    }
}

/// The vectors go over as one list of numbers, and each row takes its stretch.
async fn insert_embedded(
    work: &mut PgConnection,
    page: &[(&[u8; 32], &Vec<f32>)],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut ends = Vec::with_capacity(page.len());
    let mut numbers: Vec<f32> = Vec::new();
    for (_, vector) in page {
        numbers.extend_from_slice(vector);
        ends.push(i32::try_from(numbers.len()).unwrap_or(i32::MAX));
    }
    let begins: Vec<i32> =
        std::iter::once(1).chain(ends.iter().map(|end| end.saturating_add(1))).take(ends.len()).collect();
    sqlx::query(
        "INSERT INTO embeddings (key, vector, made_at) SELECT key, ($4::real[])[begins : ends], $5 \
         FROM unnest($1::bytea[], $2::int[], $3::int[]) AS new (key, begins, ends) \
         ON CONFLICT (key) DO UPDATE SET vector = excluded.vector, made_at = excluded.made_at",
    )
    .bind(page.iter().map(|(key, _)| key.to_vec()).collect::<Vec<_>>())
    .bind(begins)
    .bind(ends)
    .bind(numbers)
    .bind(now.timestamp_micros())
    .execute(work)
    .await?;
    Ok(())
}

async fn make_room(work: &mut PgConnection, now: DateTime<Utc>) -> Result<(), StoreError> {
    sqlx::query(
        "DELETE FROM answers WHERE exact IN (SELECT exact FROM answers WHERE expires_at <= $1 FOR UPDATE SKIP LOCKED)",
    )
    .bind(now.timestamp_micros())
    .execute(&mut *work)
    .await?;
    sqlx::query(
        "DELETE FROM answers WHERE exact IN (SELECT exact FROM answers ORDER BY made_at, exact \
         LIMIT greatest(0, (SELECT count(*) FROM answers) + 1 - $1) FOR UPDATE SKIP LOCKED)",
    )
    .bind(ANSWERS_MAX)
    .execute(work)
    .await?;
    Ok(())
}
