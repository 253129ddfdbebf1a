//! The tables, and what must be there before them: pgvector.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::store::contract::SCHEMA_VERSION;
use crate::store::postgres::address::refused;
use crate::store::records::StoreError;

/// Everybody who makes tables holds this lock of the database: "serin" in ASCII. The extension
/// belongs to the whole database, so the lock does too.
const LOCK: i64 = 0x73_6572_696e;

/// The least pgvector: HNSW came with 0.5.
const LEAST: (u32, u32) = (0, 5);
/// From here on a search by HNSW goes on until a filter has let enough pass.
const ITERATES: (u32, u32) = (0, 8);

/// Names are ordered by their bytes, as SQLite orders them.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tally (                             -- kept with every change, so that no search counts the index
    one      BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one),
    chunks   BIGINT NOT NULL DEFAULT 0,          -- that are searched
    tokens   BIGINT NOT NULL DEFAULT 0,          -- in these
    vectors  BIGINT NOT NULL DEFAULT 0,
    worded   BIGINT NOT NULL DEFAULT 0,          -- chunks that have postings
    words    BIGINT NOT NULL DEFAULT 0,          -- stems in these, repeats counted
    width    INTEGER NOT NULL DEFAULT 0          -- numbers in a vector; 0 until there is one
);
CREATE TABLE sources (
    source       TEXT COLLATE \"C\" PRIMARY KEY,
    source_type  TEXT NOT NULL,
    content_hash TEXT NOT NULL,                  -- SHA-256 of what was given: an unchanged source is not indexed again
    indexed_at   BIGINT NOT NULL,                -- UTC microseconds
    collection   TEXT NOT NULL,
    tags         TEXT[] NOT NULL,                -- sorted
    dated        DATE,
    volatility   TEXT NOT NULL,
    origin       TEXT NOT NULL DEFAULT 'caller',
    parser       TEXT NOT NULL,                  -- another parser or other settings cut it again
    generation   BIGINT NOT NULL                 -- of the index, when it was written
);
CREATE TABLE chunks (
    id         BIGINT PRIMARY KEY,               -- never used twice
    source     TEXT COLLATE \"C\" NOT NULL REFERENCES sources (source) ON DELETE CASCADE,
    ordinal    BIGINT NOT NULL,                  -- place within the source, from 0
    section    TEXT NOT NULL,
    content    TEXT NOT NULL,
    char_start BIGINT NOT NULL,
    char_end   BIGINT NOT NULL,
    tokens     BIGINT NOT NULL,
    words      INTEGER,                          -- stems, repeats counted; null where the chunk is not searched
    role       TEXT NOT NULL,
    parent     BIGINT,                           -- ordinal of the section it is of
    vector     vector,                           -- its width is fixed by the first one; null where there is none
    UNIQUE (source, ordinal)
);
CREATE TABLE postings (                          -- no foreign key: it would be checked a hundred times a chunk
    stem      TEXT COLLATE \"C\" NOT NULL,
    chunk_id  BIGINT NOT NULL,
    weight    REAL NOT NULL,                     -- how often, a heading's word counted double
    length    INTEGER NOT NULL,                  -- of the chunk, so that a score needs no other table
    positions INTEGER[] NOT NULL,                -- below 0 in the heading, above 0 in the text
    PRIMARY KEY (stem, chunk_id) INCLUDE (weight, length)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02); -- only what was vacuumed is read from the index alone
CREATE INDEX postings_by_chunk ON postings (chunk_id);
CREATE TABLE texts (                             -- secrets taken out: what a source is cut from again
    source TEXT COLLATE \"C\" PRIMARY KEY REFERENCES sources (source) ON DELETE CASCADE, text TEXT NOT NULL
);
CREATE TABLE embeddings (key BYTEA PRIMARY KEY, vector REAL[] NOT NULL, made_at BIGINT NOT NULL);
CREATE INDEX embeddings_by_age ON embeddings (made_at);
CREATE TABLE shown (
    conversation TEXT NOT NULL, chunk TEXT COLLATE \"C\" NOT NULL, score FLOAT8 NOT NULL, shown_at BIGINT NOT NULL,
    PRIMARY KEY (conversation, chunk)
);
CREATE INDEX shown_by_age ON shown (shown_at);
INSERT INTO tally DEFAULT VALUES;
INSERT INTO meta (key, value) VALUES ('generation', '0'), ('next_id', '1');
";

/// Answers that are remembered. Version 2 kept them by their meaning.
const ANSWERS: &str = "
DROP TABLE IF EXISTS answer_sources, answers;
CREATE TABLE answers (
    exact      BYTEA PRIMARY KEY,                -- question and all that must be the same
    hits       TEXT NOT NULL,                    -- JSON
    made_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX answers_by_age ON answers (made_at);
CREATE TABLE answer_sources (
    source TEXT COLLATE \"C\" NOT NULL, exact BYTEA NOT NULL REFERENCES answers (exact) ON DELETE CASCADE,
    PRIMARY KEY (source, exact)
);
CREATE INDEX answer_sources_by_answer ON answer_sources (exact);
";

/// What every connection must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// Where names are looked up: our schema, then pgvector's.
    pub search_path: String,
    /// Whether a search by HNSW can go on until a filter has let enough pass.
    pub iterates: bool,
}

/// Makes what is missing and refuses what is foreign, in one transaction: another server that opens
/// the same new database at this moment waits, and then finds the tables.
///
/// # Errors
/// `Schema` for tables of another version, `Sql`.
pub async fn prepare(connection: &mut PgConnection, schema: &str, place: &str) -> Result<Ground, StoreError> {
    let mut work = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *work).await?;
    let (home, iterates) = extension(&mut work, place).await?;
    let search_path = format!("\"{schema}\", \"{}\"", home.replace('"', "\"\""));
    let is_there: bool =
        sqlx::query_scalar("SELECT to_regnamespace($1) IS NOT NULL").bind(schema).fetch_one(&mut *work).await?;
    if !is_there {
        make(&mut work, schema, place).await?;
    }
    sqlx::query("SELECT set_config('search_path', $1, true)").bind(&search_path).execute(&mut *work).await?;
    let tables: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename IN ('meta', 'chunks', 'sources', 'tally')",
    )
    .bind(schema)
    .fetch_one(&mut *work)
    .await?;
    match tables {
        0 => {
            sqlx::raw_sql(TABLES).execute(&mut *work).await?;
            sqlx::raw_sql(ANSWERS).execute(&mut *work).await?;
            sqlx::query("INSERT INTO meta (key, value) VALUES ('schema', $1)")
                .bind(SCHEMA_VERSION.to_string())
                .execute(&mut *work)
                .await?;
        }
        4 => check_version(&mut work, &format!("{place}, schema {schema},")).await?,
        _ => return Err(foreign(&format!("{place}, schema {schema},"), "unknown")),
    }
    work.commit().await?;
    Ok(Ground { search_path, iterates })
}

async fn make(work: &mut PgConnection, schema: &str, place: &str) -> Result<(), StoreError> {
    let made = sqlx::raw_sql(AssertSqlSafe(format!("CREATE SCHEMA \"{schema}\""))).execute(&mut *work).await;
    made.map(drop).map_err(|error| {
        refused(&format!(
            "{place} has no schema {schema}, and it cannot be made ({error}): let the database's owner run GRANT CREATE \
             ON DATABASE for this role, or CREATE SCHEMA \"{schema}\" with this role as its AUTHORIZATION"
        ))
    })
}

/// Version 2, the first one kept in PostgreSQL, differs in the tables of answers alone.
async fn check_version(work: &mut PgConnection, place: &str) -> Result<(), StoreError> {
    let brought = sqlx::query("UPDATE meta SET value = $1 WHERE key = 'schema' AND value = '2'");
    if brought.bind(SCHEMA_VERSION.to_string()).execute(&mut *work).await?.rows_affected() > 0 {
        sqlx::raw_sql(ANSWERS).execute(&mut *work).await?;
    }
    let version: Option<String> =
        sqlx::query_scalar("SELECT value FROM meta WHERE key = 'schema'").fetch_optional(work).await?;
    let version = version.as_deref().unwrap_or("unknown");
    if version == SCHEMA_VERSION.to_string() { Ok(()) } else { Err(foreign(place, version)) }
}

fn foreign(place: &str, found: &str) -> StoreError {
    StoreError::Schema {
        place: place.to_owned(),
        found: found.to_owned(),
        wanted: SCHEMA_VERSION,
        mend: "use the program that made them, or name another schema and index again",
    }
}

/// The schema pgvector lives in, and whether it iterates.
async fn extension(work: &mut PgConnection, place: &str) -> Result<(String, bool), StoreError> {
    const LOOK: &str = "SELECT nspname::text, extversion FROM pg_extension \
        JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'";
    let mut found: Option<(String, String)> = sqlx::query_as(LOOK).fetch_optional(&mut *work).await?;
    if found.is_none() {
        sqlx::raw_sql("CREATE EXTENSION vector").execute(&mut *work).await.map_err(|error| {
            refused(&format!(
                "{place} has no pgvector, and it cannot be added ({error}): install the package (pgvector 0.5 or \
                 newer) on the database's machine, and let its owner run CREATE EXTENSION vector"
            ))
        })?;
        found = sqlx::query_as(LOOK).fetch_optional(&mut *work).await?;
    }
    let (home, version) = found.unwrap_or_default();
    let number = numbered(&version);
    if number < LEAST {
        return Err(refused(&format!(
            "{place} has pgvector {version}, and HNSW needs 0.5 or newer: update the package, then let the database's \
             owner run ALTER EXTENSION vector UPDATE"
        )));
    }
    Ok((home, number >= ITERATES))
}

fn numbered(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, version: &str, is_enough: bool, iterates: bool) {
        assert_eq!((numbered(version) >= LEAST, numbered(version) >= ITERATES), (is_enough, iterates), "{says}");
    }

    #[test]
    fn versions_are_told_apart() {
        check("before HNSW", "0.4.4", false, false);
        check("HNSW that stops at its list", "0.6.2", true, false);
        check("HNSW that goes on", "0.8.0", true, true);
        check("two digits are a greater number", "0.10.1", true, true);
        check("the first whole one", "1.0", true, true);
        check("no version", "", false, false);
    }
}
