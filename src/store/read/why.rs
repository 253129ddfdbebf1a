//! What is asked of the record to say why people were told, or were not: each question one query, however much there is.

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::paging::hold::TellingHold;
use crate::domain::paging::silence::{SILENCES_MAX, Silence};
use crate::store::packed::packs;
use crate::store::read::holds::{hold, holds};
use crate::store::read::readers::Readers;
use crate::store::read::silences::{silence, silences};
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{incident, incidents, timestamp, timestamp_or_none};
use crate::store::values::error::StoreError;

/// Incidents that a part of an id may stand for before it says nothing.
const MEANT_MAX: u32 = 8;
/// Holds of all incidents of an answer.
const HOLDS_MAX: u32 = 1_000;
/// Deliveries of each incident of an answer: what was told first comes first.
const TELLINGS_MAX: u32 = 40;

/// One delivery of an incident, with its last try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Telling {
    pub(crate) incident: String,
    pub(crate) event: String,
    pub(crate) receiver: String,
    pub(crate) fallback_of: Option<String>,
    pub(crate) at: DateTime<Utc>,
    pub(crate) state: String,
    pub(crate) tried_at: Option<DateTime<Utc>>,
    pub(crate) answer: String,
}

impl Readers {
    /// The incidents whose ids begin so, the latest first; at most [`MEANT_MAX`].
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn incidents_beginning(&self, part: &str) -> Result<Vec<Incident>, StoreError> {
        let rows = query(incidents!("WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT $3"));
        let rows = rows.bind(part).bind(format!("{part}\u{10ffff}")).bind(MEANT_MAX).fetch_all(&self.readers).await?;
        rows.iter().map(incident).collect()
    }

    /// Whether a monitor of this id was ever declared.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn was_declared(&self, monitor: &MonitorId) -> Result<bool, StoreError> {
        Ok(self.first_seen(monitor).await?.is_some())
    }

    /// From when on packs of beats are kept; none where no hour is packed yet.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn packed_since(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let row = query("SELECT MIN(slot) FROM beat_packs").fetch_one(&self.readers).await?;
        let slot: Option<i64> = row.try_get(0)?;
        slot.map(|slot| packs::hour_from(slot >> 32)).transpose()
    }

    /// What holds or held these incidents, the first first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn holds_of_all(&self, incidents: &[&str]) -> Result<Vec<TellingHold>, StoreError> {
        let rows = query(holds!(concat!("WHERE h.incident IN ", texts!("$1"), " ORDER BY h.since, h.by LIMIT $2")));
        let rows = rows.bind(serde_json::json!(incidents).to_string()).bind(HOLDS_MAX).fetch_all(&self.readers).await?;
        rows.iter().map(hold).collect()
    }

    /// What was told of these incidents and to whom, the first first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn tellings_of_all(&self, incidents: &[&str]) -> Result<Vec<Telling>, StoreError> {
        let rows = query(concat!(
            "SELECT d.incident, n.event, d.receiver, d.fallback_of, d.created_at, d.state, a.ended_at, \
             CASE a.ended WHEN 'accepted' THEN '' ELSE COALESCE(a.note, '') END \
             FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY incident ORDER BY created_at, sequence, receiver) AS nth \
             FROM deliveries WHERE incident IN ",
            texts!("$1"),
            ") d \
             JOIN notifications n ON n.id = d.notification \
             LEFT JOIN attempts a ON a.delivery = d.id \
             AND a.number = (SELECT MAX(number) FROM attempts WHERE delivery = d.id) \
             WHERE d.nth <= $2 ORDER BY d.created_at, d.sequence, d.receiver"
        ));
        let rows = rows.bind(serde_json::json!(incidents).to_string()).bind(TELLINGS_MAX).fetch_all(&self.readers);
        rows.await?.iter().map(telling).collect()
    }

    /// The silences that held at a moment, whatever became of them, and those of these ids.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub(crate) async fn silences_at(&self, at: DateTime<Utc>, ids: &[&str]) -> Result<Vec<Silence>, StoreError> {
        let rows = query(silences!(concat!(
            "WHERE from_at <= $1 AND (until_at IS NULL OR until_at > $1) AND (ended_at IS NULL OR ended_at > $1) \
             OR id IN ",
            texts!("$2"),
            " ORDER BY id LIMIT $3"
        )));
        let rows = rows.bind(at.timestamp_micros()).bind(serde_json::json!(ids).to_string()).bind(SILENCES_MAX as i64);
        rows.fetch_all(&self.readers).await?.iter().map(silence).collect()
    }
}

fn telling(row: &Row) -> Result<Telling, StoreError> {
    Ok(Telling {
        incident: row.try_get(0)?,
        event: row.try_get(1)?,
        receiver: row.try_get(2)?,
        fallback_of: row.try_get(3)?,
        at: timestamp(row, 4)?,
        state: row.try_get(5)?,
        tried_at: timestamp_or_none(row, 6)?,
        answer: row.try_get(7)?,
    })
}
