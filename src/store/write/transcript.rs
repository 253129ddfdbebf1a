//! Transcripts of failing probes: each text once, by its hash, and which beats and incidents it belongs to.

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest as _, Sha256};

use crate::domain::monitor::MonitorId;
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::change_set::ChangeSet;
use crate::store::values::column::timestamp;
use crate::store::values::error::StoreError;

/// Failures keep theirs so long (DESIGN §8): a post-mortem is written within the month.
const KEPT: TimeDelta = TimeDelta::days(30);

/// Rows forgotten in one transaction: whoever waits for the writer waits some milliseconds for this.
const FORGOTTEN_AT_ONCE: u32 = 200;

const LINES_MAX: u32 = 50;

/// One kept transcript, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptLine {
    /// Of which beat: when that started.
    pub started_at: DateTime<Utc>,
    /// By this its text is found; 64 hexadecimal digits.
    pub hash: String,
    /// The beat's leading cause, as its slug.
    pub reason: String,
    /// Length of the text in bytes, as it is downloaded.
    pub bytes: u32,
}

/// Writes what the records bring.
pub(in crate::store) async fn keep(connection: &mut Connection, records: &[&ChangeSet]) -> Result<(), sqlx::Error> {
    for row in records.iter().flat_map(|record| &record.transcripts) {
        let hash = hash(&row.text);
        let at = row.started_at.timestamp_micros();
        query(
            "INSERT INTO blobs (hash, kind, codec, created_at, expires_at, data) \
             VALUES ($1, 'transcript', 'text', $2, $3, $4) \
             ON CONFLICT (hash, kind) DO UPDATE SET expires_at = excluded.expires_at \
             WHERE blobs.expires_at < excluded.expires_at",
        )
        .bind(&hash)
        .bind(at)
        .bind((row.started_at + KEPT).timestamp_micros())
        .bind(row.text.as_bytes())
        .execute(&mut *connection)
        .await?;
        query(
            "INSERT INTO transcripts (monitor, started_at, incident, hash, reason) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (monitor, started_at, incident) DO NOTHING",
        )
        .bind(row.monitor.as_str())
        .bind(at)
        .bind(&row.incident)
        .bind(&hash)
        .bind(row.reason.slug())
        .execute(&mut *connection)
        .await?;
        let Some(since) = row.leads_since.filter(|_| !row.incident.is_empty()) else { continue };
        // What led to the incident was seen before there was one.
        query(
            "UPDATE transcripts SET incident = $2 WHERE monitor = $1 AND incident = '' AND started_at >= $3 \
             AND started_at < $4",
        )
        .bind(row.monitor.as_str())
        .bind(&row.incident)
        .bind(since.timestamp_micros())
        .bind(at)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Forgets what is over, at most so much at once; how many rows that were.
pub(in crate::store) async fn forget(
    connection: &mut Connection,
    now: DateTime<Utc>,
    kept: TimeDelta,
) -> Result<u64, sqlx::Error> {
    let rows = query(
        "DELETE FROM transcripts WHERE (monitor, started_at, incident) IN \
         (SELECT monitor, started_at, incident FROM transcripts WHERE started_at <= $1 LIMIT $2)",
    )
    .bind((now - kept).timestamp_micros())
    .bind(FORGOTTEN_AT_ONCE)
    .execute(&mut *connection)
    .await?;
    let texts = query(
        "DELETE FROM blobs WHERE (hash, kind) IN \
         (SELECT hash, kind FROM blobs WHERE expires_at IS NOT NULL AND expires_at <= $1 AND kind = 'transcript' LIMIT $2)",
    )
    // A text's end was written down by the default; the file may say another time, today.
    .bind((now - (kept - KEPT)).timestamp_micros())
    .bind(FORGOTTEN_AT_ONCE)
    .execute(&mut *connection)
    .await?;
    Ok(rows + texts)
}

impl Readers {
    /// The transcripts of an incident, those that led to it included; the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn transcripts(&self, incident: &str) -> Result<Vec<TranscriptLine>, StoreError> {
        let rows = query(
            "SELECT t.started_at, t.hash, t.reason, LENGTH(b.data) FROM transcripts t \
             JOIN blobs b ON b.hash = t.hash AND b.kind = 'transcript' \
             WHERE t.incident = $1 AND t.incident <> '' ORDER BY t.started_at LIMIT $2",
        )
        .bind(incident)
        .bind(LINES_MAX)
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(line).collect()
    }

    /// The transcript of a monitor that was kept last.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn last_transcript(&self, monitor: &MonitorId) -> Result<Option<TranscriptLine>, StoreError> {
        let row = query(
            "SELECT t.started_at, t.hash, t.reason, LENGTH(b.data) FROM transcripts t \
             JOIN blobs b ON b.hash = t.hash AND b.kind = 'transcript' \
             WHERE t.monitor = $1 ORDER BY t.started_at DESC LIMIT 1",
        )
        .bind(monitor.as_str())
        .fetch_optional(&self.readers)
        .await?;
        row.as_ref().map(line).transpose()
    }

    /// The text of one; none where there is none, or none any more.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn transcript(&self, hash: &str) -> Result<Option<String>, StoreError> {
        let row = query("SELECT data FROM blobs WHERE hash = $1 AND kind = 'transcript' AND codec = 'text'")
            .bind(hash)
            .fetch_optional(&self.readers)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let data: Vec<u8> = row.try_get(0)?;
        String::from_utf8(data).map(Some).map_err(|_| StoreError::Unreadable(format!("the transcript {hash}")))
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn line(row: &Row) -> Result<TranscriptLine, StoreError> {
    Ok(TranscriptLine {
        started_at: timestamp(row, 0)?,
        hash: row.try_get(1)?,
        reason: row.try_get(2)?,
        bytes: row.try_get(3)?,
    })
}
