//! What stood around the beats of the past, for `serin backtest`: the locks they were judged by, who was told of
//! what came of them, and what happened between two of them.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::domain::contract::FIRST_STABLE;
use crate::domain::monitor::MonitorId;
use crate::domain::paging::hold::HoldKind;
use crate::domain::paging::notification::Event;
use crate::store::read::readers::Readers;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::timestamp;
use crate::store::values::error::StoreError;

/// What is kept of a text that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextKept {
    /// Of the whole.
    pub(crate) bytes: u64,
    /// How it begins, as it may be shown.
    pub(crate) begins: String,
}

impl TextKept {
    /// Whether it is the whole, just as it came: nothing was cut off, escaped or hidden.
    pub(crate) const fn is_whole(&self) -> bool {
        self.begins.len() as u64 == self.bytes
    }
}

impl Readers {
    /// What is kept of texts, by their names; one of which nothing is kept is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn texts(&self, names: &[&str]) -> Result<HashMap<String, TextKept>, StoreError> {
        let rows = query(concat!(
            "SELECT s.name, t.bytes, t.begins FROM sources s JOIN texts t ON t.source = s.id \
             WHERE s.name IN ",
            texts!("$1")
        ));
        let rows = rows.bind(serde_json::json!(names).to_string()).fetch_all(&self.readers).await?;
        let text = |row: &Row| {
            let bytes: i64 = row.try_get(1)?;
            Ok((row.try_get(0)?, TextKept { bytes: bytes.unsigned_abs(), begins: row.try_get(2)? }))
        };
        rows.iter().map(text).collect()
    }

    /// The hash of what was pinned of a monitor, by the number that beats name it by.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn locks_in_force(&self) -> Result<HashMap<i64, String>, StoreError> {
        let rows = query("SELECT number, hash FROM locks").fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    /// When people were first told of each incident that was opened since then, by its id; one that nobody was told of is
    /// left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn told_first(&self, since: DateTime<Utc>) -> Result<HashMap<String, DateTime<Utc>>, StoreError> {
        let rows = query(
            "SELECT n.incident, MIN(n.at) FROM incidents i JOIN notifications n ON n.incident = i.id \
             WHERE i.opened_at >= $1 AND EXISTS (SELECT 1 FROM deliveries d WHERE d.notification = n.id) \
             GROUP BY n.incident",
        );
        let rows = rows.bind(since.timestamp_micros()).fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, timestamp(row, 1)?))).collect()
    }

    /// Incidents opened since then that a window of maintenance kept quiet, by id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn kept_quiet_by_windows(&self, since: DateTime<Utc>) -> Result<HashSet<String>, StoreError> {
        let rows = query(
            "SELECT DISTINCT h.incident FROM incidents i JOIN holds h ON h.incident = i.id \
             WHERE i.opened_at >= $1 AND h.kind = $2",
        );
        let rows = rows.bind(since.timestamp_micros()).bind(HoldKind::Window.slug()).fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// When servers were seen to have been started anew, as far as anybody was told, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn restarts_seen(&self, since: DateTime<Utc>) -> Result<Occurrences, StoreError> {
        let rows = query("SELECT monitor, at FROM notifications WHERE event = $1 AND at >= $2 ORDER BY at");
        let rows = rows.bind(Event::ServerRestarted.slug()).bind(since.timestamp_micros());
        by_monitor(&rows.fetch_all(&self.readers).await?)
    }

    /// When lists of tools were accepted by a person or a lock, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn acceptances(&self, since: DateTime<Utc>) -> Result<Occurrences, StoreError> {
        let rows = query(
            "SELECT monitor, from_at FROM monitor_tools WHERE accepted_by <> $1 AND from_at >= $2 ORDER BY from_at",
        );
        let rows = rows.bind(FIRST_STABLE).bind(since.timestamp_micros());
        by_monitor(&rows.fetch_all(&self.readers).await?)
    }
}

/// When something happened, by monitor.
pub(crate) type Occurrences = HashMap<MonitorId, Vec<DateTime<Utc>>>;

fn by_monitor(rows: &[Row]) -> Result<Occurrences, StoreError> {
    let mut found = Occurrences::new();
    for row in rows {
        found.entry(MonitorId::new(row.try_get(0)?)).or_default().push(timestamp(row, 1)?);
    }
    Ok(found)
}
