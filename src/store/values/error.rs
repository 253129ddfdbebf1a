//! How the database's own errors become ours.

use std::io;
use std::path::{Path, PathBuf};

use sqlx::error::ErrorKind;
use sqlx::postgres::PgDatabaseError;

/// What we call it where a file is not in its place: no network says so.
pub(in crate::store) const MISPLACED: io::ErrorKind = io::ErrorKind::InvalidFilename;

/// Why a read or a write did not happen. One failure answers everybody who shared the commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The writer has stopped: Serin is shutting down.
    #[error("the database is closed")]
    Closed,
    /// Another process holds the database for longer than we wait.
    #[error(
        "the database is locked by another process; end that process (a backup, an open sqlite3 or psql shell), or bring back the standby that a server waits for"
    )]
    Locked,
    /// No space is left, on the disk or below the database's own limit.
    #[error("the disk is full; free space on the disk that holds the database")]
    Full,
    /// The file is no longer in its place; what is open goes on, and nothing new is opened.
    #[error("{0}; put the file that was there back, as it is in use")]
    Moved(String),
    /// The file cannot be read or written.
    #[error("the database file cannot be read or written ({0}); look at its disk, its permissions and its size limits")]
    Io(String),
    /// The server does not answer, goes down, or takes no writes.
    #[error("the database server cannot be used ({0}); look at the server and at the network between")]
    Unreachable(String),
    /// Everything on the server is moved, or others work there while we want to move it.
    #[error(
        "another serin works on this database; wait for its end, or stop it (one that was killed lets go within 10 s)"
    )]
    Taken,
    /// Another machine watches by now what this was decided for.
    #[error("another serin watches this monitor by now")]
    LeaseLost,
    /// The file is no sound database.
    #[error("the database is damaged ({0}); restore it from a backup")]
    Damaged(String),
    /// This one record contradicts what is stored; the others of its commit are safe.
    #[error("the record contradicts what is stored ({0})")]
    Conflict(String),
    /// A stored word that this version does not know.
    #[error("the database holds something this version cannot read ({0}); was it written by a newer Serin?")]
    Unreadable(String),
    /// All reading connections are busy.
    #[error("the database has too many readers at once; try again")]
    ReadersBusy,
    /// Anything else the database says.
    #[error("the database failed ({0})")]
    Other(String),
}

/// Why the database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another Serin runs on this database.
    #[error("{} is in use by another serin; stop that one, or give this one a `database:` of its own", .path.display())]
    InUse {
        /// The database file in question.
        path: PathBuf,
    },
    /// The database, or the lock file beside it, cannot be opened or made.
    #[error("cannot lock {}: {source}; the folder must exist and be writable", .path.display())]
    Lock {
        /// The file that cannot be locked.
        path: PathBuf,
        /// What refused it, in its own words.
        source: std::io::Error,
    },
    /// The tables cannot be brought to this version.
    #[error("cannot bring {} up to this version ({message}); was it written by a newer Serin?", .path.display())]
    Migrate {
        /// The database file in question.
        path: PathBuf,
        /// What the migration ended with.
        message: String,
    },
    /// The file is no sound database. What is said is the way out, since nobody can be paged while it lasts.
    #[error(
        "{} is damaged ({what})\n  `serin restore BACKUP` puts a backup in its place and keeps this file beside it;\n  \
         `serin run --set-aside-damaged` keeps it beside too, and starts anew without any history",
        .path.display()
    )]
    Damaged {
        /// The database file in question.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It does not open, for a reason of the database's own.
    #[error("cannot open {}: {source}", .path.display())]
    Database {
        /// The database file in question.
        path: PathBuf,
        /// What refused it, in its own words.
        source: StoreError,
    },
}

impl StoreError {
    /// Whether it may end without anybody touching the database or the configuration: another process lets go of it,
    /// somebody makes room on its disk.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Locked | Self::Full | Self::Io(_) | Self::ReadersBusy | Self::Unreachable(_) | Self::Taken)
    }
}

impl OpenError {
    /// What keeps the database from being opened, where that may pass ([`StoreError::may_pass`]).
    pub fn passing(&self) -> Option<StoreError> {
        match self {
            Self::Database { source, .. } => Some(source.clone()).filter(StoreError::may_pass),
            Self::Lock { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(StoreError::Full),
                // A path or a permission that somebody got wrong.
                io::ErrorKind::NotFound
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidFilename
                | io::ErrorKind::InvalidInput => None,
                _ => Some(StoreError::Io(source.to_string())),
            },
            Self::InUse { .. } | Self::Migrate { .. } | Self::Damaged { .. } => None,
        }
    }

    /// The same trouble, met while opening.
    pub fn of(path: &Path, source: StoreError) -> Self {
        let path = path.to_owned();
        match source {
            StoreError::Damaged(what) => Self::Damaged { path, what },
            source => Self::Database { path, source },
        }
    }
}

impl StoreError {
    /// Whether the connection itself may be broken, so that a new one is worth a try.
    pub(in crate::store) const fn wants_new_connection(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Damaged(_) | Self::Unreachable(_) | Self::Other(_))
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                let message = database.message().to_owned();
                if is_conflict(&error) {
                    return Self::Conflict(message);
                }
                if database.try_downcast_ref::<PgDatabaseError>().is_some() {
                    return of_server(&database.code().unwrap_or_default(), message);
                }
                // The lowest byte of SQLite's extended code is its primary code (sqlite.org/rescode.html).
                let code = database.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or_default() & 0xff;
                match code {
                    5 | 6 => Self::Locked,
                    13 => Self::Full,
                    8 | 10 | 14 => Self::Io(message),
                    11 | 26 => Self::Damaged(message),
                    _ => Self::Other(message),
                }
            }
            sqlx::Error::Io(io) if io.kind() == MISPLACED => Self::Io(io.to_string()),
            // Everything else comes of the network.
            sqlx::Error::Io(io) => Self::Unreachable(io.to_string()),
            sqlx::Error::Tls(error) => Self::Unreachable(error.to_string()),
            // A connection that ended before it began reads like this: a balancer takes it, and has no server to give.
            sqlx::Error::Protocol(why) => Self::Unreachable(why.clone()),
            sqlx::Error::PoolTimedOut => Self::ReadersBusy,
            sqlx::Error::PoolClosed => Self::Closed,
            sqlx::Error::ColumnDecode { index, source } => Self::Unreadable(format!("column {index}: {source}")),
            sqlx::Error::Decode(source) => Self::Unreadable(source.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

/// What a server says, by its code (postgresql.org/docs/current/errcodes-appendix.html).
fn of_server(code: &str, message: String) -> StoreError {
    match code {
        "55P03" | "40001" | "40P01" => StoreError::Locked,
        "53100" => StoreError::Full,
        // It ends, starts, has no room for another connection, or is no longer the one that takes writes.
        "25006" | "25P03" => StoreError::Unreachable(message),
        code if ["08", "53", "57"].iter().any(|class| code.starts_with(class)) => StoreError::Unreachable(message),
        _ => StoreError::Other(message),
    }
}

/// Whether the statement broke a constraint, which is the fault of the record and not of the database.
pub(in crate::store) fn is_conflict(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|database| {
        if !matches!(database.kind(), ErrorKind::Other) {
            return true;
        }
        let code = database.code().unwrap_or_default();
        match database.try_downcast_ref::<PgDatabaseError>() {
            // A row twice in one statement, a value that its column does not take, or one too long for an index.
            Some(_) => ["21", "22", "44", "54"].iter().any(|class| code.starts_with(class)),
            // SQLite's STRICT typing has a code below CONSTRAINT (19) that sqlx calls `Other`.
            None => code.parse::<i32>().is_ok_and(|code| code & 0xff == 19),
        }
    })
}
