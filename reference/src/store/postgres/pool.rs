//! The pool of connections.
//!
//! As in the file's store, it is the server's narrow place: whoever gets no connection within its
//! patience is told so. A database that does not answer is another trouble, and is told apart.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{PgConnection, Postgres};

use crate::store::records::{PoolFigures, StoreError};

/// How long a start or a writer waits for a connection, and a writer for other writers.
pub const WRITER_WAITS: Duration = Duration::from_secs(30);
/// How long a search waits for one.
pub const SEARCH_WAITS: Duration = Duration::from_millis(250);
/// How long one statement may take: far more than any needs, so that a lost one ends.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);
/// What one step of a search may hold in memory before it takes to the disk: a million hits.
const STEP_MEMORY: &str = "64MB";

/// Connections to one database.
#[derive(Debug)]
pub struct PostgresPool {
    /// The database, without user or password.
    pub place: String,
    pool: PgPool,
    connections: u32,
    waiting: AtomicUsize,
    lent: Arc<AtomicUsize>,
}

/// A connection lent out, and counted while it is.
#[derive(Debug)]
pub struct Held {
    /// The connection, given back to the pool on drop.
    pub connection: PoolConnection<Postgres>,
    lent: Arc<AtomicUsize>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.lent.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One more of something, for as long as it is held.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PostgresPool {
    /// Opens them all.
    ///
    /// # Errors
    /// `Sql`.
    pub async fn open(
        connect: PgConnectOptions,
        place: String,
        connections: u32,
        search_path: String,
    ) -> Result<Self, StoreError> {
        let pool = options(connections, search_path).connect_with(connect).await?;
        let (waiting, lent) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        Ok(Self { place, pool, connections, waiting, lent })
    }

    /// A connection of the pool.
    ///
    /// # Errors
    /// `Saturated` where all are lent for as long, `Sql` where the database does not answer.
    pub async fn acquire(&self, waits: Duration) -> Result<Held, StoreError> {
        let _waiting = Counted::new(&self.waiting);
        match tokio::time::timeout(waits, self.pool.acquire()).await {
            Ok(Ok(connection)) => {
                self.lent.fetch_add(1, Ordering::Relaxed);
                Ok(Held { connection, lent: Arc::clone(&self.lent) })
            }
            // Only where all are lent is it the pool that is too small.
            Err(_) | Ok(Err(sqlx::Error::PoolTimedOut)) => {
                let is_lent = self.lent.load(Ordering::Relaxed) >= self.connections as usize;
                Err(if is_lent { StoreError::Saturated { waited: waits } } else { silent(&self.place, waits) })
            }
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// The pool's figures.
    pub fn figures(&self) -> PoolFigures {
        PoolFigures {
            size: self.pool.size(),
            idle: self.pool.num_idle(),
            waiting: self.waiting.load(Ordering::Relaxed),
            max: self.connections,
        }
    }

    /// Closes every connection, waiting for those in use at most a second.
    pub async fn close(&self) {
        let _ended = tokio::time::timeout(Duration::from_secs(1), self.pool.close()).await;
    }
}

/// What is said of a database that does not answer.
pub fn silent(place: &str, waited: Duration) -> StoreError {
    let why = format!("{place} gives no connection within {} ms", waited.as_millis());
    StoreError::Sql(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, why)))
}

fn options(connections: u32, search_path: String) -> PgPoolOptions {
    let search_path: Arc<str> = search_path.into();
    PgPoolOptions::new()
        .max_connections(connections)
        // Opened at the start and kept, so that a search waits for others and never for a handshake.
        .min_connections(connections)
        .acquire_timeout(WRITER_WAITS)
        .idle_timeout(None)
        .max_lifetime(None)
        // A database that was restarted has cut them all; a question first is cheaper than a failed search.
        .test_before_acquire(true)
        // Being kept waiting is this pool's ordinary life, and a fault of ours besides.
        .acquire_slow_level(tracing::log::LevelFilter::Off)
        .after_connect(move |connection, _| {
            let search_path = Arc::clone(&search_path);
            Box::pin(async move { set(connection, Some(&search_path)).await })
        })
}

/// Says what holds for a connection's whole life.
///
/// # Errors
/// Whatever the database says.
pub async fn set(connection: &mut PgConnection, search_path: Option<&str>) -> Result<(), sqlx::Error> {
    sqlx::query(
        "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false), \
         set_config('idle_in_transaction_session_timeout', $1, false), set_config('work_mem', $4, false), \
         set_config('search_path', coalesce($3, current_setting('search_path')), false)",
    )
    .bind(STATEMENT_LIMIT.as_millis().to_string())
    .bind(WRITER_WAITS.as_millis().to_string())
    .bind(search_path.map(str::to_owned))
    .bind(STEP_MEMORY)
    .execute(connection)
    .await?;
    Ok(())
}
