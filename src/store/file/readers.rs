//! The connections that read: a pool of its own, so that nobody who reads waits for who writes.

use sqlx::sqlite::SqlitePool;

/// Whatever is only read of the database. The handle that also writes has it inside, so each question stands once.
#[derive(Debug, Clone)]
pub struct Readers {
    pub(in crate::store) readers: SqlitePool,
}
