//! Silences: those that hold, and those that held.

use chrono::{DateTime, Utc};

use crate::domain::paging::silence::{SILENCES_MAX, Silence};
use crate::store::read::readers::Readers;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{timestamp, timestamp_or_none};
use crate::store::values::error::StoreError;
use crate::store::values::matchers;

/// Silences that are over, as one page shows them.
const OVER_SHOWN_MAX: u32 = 50;

/// A query for silences, to be read by [`silence`].
macro_rules! silences {
    ($rest:expr) => {
        concat!(
            "SELECT id, matchers, author, comment, from_at, until_at, until_incident, ended_at, ended_by FROM silences ",
            $rest
        )
    };
}
pub(in crate::store::read) use silences;

impl Readers {
    /// The silences that hold or will, the first made first; at most [`SILENCES_MAX`].
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn silences(&self, now: DateTime<Utc>) -> Result<Vec<Silence>, StoreError> {
        let rows =
            query(silences!("WHERE ended_at IS NULL AND (until_at IS NULL OR until_at > $1) ORDER BY id LIMIT $2"));
        let rows = rows.bind(now.timestamp_micros()).bind(SILENCES_MAX as i64).fetch_all(&self.readers).await?;
        rows.iter().map(silence).collect()
    }

    /// The latest silences that are over, the last made first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn silences_over(&self, now: DateTime<Utc>) -> Result<Vec<Silence>, StoreError> {
        let rows = query(silences!("WHERE ended_at IS NOT NULL OR until_at <= $1 ORDER BY id DESC LIMIT $2"));
        let rows = rows.bind(now.timestamp_micros()).bind(OVER_SHOWN_MAX).fetch_all(&self.readers).await?;
        rows.iter().map(silence).collect()
    }

    /// The silences of these ids, whatever became of them; what there is none of is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn silences_of(&self, ids: &[String]) -> Result<Vec<Silence>, StoreError> {
        let rows = query(silences!(concat!("WHERE id IN ", texts!("$1"), " ORDER BY id")));
        let rows = rows.bind(serde_json::json!(ids).to_string()).fetch_all(&self.readers).await?;
        rows.iter().map(silence).collect()
    }

    /// One silence; none where there is none of this id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn silence(&self, id: &str) -> Result<Option<Silence>, StoreError> {
        let row = query(silences!("WHERE id = $1")).bind(id).fetch_optional(&self.readers).await?;
        row.as_ref().map(silence).transpose()
    }
}

pub(in crate::store::read) fn silence(row: &Row) -> Result<Silence, StoreError> {
    let by: Option<String> = row.try_get(8)?;
    Ok(Silence {
        id: row.try_get(0)?,
        matches: matchers::read(row.try_get(1)?)?,
        author: row.try_get(2)?,
        comment: row.try_get(3)?,
        from: timestamp(row, 4)?,
        until: timestamp_or_none(row, 5)?,
        until_incident: row.try_get(6)?,
        ended: timestamp_or_none(row, 7)?.map(|at| (at, by.unwrap_or_default())),
    })
}
