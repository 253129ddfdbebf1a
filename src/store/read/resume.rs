//! What a start needs, so that every window, phase and promise goes on where it stood.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::observation::ToolsSeen;
use crate::domain::paging::gathering::{COMMON_PACE, Gathering, TOO_MANY};
use crate::domain::protocol::Era;
use crate::domain::signal::{HeldBy, Phase, Signal, SignalState};
use crate::domain::tools::{Listing, ToolSeen};
use crate::store::read::readers::Readers;
use crate::store::sql::dialect::texts;
use crate::store::sql::row::Row;
use crate::store::sql::statement::query;
use crate::store::values::change_set::{Addressee, DETECTOR_VERSION, LOCAL, MarksRow, SignalRow, ToolsRow};
use crate::store::values::column::{incident, incidents, length, timestamp, timestamp_or_none, word, word_or_none};
use crate::store::values::error::StoreError;
use crate::store::values::whose::{Whose, is_of};

impl Readers {
    /// Every signal that is not quiet, or that remembers something.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn signal_states(&self, whose: Whose<'_>) -> Result<Vec<SignalRow>, StoreError> {
        let rows = query(concat!(
            "SELECT monitor, signal, subject, phase, since, streak, covered, held_by, rule_hash, detector \
             FROM signal_state WHERE location = $1 AND detector_version = $2 AND ",
            is_of!("monitor", "$3")
        ))
        .bind(LOCAL)
        .bind(DETECTOR_VERSION)
        .bind(whose.ids())
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(SignalRow {
                    monitor: MonitorId::new(row.try_get(0)?),
                    signal: word(row.try_get(1)?, "signal", Signal::from_slug)?,
                    subject: row.try_get(2)?,
                    state: SignalState {
                        phase: word(row.try_get(3)?, "phase", Phase::from_slug)?,
                        since: timestamp(row, 4)?,
                        streak: row.try_get(5)?,
                        covered: length(row, 6)?.into(),
                        held_by: word_or_none(row.try_get(7)?, "held_by", HeldBy::from_slug)?,
                    },
                    rule_hash: row.try_get(8)?,
                    detector: row.try_get(9)?,
                })
            })
            .collect()
    }

    /// Every incident that has not ended, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn open_incidents(&self) -> Result<Vec<Incident>, StoreError> {
        let rows =
            query(incidents!("WHERE resolved_at IS NULL ORDER BY opened_at, id")).fetch_all(&self.readers).await?;
        rows.iter().map(incident).collect()
    }

    /// Every incident that opened since then, the oldest first.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn openings_since(&self, since: DateTime<Utc>) -> Result<Vec<Incident>, StoreError> {
        let rows = query(incidents!("WHERE opened_at > $1 ORDER BY opened_at, id"))
            .bind(since.timestamp_micros())
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(incident).collect()
    }

    /// The baseline of every monitor's tools.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn tools_baselines(&self, whose: Whose<'_>) -> Result<Vec<ToolsRow>, StoreError> {
        let mut reading = self.readers.begin().await?;
        // Replicas have the same list: it is read once, and shared.
        let lists = query(concat!(
            "SELECT hash, data FROM blobs \
             WHERE kind = 'tools' AND hash IN (SELECT hash FROM monitor_tools WHERE to_at IS NULL AND ",
            is_of!("monitor", "$1"),
            ")"
        ))
        .bind(whose.ids())
        .fetch_all(&mut reading)
        .await?;
        let lists: HashMap<String, Arc<Listing>> = lists.iter().map(listing).collect::<Result<_, StoreError>>()?;
        let rows = query(concat!(
            "SELECT monitor, era, hash, from_at, accepted_by, search_tool, invalid_call FROM monitor_tools \
             WHERE to_at IS NULL AND ",
            is_of!("monitor", "$1")
        ))
        .bind(whose.ids())
        .fetch_all(&mut reading)
        .await?;
        rows.iter().filter_map(|row| baseline(row, &lists).transpose()).collect()
    }

    /// Lists of tools by their hashes, as far as they are kept.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn lists_of_tools(&self, hashes: &BTreeSet<&str>) -> Result<HashMap<String, Arc<Listing>>, StoreError> {
        if hashes.is_empty() {
            return Ok(HashMap::new());
        }
        let lists = query(concat!("SELECT hash, data FROM blobs WHERE kind = 'tools' AND hash IN ", texts!("$1")));
        let lists = lists.bind(serde_json::json!(hashes).to_string()).fetch_all(&self.readers).await?;
        lists.iter().map(listing).collect()
    }

    /// The marks by which a restart of a server is recognised.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn marks(&self, whose: Whose<'_>) -> Result<Vec<MarksRow>, StoreError> {
        let rows = query(concat!(
            "SELECT monitor, instance, version, process_started_at, restarted_at FROM marks WHERE ",
            is_of!("monitor", "$1")
        ))
        .bind(whose.ids())
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(MarksRow {
                    monitor: row.try_get(0)?,
                    instance: row.try_get(1)?,
                    version: row.try_get(2)?,
                    process_started_at: timestamp_or_none(row, 3)?,
                    restarted_at: timestamp_or_none(row, 4)?,
                })
            })
            .collect()
    }

    /// When each monitor was first declared.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn first_seens(&self, whose: Whose<'_>) -> Result<HashMap<MonitorId, DateTime<Utc>>, StoreError> {
        let rows = concat!("SELECT id, first_seen FROM monitors WHERE ", is_of!("id", "$1"));
        let rows = query(rows).bind(whose.ids()).fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok((MonitorId::new(row.try_get(0)?), timestamp(row, 1)?))).collect()
    }

    /// Those of these monitors that the last file that came into force anywhere declares.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn declared_anywhere(&self, ids: &[MonitorId]) -> Result<HashSet<MonitorId>, StoreError> {
        let rows = query(concat!("SELECT id FROM monitors WHERE removed_at IS NULL AND id IN ", texts!("$1")));
        let ids: Vec<&str> = ids.iter().map(MonitorId::as_str).collect();
        let rows = rows.bind(serde_json::json!(ids).to_string()).fetch_all(&self.readers).await?;
        rows.iter().map(|row| Ok(MonitorId::new(row.try_get(0)?))).collect()
    }

    /// Those of these addresses at which a server was ever seen to list its tools, under whatever id; see
    /// [`address_hash`](crate::store::write::probe_memory::address_hash).
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn worked_at(&self, addresses: &[String]) -> Result<HashSet<String>, StoreError> {
        let rows = query(concat!(
            "SELECT DISTINCT l.address FROM learnt l WHERE l.address IN ",
            texts!("$1"),
            " AND (EXISTS (SELECT 1 FROM monitor_tools t WHERE t.monitor = l.monitor) \
             OR EXISTS (SELECT 1 FROM tools_seen s WHERE s.monitor = l.monitor))"
        ))
        .bind(serde_json::json!(addresses).to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Every receiver that was ever promised a message of this incident, woken fallbacks included.
    ///
    /// # Errors
    /// Where the database does not answer.
    pub async fn told(&self, incident: &str) -> Result<Vec<Addressee>, StoreError> {
        let rows = query(
            "SELECT receiver, MAX(receiver_hash), MAX(fallback), COALESCE((SELECT k.group_key FROM deliveries k \
             WHERE k.incident = $1 AND k.receiver = d.receiver AND k.group_key <> $2 ORDER BY k.sequence LIMIT 1), '') \
             FROM deliveries d WHERE incident = $1 GROUP BY receiver ORDER BY MIN(created_at), receiver",
        )
        .bind(incident)
        .bind(TOO_MANY)
        .fetch_all(&self.readers)
        .await?;
        rows.iter()
            .map(|row| {
                let key: &str = row.try_get(3)?;
                // As it was told first; how long it waits is said anew by whoever tells it.
                let gathering = (!key.is_empty()).then(|| Gathering { key: key.to_owned(), pace: COMMON_PACE });
                let (receiver, receiver_hash, fallback) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                Ok(Addressee { receiver, receiver_hash, fallback, gathering })
            })
            .collect()
    }
}

/// One row of an accepted list; none where the list itself is lost.
fn baseline(row: &Row, lists: &HashMap<String, Arc<Listing>>) -> Result<Option<ToolsRow>, StoreError> {
    let Some(listing) = lists.get(row.try_get::<&str>(2)?) else { return Ok(None) };
    Ok(Some(ToolsRow {
        monitor: MonitorId::new(row.try_get(0)?),
        era: Era::from_slug(row.try_get(1)?),
        tools: ToolsSeen {
            listing: Arc::clone(listing),
            search_tool: row.try_get(5)?,
            invalid_call: row.try_get(6)?,
            ..ToolsSeen::default()
        },
        from: timestamp(row, 3)?,
        accepted_by: row.try_get(4)?,
    }))
}

/// Reads a list back; see `listing::snapshot`.
fn listing(row: &Row) -> Result<(String, Arc<Listing>), StoreError> {
    let unreadable = |what: &dyn std::fmt::Display| StoreError::Unreadable(format!("tools snapshot: {what}"));
    let hash: String = row.try_get(0)?;
    let mut value: serde_json::Value = serde_json::from_slice(row.try_get(1)?).map_err(|error| unreadable(&error))?;
    let tools: Vec<(String, String, String)> =
        serde_json::from_value(value["tools"].take()).map_err(|error| unreadable(&error))?;
    let json = value["json"].as_str().ok_or_else(|| unreadable(&"no listing"))?.to_owned();
    let tools = tools.into_iter().map(|(name, full_hash, shape_hash)| ToolSeen { name, full_hash, shape_hash });
    // Earlier versions kept none, which says nothing of what the server gave.
    let server_instructions = value["instructions"].as_str().map(Box::from);
    let listing =
        Listing { hash: hash.clone(), tools: tools.collect(), json, server_instructions, ..Listing::default() };
    Ok((hash, Arc::new(listing)))
}
