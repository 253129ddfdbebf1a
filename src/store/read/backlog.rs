//! What of the outbox still waits, and which receivers do not keep up.

use chrono::{DateTime, Utc};

use crate::domain::paging::delivery::FALLBACK_AFTER;
use crate::store::read::readers::Readers;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::column::{timestamp, timestamp_from};
use crate::store::values::error::StoreError;

/// Tries in vain that are a hiccup; with the next half a minute is over.
const TRIES_WELL: u32 = 3;

/// Receivers that are looked up as being behind; pages and alerts name the first of them.
const BEHIND_MAX: u32 = 1_000;

/// How much waits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Deliveries still to be brought.
    pub pending: u64,
    /// When the oldest of them was promised.
    pub oldest: Option<DateTime<Utc>>,
    /// Deliveries given up, but for drills.
    pub dead: u64,
    /// Receivers that do not keep up, the one with the oldest first.
    pub behind: Vec<Behind>,
}

/// A receiver for whom a delivery waits longer than [`FALLBACK_AFTER`], or was tried three times in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// Name of the receiver in the file.
    pub receiver: String,
    /// Deliveries still to be brought to it.
    pub waiting: u64,
    /// When the oldest of them was promised.
    pub since: DateTime<Utc>,
    /// What came of the last try of one of them; empty where none was made.
    pub why: String,
    /// Whether all of them say that nothing is wrong: what came of a drill is told by itself.
    pub is_drill: bool,
}

impl std::fmt::Display for Behind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { receiver, waiting, since, why, is_drill: _ } = self;
        let deliveries =
            if *waiting == 1 { "1 delivery waits".to_owned() } else { format!("{waiting} deliveries wait") };
        let since = since.format("%Y-%m-%d %H:%M:%S UTC");
        write!(f, "receiver '{receiver}' is behind: {deliveries}, the oldest since {since}")?;
        if why.is_empty() { Ok(()) } else { write!(f, "; the last try: {why}") }
    }
}

impl Readers {
    /// How much waits, and since when.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn backlog(&self, now: DateTime<Utc>) -> Result<Backlog, StoreError> {
        let waiting = query("SELECT COUNT(*), MIN(promised_at) FROM deliveries WHERE state = 'pending'")
            .fetch_one(&self.readers)
            .await?;
        // A drill that nobody took is the answer to a question, and no message that was lost.
        let dead: i64 = query(
            "SELECT COUNT(*) FROM deliveries d WHERE state = 'dead' AND NOT EXISTS (SELECT 1 FROM notifications n \
             WHERE n.id = d.notification AND n.event IN ('drill', 'drill.over'))",
        )
        .fetch_one(&self.readers)
        .await?
        .try_get(0)?;
        Ok(Backlog {
            pending: waiting.try_get::<i64>(0)?.unsigned_abs(),
            oldest: waiting.try_get::<Option<i64>>(1)?.map(timestamp_from).transpose()?,
            dead: dead.unsigned_abs(),
            behind: self.behind(now).await?,
        })
    }

    async fn behind(&self, now: DateTime<Utc>) -> Result<Vec<Behind>, StoreError> {
        let rows = query(
            "SELECT receiver, COUNT(*), MIN(promised_at) AS since, \
             COALESCE((SELECT a.note FROM attempts a WHERE a.delivery = (SELECT t.id FROM deliveries t \
             WHERE t.state = 'pending' AND t.receiver = d.receiver ORDER BY t.tries DESC LIMIT 1) \
             ORDER BY a.number DESC LIMIT 1), ''), MIN(CASE WHEN EXISTS (SELECT 1 FROM notifications n \
             WHERE n.id = d.notification AND n.event IN ('drill', 'drill.over')) THEN 1 ELSE 0 END) \
             FROM deliveries d WHERE state = 'pending' GROUP BY receiver \
             HAVING MAX(tries) >= $1 OR MIN(promised_at) <= $2 ORDER BY since, receiver LIMIT $3",
        )
        .bind(TRIES_WELL)
        .bind((now - FALLBACK_AFTER).timestamp_micros())
        .bind(BEHIND_MAX)
        .fetch_all(&self.readers)
        .await?;
        let behind = |row: &Row| {
            let waiting: i64 = row.try_get(1)?;
            let (receiver, since, why) = (row.try_get(0)?, timestamp(row, 2)?, row.try_get(3)?);
            Ok(Behind { receiver, waiting: waiting.unsigned_abs(), since, why, is_drill: row.try_get(4)? })
        };
        rows.iter().map(behind).collect()
    }
}
