//! Lists of tools: every one that was seen, the blob that holds it, and how it differed.

use chrono::{DateTime, Utc};

use crate::domain::monitor::MonitorId;
use crate::domain::protocol::Era;
use crate::domain::tools::{ChangeClass, Drift, Listing, ToolChange};
use crate::store::read::readers::Readers;
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::change_set::{ChangeSet, ListingRow};
use crate::store::values::column::{timestamp, timestamp_or_none, word};
use crate::store::values::error::StoreError;

/// Lists kept of one monitor beside the accepted one: a year of monthly releases, and room for a rollout that flaps.
pub(crate) const KEPT_MAX: u32 = 30;

/// Bytes of lists kept of one monitor, with what is said of their differences: thirty of a usual server, whose list has
/// some 10 kB. A probe brings none that is written in more than 400 kB (`probe::tools`), so that the accepted list and the
/// latest, which always stay, fit into it.
pub(crate) const BYTES_MAX: u32 = 1_000_000;

/// One list of a monitor's past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingLine {
    /// Hash over all tools.
    pub hash: String,
    /// When a beat first saw it, UTC.
    pub first_seen: DateTime<Utc>,
    /// When it was last written down as seen; the current one is younger than that.
    pub last_seen: DateTime<Utc>,
    /// The era it was asked for in, where known.
    pub era: Option<Era>,
    pub tools: u32,
    /// Tokens of the whole list, where they were counted.
    pub tokens: Option<u32>,
    /// How it differed from the list that was accepted when it was first seen.
    pub drift: Drift,
    /// Who accepted it and when, where somebody did.
    pub accepted: Option<(String, DateTime<Utc>)>,
}

/// Writes what the records bring of lists.
pub(in crate::store) async fn note(connection: &mut Connection, records: &[&ChangeSet]) -> Result<(), sqlx::Error> {
    for row in records.iter().filter_map(|record| record.listing.as_ref()) {
        if let Some((hash, at)) = &row.before {
            query("UPDATE tools_seen SET last_seen = $3 WHERE monitor = $1 AND hash = $2 AND last_seen < $3")
                .bind(row.monitor.as_str())
                .bind(hash)
                .bind(at.timestamp_micros())
                .execute(&mut *connection)
                .await?;
        }
        blob(connection, &row.listing, row.at).await?;
        seen(connection, row).await?;
        drop_oldest(connection, &row.monitor, &row.listing.hash).await?;
    }
    Ok(())
}

async fn seen(connection: &mut Connection, row: &ListingRow) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO tools_seen (monitor, hash, first_seen, last_seen, era, tools, tokens, against, changes) \
         VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (monitor, hash) DO UPDATE SET last_seen = excluded.last_seen, era = excluded.era, \
         tokens = COALESCE(excluded.tokens, tools_seen.tokens)",
    )
    .bind(row.monitor.as_str())
    .bind(&row.listing.hash)
    .bind(row.at.timestamp_micros())
    .bind(row.era.map_or("", |era| era.slug()))
    .bind(u32::try_from(row.listing.tools.len()).unwrap_or(u32::MAX))
    .bind(row.listing.tokens)
    .bind(&row.drift.against)
    .bind(changes_text(&row.drift.changes))
    .execute(connection)
    .await?;
    Ok(())
}

/// Keeps the accepted list and the latest; then, as far as there is room, what was ever accepted, and the newest others.
async fn drop_oldest(connection: &mut Connection, monitor: &MonitorId, latest: &str) -> Result<(), sqlx::Error> {
    let dropped = query(
        "WITH ranked AS (SELECT s.hash, s.last_seen, \
         CASE WHEN s.hash = $2 OR EXISTS (SELECT 1 FROM monitor_tools t WHERE t.monitor = $1 AND t.hash = s.hash \
         AND t.to_at IS NULL) THEN 0 \
         WHEN s.hash IN (SELECT hash FROM monitor_tools WHERE monitor = $1) THEN 1 ELSE 2 END AS rank, \
         COALESCE(LENGTH(b.data), 0) + OCTET_LENGTH(s.changes) AS bytes \
         FROM tools_seen s LEFT JOIN blobs b ON b.hash = s.hash AND b.kind = 'tools' WHERE s.monitor = $1), \
         counted AS (SELECT hash, rank, \
         SUM(bytes) OVER (ORDER BY rank, last_seen DESC, hash ROWS UNBOUNDED PRECEDING) AS total, \
         ROW_NUMBER() OVER (ORDER BY last_seen DESC, hash) AS nth FROM ranked) \
         DELETE FROM tools_seen WHERE monitor = $1 AND hash IN \
         (SELECT hash FROM counted WHERE rank > 0 AND total > $3 OR rank = 2 AND nth > $4) RETURNING hash",
    )
    .bind(monitor.as_str())
    .bind(latest)
    .bind(BYTES_MAX)
    .bind(KEPT_MAX)
    .fetch_all(&mut *connection)
    .await?;
    for row in dropped {
        let hash: String = row.try_get(0)?;
        query(
            "DELETE FROM blobs WHERE hash = $1 AND kind = 'tools' \
             AND NOT EXISTS (SELECT 1 FROM tools_seen WHERE hash = $1) \
             AND NOT EXISTS (SELECT 1 FROM monitor_tools WHERE hash = $1 AND to_at IS NULL)",
        )
        .bind(hash)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Keeps a list's content once, however many monitors have it.
pub(in crate::store) async fn blob(
    connection: &mut Connection,
    listing: &Listing,
    at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO blobs (hash, kind, codec, created_at, data) VALUES ($1, 'tools', 'json', $2, $3) \
         ON CONFLICT (hash, kind) DO NOTHING",
    )
    .bind(&listing.hash)
    .bind(at.timestamp_micros())
    .bind(snapshot(listing).into_bytes())
    .execute(connection)
    .await?;
    Ok(())
}

/// Each tool's hashes by name, the listing itself as text, and the server's instructions; read back by `resume`.
fn snapshot(listing: &Listing) -> String {
    let tools: Vec<_> = listing.tools.iter().map(|tool| (&tool.name, &tool.full_hash, &tool.shape_hash)).collect();
    serde_json::json!({ "tools": tools, "json": listing.json, "instructions": listing.server_instructions }).to_string()
}

fn changes_text(changes: &[ToolChange]) -> String {
    let lines: Vec<_> = changes.iter().map(|change| (change.class.slug(), &change.tool, &change.what)).collect();
    serde_json::json!(lines).to_string()
}

fn changes_from(text: &str) -> Result<Vec<ToolChange>, StoreError> {
    let lines: Vec<(String, String, String)> =
        serde_json::from_str(text).map_err(|error| StoreError::Unreadable(format!("changes of tools: {error}")))?;
    let change = |(class, tool, what): (String, String, String)| {
        Ok(ToolChange { class: word(&class, "class of change", ChangeClass::from_slug)?, tool, what })
    };
    lines.into_iter().map(change).collect()
}

impl Readers {
    /// The lists that a monitor's server gave, the latest first; bounded by [`KEPT_MAX`], [`BYTES_MAX`] and what was accepted.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn listings(&self, monitor: &MonitorId) -> Result<Vec<ListingLine>, StoreError> {
        let rows = query(
            "SELECT s.hash, s.first_seen, s.last_seen, s.era, s.tools, s.tokens, s.against, s.changes, \
             t.accepted_by, t.from_at FROM tools_seen s \
             LEFT JOIN monitor_tools t ON t.monitor = s.monitor AND t.hash = s.hash AND t.from_at = \
             (SELECT MAX(from_at) FROM monitor_tools WHERE monitor = s.monitor AND hash = s.hash) \
             WHERE s.monitor = $1 ORDER BY s.last_seen DESC, s.hash LIMIT $2",
        )
        .bind(monitor.as_str())
        .bind(KEPT_MAX)
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                let changes = changes_from(row.try_get(7)?)?;
                Ok(ListingLine {
                    hash: row.try_get(0)?,
                    first_seen: timestamp(row, 1)?,
                    last_seen: timestamp(row, 2)?,
                    era: Era::from_slug(row.try_get(3)?),
                    tools: row.try_get(4)?,
                    tokens: row.try_get(5)?,
                    drift: Drift { against: row.try_get(6)?, changes, more: 0 },
                    accepted: row.try_get::<Option<String>>(8)?.zip(timestamp_or_none(row, 9)?),
                })
            })
            .collect()
    }
}
