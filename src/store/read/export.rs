//! The past, read beside a Serin that may be running: for `serin export`.
//!
//! Only reading connections, which no write waits for; incidents come as a stream, beats and days by the monitor and
//! day, so that memory does not grow with the past.

use chrono::{DateTime, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::store::read::readers::Readers;
use crate::store::sql::statement::query;
use crate::store::values::column::{incident, incidents, timestamp};
use crate::store::values::error::StoreError;

/// What is wanted of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Only of this monitor.
    pub monitor: Option<MonitorId>,
    /// From this moment on.
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
}

impl Readers {
    /// Incidents that were opened in the span, the oldest first.
    pub fn incidents_of(&self, span: &Span) -> BoxStream<'_, Result<Incident, StoreError>> {
        query(incidents!(
            "WHERE (CAST($1 AS TEXT) IS NULL OR monitor = $1) AND opened_at >= $2 AND opened_at < $3 ORDER BY opened_at, id"
        ))
        .bind(span.monitor.as_ref().map(|monitor| monitor.as_str().to_owned()))
        .bind(span.from.timestamp_micros())
        .bind(span.to.timestamp_micros())
        .fetch(&self.readers)
        .map_err(StoreError::from)
        .and_then(|row| async move { incident(&row) })
        .boxed()
    }

    /// Every monitor that was ever in the fleet, by id, and when it was first seen.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn monitors_ever(&self) -> Result<Vec<(MonitorId, DateTime<Utc>)>, StoreError> {
        let rows = query("SELECT id, first_seen FROM monitors ORDER BY id").fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((MonitorId::new(row.try_get(0)?), timestamp(row, 1)?))).collect()
    }
}
