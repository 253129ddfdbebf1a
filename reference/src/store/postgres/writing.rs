//! Sources into the database and out of it, each in one transaction.
//!
//! Whoever changes the index first locks the row of its count of changes. So writers of any number of
//! servers queue, and a reader, who takes no lock, sees the old text until the new one is whole.

use chrono::NaiveDate;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::store::postgres::nearest::HNSW_WIDTH_MAX;
use crate::store::postgres::stems::{self, storable};
use crate::store::records::{CHUNKS_MAX, NewSource, Replaced, StoreError};
use crate::store::rows;
use crate::text::names;

/// Chunks in one statement: half a megabyte of text and vectors.
const CHUNKS_PAGE: usize = 200;
/// Postings in one statement: some hundred kilobytes.
const POSTINGS_PAGE: usize = 5_000;
/// What PostgreSQL says when a lock has not come free in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// A source, taken apart before any lock is held.
struct Prepared {
    tokens: Vec<i64>,
    words: Vec<Option<i32>>,
    postings: Vec<(usize, i32, stems::Posting)>,
    width: usize,
}

/// Replaces a source.
///
/// # Errors
/// `Full`, `Width`, `Locked`, `Sql`; nothing has changed then.
pub async fn replace(connection: &mut PgConnection, new: &NewSource<'_>) -> Result<Replaced, StoreError> {
    let name = storable(new.source).into_owned();
    if is_same(connection, &name, new).await? == Some(true) {
        return Ok(Replaced::Unchanged);
    }
    let prepared = prepare(new).await?;
    let mut work = connection.begin().await?;
    lock(&mut work).await?;
    let same = is_same(&mut work, &name, new).await?;
    if same == Some(true) {
        return Ok(Replaced::Unchanged);
    }
    delete(&mut work, &name).await?;
    make_room(&mut work, new.chunks.len()).await?;
    fit_width(&mut work, prepared.width).await?;
    let generation = next_generation(&mut work).await?;
    insert_source(&mut work, &name, new, generation).await?;
    let first = reserve_ids(&mut work, new.chunks.len()).await?;
    insert_chunks(&mut work, &name, first, new, &prepared).await?;
    insert_postings(&mut work, first, &prepared).await?;
    count_in(&mut work, &name).await?;
    if new.drops_answers {
        drop_answers(&mut work, &name, same.is_none()).await?;
    }
    work.commit().await?;
    Ok(if same.is_some() { Replaced::Changed } else { Replaced::Added })
}

/// Takes a source away; whether it was there.
///
/// # Errors
/// `Locked`, `Sql`.
pub async fn remove(connection: &mut PgConnection, source: &str) -> Result<bool, StoreError> {
    let name = storable(source).into_owned();
    let mut work = connection.begin().await?;
    lock(&mut work).await?;
    if !delete(&mut work, &name).await? {
        return Ok(false);
    }
    next_generation(&mut work).await?;
    drop_answers(&mut work, &name, false).await?;
    work.commit().await?;
    Ok(true)
}

/// Takes everything away, the vectors' width too: the next ones may be of another.
///
/// # Errors
/// `Locked`, `Sql`.
pub async fn wipe(connection: &mut PgConnection, embeddings: bool) -> Result<(), StoreError> {
    let mut work = connection.begin().await?;
    lock(&mut work).await?;
    sqlx::raw_sql(
        "TRUNCATE postings, chunks, texts, sources, answer_sources, answers, shown; \
         DROP INDEX IF EXISTS chunks_by_vector; \
         ALTER TABLE chunks ALTER COLUMN vector TYPE vector; \
         UPDATE tally SET chunks = 0, tokens = 0, vectors = 0, worded = 0, words = 0, width = 0; \
         DELETE FROM meta WHERE key NOT IN ('schema', 'generation', 'next_id')",
    )
    .execute(&mut *work)
    .await
    .map_err(waited)?;
    if embeddings {
        sqlx::raw_sql("TRUNCATE embeddings").execute(&mut *work).await.map_err(waited)?;
    }
    next_generation(&mut work).await?;
    Ok(work.commit().await?)
}

/// Writes a fact, or forgets it.
///
/// # Errors
/// `Sql`.
pub async fn set_fact(connection: &mut PgConnection, key: &str, value: Option<&str>) -> Result<(), StoreError> {
    let query = match value {
        Some(value) => sqlx::query(rows::SET_FACT).bind(storable(key).into_owned()).bind(storable(value).into_owned()),
        None => sqlx::query(rows::FORGET_FACT).bind(storable(key).into_owned()),
    };
    query.execute(connection).await?;
    Ok(())
}

/// Whether a source is there just as it is to be written; `None` where it is not there at all.
async fn is_same(connection: &mut PgConnection, name: &str, new: &NewSource<'_>) -> Result<Option<bool>, StoreError> {
    let tags: Vec<String> = new.tags.iter().map(|tag| storable(tag).into_owned()).collect();
    Ok(sqlx::query_scalar(
        "SELECT content_hash = $2 AND parser = $3 AND source_type = $4 AND collection = $5 AND tags = $6 \
         AND dated IS NOT DISTINCT FROM $7 AND volatility = $8 FROM sources WHERE source = $1",
    )
    .bind(name.to_owned())
    .bind(new.content_hash)
    .bind(new.parser)
    .bind(storable(new.source_type).into_owned())
    .bind(storable(new.collection).into_owned())
    .bind(tags)
    .bind::<Option<NaiveDate>>(new.dated)
    .bind(new.volatility.name())
    .fetch_optional(connection)
    .await?)
}

/// Words and tokens are counted here, chunk by chunk, with room for others in between.
async fn prepare(new: &NewSource<'_>) -> Result<Prepared, StoreError> {
    let mut prepared = Prepared { tokens: Vec::new(), words: Vec::new(), postings: Vec::new(), width: 0 };
    for (number, (chunk, vector)) in new.chunks.iter().enumerate() {
        prepared.tokens.push(i64::try_from(chunk.tokens).unwrap_or(i64::MAX));
        let Some(vector) = vector else {
            prepared.words.push(None);
            continue;
        };
        let (postings, length) =
            stems::postings(&names::of(new.source, &chunk.section, &chunk.content), &chunk.content);
        prepared.words.push(Some(length));
        prepared.postings.extend(postings.into_iter().map(|posting| (number, length, posting)));
        if prepared.width == 0 {
            prepared.width = vector.len();
        } else if !vector.is_empty() && vector.len() != prepared.width {
            return Err(StoreError::Width { found: prepared.width, wanted: vector.len() });
        }
        tokio::task::yield_now().await;
    }
    Ok(prepared)
}

/// The lock of all who change the index, until the transaction ends.
async fn lock(work: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("SELECT FROM meta WHERE key = 'generation' FOR UPDATE").execute(work).await.map_err(waited)?;
    Ok(())
}

fn waited(error: sqlx::Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code());
    if code.is_some_and(|code| code == LOCK_NOT_AVAILABLE) {
        return StoreError::Locked { holder: "another connection to this database".to_owned() };
    }
    StoreError::Sql(error)
}

/// Rows of a source go, and their counts with them.
async fn delete(work: &mut PgConnection, name: &str) -> Result<bool, StoreError> {
    sqlx::query("DELETE FROM postings WHERE chunk_id IN (SELECT id FROM chunks WHERE source = $1)")
        .bind(name)
        .execute(&mut *work)
        .await?;
    count(work, name, '-').await?;
    sqlx::query("DELETE FROM chunks WHERE source = $1").bind(name).execute(&mut *work).await?;
    let deleted = sqlx::query("DELETE FROM sources WHERE source = $1").bind(name).execute(&mut *work).await?;
    Ok(deleted.rows_affected() > 0)
}

async fn count_in(work: &mut PgConnection, name: &str) -> Result<(), StoreError> {
    count(work, name, '+').await
}

/// Adds a source's counts to those of the index, or takes them off.
async fn count(work: &mut PgConnection, name: &str, sign: char) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE tally SET chunks = tally.chunks {sign} own.chunks, tokens = tally.tokens {sign} own.tokens, \
         vectors = tally.vectors {sign} own.vectors, worded = tally.worded {sign} own.worded, \
         words = tally.words {sign} own.words FROM (SELECT count(*) FILTER (WHERE role <> 'section') AS chunks, \
         coalesce(sum(tokens) FILTER (WHERE role <> 'section'), 0)::bigint AS tokens, count(vector) AS vectors, \
         count(words) AS worded, coalesce(sum(words), 0)::bigint AS words FROM chunks WHERE source = $1) AS own"
    );
    sqlx::query(AssertSqlSafe(sql)).bind(name).execute(work).await?;
    Ok(())
}

async fn make_room(work: &mut PgConnection, more: usize) -> Result<(), StoreError> {
    let held: i64 = sqlx::query_scalar("SELECT chunks FROM tally").fetch_one(work).await?;
    if usize::try_from(held).unwrap_or(0) + more > CHUNKS_MAX { Err(StoreError::Full(CHUNKS_MAX)) } else { Ok(()) }
}

/// The first vector decides how wide all are; from then on they have an index.
async fn fit_width(work: &mut PgConnection, wanted: usize) -> Result<(), StoreError> {
    let found: i32 = sqlx::query_scalar("SELECT width FROM tally").fetch_one(&mut *work).await?;
    let found = usize::try_from(found).unwrap_or(0);
    if wanted == 0 || found == wanted {
        return Ok(());
    }
    if found > 0 {
        return Err(StoreError::Width { found, wanted });
    }
    let mut sql =
        format!("ALTER TABLE chunks ALTER COLUMN vector TYPE vector({wanted}); UPDATE tally SET width = {wanted};");
    if wanted <= HNSW_WIDTH_MAX {
        sql.push_str(
            "CREATE INDEX chunks_by_vector ON chunks USING hnsw (vector vector_cosine_ops) \
             WITH (m = 16, ef_construction = 64);",
        );
    }
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(work).await.map_err(waited)?;
    Ok(())
}

async fn drop_answers(work: &mut PgConnection, name: &str, is_new: bool) -> Result<(), StoreError> {
    let query = if is_new { sqlx::query(rows::DROP_ANSWERS) } else { sqlx::query(rows::DROP_ANSWERS_OF).bind(name) };
    query.execute(work).await?;
    Ok(())
}

async fn next_generation(work: &mut PgConnection) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(rows::NEXT_GENERATION).fetch_one(work).await?)
}

async fn reserve_ids(work: &mut PgConnection, count: usize) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(rows::RESERVE_IDS).bind(i64::try_from(count).unwrap_or(0)).fetch_one(work).await?)
}

async fn insert_source(
    work: &mut PgConnection,
    name: &str,
    new: &NewSource<'_>,
    generation: i64,
) -> Result<(), StoreError> {
    let tags: Vec<String> = new.tags.iter().map(|tag| storable(tag).into_owned()).collect();
    sqlx::query(rows::INSERT_SOURCE)
        .bind(name)
        .bind(storable(new.source_type).into_owned())
        .bind(storable(new.collection).into_owned())
        .bind(tags)
        .bind::<Option<NaiveDate>>(new.dated)
        .bind(new.volatility.name())
        .bind(new.content_hash)
        .bind(new.parser)
        .bind(new.indexed_at.timestamp_micros())
        .bind(generation)
        .bind(new.origin.name())
        .execute(&mut *work)
        .await?;
    sqlx::query(rows::INSERT_TEXT).bind(name).bind(storable(new.text).into_owned()).execute(work).await?;
    Ok(())
}

/// The vectors of a page go over as one list of numbers, and each row takes its stretch.
const INSERT_CHUNKS: &str = "INSERT INTO chunks (id, source, ordinal, section, content, char_start, char_end, tokens, words, \
    role, parent, vector) \
    SELECT $1 + place, $2, $3 + place, section, content, char_start, char_end, tokens, words, part, above, \
    CASE WHEN has THEN ($11::real[])[place * $12 + 1 : (place + 1) * $12]::vector END \
    FROM (SELECT *, (number - 1)::int AS place FROM \
    unnest($4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::int[], $10::bool[], \
    $13::text[], $14::bigint[]) \
    WITH ORDINALITY AS given (section, content, char_start, char_end, tokens, words, has, part, above, number)) AS new";

async fn insert_chunks(
    work: &mut PgConnection,
    name: &str,
    first: i64,
    new: &NewSource<'_>,
    prepared: &Prepared,
) -> Result<(), StoreError> {
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    for (page, chunks) in new.chunks.chunks(CHUNKS_PAGE).enumerate() {
        let at = page * CHUNKS_PAGE;
        let numbers: Vec<f32> = chunks
            .iter()
            .flat_map(|(_, vector)| {
                let own = vector.as_deref().unwrap_or_default();
                own.iter().copied().chain(std::iter::repeat(0.0)).take(prepared.width)
            })
            .collect();
        sqlx::query(INSERT_CHUNKS)
            .bind(first + whole(at))
            .bind(name)
            .bind(whole(at))
            .bind(chunks.iter().map(|(chunk, _)| storable(&chunk.section).into_owned()).collect::<Vec<_>>())
            .bind(chunks.iter().map(|(chunk, _)| storable(&chunk.content).into_owned()).collect::<Vec<_>>())
            .bind(chunks.iter().map(|(chunk, _)| whole(chunk.char_start)).collect::<Vec<_>>())
            .bind(chunks.iter().map(|(chunk, _)| whole(chunk.char_end)).collect::<Vec<_>>())
            .bind(prepared.tokens[at..at + chunks.len()].to_vec())
            .bind(prepared.words[at..at + chunks.len()].to_vec())
            .bind(chunks.iter().map(|(_, vector)| vector.as_ref().is_some_and(|v| !v.is_empty())).collect::<Vec<_>>())
            .bind(numbers)
            .bind(i32::try_from(prepared.width).unwrap_or(i32::MAX))
            .bind(chunks.iter().map(|(chunk, _)| chunk.role.name()).collect::<Vec<_>>())
            .bind(chunks.iter().map(|(chunk, _)| chunk.parent.map(whole)).collect::<Vec<_>>())
            .execute(&mut *work)
            .await?;
    }
    Ok(())
}

async fn insert_postings(work: &mut PgConnection, first: i64, prepared: &Prepared) -> Result<(), StoreError> {
    let id = |number: usize| first + i64::try_from(number).unwrap_or(0);
    // A list of lists must be square, so the places go over as their text.
    let places = |posting: &stems::Posting| {
        let list = posting.positions.iter().map(i32::to_string).collect::<Vec<_>>();
        format!("{{{}}}", list.join(","))
    };
    for page in prepared.postings.chunks(POSTINGS_PAGE) {
        sqlx::query(
            "INSERT INTO postings (stem, chunk_id, weight, length, positions) \
             SELECT stem, chunk_id, weight, length, positions::int[] \
             FROM unnest($1::text[], $2::bigint[], $3::real[], $4::int[], $5::text[]) \
             AS new (stem, chunk_id, weight, length, positions)",
        )
        .bind(page.iter().map(|(_, _, posting)| posting.stem.clone()).collect::<Vec<_>>())
        .bind(page.iter().map(|(number, _, _)| id(*number)).collect::<Vec<_>>())
        .bind(page.iter().map(|(_, _, posting)| posting.weight).collect::<Vec<_>>())
        .bind(page.iter().map(|(_, length, _)| *length).collect::<Vec<_>>())
        .bind(page.iter().map(|(_, _, posting)| places(posting)).collect::<Vec<_>>())
        .execute(&mut *work)
        .await?;
    }
    Ok(())
}
