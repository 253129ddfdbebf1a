//! What holds incidents, and whether anybody was told of them.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::paging::hold::{HoldKind, TellingHold};
use crate::domain::paging::tell::Telling;
use crate::store::read::readers::Readers;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{incident, incidents, timestamp, timestamp_or_none, word};
use crate::store::values::error::StoreError;

/// Holds and explained incidents that one page shows.
const SHOWN_MAX: u32 = 50;

/// A query for holds, to be read by [`hold`].
macro_rules! holds {
    ($rest:expr) => {
        concat!("SELECT h.incident, h.kind, h.by, h.since, h.until, h.ended_at FROM holds h ", $rest)
    };
}
pub(in crate::store::read) use holds;

impl Readers {
    /// What is known of telling each incident that has not ended, by its id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn tellings(&self) -> Result<HashMap<String, Telling>, StoreError> {
        let mut reading = self.readers.begin().await?;
        let told = query(
            "SELECT i.id, EXISTS (SELECT 1 FROM deliveries d WHERE d.incident = i.id) FROM incidents i \
             WHERE i.resolved_at IS NULL",
        );
        let told = told.fetch_all(&mut reading).await?;
        let of = |row: &Row| Ok((row.try_get(0)?, Telling::remembered(row.try_get(1)?, Vec::new())));
        let mut tellings: HashMap<String, Telling> = told.iter().map(of).collect::<Result<_, StoreError>>()?;
        let rows =
            query(holds!("JOIN incidents i ON i.id = h.incident WHERE i.resolved_at IS NULL ORDER BY h.since, h.by"));
        for row in rows.fetch_all(&mut reading).await? {
            let hold = hold(&row)?;
            if let Some(telling) = tellings.get_mut(&hold.incident) {
                telling.holds.push(hold);
            }
        }
        Ok(tellings)
    }

    /// What holds or held an incident, the latest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn holds_of(&self, incident: &str) -> Result<Vec<TellingHold>, StoreError> {
        let rows = query(holds!("WHERE h.incident = $1 ORDER BY h.since DESC, h.by LIMIT $2"));
        let rows = rows.bind(incident).bind(SHOWN_MAX).fetch_all(&self.readers).await?;
        rows.iter().map(hold).collect()
    }

    /// Every hold that holds an open incident, by that incident's id: of several, the first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn live_holds(&self, now: DateTime<Utc>) -> Result<HashMap<String, TellingHold>, StoreError> {
        let rows = query(holds!(
            "JOIN incidents i ON i.id = h.incident WHERE i.resolved_at IS NULL AND h.ended_at IS NULL \
             AND (h.until IS NULL OR h.until > $1) ORDER BY h.since DESC, h.by DESC"
        ));
        let rows = rows.bind(now.timestamp_micros()).fetch_all(&self.readers).await?;
        rows.iter().map(|row| hold(row).map(|hold| (hold.incident.clone(), hold))).collect()
    }

    /// The incidents that this one explains or explained, the newest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn explained_by(&self, first: &str) -> Result<Vec<Incident>, StoreError> {
        let rows = query(incidents!(
            "WHERE id IN (SELECT incident FROM holds WHERE by = $1 AND kind = $2) \
             ORDER BY opened_at DESC, id DESC LIMIT $3"
        ));
        let rows = rows.bind(first).bind(HoldKind::Cause.slug()).bind(SHOWN_MAX).fetch_all(&self.readers).await?;
        rows.iter().map(incident).collect()
    }
}

pub(in crate::store::read) fn hold(row: &Row) -> Result<TellingHold, StoreError> {
    Ok(TellingHold {
        incident: row.try_get(0)?,
        kind: word(row.try_get(1)?, "hold", HoldKind::from_slug)?,
        by: row.try_get(2)?,
        since: timestamp(row, 3)?,
        until: timestamp_or_none(row, 4)?,
        ended_at: timestamp_or_none(row, 5)?,
    })
}
