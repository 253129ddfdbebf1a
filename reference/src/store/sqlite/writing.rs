//! Sources into the file and out of it, each in one transaction; memory follows at once.

use sqlx::{Connection as _, SqliteConnection};

use crate::chunk::Chunk;
use crate::store::filter::SourceFacts;
use crate::store::records::{CHUNKS_MAX, NewSource, Replaced, StoreError};
use crate::store::rows;
use crate::store::sqlite::blob::to_blob;
use crate::store::sqlite::following::SharedVectors;
use crate::text::names;

/// Replaces a source; its chunks have the keys from `reserved` on, where they were reserved before.
///
/// # Errors
/// `Full`, `Sql`; nothing has changed then.
pub async fn replace(
    connection: &mut SqliteConnection,
    memory: &SharedVectors,
    new: &NewSource<'_>,
    reserved: Option<i64>,
) -> Result<Replaced, StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    let known = is_same(&mut work, new).await?;
    if known == Some(true) {
        return Ok(Replaced::Unchanged);
    }
    if memory.read().len() + new.chunks.len() > CHUNKS_MAX {
        return Err(StoreError::Full(CHUNKS_MAX));
    }
    delete(&mut work, new.source).await?;
    let generation = next_generation(&mut work).await?;
    insert_source(&mut work, new, generation).await?;
    let first = if let Some(first) = reserved { first } else { reserve_ids(&mut work, new.chunks.len()).await? };
    for (number, (chunk, vector)) in (0_i64..).zip(new.chunks) {
        insert_chunk(&mut work, new.source, first + number, number, chunk, vector.as_deref()).await?;
    }
    if new.drops_answers {
        drop_answers(&mut work, new.source, known.is_none()).await?;
    }
    work.commit().await?;
    let facts = SourceFacts {
        source: new.source.to_owned(),
        source_type: new.source_type.to_owned(),
        collection: new.collection.to_owned(),
        tags: new.tags.to_vec(),
        dated: new.dated,
    };
    let searched = (0_i64..)
        .zip(new.chunks)
        .filter_map(|(number, (_, vector))| vector.as_ref().map(|vector| (first + number, number, vector.as_slice())));
    let mut memory = memory.write();
    // Where another process has written meanwhile, the next search reads what both wrote.
    if memory.generation + 1 == generation {
        memory.put(facts, generation, searched);
        memory.generation = generation;
    }
    Ok(if known.is_some() { Replaced::Changed } else { Replaced::Added })
}

/// Whether a source is there just as it is to be written; `None` where it is not there at all. Who
/// brought it does not matter: the first did.
pub(crate) async fn is_same(work: &mut SqliteConnection, new: &NewSource<'_>) -> Result<Option<bool>, StoreError> {
    let same = sqlx::query_scalar(
        "SELECT content_hash = $2 AND parser = $3 AND source_type = $4 AND collection = $5 AND tags = $6 \
         AND dated IS $7 AND volatility = $8 FROM sources WHERE source = $1",
    )
    .bind(new.source)
    .bind(new.content_hash)
    .bind(new.parser)
    .bind(new.source_type)
    .bind(new.collection)
    .bind(sqlx::types::Json(new.tags))
    .bind(new.dated)
    .bind(new.volatility.name());
    Ok(same.fetch_optional(work).await?)
}

/// Takes a source away; whether it was there.
///
/// # Errors
/// `Sql`.
pub async fn remove(
    connection: &mut SqliteConnection,
    memory: &SharedVectors,
    source: &str,
) -> Result<bool, StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    if !delete(&mut work, source).await? {
        return Ok(false);
    }
    let generation = next_generation(&mut work).await?;
    drop_answers(&mut work, source, false).await?;
    work.commit().await?;
    let mut memory = memory.write();
    if memory.generation + 1 == generation {
        memory.remove(source);
        memory.generation = generation;
    }
    Ok(true)
}

/// Takes everything away.
///
/// # Errors
/// `Sql`.
pub async fn wipe(
    connection: &mut SqliteConnection,
    memory: &SharedVectors,
    embeddings: bool,
) -> Result<(), StoreError> {
    let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query("INSERT INTO words (words) VALUES ('delete-all')").execute(&mut *work).await?;
    for table in ["chunks", "texts", "sources", "answer_sources", "answers", "shown"] {
        sqlx::query(sqlx::AssertSqlSafe(format!("DELETE FROM {table}"))).execute(&mut *work).await?;
    }
    if embeddings {
        sqlx::query("DELETE FROM embeddings").execute(&mut *work).await?;
    }
    sqlx::query("DELETE FROM meta WHERE key NOT IN ('schema', 'generation', 'next_id')").execute(&mut *work).await?;
    next_generation(&mut work).await?;
    work.commit().await?;
    memory.follow(connection).await
}

/// Writes a fact, or forgets it.
///
/// # Errors
/// `Sql`.
pub async fn set_fact(connection: &mut SqliteConnection, key: &str, value: Option<&str>) -> Result<(), StoreError> {
    let query = match value {
        Some(value) => sqlx::query(rows::SET_FACT).bind(key.to_owned()).bind(value.to_owned()),
        None => sqlx::query(rows::FORGET_FACT).bind(key.to_owned()),
    };
    query.execute(connection).await?;
    Ok(())
}

async fn delete(work: &mut SqliteConnection, source: &str) -> Result<bool, StoreError> {
    sqlx::query("DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE source = $1 AND role <> 'section')")
        .bind(source)
        .execute(&mut *work)
        .await?;
    sqlx::query("DELETE FROM chunks WHERE source = $1").bind(source).execute(&mut *work).await?;
    let deleted = sqlx::query("DELETE FROM sources WHERE source = $1").bind(source).execute(&mut *work).await?;
    Ok(deleted.rows_affected() > 0)
}

async fn drop_answers(work: &mut SqliteConnection, source: &str, is_new: bool) -> Result<(), StoreError> {
    let query = if is_new { sqlx::query(rows::DROP_ANSWERS) } else { sqlx::query(rows::DROP_ANSWERS_OF).bind(source) };
    query.execute(work).await?;
    Ok(())
}

async fn next_generation(work: &mut SqliteConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(rows::NEXT_GENERATION).fetch_one(work).await?)
}

async fn reserve_ids(work: &mut SqliteConnection, count: usize) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(rows::RESERVE_IDS).bind(i64::try_from(count).unwrap_or(0)).fetch_one(work).await?)
}

async fn insert_source(work: &mut SqliteConnection, new: &NewSource<'_>, generation: i64) -> Result<(), StoreError> {
    sqlx::query(rows::INSERT_SOURCE)
        .bind(new.source)
        .bind(new.source_type)
        .bind(new.collection)
        .bind(sqlx::types::Json(new.tags))
        .bind(new.dated)
        .bind(new.volatility.name())
        .bind(new.content_hash)
        .bind(new.parser)
        .bind(new.indexed_at.timestamp_micros())
        .bind(generation)
        .bind(new.origin.name())
        .execute(&mut *work)
        .await?;
    sqlx::query(rows::INSERT_TEXT).bind(new.source).bind(new.text).execute(work).await?;
    Ok(())
}

async fn insert_chunk(
    work: &mut SqliteConnection,
    source: &str,
    id: i64,
    ordinal: i64,
    chunk: &Chunk,
    vector: Option<&[f32]>,
) -> Result<(), StoreError> {
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let names = names::of(source, &chunk.section, &chunk.content);
    sqlx::query(
        "INSERT INTO chunks (id, source, ordinal, section, content, char_start, char_end, tokens, vector, role, parent, \
         names) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(id)
    .bind(source)
    .bind(ordinal)
    .bind(&chunk.section)
    .bind(&chunk.content)
    .bind(whole(chunk.char_start))
    .bind(whole(chunk.char_end))
    .bind(whole(chunk.tokens))
    .bind(to_blob(vector.unwrap_or_default()))
    .bind(chunk.role.name())
    .bind(chunk.parent.map(whole))
    .bind(&names)
    .execute(&mut *work)
    .await?;
    if vector.is_some() {
        insert_words(work, id, &names, &chunk.content).await?;
    }
    Ok(())
}

/// The words a chunk is found by.
///
/// # Errors
/// `Sql`.
pub async fn insert_words(work: &mut SqliteConnection, id: i64, names: &str, content: &str) -> Result<(), StoreError> {
    let words = sqlx::query("INSERT INTO words (rowid, names, content) VALUES ($1, $2, $3)");
    words.bind(id).bind(names.to_owned()).bind(content.to_owned()).execute(work).await?;
    Ok(())
}
