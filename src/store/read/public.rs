//! What a public page asks for: of each incident no more than its words are made of, so that nothing else can slip out.

use std::path::Path;

use chrono::{DateTime, Utc};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::domain::monitor::MonitorId;
use crate::domain::paging::hold::HoldKind;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;
use crate::store::file::readers::Readers;
use crate::store::file::schema;
use crate::store::values::column::{timestamp, timestamp_or_none, word};
use crate::store::values::error::StoreError;

/// Incidents of a month that are read for one page, the latest ones: a fleet that has more is told of by its latest.
const INCIDENTS_MAX: u32 = 1_000;

/// An incident as far as the public hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicIncident {
    /// Its id, which is shown to nobody.
    pub id: String,
    /// The monitor it belongs to.
    pub monitor: MonitorId,
    /// The signal that was elevated.
    pub signal: Signal,
    /// Never a notice.
    pub severity: Severity,
    /// What its public sentence is chosen by.
    pub reason: FailureReason,
    /// When it opened, UTC.
    pub opened_at: DateTime<Utc>,
    /// When it ended, UTC; none while it is open.
    pub resolved_at: Option<DateTime<Utc>>,
    /// Whether a maintenance window of the file held it to its end, or holds it.
    pub is_planned: bool,
}

impl Readers {
    /// Pages and tickets of these monitors that were open at some time since a moment, the newest first. One query,
    /// however many monitors there are.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn public_incidents(
        &self,
        monitors: &[&MonitorId],
        since: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Vec<PublicIncident>, StoreError> {
        let ids: Vec<&str> = monitors.iter().map(|id| id.as_str()).collect();
        let rows = sqlx::query(
            "SELECT id, monitor, signal, severity, reason, opened_at, resolved_at, EXISTS (SELECT 1 FROM holds h \
             WHERE h.incident = i.id AND h.kind = $4 AND COALESCE(h.ended_at, h.until, $3) >= COALESCE(i.resolved_at, $3)) \
             FROM incidents i WHERE monitor IN (SELECT value FROM json_each($1)) AND severity <> $5 \
             AND (resolved_at IS NULL OR resolved_at >= $2) ORDER BY opened_at DESC, id DESC LIMIT $6",
        )
        .bind(serde_json::json!(ids).to_string())
        .bind(since.timestamp_micros())
        .bind(now.timestamp_micros())
        .bind(HoldKind::Window.slug())
        .bind(Severity::Notice.slug())
        .bind(INCIDENTS_MAX)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(public_incident).collect()
    }
}

/// The key of links in a database that a Serin may be using; none where it has not made one yet. Nothing is written.
///
/// # Errors
/// Where the file cannot be read, or is no database of ours.
pub async fn link_key_at(database: &Path) -> Result<Option<[u8; 32]>, StoreError> {
    let readers = schema::readers(database).await?;
    let row = sqlx::query("SELECT unhex(value) FROM meta WHERE key = 'link_key'").fetch_optional(&readers).await?;
    readers.close().await;
    let Some(row) = row else { return Ok(None) };
    let key: Vec<u8> = row.try_get(0)?;
    key.try_into().map(Some).map_err(|_| StoreError::Unreadable("the key of links".to_owned()))
}

fn public_incident(row: &SqliteRow) -> Result<PublicIncident, StoreError> {
    Ok(PublicIncident {
        id: row.try_get(0)?,
        monitor: MonitorId::new(row.try_get(1)?),
        signal: word(row.try_get(2)?, "signal", Signal::from_slug)?,
        severity: word(row.try_get(3)?, "severity", Severity::from_slug)?,
        reason: word(row.try_get(4)?, "reason", FailureReason::from_slug)?,
        opened_at: timestamp(row, 5)?,
        resolved_at: timestamp_or_none(row, 6)?,
        is_planned: row.try_get(7)?,
    })
}
