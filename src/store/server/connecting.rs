//! Connections to whichever server takes writes.
//!
//! Of the servers of an address one is written to; the others recover what it writes and would take over. Each new connection
//! asks them in turn, so that a failover needs nobody's hand. All that a Serin writes stands in one session at a time that has
//! a lock of the database, in common with other Serins, or alone where everything is moved elsewhere.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Row as _};

use crate::domain::database_address::ServerAddress;
use crate::store::sql::connection::Connection;
use crate::store::values::error::StoreError;

/// How long one server may take to be reached.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long a page waits for a reading connection.
const READER_WAIT: Duration = Duration::from_secs(5);
/// Reading connections: pages are few.
const READERS_MAX: u32 = 4;
/// Statements kept prepared by a connection.
const STATEMENTS_KEPT: usize = 300;
/// The oldest version whose words Serin's statements are.
const VERSION_MIN: i32 = 150_000;
/// The lock that a Serin has on its database, among those of other programs: `serin` in ASCII.
const LOCK: i64 = 0x73_6572_696e;

/// What each session is set to. A connection that nobody ends, of a machine that stopped, gives its locks back within these
/// seconds.
const SETTINGS: &str = "SET idle_in_transaction_session_timeout = '10s'; SET lock_timeout = '10s'; \
     SET client_connection_check_interval = '5s'; SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; \
     SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'";

/// Whether others work on a database meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum LockMode {
    /// Each of them watches a part of the fleet.
    Shared,
    /// Everything is moved.
    Exclusive,
}

/// The servers of an address, and which of them was written to last.
#[derive(Clone)]
pub(in crate::store) struct Servers {
    options: Vec<PgConnectOptions>,
    primary: Arc<Mutex<usize>>,
}

/// Without what the driver would show of a password.
impl fmt::Debug for Servers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<&str> = self.options.iter().map(PgConnectOptions::get_host).collect();
        out.debug_struct("Servers").field("hosts", &hosts).finish_non_exhaustive()
    }
}

impl Servers {
    /// # Errors
    /// Where an address is none that the driver knows.
    pub(in crate::store) fn of(address: &ServerAddress) -> Result<Self, StoreError> {
        let options = address.urls().iter().map(|url| {
            let options = PgConnectOptions::from_url(url)?.application_name("serin").extra_float_digits(None);
            // Heard at `sqlx=trace` alone, and without values: what a page asks can be counted.
            let options = options.log_statements(log::LevelFilter::Trace);
            let options = options.log_slow_statements(log::LevelFilter::Off, Duration::MAX);
            Ok(options.statement_cache_capacity(STATEMENTS_KEPT))
        });
        let options = options.collect::<Result<_, sqlx::Error>>()?;
        Ok(Self { options, primary: Arc::default() })
    }

    /// A connection to the server that takes writes, which has Serin's lock.
    ///
    /// # Errors
    /// Where none takes any, or another Serin has the lock alone, or in common where we want it alone ([`StoreError::Taken`]).
    pub(in crate::store) async fn writer(&self, mode: LockMode) -> Result<PgConnection, StoreError> {
        let mut connection = self.primary().await?;
        let locked = async {
            // What was committed has to be on disk, whatever somebody set for the role.
            let sure = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')";
            sqlx::query(sure).fetch_optional(&mut connection).await?;
            let lock = match mode {
                LockMode::Shared => "SELECT pg_try_advisory_lock_shared($1)",
                LockMode::Exclusive => "SELECT pg_try_advisory_lock($1)",
            };
            let held = sqlx::query(lock).bind(LOCK).fetch_one(&mut connection).await?;
            Ok(held.try_get::<bool, _>(0)?)
        };
        if within(CONNECT_MAX, locked).await? {
            return Ok(connection);
        }
        goodbye(Connection::Postgres(connection)).await;
        Err(StoreError::Taken)
    }

    /// A connection to the server that takes writes: the last one that did is asked first.
    ///
    /// # Errors
    /// Why none does.
    pub(in crate::store) async fn primary(&self) -> Result<PgConnection, StoreError> {
        let first = *self.primary.lock();
        let mut refused = Vec::new();
        for turn in 0..self.options.len() {
            let place = (first + turn) % self.options.len();
            match within(CONNECT_MAX, writable(&self.options[place])).await {
                Ok(connection) => {
                    *self.primary.lock() = place;
                    return Ok(connection);
                }
                Err(error) => refused.push((self.options[place].get_host(), error)),
            }
        }
        // Each says why, and as long as one of them may come back, it is waited for.
        let may_pass = refused.iter().any(|(_, error)| error.may_pass());
        let why = refused.into_iter().map(|(host, error)| match error {
            StoreError::Unreachable(why) | StoreError::Other(why) => format!("{host}: {why}"),
            error => format!("{host}: {error}"),
        });
        let why = why.collect::<Vec<_>>().join("; ");
        Err(if may_pass { StoreError::Unreachable(why) } else { StoreError::Other(why) })
    }

    /// Connections that read, opened as they are needed; from the server that takes writes, so that a page shows what was
    /// decided a moment ago.
    pub(in crate::store) fn readers(&self) -> PgPool {
        let pool = PgPoolOptions::new().max_connections(READERS_MAX).min_connections(0).acquire_timeout(READER_WAIT);
        let pool = pool.after_connect(|connection, _| {
            Box::pin(async move {
                settle(connection).await?;
                let recovers = sqlx::query("SELECT pg_is_in_recovery()").fetch_one(&mut *connection).await?;
                match recovers.try_get(0)? {
                    // It took writes when it was last asked, and is behind by now.
                    true => {
                        Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::NotConnected, "it takes no writes any more")))
                    }
                    false => Ok(()),
                }
            })
        });
        pool.connect_lazy_with(self.options[*self.primary.lock()].clone())
    }
}

/// What a server may take for; then it is not there.
///
/// # Errors
/// As what is waited for, or [`StoreError::Unreachable`] where that takes too long.
pub(in crate::store) async fn within<T>(
    most: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let late = |_| StoreError::Unreachable(format!("no answer within {} s", most.as_secs()));
    tokio::time::timeout(most, answer).await.map_err(late)?
}

async fn settle(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(SETTINGS).execute(connection).await.map(drop)
}

/// Closes a connection in order, where the server still listens; else it lets go by itself, only later.
pub(in crate::store) async fn goodbye(connection: Connection) {
    let closed = async { Ok(connection.close().await?) };
    drop(within(CONNECT_MAX, closed).await);
}

async fn writable(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    let mut connection = options.connect().await?;
    settle(&mut connection).await?;
    let asked = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', \
                 CAST(current_setting('server_version_num') AS INTEGER), current_setting('server_encoding')";
    let row = sqlx::query(asked).fetch_one(&mut connection).await?;
    let (recovers, only_reads, version): (bool, bool, i32) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let encoding: &str = row.try_get(3)?;
    let version_named = version / 10_000;
    let refused = match version {
        ..VERSION_MIN => StoreError::Other(format!("it is PostgreSQL {version_named}; Serin needs 15 or newer")),
        _ if encoding != "UTF8" => {
            StoreError::Other(format!("the database has the encoding {encoding}; Serin needs UTF8"))
        }
        _ if recovers => StoreError::Unreachable("it recovers what another server writes".to_owned()),
        _ if only_reads => StoreError::Unreachable("it takes no writes".to_owned()),
        _ => return Ok(connection),
    };
    goodbye(Connection::Postgres(connection)).await;
    Err(refused)
}
