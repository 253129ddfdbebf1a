//! Forgetting what was kept long enough, a little at a time, and giving the disk its pages back.

use chrono::{DateTime, Utc};

use crate::store::packed::packs::{day_number, hour_number, slot};
use crate::store::sql::connection::Connection;
use crate::store::sql::dialect::{numbers, texts};
use crate::store::sql::statement::{assembled, query};
use crate::store::values::error::StoreError;
use crate::store::write::append::Names;
use crate::store::write::config_files;

/// Rows forgotten in one transaction: whoever waits for the writer waits some milliseconds for this.
const AT_ONCE: u32 = 200;
/// How long a list or source stays doomed before it is dropped: longer than any row waits for its hour's sealing.
pub(in crate::store) const DOOMED_FOR_US: i64 = 24 * 3_600_000_000;

/// What is kept for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retained {
    /// Hourly packs of beats.
    Packs,
    /// Answers that packs name by a number.
    Answers,
    /// Daily counts and histograms, and footprints.
    Days,
    /// Incidents that ended, with all that was told of them.
    Incidents,
    /// Notifications that belong to no incident, drills, what people did, and silences that are over.
    Notices,
    /// Lists of tools that no longer hold.
    Tools,
    /// Files that are not in force any more.
    Files,
}

/// Numbers of lists or sources that nothing named when somebody looked.
#[derive(Debug)]
pub(in crate::store) struct Doom {
    pub(in crate::store) table: Table,
    pub(in crate::store) numbers: Vec<i64>,
    pub(in crate::store) now: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Table {
    Lists,
    Sources,
}

/// See [`crate::store::Store::forget`].
pub(in crate::store) async fn forget(
    connection: &mut Connection,
    what: Retained,
    before: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let micros = before.timestamp_micros();
    let gone = match what {
        Retained::Packs => {
            let statement = "DELETE FROM beat_packs WHERE slot IN (SELECT slot FROM beat_packs WHERE slot < $1 ORDER BY slot LIMIT $2)";
            delete(connection, statement, slot(hour_number(before), 0)).await?
        }
        Retained::Answers => {
            let statement = "DELETE FROM answers WHERE id IN (SELECT id FROM answers WHERE used_until < $1 LIMIT $2)";
            delete(connection, statement, day_number(before)).await?
        }
        Retained::Days => {
            let days = "DELETE FROM days WHERE slot IN (SELECT slot FROM days WHERE slot < $1 ORDER BY slot LIMIT $2)";
            let footprints = "DELETE FROM footprints WHERE (monitor, day) IN (SELECT monitor, day FROM footprints WHERE day < $1 LIMIT $2)";
            delete(connection, days, slot(day_number(before), 0)).await?
                + delete(connection, footprints, day_number(before)).await?
        }
        Retained::Incidents => forget_incidents(connection, micros).await?,
        Retained::Notices => {
            let notifications = "SELECT id FROM notifications n WHERE n.incident IS NULL AND n.at < $1 \
                 AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.notification = n.id AND d.state = 'pending') LIMIT $2";
            let actions = "DELETE FROM actions WHERE id IN (SELECT id FROM actions WHERE at < $1 LIMIT $2)";
            let silences = "DELETE FROM silences WHERE id IN (SELECT id FROM silences WHERE coalesce(ended_at, until_at) < $1 LIMIT $2)";
            let audit = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 LIMIT $2)";
            let keys = "DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE ended_at < $1 OR expires_at < $1 LIMIT $2)";
            // Of a drill its last run stays, and of a receiver what came of its last one: an alert may be about it.
            let runs = "DELETE FROM drill_runs WHERE id IN (SELECT id FROM drill_runs r WHERE begun_at < $1 AND (drill NOT IN (SELECT drill FROM drills) OR EXISTS (SELECT 1 FROM drill_runs l WHERE l.drill = r.drill AND l.due_at > r.due_at)) ORDER BY begun_at LIMIT $2)";
            let receipts = "DELETE FROM drill_receipts WHERE (run, receiver) IN (SELECT run, receiver FROM drill_receipts r WHERE begun_at < $1 AND ended_at IS NOT NULL AND EXISTS (SELECT 1 FROM drill_receipts l WHERE l.receiver = r.receiver AND l.begun_at > r.begun_at) LIMIT $2)";
            delete(connection, runs, micros).await?
                + delete(connection, receipts, micros).await?
                + forget_notifications(connection, notifications, micros).await?
                + delete(connection, actions, micros).await?
                + delete(connection, audit, micros).await?
                + delete(connection, keys, micros).await?
                + delete(connection, silences, micros).await?
        }
        Retained::Tools => forget_tools(connection, micros).await?,
        Retained::Files => config_files::forget(connection, micros, AT_ONCE).await?,
    };
    Ok(gone > 0)
}

/// Runs a statement of a bound and a limit; how many rows that were.
async fn delete(connection: &mut Connection, statement: &'static str, before: i64) -> Result<u64, StoreError> {
    Ok(query(statement).bind(before).bind(AT_ONCE).execute(connection).await?)
}

/// Incidents that ended before a moment and of which nothing is still to be said, with their timelines.
async fn forget_incidents(connection: &mut Connection, before: i64) -> Result<u64, StoreError> {
    let over = "SELECT id FROM incidents i WHERE i.resolved_at < $1 \
         AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.incident = i.id AND d.state = 'pending') LIMIT $2";
    let ids = ids(connection, over, before).await?;
    let notifications = concat!("SELECT id FROM notifications n WHERE n.incident IN ", texts!("$1"));
    let told: Vec<String> = query(notifications)
        .bind(&ids.json)
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?;
    forget_told(connection, &serde_json::json!(told).to_string()).await?;
    for statement in [
        concat!("DELETE FROM incident_events WHERE incident IN ", texts!("$1")),
        concat!("DELETE FROM holds WHERE incident IN ", texts!("$1")),
        concat!("DELETE FROM incidents WHERE id IN ", texts!("$1")),
    ] {
        query(statement).bind(&ids.json).execute(&mut *connection).await?;
    }
    Ok(ids.count)
}

async fn forget_notifications(
    connection: &mut Connection,
    which: &'static str,
    before: i64,
) -> Result<u64, StoreError> {
    let ids = ids(connection, which, before).await?;
    forget_told(connection, &ids.json).await?;
    Ok(ids.count)
}

/// Notifications, their deliveries and attempts; `ids` is JSON.
async fn forget_told(connection: &mut Connection, ids: &str) -> Result<(), StoreError> {
    for statement in [
        concat!(
            "DELETE FROM attempts WHERE delivery IN (SELECT id FROM deliveries WHERE notification IN ",
            texts!("$1"),
            ")"
        ),
        concat!("DELETE FROM deliveries WHERE notification IN ", texts!("$1")),
        concat!("DELETE FROM notification_incidents WHERE notification IN ", texts!("$1")),
        concat!("DELETE FROM notifications WHERE id IN ", texts!("$1")),
    ] {
        query(statement).bind(ids).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Accepted and seen lists that no longer hold, and the texts that nothing names any more.
async fn forget_tools(connection: &mut Connection, before: i64) -> Result<u64, StoreError> {
    let accepted = "DELETE FROM monitor_tools WHERE (monitor, from_at) IN \
         (SELECT monitor, from_at FROM monitor_tools WHERE to_at < $1 LIMIT $2)";
    let seen = "DELETE FROM tools_seen WHERE (monitor, hash) IN (SELECT s.monitor, s.hash FROM tools_seen s \
         WHERE s.last_seen < $1 AND NOT EXISTS (SELECT 1 FROM monitor_tools t WHERE t.monitor = s.monitor \
         AND t.hash = s.hash AND t.to_at IS NULL) LIMIT $2)";
    let texts = "DELETE FROM blobs WHERE (hash, kind) IN (SELECT b.hash, b.kind FROM blobs b \
         WHERE b.kind = 'tools' AND b.created_at < $1 \
         AND NOT EXISTS (SELECT 1 FROM tools_seen s WHERE s.hash = b.hash) \
         AND NOT EXISTS (SELECT 1 FROM monitor_tools t WHERE t.hash = b.hash AND t.to_at IS NULL) LIMIT $2)";
    let mut gone = 0;
    for statement in [accepted, seen, texts] {
        gone += delete(connection, statement, before).await?;
    }
    Ok(gone)
}

/// Ids as JSON, and how many.
struct Ids {
    json: String,
    count: u64,
}

async fn ids(connection: &mut Connection, which: &'static str, before: i64) -> Result<Ids, StoreError> {
    let rows = query(which).bind(before).bind(AT_ONCE).fetch_all(connection).await?;
    let ids: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Ok(Ids { count: ids.len() as u64, json: serde_json::json!(ids).to_string() })
}

/// Dooms numbers that are not doomed yet, and drops those that have been doomed for a day, a source with its text.
/// Whoever uses one again meanwhile asks the table for it, because what the writer remembers is forgotten here, and that
/// takes the doom away.
pub(in crate::store) async fn drop_doomed(
    connection: &mut Connection,
    names: &mut Names,
    doom: &Doom,
) -> Result<bool, StoreError> {
    names.forget_droppable();
    let now = doom.now.timestamp_micros();
    let numbers = serde_json::json!(doom.numbers).to_string();
    let (drop, mark) = match doom.table {
        Table::Lists => (
            concat!(
                "DELETE FROM ranked_lists WHERE doomed_at <= $1 AND id IN ",
                numbers!("$2"),
                " AND NOT EXISTS (SELECT 1 FROM answers a WHERE a.list = ranked_lists.id)"
            ),
            concat!("UPDATE ranked_lists SET doomed_at = $1 WHERE doomed_at IS NULL AND id IN ", numbers!("$2")),
        ),
        Table::Sources => (
            concat!("DELETE FROM sources WHERE doomed_at <= $1 AND id IN ", numbers!("$2")),
            concat!("UPDATE sources SET doomed_at = $1 WHERE doomed_at IS NULL AND id IN ", numbers!("$2")),
        ),
    };
    if doom.table == Table::Sources {
        // Before its source, by which it is known to be doomed.
        let texts = concat!(
            "DELETE FROM texts WHERE source IN (SELECT id FROM sources WHERE doomed_at <= $1 \
             AND id IN ",
            numbers!("$2"),
            ")"
        );
        let gone = query(texts).bind(now - DOOMED_FOR_US).bind(&numbers).execute(&mut *connection).await?;
        if gone > 0 {
            names.texts.forget();
        }
    }
    query(drop).bind(now - DOOMED_FOR_US).bind(&numbers).execute(&mut *connection).await?;
    query(mark).bind(now).bind(&numbers).execute(&mut *connection).await?;
    Ok(false)
}

/// The share of free pages from which the file is made smaller; below, they are used again by the next hour.
const FREE_SHARE_MIN: i64 = 4;
/// Free pages that are never worth the trouble: 16 MB.
const FREE_MIN: i64 = 4_096;

/// See [`crate::store::Store::shrink`].
pub(in crate::store) async fn shrink(connection: &mut Connection, pages: u32) -> Result<bool, StoreError> {
    if connection.is_postgres() {
        // It uses them again by itself, and gives none back.
        return Ok(false);
    }
    let free: i64 = query("PRAGMA freelist_count").fetch_one(&mut *connection).await?.try_get(0)?;
    let all: i64 = query("PRAGMA page_count").fetch_one(&mut *connection).await?.try_get(0)?;
    if free < FREE_MIN || free < all / FREE_SHARE_MIN {
        return Ok(false);
    }
    assembled(format!("PRAGMA incremental_vacuum({pages})").into()).execute(&mut *connection).await?;
    let left: i64 = query("PRAGMA freelist_count").fetch_one(&mut *connection).await?.try_get(0)?;
    Ok(left < free)
}
