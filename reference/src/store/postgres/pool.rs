//! The pool of connections to a database on a server: one that does not answer is told apart from a pool that is too small.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgConnection, Postgres};

use crate::store::contract::Patience;
use crate::store::pool::{ConnectionPool, WRITER_WAITS};
use crate::store::records::{PoolFigures, StoreError};

/// How long one statement may take: far more than any needs, so that a lost one ends.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);
/// What one step of a search may hold in memory before it takes to the disk: a million hits.
const STEP_MEMORY: &str = "64MB";

/// Connections to one database.
#[derive(Debug)]
pub struct PostgresPool {
    /// The database, without user or password.
    pub place: String,
    pool: ConnectionPool<Postgres>,
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
        let search_path: Arc<str> = search_path.into();
        let pool = ConnectionPool::options(connections)
            // A database that was restarted has cut them all; a question first is cheaper than a failed search.
            .test_before_acquire(true)
            .after_connect(move |connection, _| {
                let search_path = Arc::clone(&search_path);
                Box::pin(async move { set(connection, Some(&search_path)).await })
            })
            .connect_with(connect)
            .await?;
        Ok(Self { place, pool: ConnectionPool::new(pool), lent: Arc::new(AtomicUsize::new(0)) })
    }

    /// A connection of the pool.
    ///
    /// # Errors
    /// `Saturated` where all are lent for as long, `Sql` where the database does not answer.
    pub async fn acquire(&self, patience: Patience) -> Result<Held, StoreError> {
        match self.pool.acquire(patience).await {
            Ok(connection) => {
                self.lent.fetch_add(1, Ordering::Relaxed);
                Ok(Held { connection, lent: Arc::clone(&self.lent) })
            }
            // Only where all are lent is it the pool that is too small.
            Err(StoreError::Saturated { waited })
                if self.lent.load(Ordering::Relaxed) < self.pool.figures().max as usize =>
            {
                Err(silent(&self.place, waited))
            }
            Err(error) => Err(error),
        }
    }

    /// The pool's figures.
    pub fn figures(&self) -> PoolFigures {
        self.pool.figures()
    }

    /// Closes every connection, waiting for those in use at most a second.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// What is said of a database that does not answer.
pub fn silent(place: &str, waited: Duration) -> StoreError {
    let why = format!("{place} gives no connection within {} ms", waited.as_millis());
    StoreError::Sql(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, why)))
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
