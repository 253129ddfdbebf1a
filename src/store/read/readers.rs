//! The connections that read: a pool of its own, so that nobody who reads waits for who writes.

use std::sync::Arc;

use crate::domain::monitor::MonitorId;
use crate::store::read::unsealed;
use crate::store::sql::connection::{Connection, Pool};
use crate::store::values::beat_rows::BeatRows;
use crate::store::values::error::StoreError;

/// Whatever is only read of the database. The handle that also writes has it inside, so each question stands once.
#[derive(Debug, Clone)]
pub struct Readers {
    pub(in crate::store) readers: Pool,
    /// Where the rows of each monitor's beats stand in a file; of a server nothing is known here.
    pub(in crate::store) rows: Arc<BeatRows>,
}

impl Readers {
    /// A connection on which everything that is read is of one moment, and where a monitor's rows may stand then.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(in crate::store) async fn reading_of(&self, monitor: &MonitorId) -> Result<(Connection, Vec<i64>), StoreError> {
        let known = self.rows.of(monitor);
        let mut reading = self.readers.begin().await?;
        let starts = if reading.is_postgres() { unsealed::starts_of(&mut reading, monitor).await? } else { known };
        Ok((reading, starts))
    }
}
