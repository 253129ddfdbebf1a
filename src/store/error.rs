//! How the database's own errors become ours.

use sqlx::error::ErrorKind;

use crate::store::StoreError;

impl StoreError {
    /// Whether the connection itself may be broken, so that a new one is worth a try.
    pub(in crate::store) const fn wants_new_connection(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Damaged(_) | Self::Other(_))
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
            sqlx::Error::Io(io) => Self::Io(io.to_string()),
            sqlx::Error::PoolTimedOut => Self::ReadersBusy,
            sqlx::Error::PoolClosed => Self::Closed,
            sqlx::Error::ColumnDecode { index, source } => Self::Unreadable(format!("column {index}: {source}")),
            sqlx::Error::Decode(source) => Self::Unreadable(source.to_string()),
            other => Self::Other(other.to_string()),
        }
    }
}

/// Whether the statement broke a constraint, which is the fault of the record and not of the database.
pub(in crate::store) fn is_conflict(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|database| {
        // SQLite's STRICT typing has a code below CONSTRAINT (19) that sqlx calls `Other`.
        !matches!(database.kind(), ErrorKind::Other)
            || database.code().and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 19)
    })
}
