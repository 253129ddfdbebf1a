//! The connections that read: a pool of its own, so that nobody who reads waits for who writes.

use std::sync::Arc;

use crate::store::sql::connection::Pool;
use crate::store::values::beat_rows::BeatRows;

/// Whatever is only read of the database. The handle that also writes has it inside, so each question stands once.
#[derive(Debug, Clone)]
pub struct Readers {
    pub(in crate::store) readers: Pool,
    /// Where the rows of each monitor's beats stand.
    pub(in crate::store) rows: Arc<BeatRows>,
}
