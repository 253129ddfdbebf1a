//! Where a statement goes: a connection of our own, one lent by a pool, or whichever a pool has.

use std::fmt;
use std::ops::DerefMut;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Connection as _, Postgres, Transaction};

/// Everything of a snapshot is as it was at its first statement.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// How long connections that read may take to come back when everything ends.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// A connection to the database.
pub(in crate::store) enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    /// Of a pool, to which it goes back; what it had begun is taken back then.
    SqliteLent(Box<dyn DerefMut<Target = SqliteConnection> + Send>),
    PostgresLent(Box<dyn DerefMut<Target = PgConnection> + Send>),
}

impl fmt::Debug for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_postgres() { "Connection to PostgreSQL" } else { "Connection to SQLite" })
    }
}

impl Connection {
    pub(in crate::store) const fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_) | Self::PostgresLent(_))
    }

    /// How what is written together begins. SQLite's takes the file at once: to want it later, after others, fails.
    pub(in crate::store) const fn begin(&self) -> &'static str {
        if self.is_postgres() { "BEGIN" } else { "BEGIN IMMEDIATE" }
    }

    /// Says goodbye; what a pool lent goes back.
    ///
    /// # Errors
    /// Where the database is gone already, or cannot be closed.
    pub(in crate::store) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(connection) => connection.close().await,
            Self::SqliteLent(_) | Self::PostgresLent(_) => Ok(()),
        }
    }
}

/// Connections that read, lent one at a time.
#[derive(Debug, Clone)]
pub(in crate::store) enum Pool {
    Sqlite(SqlitePool),
    Postgres(ServerPool),
}

/// The connections to whichever server takes writes: others, once that is another.
#[derive(Clone)]
pub(in crate::store) struct ServerPool {
    now: Arc<Mutex<PgPool>>,
    make: Arc<dyn Fn() -> PgPool + Send + Sync>,
}

impl fmt::Debug for ServerPool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServerPool").finish_non_exhaustive()
    }
}

impl ServerPool {
    /// Connections as `make` would open them at the time.
    pub(in crate::store) fn new(make: impl Fn() -> PgPool + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(Mutex::new(make())), make: Arc::new(make) }
    }

    fn now(&self) -> PgPool {
        self.now.lock().clone()
    }

    /// Reads by new connections alone from now on. Whoever waits for one of the others, or has one, ends with it.
    pub(in crate::store) fn renew(&self) {
        *self.now.lock() = (self.make)();
    }

    /// One of them. Where none comes back, they hang on a server that is gone.
    pub(in crate::store::sql) async fn lend(&self) -> Result<PoolConnection<Postgres>, sqlx::Error> {
        let lent = self.now().acquire().await;
        if matches!(lent, Err(sqlx::Error::PoolTimedOut)) {
            self.renew();
        }
        lent
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
        let begun = self.now().begin_with(SNAPSHOT).await;
        if matches!(begun, Err(sqlx::Error::PoolTimedOut)) {
            self.renew();
        }
        begun
    }
}

impl Pool {
    /// A connection.
    pub(in crate::store) fn acquire(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let lent = async move {
            Ok(match self {
                Self::Sqlite(pool) => Connection::SqliteLent(Box::new(pool.acquire().await?)),
                Self::Postgres(pool) => Connection::PostgresLent(Box::new(pool.lend().await?)),
            })
        };
        lent.boxed()
    }

    /// A connection on which everything that is read is of one moment.
    pub(in crate::store) fn begin(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let begun = async move {
            Ok(match self {
                Self::Sqlite(pool) => Connection::SqliteLent(Box::new(pool.begin().await?)),
                Self::Postgres(pool) => Connection::PostgresLent(Box::new(pool.begin().await?)),
            })
        };
        begun.boxed()
    }

    pub(in crate::store) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            // One that is waited for in vain comes back no sooner for it.
            Self::Postgres(pool) => drop(tokio::time::timeout(CLOSE_MAX, pool.now().close()).await),
        }
    }
}

/// What a statement is handed to.
pub(in crate::store) enum Via<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
    SqlitePool(&'c SqlitePool),
    PostgresPool(ServerPool),
}

impl<'c> From<&'c mut Connection> for Via<'c> {
    fn from(connection: &'c mut Connection) -> Self {
        match connection {
            Connection::Sqlite(connection) => Self::Sqlite(connection),
            Connection::Postgres(connection) => Self::Postgres(connection),
            Connection::SqliteLent(lent) => Self::Sqlite(lent),
            Connection::PostgresLent(lent) => Self::Postgres(lent),
        }
    }
}

impl<'c> From<&'c Pool> for Via<'c> {
    fn from(pool: &'c Pool) -> Self {
        match pool {
            Pool::Sqlite(pool) => Self::SqlitePool(pool),
            Pool::Postgres(pool) => Self::PostgresPool(pool.clone()),
        }
    }
}

impl<'c> From<&'c mut SqliteConnection> for Via<'c> {
    fn from(connection: &'c mut SqliteConnection) -> Self {
        Self::Sqlite(connection)
    }
}
