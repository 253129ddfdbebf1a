//! The tables. The way to them from an older version is `migrating`.

use sqlx::SqliteConnection;

use crate::store::contract::SCHEMA_VERSION;
use crate::store::records::StoreError;

const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    source       TEXT PRIMARY KEY,
    source_type  TEXT NOT NULL,
    content_hash TEXT NOT NULL,              -- SHA-256 of what was given: an unchanged source is not indexed again
    indexed_at   INTEGER NOT NULL,           -- UTC microseconds
    collection   TEXT NOT NULL DEFAULT '',
    tags         TEXT NOT NULL DEFAULT '[]', -- JSON, sorted
    dated        TEXT,                       -- YYYY-MM-DD
    volatility   TEXT NOT NULL DEFAULT 'normal',
    origin       TEXT NOT NULL DEFAULT 'caller',
    parser       TEXT NOT NULL DEFAULT '',   -- another parser or other settings cut it again
    generation   INTEGER NOT NULL DEFAULT 0  -- of the index, when it was written
) WITHOUT ROWID;
CREATE TABLE chunks (
    id         INTEGER PRIMARY KEY,          -- joins the FTS5 table, whose key is a rowid; never used twice
    source     TEXT NOT NULL REFERENCES sources (source) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,             -- place within the source, from 0
    section    TEXT NOT NULL,
    names      TEXT NOT NULL DEFAULT '',     -- what it is found by besides, `text::names`
    content    TEXT NOT NULL,
    char_start INTEGER NOT NULL,
    char_end   INTEGER NOT NULL,
    tokens     INTEGER NOT NULL,
    vector     BLOB NOT NULL,                -- f32, little endian; empty where the chunk is not searched
    role       TEXT NOT NULL DEFAULT 'passage',
    parent     INTEGER,                      -- ordinal of the section it is of
    UNIQUE (source, ordinal)
);
";

/// The words of chunks that are searched. Whoever takes a chunk away does so here first: the old words are read from its
/// row. A table without content forgets words as well, but counts the chunks that are gone for ever, and BM25 grows.
pub(super) const WORDS: &str = "
CREATE VIRTUAL TABLE words USING fts5 (
    names, content, content='chunks', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
";

pub(super) const NEW_IN_2: &str = "
CREATE TABLE texts (                         -- secrets taken out: what a source is cut from again
    source TEXT PRIMARY KEY REFERENCES sources (source) ON DELETE CASCADE, text TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE embeddings (key BLOB PRIMARY KEY, vector BLOB NOT NULL, made_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX embeddings_by_age ON embeddings (made_at);
CREATE TABLE shown (
    conversation TEXT NOT NULL, chunk TEXT NOT NULL, score REAL NOT NULL, shown_at INTEGER NOT NULL,
    PRIMARY KEY (conversation, chunk)
) WITHOUT ROWID;
CREATE INDEX shown_by_age ON shown (shown_at);
";

/// Answers that are remembered.
pub(super) const ANSWERS: &str = "
CREATE TABLE answers (
    exact      BLOB PRIMARY KEY,             -- question and all that must be the same
    hits       TEXT NOT NULL,                -- JSON
    made_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (made_at);
CREATE TABLE answer_sources (
    source TEXT NOT NULL, exact BLOB NOT NULL REFERENCES answers (exact) ON DELETE CASCADE,
    PRIMARY KEY (source, exact)
) WITHOUT ROWID;
CREATE INDEX answer_sources_by_answer ON answer_sources (exact);
";

/// Facts that every index has from its first day.
const FIRST_FACTS: &str = "
INSERT INTO meta (key, value) VALUES ('generation', '0') ON CONFLICT (key) DO NOTHING;
INSERT INTO meta (key, value) SELECT 'next_id', coalesce(max(id), 0) + 1 FROM chunks WHERE true
    ON CONFLICT (key) DO NOTHING;
";

/// What was found in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TablesVersion {
    /// No tables: a new file.
    Nothing,
    /// Tables of this version.
    Current,
    /// Tables of a version that `migrate` knows.
    Older(u32),
    /// Tables of a version this program does not know.
    Unknown,
}

/// Looks at a file's tables.
///
/// # Errors
/// `Sql` for a file that is no database.
pub async fn look(connection: &mut SqliteConnection) -> Result<TablesVersion, StoreError> {
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name IN ('meta', 'chunks', 'sources')")
            .fetch_one(&mut *connection)
            .await?;
    if tables == 0 {
        return Ok(TablesVersion::Nothing);
    }
    if tables < 3 {
        return Ok(TablesVersion::Unknown);
    }
    let version: Option<String> =
        sqlx::query_scalar("SELECT value FROM meta WHERE key = 'schema'").fetch_optional(&mut *connection).await?;
    Ok(match version.and_then(|version| version.parse::<u32>().ok()) {
        Some(SCHEMA_VERSION) => TablesVersion::Current,
        Some(older) if (1..SCHEMA_VERSION).contains(&older) => TablesVersion::Older(older),
        _ => TablesVersion::Unknown,
    })
}

/// Makes the tables in a new file, within one transaction: another process that opens the same new
/// file at this moment waits, and then finds them.
///
/// # Errors
/// `Sql`.
pub async fn make(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut work = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE").await?;
    if look(&mut work).await? == TablesVersion::Nothing {
        sqlx::raw_sql(TABLES).execute(&mut *work).await?;
        sqlx::raw_sql(WORDS).execute(&mut *work).await?;
        sqlx::raw_sql(ANSWERS).execute(&mut *work).await?;
        sqlx::raw_sql(NEW_IN_2).execute(&mut *work).await?;
        stamp(&mut work).await?;
    }
    work.commit().await?;
    Ok(())
}

/// The refusal of a file, with the mend.
pub fn refused(place: &str, found: &str) -> StoreError {
    let mend = if found == "unknown" {
        "use the program that made it, or delete it and index again"
    } else {
        "run `serin reference migrate`"
    };
    StoreError::Schema { place: place.to_owned(), found: found.to_owned(), wanted: SCHEMA_VERSION, mend }
}

pub(super) async fn stamp(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::raw_sql(FIRST_FACTS).execute(&mut *connection).await?;
    sqlx::query("INSERT INTO meta (key, value) VALUES ('schema', $1) ON CONFLICT (key) DO UPDATE SET value = $1")
        .bind(SCHEMA_VERSION.to_string())
        .execute(&mut *connection)
        .await?;
    Ok(())
}
