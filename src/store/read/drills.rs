//! Drills: since when each is known, whose receipt is awaited, and what came of the last one of each receiver.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::store::read::readers::Readers;
use crate::store::sql::dialect::text_rows;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{length, timestamp, timestamp_or_none};
use crate::store::values::error::StoreError;

/// A receiver whose receipt is awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedReceipt {
    /// Id of the run.
    pub run: String,
    /// The line of the file that it came by.
    pub place: String,
    /// Who was told.
    pub receiver: String,
    /// Id of the message that it is to accept.
    pub notification: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether it may still come: the message is neither accepted nor given up.
    pub is_pending: bool,
}

/// What came of a drill at one receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrillReceipt {
    /// Who was told.
    pub receiver: String,
    /// When the drill began.
    pub at: DateTime<Utc>,
    /// The line of the file that it came by, such as `monitors.yaml:12`.
    pub place: String,
    /// How long it might take.
    pub timeout: Duration,
    /// When it was known; none while it is awaited.
    pub ended_at: Option<DateTime<Utc>>,
    /// From the promise to its yes; none where it did not accept it in time, or is awaited.
    pub took: Option<Duration>,
    /// What the last try was answered, where it did not accept it; empty where it was not tried.
    pub answer: String,
}

/// A query for receipts, to be read by [`receipt`]; `$1` is a list of receivers' names.
macro_rules! receipts {
    ($latest:literal, $rest:literal) => {
        concat!(
            "SELECT r.receiver, r.begun_at, r.timeout_us, r.ended_at, r.took_us, r.answer, ",
            "COALESCE((SELECT place FROM drill_runs WHERE id = r.run), '') ",
            "FROM ",
            text_rows!("$1"),
            " AS name JOIN drill_receipts r ON r.receiver = name.value AND r.run = (SELECT l.run ",
            "FROM drill_receipts l WHERE l.receiver = name.value ",
            $latest,
            "ORDER BY l.begun_at DESC, l.run DESC LIMIT 1) ",
            $rest
        )
    };
}

impl Readers {
    /// Since when each drill is known, by its id.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn known_drills(&self) -> Result<HashMap<String, DateTime<Utc>>, StoreError> {
        let rows = query("SELECT drill, since FROM drills").fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, timestamp(row, 1)?))).collect()
    }

    /// The receipts that are awaited, the first told first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn awaited_receipts(&self) -> Result<Vec<AwaitedReceipt>, StoreError> {
        let rows = query(
            "SELECT r.run, COALESCE((SELECT place FROM drill_runs WHERE id = r.run), ''), r.receiver, r.notification, \
             r.timeout_us, EXISTS (SELECT 1 FROM deliveries d WHERE d.notification = r.notification \
             AND d.receiver = r.receiver AND d.state = 'pending') \
             FROM drill_receipts r WHERE r.ended_at IS NULL ORDER BY r.begun_at, r.run, r.receiver",
        )
        .fetch_all(&self.readers)
        .await?;
        let awaited = |row: &Row| {
            Ok(AwaitedReceipt {
                run: row.try_get(0)?,
                place: row.try_get(1)?,
                receiver: row.try_get(2)?,
                notification: row.try_get(3)?,
                timeout: length(row, 4)?,
                is_pending: row.try_get(5)?,
            })
        };
        rows.iter().map(awaited).collect()
    }

    /// What came of the last drill of each of these receivers, by name; who was never told is left out.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn last_drills(&self, receivers: &[&str]) -> Result<HashMap<String, DrillReceipt>, StoreError> {
        let rows = query(receipts!("", "")).bind(serde_json::json!(receivers).to_string());
        let rows = rows.fetch_all(&self.readers).await?;
        rows.iter().map(receipt).map(|read| read.map(|receipt| (receipt.receiver.clone(), receipt))).collect()
    }

    /// Those of these receivers that did not accept the last drill of which it is known, nor any since, be it one that
    /// somebody sent them as a test.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn failed_drills(&self, receivers: &[&str]) -> Result<Vec<DrillReceipt>, StoreError> {
        let rows = query(receipts!(
            "AND l.ended_at IS NOT NULL ",
            "WHERE r.took_us IS NULL AND NOT EXISTS (SELECT 1 FROM deliveries d JOIN notifications n \
             ON n.id = d.notification AND n.event = 'drill' WHERE d.receiver = r.receiver \
             AND d.created_at >= r.begun_at AND d.sent_at > r.ended_at) ORDER BY r.receiver"
        ));
        let rows = rows.bind(serde_json::json!(receivers).to_string()).fetch_all(&self.readers).await?;
        rows.iter().map(receipt).collect()
    }
}

fn receipt(row: &Row) -> Result<DrillReceipt, StoreError> {
    let took = match row.try_get::<Option<i64>>(4)? {
        Some(_) => Some(length(row, 4)?),
        None => None,
    };
    Ok(DrillReceipt {
        receiver: row.try_get(0)?,
        at: timestamp(row, 1)?,
        timeout: length(row, 2)?,
        ended_at: timestamp_or_none(row, 3)?,
        took,
        answer: row.try_get(5)?,
        place: row.try_get(6)?,
    })
}
