//! What a receiver was told of that is still open, as it was told last.

use chrono::{DateTime, Utc};

use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::timestamp_or_none;
use crate::store::values::error::StoreError;

/// Incidents that are read at once, the oldest first: more than a team can have open.
const FIRING_MAX: u32 = 2_000;

/// The last message that a receiver got of an open incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiringRow {
    /// The notification's id.
    pub notification: String,
    /// Its frozen bytes.
    pub payload: String,
    /// What the receiver knows the incident by, where that is remembered.
    pub external_ref: Option<String>,
}

impl Readers {
    /// What a receiver got last of each open incident that it was told of.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn firing(&self, receiver: &str) -> Result<Vec<FiringRow>, StoreError> {
        let rows = query(
            "SELECT n.id, n.payload, (SELECT r.external_ref FROM deliveries r WHERE r.incident = i.id \
             AND r.receiver = $1 AND r.external_ref IS NOT NULL ORDER BY r.sequence DESC LIMIT 1) \
             FROM incidents i JOIN deliveries d ON d.incident = i.id JOIN notifications n ON n.id = d.notification \
             WHERE i.resolved_at IS NULL AND d.receiver = $1 AND d.state = 'sent' AND d.sequence = \
             (SELECT MAX(l.sequence) FROM deliveries l WHERE l.incident = i.id AND l.receiver = $1 AND l.state = 'sent') \
             ORDER BY i.opened_at, i.id LIMIT $2",
        );
        let rows = rows.bind(receiver).bind(FIRING_MAX).fetch_all(&self.readers).await?;
        let row = |row: &Row| {
            Ok(FiringRow { notification: row.try_get(0)?, payload: row.try_get(1)?, external_ref: row.try_get(2)? })
        };
        rows.iter().map(row).collect()
    }
}

/// When the incident of a delivery ended, where it has one that did.
pub(in crate::store) async fn over_at(
    connection: &mut Connection,
    id: &str,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let row = query("SELECT i.resolved_at FROM deliveries d JOIN incidents i ON i.id = d.incident WHERE d.id = $1");
    let row = row.bind(id).fetch_optional(connection).await?;
    row.map_or(Ok(None), |row| timestamp_or_none(&row, 0))
}

/// What the receiver of a delivery knows its incident by.
pub(in crate::store) async fn external_ref(
    connection: &mut Connection,
    id: &str,
) -> Result<Option<String>, sqlx::Error> {
    let row = query(
        "SELECT told.external_ref FROM deliveries d JOIN deliveries told ON told.incident = d.incident \
         AND told.receiver = d.receiver WHERE d.id = $1 AND told.external_ref IS NOT NULL \
         ORDER BY told.sequence DESC LIMIT 1",
    );
    row.bind(id).fetch_optional(connection).await?.map(|row| row.try_get(0)).transpose()
}
