//! The past, read row by row beside a Serin that may be running: for `serin export`.
//!
//! A read-only connection of its own, which no write waits for. Rows come as a stream, so that memory does not grow
//! with the past.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};

use crate::domain::fleet::MonitorId;
use crate::domain::incident::Incident;
use crate::store::column::{incident, incidents};
use crate::store::{StoreError, schema};

/// How long a row waits where the database is being recovered or closed by its Serin.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// What is wanted of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Only of this monitor.
    pub monitor: Option<MonitorId>,
    /// From this moment on.
    pub from: DateTime<Utc>,
    /// Before this moment.
    pub to: DateTime<Utc>,
}

/// A database that is only read.
#[derive(Debug)]
pub struct Export {
    connection: SqliteConnection,
}

impl Export {
    /// Opens a database, in use or not.
    ///
    /// # Errors
    /// Where there is none, it cannot be read, or no Serin or a newer one made it.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(BUSY_TIMEOUT);
        let mut connection = options.disable_statement_logging().connect().await?;
        schema::version(&mut connection).await?;
        Ok(Self { connection })
    }

    /// Incidents that were opened in the stretch, the oldest first.
    pub fn incidents(&mut self, stretch: &Stretch) -> BoxStream<'_, Result<Incident, StoreError>> {
        sqlx::query(incidents!(
            "WHERE ($1 IS NULL OR monitor = $1) AND opened_at >= $2 AND opened_at < $3 ORDER BY opened_at, id"
        ))
        .bind(stretch.monitor.as_ref().map(|monitor| monitor.as_str().to_owned()))
        .bind(stretch.from.timestamp_micros())
        .bind(stretch.to.timestamp_micros())
        .fetch(&mut self.connection)
        .map_err(StoreError::from)
        .and_then(|row| async move { incident(&row) })
        .boxed()
    }
}
