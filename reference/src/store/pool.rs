//! The pool of connections, whichever database is behind it.
//!
//! It is the server's narrow place, and it is real: whoever gets no connection within its patience is told so.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::Database;
use sqlx::pool::{PoolConnection, PoolOptions};

use crate::store::contract::Patience;
use crate::store::records::{PoolFigures, StoreError};

/// How long a start or a writer waits for a connection, and a writer of PostgreSQL for other writers.
pub const WRITER_WAITS: Duration = Duration::from_secs(30);
/// How long a search waits for one.
const SEARCH_WAITS: Duration = Duration::from_millis(250);

/// Connections to one database, and how many wait for one.
#[derive(Debug)]
pub struct ConnectionPool<DB: Database> {
    pool: sqlx::Pool<DB>,
    waiting: AtomicUsize,
}

/// One more of something, for as long as it is held.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<DB: Database> ConnectionPool<DB> {
    /// What both pools are: every connection is opened at the start and kept, so that a search waits for others and never
    /// for a file to open or for a handshake.
    pub fn options(connections: u32) -> PoolOptions<DB> {
        PoolOptions::new()
            .max_connections(connections)
            .min_connections(connections)
            .acquire_timeout(WRITER_WAITS)
            .idle_timeout(None)
            .max_lifetime(None)
            // Being kept waiting is this pool's ordinary life, and a fault of ours besides.
            .acquire_slow_level(tracing::log::LevelFilter::Off)
    }

    /// A pool whose connections are open; nobody waits yet.
    pub const fn new(pool: sqlx::Pool<DB>) -> Self {
        Self { pool, waiting: AtomicUsize::new(0) }
    }

    /// A connection of the pool.
    ///
    /// # Errors
    /// `Saturated` where none came free in time, `Sql`.
    pub async fn acquire(&self, patience: Patience) -> Result<PoolConnection<DB>, StoreError> {
        let waited = match patience {
            Patience::Search => SEARCH_WAITS,
            Patience::Writer => WRITER_WAITS,
        };
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Counted(&self.waiting);
        match tokio::time::timeout(waited, self.pool.acquire()).await {
            Ok(Ok(connection)) => Ok(connection),
            Err(_) | Ok(Err(sqlx::Error::PoolTimedOut)) => Err(StoreError::Saturated { waited }),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// The pool's figures.
    pub fn figures(&self) -> PoolFigures {
        PoolFigures {
            size: self.pool.size(),
            idle: self.pool.num_idle(),
            waiting: self.waiting.load(Ordering::Relaxed),
            max: self.pool.options().get_max_connections(),
        }
    }

    /// Closes every connection, waiting for those in use at most a second.
    pub async fn close(&self) {
        let _ended = tokio::time::timeout(Duration::from_secs(1), self.pool.close()).await;
    }
}
