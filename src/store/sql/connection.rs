//! Where a statement goes: a connection of our own, one lent by a pool, or whichever a pool has.

use std::fmt;
use std::ops::DerefMut;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::Connection as _;
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::sqlite::{SqliteConnection, SqlitePool};

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
#[derive(Debug, Clone)]
pub(in crate::store) struct ServerPool(Arc<Mutex<PgPool>>);

impl ServerPool {
    pub(in crate::store) fn new(pool: PgPool) -> Self {
        Self(Arc::new(Mutex::new(pool)))
    }

    fn now(&self) -> PgPool {
        self.0.lock().clone()
    }

    /// Reads by new connections alone from now on. Those that are lent go when they come back.
    pub(in crate::store) fn renew(&self, pool: PgPool) {
        let before = std::mem::replace(&mut *self.0.lock(), pool);
        tokio::spawn(async move { before.close().await });
    }
}

impl Pool {
    /// A connection.
    pub(in crate::store) fn acquire(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let lent = async move {
            Ok(match self {
                Self::Sqlite(pool) => Connection::SqliteLent(Box::new(pool.acquire().await?)),
                Self::Postgres(pool) => Connection::PostgresLent(Box::new(pool.now().acquire().await?)),
            })
        };
        lent.boxed()
    }

    /// A connection on which everything that is read is of one moment.
    pub(in crate::store) fn begin(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        let begun = async move {
            Ok(match self {
                Self::Sqlite(pool) => Connection::SqliteLent(Box::new(pool.begin().await?)),
                Self::Postgres(pool) => Connection::PostgresLent(Box::new(pool.now().begin_with(SNAPSHOT).await?)),
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
    PostgresPool(PgPool),
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
            Pool::Postgres(pool) => Self::PostgresPool(pool.now()),
        }
    }
}

impl<'c> From<&'c mut SqliteConnection> for Via<'c> {
    fn from(connection: &'c mut SqliteConnection) -> Self {
        Self::Sqlite(connection)
    }
}
