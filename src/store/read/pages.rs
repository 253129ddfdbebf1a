//! What pages and the API ask for. Every query is bounded and takes the read pool, never the writer.

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::signal::Signal;
use crate::store::read::readers::Readers;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{incident, incidents, timestamp};
use crate::store::values::error::StoreError;

/// Rows one page of a list holds.
pub const PAGE_ROWS: u32 = 50;
/// Lines of a timeline shown: an incident that has more is read from its end.
const TIMELINE_MAX: u32 = 500;
/// Incidents drawn into one chart.
const SHADES_MAX: u32 = 500;

/// Which incidents a list wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IncidentFilter {
    /// Only of this monitor.
    pub monitor: Option<MonitorId>,
    /// Only of this signal.
    pub signal: Option<Signal>,
    /// Only open ones (true) or only ended ones (false).
    pub open: Option<bool>,
    /// Only what follows this one, the last of the page before.
    pub after: Option<IncidentPlace>,
}

/// Where a page of incidents ended: several may have opened at the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentPlace {
    /// When its last one opened.
    pub opened_at: DateTime<Utc>,
    /// Its id; empty: whatever opened then is on the page.
    pub id: String,
}

/// One line of an incident's timeline, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineLine {
    /// When it was written, UTC.
    pub at: DateTime<Utc>,
    /// `opened`, `updated`, `acknowledged`, `resolved`, `held` and the like.
    pub kind: String,
    /// `serin`, or the name of a person.
    pub actor: String,
    /// What the timeline shows, one line without markup.
    pub text: String,
}

impl Readers {
    /// Incidents, the newest first, at most [`PAGE_ROWS`].
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn incidents(&self, filter: &IncidentFilter) -> Result<Vec<Incident>, StoreError> {
        let rows = query(incidents!(
            "WHERE (CAST($1 AS TEXT) IS NULL OR monitor = $1) AND (CAST($2 AS TEXT) IS NULL OR signal = $2) \
             AND ($3 IS NULL OR (resolved_at IS NULL) = ($3 <> 0)) AND (opened_at, id) < ($4, $5) \
             ORDER BY opened_at DESC, id DESC LIMIT $6"
        ))
        .bind(filter.monitor.as_ref().map(MonitorId::as_str))
        .bind(filter.signal.map(Signal::slug))
        .bind(filter.open)
        .bind(filter.after.as_ref().map_or(i64::MAX, |last| last.opened_at.timestamp_micros()))
        .bind(filter.after.as_ref().map_or("", |last| &last.id))
        .bind(PAGE_ROWS)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(incident).collect()
    }

    /// One incident.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn incident(&self, id: &str) -> Result<Option<Incident>, StoreError> {
        let row = query(incidents!("WHERE id = $1")).bind(id).fetch_optional(&self.readers).await?;
        row.as_ref().map(incident).transpose()
    }

    /// An incident's timeline, the oldest first; of a very long one the latest lines.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn timeline(&self, incident: &str) -> Result<Vec<TimelineLine>, StoreError> {
        let rows =
            query("SELECT at, kind, actor, text FROM incident_events WHERE incident = $1 ORDER BY seq DESC LIMIT $2")
                .bind(incident)
                .bind(TIMELINE_MAX)
                .fetch_all(&self.readers)
                .await?;
        let line = |row: &Row| {
            Ok(TimelineLine {
                at: timestamp(row, 0)?,
                kind: row.try_get(1)?,
                actor: row.try_get(2)?,
                text: row.try_get(3)?,
            })
        };
        rows.iter().rev().map(line).collect()
    }

    /// Incidents of a monitor that were open at some time between two moments, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn incidents_between(
        &self,
        monitor: &MonitorId,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> Result<Vec<Incident>, StoreError> {
        let rows = query(incidents!(
            "WHERE monitor = $1 AND opened_at < $3 AND (resolved_at IS NULL OR resolved_at >= $2) \
             ORDER BY opened_at DESC, id DESC LIMIT $4"
        ))
        .bind(monitor.as_str())
        .bind(from.timestamp_micros())
        .bind(to.timestamp_micros())
        .bind(SHADES_MAX)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().rev().map(incident).collect()
    }
}
