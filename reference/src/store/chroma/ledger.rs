//! Which vectors Chroma may have besides those of chunks: on their way in (`coming`), or to be taken away (`going`).
//!
//! The file keeps it by itself: a chunk that is inserted leaves `coming`, one that is deleted enters `going`, in the
//! very transaction. So every vector that is in Chroma is a chunk's or stands here, whenever somebody is killed.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::types::Json;
use sqlx::{Connection as _, SqliteConnection};

use crate::store::records::StoreError;
use crate::store::rows;

/// How long a writer has to bring its vectors in; then whoever writes next may take them away, and it begins anew.
const COMING_WITHIN: TimeDelta = TimeDelta::minutes(10);
/// What the file says of a vector that was taken away before its chunk came.
const WITHDRAWN: &str = "the vector was withdrawn";

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS vectors_home (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    index_id TEXT NOT NULL,                  -- whose the collection is
    width    INTEGER NOT NULL                -- of the vectors; 0 until there is one
);
CREATE TABLE IF NOT EXISTS vectors_besides (
    id       INTEGER PRIMARY KEY,            -- a chunk's
    is_going INTEGER NOT NULL,
    since    INTEGER NOT NULL                -- UTC microseconds
);
CREATE TRIGGER IF NOT EXISTS vector_withdrawn BEFORE INSERT ON chunks
    WHEN length(new.vector) > 0 AND NOT EXISTS (SELECT 1 FROM vectors_besides WHERE id = new.id AND NOT is_going)
    BEGIN SELECT RAISE(ABORT, 'the vector was withdrawn'); END;
CREATE TRIGGER IF NOT EXISTS vector_came AFTER INSERT ON chunks
    BEGIN DELETE FROM vectors_besides WHERE id = new.id; END;
CREATE TRIGGER IF NOT EXISTS vector_goes AFTER DELETE ON chunks WHEN length(old.vector) > 0
    BEGIN INSERT OR REPLACE INTO vectors_besides (id, is_going, since) VALUES (old.id, 1, 0); END;
";

/// Makes the tables where they are missing, and gives the key of the index.
///
/// # Errors
/// `Sql`.
pub async fn prepare(connection: &mut SqliteConnection) -> Result<String, StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql(TABLES).execute(&mut *work).await?;
    sqlx::query("INSERT OR IGNORE INTO vectors_home (only_one, index_id, width) VALUES (1, $1, 0)")
        .bind(uuid::Uuid::new_v4().to_string())
        .execute(&mut *work)
        .await?;
    let index = sqlx::query_scalar("SELECT index_id FROM vectors_home").fetch_one(&mut *work).await?;
    work.commit().await?;
    Ok(index)
}

/// How many numbers a vector of the index has; 0 until there is one.
///
/// # Errors
/// `Sql`.
pub async fn width(connection: &mut SqliteConnection) -> Result<usize, StoreError> {
    let width: i64 = sqlx::query_scalar("SELECT width FROM vectors_home").fetch_one(connection).await?;
    Ok(usize::try_from(width).unwrap_or(0))
}

/// Says how many numbers a vector of the index has.
///
/// # Errors
/// `Sql`.
pub async fn set_width(connection: &mut SqliteConnection, width: usize) -> Result<(), StoreError> {
    let width = i64::try_from(width).unwrap_or(0);
    sqlx::query("UPDATE vectors_home SET width = $1").bind(width).execute(connection).await?;
    Ok(())
}

/// Reserves so many keys, whose vectors may come from now on, and gives the first.
///
/// # Errors
/// `Sql`.
pub async fn reserve(connection: &mut SqliteConnection, count: usize, now: DateTime<Utc>) -> Result<i64, StoreError> {
    let count = i64::try_from(count).unwrap_or(0);
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    let first: i64 = sqlx::query_scalar(rows::RESERVE_IDS).bind(count).fetch_one(&mut *work).await?;
    note(&mut work, first, count, false, now).await?;
    work.commit().await?;
    Ok(first)
}

/// Has the vectors of reserved keys taken away, for their chunks do not come.
///
/// # Errors
/// `Sql`.
pub async fn withdraw(connection: &mut SqliteConnection, first: i64, count: usize) -> Result<(), StoreError> {
    let count = i64::try_from(count).unwrap_or(0);
    note(connection, first, count, true, DateTime::UNIX_EPOCH).await
}

async fn note(
    connection: &mut SqliteConnection,
    first: i64,
    count: i64,
    is_going: bool,
    since: DateTime<Utc>,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = (first..first + count).collect();
    // Where a commit failed and yet was done, the chunks are there, and keep their vectors.
    sqlx::query(
        "INSERT OR REPLACE INTO vectors_besides (id, is_going, since) SELECT value, $2, $3 FROM json_each($1) \
         WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.id = value)",
    )
    .bind(Json(ids))
    .bind(is_going)
    .bind(since.timestamp_micros())
    .execute(connection)
    .await?;
    Ok(())
}

/// The first of the keys whose vectors are to be taken away. Those that have been coming for too long are among them
/// from now on: whoever brings them learns of it, and not the other way round.
///
/// # Errors
/// `Sql`.
pub async fn going(
    connection: &mut SqliteConnection,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<i64>, StoreError> {
    sqlx::query("UPDATE vectors_besides SET is_going = 1 WHERE NOT is_going AND since < $1")
        .bind((now - COMING_WITHIN).timestamp_micros())
        .execute(&mut *connection)
        .await?;
    Ok(sqlx::query_scalar("SELECT id FROM vectors_besides WHERE is_going ORDER BY id LIMIT $1")
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?)
}

/// The vectors with these keys are away.
///
/// # Errors
/// `Sql`.
pub async fn gone(connection: &mut SqliteConnection, ids: &[i64]) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM vectors_besides WHERE id IN (SELECT value FROM json_each($1))")
        .bind(Json(ids))
        .execute(connection)
        .await?;
    Ok(())
}

/// The collection is away, and all that was in it. Who still brings vectors into it begins anew.
///
/// # Errors
/// `Sql`.
pub async fn all_gone(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::raw_sql("DELETE FROM vectors_besides; UPDATE vectors_home SET width = 0").execute(connection).await?;
    Ok(())
}

/// Keys of vectors that Chroma may have besides those of chunks, so many at most.
///
/// # Errors
/// `Sql`.
pub async fn besides(connection: &mut SqliteConnection, limit: usize) -> Result<Vec<i64>, StoreError> {
    Ok(sqlx::query_scalar("SELECT id FROM vectors_besides ORDER BY id LIMIT $1")
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?)
}

/// Whether a chunk was refused because its vector was taken away meanwhile.
pub fn is_withdrawn(error: &StoreError) -> bool {
    matches!(error, StoreError::Sql(sqlx::Error::Database(error)) if error.message().contains(WITHDRAWN))
}
