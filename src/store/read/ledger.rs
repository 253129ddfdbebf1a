//! The ledger: what was promised to whom, every try of it, and how that ended.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::paging::delivery::DeliveryState;
use crate::store::read::pages::PAGE_ROWS;
use crate::store::read::readers::Readers;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{timestamp, timestamp_or_none};
use crate::store::values::error::StoreError;

/// Tries shown of one delivery, the latest: what is tried for a whole day is tried some hundred times.
pub const ATTEMPTS_SHOWN: u32 = 20;

/// Deliveries that are counted for one filter: past these a count says nothing more, and takes long.
pub const COUNTED_MAX: u32 = 10_000;

/// Which deliveries a list wants; each part that is there has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeliveryFilter {
    /// Only this one.
    pub id: Option<String>,
    /// Only of this incident.
    pub incident: Option<String>,
    /// Only of this notification.
    pub notification: Option<String>,
    /// Only to this receiver.
    pub receiver: Option<String>,
    /// Only about this monitor.
    pub monitor: Option<String>,
    /// Only of this event, such as `incident.opened`.
    pub event: Option<&'static str>,
    /// Only in this state.
    pub state: Option<DeliveryState>,
    /// Only what came to be at this moment or later.
    pub from: Option<DateTime<Utc>>,
    /// Only what came to be before this moment.
    pub to: Option<DateTime<Utc>>,
    /// Only what follows this one, the last of the page before; by id.
    pub after: Option<String>,
}

impl DeliveryFilter {
    /// Those of one incident.
    pub fn of_incident(incident: &str) -> Self {
        Self { incident: Some(incident.to_owned()), ..Self::default() }
    }

    /// Those of one notification.
    pub fn of_notification(notification: &str) -> Self {
        Self { notification: Some(notification.to_owned()), ..Self::default() }
    }
}

/// One delivery of the ledger, with its last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLine {
    /// Its id, as it stands in addresses.
    pub id: String,
    /// Id of the notification, a UUIDv7.
    pub notification: String,
    /// Its incident, where it has one.
    pub incident: Option<String>,
    /// The monitor that it is about; none where it is about Serin or nobody's.
    pub monitor: Option<String>,
    /// Such as `incident.opened`.
    pub event: String,
    /// Its place in the incident.
    pub sequence: u32,
    /// Name of the receiver in the file.
    pub receiver: String,
    /// The receiver it stands in for, where it is a fallback.
    pub fallback_of: Option<String>,
    /// Pending, sent or dead, as stored.
    pub state: String,
    /// When it was queued, UTC.
    pub created_at: DateTime<Utc>,
    /// When it is tried next, where it is pending.
    pub next_at: Option<DateTime<Utc>>,
    /// Attempts made, replays included.
    pub attempts: u32,
    /// When the last attempt ended.
    pub last_at: Option<DateTime<Utc>>,
    /// How it ended: `ok`, or why not, in one line.
    pub last: Option<String>,
    /// Whether what it tells is over: its incident ended, or it never had one.
    pub is_over: bool,
    /// Under which key it waited, or waits, for others, where it goes to people together with them.
    pub group_key: Option<String>,
    /// How many others its message holds, once it was made.
    pub together_with: u32,
}

/// One try of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptLine {
    /// Which one, from 1.
    pub number: u32,
    /// When it began, UTC.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// `accepted`, `failed` or `refused`.
    pub ended: String,
    /// Why not, in one bounded line; empty where it was accepted.
    pub answer: String,
}

/// The columns of a line, to be read by [`delivery_line`]; `$1` is the limit.
macro_rules! deliveries {
    ($condition:literal) => {
        concat!(
            "SELECT d.id, d.notification, d.incident, n.event, d.sequence, d.receiver, d.fallback_of, d.state, ",
            "d.created_at, CASE WHEN d.state = 'pending' THEN d.next_at END, d.attempts, a.ended_at, ",
            "CASE a.ended WHEN 'accepted' THEN 'ok' ELSE a.note END, ",
            "NOT EXISTS (SELECT 1 FROM incidents i WHERE i.id = d.incident AND i.resolved_at IS NULL), ",
            "NULLIF(d.group_key, ''), (SELECT COUNT(*) FROM deliveries t WHERE t.batch = d.batch AND t.id <> d.id), ",
            "NULLIF(n.monitor, '') ",
            "FROM deliveries d JOIN notifications n ON n.id = d.notification ",
            "LEFT JOIN attempts a ON a.delivery = d.id ",
            "AND a.number = (SELECT MAX(number) FROM attempts WHERE delivery = d.id) WHERE ",
            $condition,
            " AND (CAST($2 AS TEXT) IS NULL OR d.receiver = $2) AND (CAST($3 AS TEXT) IS NULL OR d.state = $3) AND d.created_at >= $4 ",
            "AND (CAST($8 AS TEXT) IS NULL OR n.monitor = $8) AND (CAST($9 AS TEXT) IS NULL OR n.event = $9) ",
            "AND d.created_at < $5 AND ($6 IS NULL OR (d.created_at, d.id) < ",
            "((SELECT created_at FROM deliveries WHERE id = $6), $6)) ",
            "ORDER BY d.created_at DESC, d.id DESC LIMIT $1"
        )
    };
}

impl Readers {
    /// Deliveries, the newest first, at most [`PAGE_ROWS`].
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn deliveries(&self, filter: &DeliveryFilter) -> Result<Vec<DeliveryLine>, StoreError> {
        // Each condition that has an index is a query of its own: one that may be left out uses none.
        let (text, key) = match (&filter.id, &filter.notification, &filter.incident) {
            (Some(id), ..) => (deliveries!("d.id = $7"), Some(id)),
            (None, Some(notification), _) => (deliveries!("d.notification = $7"), Some(notification)),
            (None, None, Some(incident)) => (deliveries!("d.incident = $7"), Some(incident)),
            (None, None, None) => (deliveries!("$7 IS NULL"), None),
        };
        let rows = query(text)
            .bind(PAGE_ROWS)
            .bind(&filter.receiver)
            .bind(filter.state.map(DeliveryState::slug))
            .bind(filter.from.map_or(i64::MIN, |from| from.timestamp_micros()))
            .bind(filter.to.map_or(i64::MAX, |to| to.timestamp_micros()))
            .bind(&filter.after)
            .bind(key)
            .bind(&filter.monitor)
            .bind(filter.event)
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(delivery_line).collect()
    }

    /// How many deliveries a filter fits in each state, whatever state it asks for, as pending, sent and dead; of the latest
    /// [`COUNTED_MAX`] that fit.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn delivery_counts(&self, filter: &DeliveryFilter) -> Result<[u64; 3], StoreError> {
        let rows = query(
            "SELECT state, COUNT(*) FROM (SELECT d.state FROM deliveries d JOIN notifications n ON n.id = d.notification \
             WHERE (CAST($2 AS TEXT) IS NULL OR d.receiver = $2) AND (CAST($3 AS TEXT) IS NULL OR d.incident = $3) AND (CAST($4 AS TEXT) IS NULL OR n.monitor = $4) \
             AND (CAST($5 AS TEXT) IS NULL OR n.event = $5) AND d.created_at >= $6 AND d.created_at < $7 \
             ORDER BY d.created_at DESC LIMIT $1) AS latest GROUP BY state",
        )
        .bind(COUNTED_MAX)
        .bind(&filter.receiver)
        .bind(&filter.incident)
        .bind(&filter.monitor)
        .bind(filter.event)
        .bind(filter.from.map_or(i64::MIN, |from| from.timestamp_micros()))
        .bind(filter.to.map_or(i64::MAX, |to| to.timestamp_micros()))
        .fetch_all(&self.readers)
        .await?;
        let mut counts = [0; 3];
        for row in &rows {
            let (state, count): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
            let place = DeliveryState::ALL.iter().position(|one| one.slug() == state);
            if let Some(counted) = place.and_then(|place| counts.get_mut(place)) {
                *counted = count.unsigned_abs();
            }
        }
        Ok(counts)
    }

    /// The latest tries of these deliveries, at most [`ATTEMPTS_SHOWN`] each, the first made first; by delivery.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn attempts(&self, lines: &[DeliveryLine]) -> Result<HashMap<String, Vec<AttemptLine>>, StoreError> {
        let ids = serde_json::json!(lines.iter().map(|line| &line.id).collect::<Vec<_>>()).to_string();
        let rows = query(concat!(
            "SELECT delivery, number, started_at, ended_at, ended, note FROM attempts a \
             WHERE delivery IN ",
            texts!("$1"),
            " AND number > (SELECT MAX(number) FROM attempts WHERE delivery = a.delivery) - $2 ORDER BY delivery, number"
        ))
        .bind(ids)
        .bind(ATTEMPTS_SHOWN)
        .fetch_all(&self.readers)
        .await?;
        let mut found: HashMap<String, Vec<AttemptLine>> = HashMap::new();
        for row in &rows {
            let line = AttemptLine {
                number: row.try_get(1)?,
                started_at: timestamp(row, 2)?,
                ended_at: timestamp(row, 3)?,
                ended: row.try_get(4)?,
                answer: row.try_get(5)?,
            };
            found.entry(row.try_get(0)?).or_default().push(line);
        }
        Ok(found)
    }
}

fn delivery_line(row: &Row) -> Result<DeliveryLine, StoreError> {
    Ok(DeliveryLine {
        id: row.try_get(0)?,
        notification: row.try_get(1)?,
        incident: row.try_get(2)?,
        event: row.try_get(3)?,
        sequence: row.try_get(4)?,
        receiver: row.try_get(5)?,
        fallback_of: row.try_get(6)?,
        state: row.try_get(7)?,
        created_at: timestamp(row, 8)?,
        next_at: timestamp_or_none(row, 9)?,
        attempts: row.try_get(10)?,
        last_at: timestamp_or_none(row, 11)?,
        last: row.try_get(12)?,
        is_over: row.try_get(13)?,
        group_key: row.try_get(14)?,
        together_with: row.try_get(15)?,
        monitor: row.try_get(16)?,
    })
}
