//! The index on disk: one SQLite file with text, vectors and an FTS5 table, reached by a small pool.
//!
//! The pool is the server's narrow place, and it is real: whoever gets no connection within
//! `ACQUIRE_LIMIT` is told so, and says so. One writer at a time; a source is replaced in one
//! transaction, so a reader sees the old text or the new one. Dying anywhere leaves whole sources.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Connection as _, Row as _, Sqlite, SqliteConnection};

use crate::rag::cut::markdown::Chunk;
use crate::rag::embed::hashing::{DIMENSIONS, HashingEmbedder};

/// Connections in the pool: enough for two cores, few enough that saturation is easily met.
pub const CONNECTIONS: u32 = 4;
/// How long a start or a writer waits for one: it has time, and a busy machine is no saturated pool.
const PATIENT_LIMIT: Duration = Duration::from_secs(30);
/// How long a search waits for a connection before it gives up.
pub const ACQUIRE_LIMIT: Duration = Duration::from_millis(250);
/// The most chunks an index holds: 150 MB of vectors, and a scan of 10 ms.
pub const CHUNKS_MAX: i64 = 100_000;
/// Written into the file; a file of another version is refused.
const SCHEMA_VERSION: &str = "1";
/// How long a statement waits for another writer's lock.
const BUSY_LIMIT: Duration = Duration::from_secs(2);

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
    source       TEXT PRIMARY KEY,
    source_type  TEXT NOT NULL,
    content_hash TEXT NOT NULL,      -- SHA-256 of the text: an unchanged source is not indexed again
    indexed_at   INTEGER NOT NULL    -- UTC microseconds
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (
    id         INTEGER PRIMARY KEY,  -- joins the FTS5 table, whose key is a rowid
    source     TEXT NOT NULL REFERENCES sources (source) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,     -- place within the source, from 0
    section    TEXT NOT NULL,
    content    TEXT NOT NULL,
    char_start INTEGER NOT NULL,
    char_end   INTEGER NOT NULL,
    tokens     INTEGER NOT NULL,
    vector     BLOB NOT NULL,        -- f32, little endian
    UNIQUE (source, ordinal)
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    section, content, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);
";

/// What goes wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No connection was free in time.
    #[error("all {CONNECTIONS} connections are busy and none came free within {} ms", ACQUIRE_LIMIT.as_millis())]
    Saturated,
    /// The file was made by another model or version.
    #[error("{path} was built with {found}, this server needs {wanted}: delete the file and index again")]
    Incompatible {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
        /// What would fit.
        wanted: String,
    },
    /// The index is full.
    #[error("the index holds {CHUNKS_MAX} chunks at most: remove sources first")]
    Full,
    /// SQLite said no.
    #[error("the store fails: {0}")]
    Sql(#[from] sqlx::Error),
}

/// A chunk as an answer needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChunk {
    /// Its key.
    pub id: i64,
    /// Where it is from.
    pub source: String,
    /// What kind of source that is.
    pub source_type: String,
    /// Its place within the source, from 0.
    pub ordinal: i64,
    /// Headings above it.
    pub section: String,
    /// Its text.
    pub content: String,
    /// Where it begins, in characters.
    pub char_start: i64,
    /// Where it ends, exclusive.
    pub char_end: i64,
    /// Its length in tokens, estimated.
    pub tokens: i64,
}

/// A source as `list_sources` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSource {
    /// Its name.
    pub source: String,
    /// Its kind.
    pub source_type: String,
    /// Chunks it was cut into.
    pub chunk_count: i64,
    /// When it was last indexed.
    pub indexed_at: DateTime<Utc>,
}

/// The index file and its pool.
#[derive(Debug)]
pub struct Store {
    pool: SqlitePool,
    waiting: AtomicUsize,
    writing: tokio::sync::Mutex<()>,
}

impl Store {
    /// Opens the file, making it where there is none.
    ///
    /// # Errors
    /// `Incompatible` for a file of another model or version, `Sql` for one that cannot be opened.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            // What is lost to a power cut is indexed again from its source.
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_LIMIT);
        let settings = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            // Opened at the start and kept, so that a search waits for others and never for a file to open.
            .min_connections(CONNECTIONS)
            .acquire_timeout(PATIENT_LIMIT)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            // Being kept waiting is this pool's ordinary life, and a fault of ours besides.
            .acquire_slow_level(tracing::log::LevelFilter::Off);
        let mut first = SqliteConnection::connect_with(&options).await?;
        sqlx::raw_sql(SCHEMA).execute(&mut first).await?;
        let wanted = [("schema", SCHEMA_VERSION.to_owned()), ("embedder", HashingEmbedder::INDEX.fingerprint())];
        for (key, wanted) in wanted {
            let insert = "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING";
            sqlx::query(insert).bind(key).bind(&wanted).execute(&mut first).await?;
            let found: String =
                sqlx::query_scalar("SELECT value FROM meta WHERE key = $1").bind(key).fetch_one(&mut first).await?;
            if found != wanted {
                return Err(StoreError::Incompatible { path: path.to_owned(), found, wanted });
            }
        }
        first.close().await?;
        let pool = settings.connect_with(options).await?;
        Ok(Self { pool, waiting: AtomicUsize::new(0), writing: tokio::sync::Mutex::new(()) })
    }

    /// A connection of the pool.
    ///
    /// # Errors
    /// `Saturated` after `ACQUIRE_LIMIT`.
    pub async fn acquire(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        match tokio::time::timeout(ACQUIRE_LIMIT, self.pool.acquire()).await {
            Ok(Ok(connection)) => Ok(connection),
            Err(_) | Ok(Err(sqlx::Error::PoolTimedOut)) => Err(StoreError::Saturated),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// A connection for a start or a writer.
    ///
    /// # Errors
    /// `Saturated` after `PATIENT_LIMIT`.
    pub async fn acquire_patiently(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        match self.pool.acquire().await {
            Err(sqlx::Error::PoolTimedOut) => Err(StoreError::Saturated),
            connection => Ok(connection?),
        }
    }

    /// Connections open, connections idle, callers waiting.
    pub fn pool_figures(&self) -> (u32, usize, usize) {
        (self.pool.size(), self.pool.num_idle(), self.waiting.load(Ordering::Relaxed))
    }

    /// Closes every connection, waiting for those in use at most a second.
    pub async fn close(&self) {
        let _ended = tokio::time::timeout(Duration::from_secs(1), self.pool.close()).await;
    }

    /// Replaces a source. Gives the keys of its new chunks, in order, or `None` where the text is
    /// the one already there.
    ///
    /// # Errors
    /// `Full`, `Saturated`, `Sql`; nothing has changed then.
    pub async fn replace(&self, new: NewSource<'_>) -> Result<Option<Vec<i64>>, StoreError> {
        let _alone = self.writing.lock().await;
        let mut connection = self.acquire_patiently().await?;
        let mut work = connection.begin_with("BEGIN IMMEDIATE").await?;
        let known: Option<String> = sqlx::query_scalar("SELECT content_hash FROM sources WHERE source = $1")
            .bind(new.source)
            .fetch_optional(&mut *work)
            .await?;
        if known.as_deref() == Some(new.content_hash) {
            return Ok(None);
        }
        remove(&mut work, new.source).await?;
        let held: i64 = sqlx::query_scalar("SELECT count(*) FROM chunks").fetch_one(&mut *work).await?;
        if held + i64::try_from(new.chunks.len()).unwrap_or(i64::MAX) > CHUNKS_MAX {
            return Err(StoreError::Full);
        }
        sqlx::query("INSERT INTO sources (source, source_type, content_hash, indexed_at) VALUES ($1, $2, $3, $4)")
            .bind(new.source)
            .bind(new.source_type)
            .bind(new.content_hash)
            .bind(new.indexed_at.timestamp_micros())
            .execute(&mut *work)
            .await?;
        let mut ids = Vec::with_capacity(new.chunks.len());
        for (ordinal, (chunk, vector)) in new.chunks.iter().enumerate() {
            ids.push(insert(&mut work, new.source, ordinal, chunk, vector).await?);
        }
        work.commit().await?;
        Ok(Some(ids))
    }
}

/// A source about to be kept.
#[derive(Debug)]
pub struct NewSource<'a> {
    /// Its name.
    pub source: &'a str,
    /// Its kind.
    pub source_type: &'a str,
    /// SHA-256 of its text, in hex.
    pub content_hash: &'a str,
    /// Now.
    pub indexed_at: DateTime<Utc>,
    /// Its chunks with their vectors.
    pub chunks: &'a [(Chunk, Vec<f32>)],
}

async fn remove(work: &mut SqliteConnection, source: &str) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE source = $1)")
        .bind(source)
        .execute(&mut *work)
        .await?;
    sqlx::query("DELETE FROM chunks WHERE source = $1").bind(source).execute(&mut *work).await?;
    sqlx::query("DELETE FROM sources WHERE source = $1").bind(source).execute(&mut *work).await?;
    Ok(())
}

async fn insert(
    work: &mut SqliteConnection,
    source: &str,
    ordinal: usize,
    chunk: &Chunk,
    vector: &[f32],
) -> Result<i64, StoreError> {
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO chunks (source, ordinal, section, content, char_start, char_end, tokens, vector) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
    )
    .bind(source)
    .bind(i64::try_from(ordinal).unwrap_or(i64::MAX))
    .bind(&chunk.section)
    .bind(&chunk.content)
    .bind(i64::try_from(chunk.char_start).unwrap_or(i64::MAX))
    .bind(i64::try_from(chunk.char_end).unwrap_or(i64::MAX))
    .bind(i64::try_from(crate::rag::text::tokens::count(&chunk.content)).unwrap_or(i64::MAX))
    .bind(vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())
    .fetch_one(&mut *work)
    .await?;
    sqlx::query("INSERT INTO words (rowid, section, content) VALUES ($1, $2, $3)")
        .bind(id)
        .bind(&chunk.section)
        .bind(&chunk.content)
        .execute(&mut *work)
        .await?;
    Ok(id)
}

/// Every vector: key, source, place within it, numbers; in order of key.
///
/// # Errors
/// `Sql`.
pub async fn vectors(connection: &mut SqliteConnection) -> Result<Vec<(i64, String, i64, Vec<f32>)>, StoreError> {
    let rows = sqlx::query("SELECT id, source, ordinal, vector FROM chunks ORDER BY id").fetch_all(connection).await?;
    let mut vectors = Vec::with_capacity(rows.len());
    for row in rows {
        let bytes: Vec<u8> = row.try_get(3)?;
        let (numbers, _rest) = bytes.as_chunks::<4>();
        let mut vector: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        vector.resize(DIMENSIONS, 0.0);
        vectors.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, vector));
    }
    Ok(vectors)
}

/// The chunks with these keys, in no order.
///
/// # Errors
/// `Sql`.
pub async fn chunks(connection: &mut SqliteConnection, ids: &[i64]) -> Result<Vec<StoredChunk>, StoreError> {
    // Keys are our own integers, a page of at most 40: written into the text, for SQLite binds no lists.
    let list = ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let sql = format!(
        "SELECT chunks.id, chunks.source, source_type, ordinal, section, content, char_start, char_end, tokens \
         FROM chunks JOIN sources ON sources.source = chunks.source WHERE chunks.id IN ({list})"
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await?;
    rows.iter()
        .map(|row| {
            Ok(StoredChunk {
                id: row.try_get(0)?,
                source: row.try_get(1)?,
                source_type: row.try_get(2)?,
                ordinal: row.try_get(3)?,
                section: row.try_get(4)?,
                content: row.try_get(5)?,
                char_start: row.try_get(6)?,
                char_end: row.try_get(7)?,
                tokens: row.try_get(8)?,
            })
        })
        .collect()
}

/// Every source, by name.
///
/// # Errors
/// `Sql`.
pub async fn sources(connection: &mut SqliteConnection) -> Result<Vec<StoredSource>, StoreError> {
    let rows = sqlx::query(
        "SELECT sources.source, source_type, count(chunks.id), indexed_at \
         FROM sources LEFT JOIN chunks ON chunks.source = sources.source GROUP BY sources.source ORDER BY 1",
    )
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            let at: i64 = row.try_get(3)?;
            Ok(StoredSource {
                source: row.try_get(0)?,
                source_type: row.try_get(1)?,
                chunk_count: row.try_get(2)?,
                indexed_at: DateTime::from_timestamp_micros(at).unwrap_or_default(),
            })
        })
        .collect()
}

/// Chunks, sources and the mean length of a chunk in tokens.
///
/// # Errors
/// `Sql`.
pub async fn figures(connection: &mut SqliteConnection) -> Result<(i64, i64, f64), StoreError> {
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM sources), \
         (SELECT coalesce(avg(tokens), 0.0) FROM chunks)",
    )
    .fetch_one(connection)
    .await?;
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}
