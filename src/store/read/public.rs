//! What a public page asks for: of each incident no more than its words are made of, so that nothing else can slip out.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::database_address::DatabaseAddress;
use crate::domain::monitor::MonitorId;
use crate::domain::paging::hold::HoldKind;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::Signal;
use crate::store::read::beside;
use crate::store::read::readers::Readers;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{timestamp, timestamp_or_none, word};
use crate::store::values::error::StoreError;
use crate::store::values::incident_memory;

/// Incidents of a month that are read for one page, those that are open first: a fleet that has more is told of by its latest.
const INCIDENTS_MAX: u32 = 1_000;

/// A window that holds an incident this soon was on when it opened; one that came later covers nothing of what was before.
const HELD_WITHIN: TimeDelta = TimeDelta::minutes(2);

/// Of some monitors what is open or ended since a moment; `incidents_of_monitor_by_end` is made for it.
const ASKED: &str = concat!(
    "SELECT id, monitor, signal, severity, reason, opened_at, resolved_at, EXISTS (SELECT 1 FROM holds h \
     WHERE h.incident = i.id AND h.kind = $4 AND h.since <= i.opened_at + $7 \
     AND COALESCE(h.ended_at, h.until, $3) >= COALESCE(i.resolved_at, $3)), course \
     FROM incidents i WHERE monitor IN ",
    texts!("$1"),
    " AND severity <> $5 \
     AND COALESCE(resolved_at, 9223372036854775807) >= $2 \
     ORDER BY resolved_at IS NULL DESC, opened_at DESC, id DESC LIMIT $6"
);

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
    /// When it was seen to fail first, UTC.
    pub began_at: DateTime<Utc>,
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
        let rows = query(ASKED)
            .bind(serde_json::json!(ids).to_string())
            .bind(since.timestamp_micros())
            .bind(now.timestamp_micros())
            .bind(HoldKind::Window.slug())
            .bind(Severity::Notice.slug())
            .bind(INCIDENTS_MAX)
            .bind(HELD_WITHIN.num_microseconds())
            .fetch_all(&self.readers)
            .await?;
        let mut all: Vec<PublicIncident> = rows.iter().map(public_incident).collect::<Result<_, _>>()?;
        all.sort_by(|one, other| (other.began_at, &other.id).cmp(&(one.began_at, &one.id)));
        Ok(all)
    }
}

/// The key of links in a database that a Serin may be using; none where it has not made one yet. Nothing is written.
///
/// # Errors
/// Where the file cannot be read, or is no database of ours.
pub async fn link_key_at(database: &DatabaseAddress) -> Result<Option<[u8; 32]>, StoreError> {
    let readers = beside::readers(database).await?;
    let row = query("SELECT value FROM meta WHERE key = 'link_key'").fetch_optional(&readers).await?;
    readers.close().await;
    let Some(row) = row else { return Ok(None) };
    let mut key = [0; 32];
    hex::decode_to_slice(row.try_get::<&str>(0)?, &mut key)
        .map_err(|error| StoreError::Unreadable(format!("the key of links: {error}")))?;
    Ok(Some(key))
}

fn public_incident(row: &Row) -> Result<PublicIncident, StoreError> {
    let (opened_at, course) = (timestamp(row, 5)?, incident_memory::read(row.try_get(8)?)?);
    Ok(PublicIncident {
        id: row.try_get(0)?,
        monitor: MonitorId::new(row.try_get(1)?),
        signal: word(row.try_get(2)?, "signal", Signal::from_slug)?,
        severity: word(row.try_get(3)?, "severity", Severity::from_slug)?,
        reason: word(row.try_get(4)?, "reason", FailureReason::from_slug)?,
        began_at: [course.since, course.began_at].into_iter().flatten().fold(opened_at, DateTime::min),
        resolved_at: timestamp_or_none(row, 6)?,
        is_planned: row.try_get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions as _;

    use super::*;
    use crate::store::file::schema;
    use crate::store::sql::statement::assembled;

    #[tokio::test]
    async fn what_is_long_over_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serin.db");
        let mut connection = schema::connecting(&path).create_if_missing(true).connect().await.unwrap();
        schema::migrate(&path, &mut connection).await.unwrap();
        let plan = assembled(format!("EXPLAIN QUERY PLAN {ASKED}").into());
        let steps = plan.fetch_all(&mut connection).await.unwrap();
        let steps: Vec<&str> = steps.iter().map(|row| row.try_get(3).unwrap()).collect();
        let searched = "SEARCH i USING INDEX incidents_of_monitor_by_end (monitor=? AND <expr>>?)";
        assert!(steps.contains(&searched), "by monitor, and only from a moment on: {steps:?}");
    }
}
