//! Whether a database file is sound, and what it holds.
//!
//! At start there is little time: the page that a fleet waits for is worth more than a look at every
//! byte of its past. So the tables on which a page depends are looked at first, then the whole file,
//! for half a second in all; `PRAGMA quick_check` proves that pages and rows are well
//! formed, not that each index agrees (sqlite.org/pragma.html). A backup is looked at whole, by
//! `PRAGMA integrity_check`, before anybody relies on it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::{ConnectOptions, SqliteConnection};

use crate::store::file::schema;
use crate::store::sql::connection::{Connection, Via};
use crate::store::sql::statement::{assembled, query};
use crate::store::values::column::timestamp_from;
use crate::store::values::error::StoreError;

/// Time for the look at start: a quarter of what opening a year-old database may take until the first beat.
const LOOK_MAX: Duration = Duration::from_millis(500);
/// SQLite asks after so many of its steps whether to go on: a fraction of a millisecond.
const STEPS: i32 = 200;
/// Faults that are named; a broken page tends to bring hundreds.
const NAMED_MAX: usize = 5;
/// Without these no page is decided, sent or ended.
const FIRST: &[&str] = &[
    "meta",
    "monitors",
    "signal_state",
    "incidents",
    "notifications",
    "deliveries",
    "attempts",
    "incident_events",
    "holds",
];

/// How much of a file was found sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum IntegrityResult {
    Whole,
    /// As much as there was time for.
    Partly,
}

/// What a file holds, for whoever decides by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The version of its tables.
    pub schema: i64,
    /// Monitors that are in the fleet.
    pub monitors: u64,
    /// Incidents that it tells of.
    pub incidents: u64,
    /// Those that have not ended.
    pub open: u64,
    /// When the newest raw beat started; none where it holds none.
    pub last_beat: Option<DateTime<Utc>>,
}

/// Looks at an open database for at most [`LOOK_MAX`].
///
/// # Errors
/// [`StoreError::Damaged`] with what is wrong; others where it cannot be read.
pub(in crate::store) async fn look(connection: &mut SqliteConnection) -> Result<IntegrityResult, StoreError> {
    let until = Instant::now() + LOOK_MAX;
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    connection.lock_handle().await?.set_progress_handler(STEPS, move || {
        let go_on = Instant::now() < until;
        told.store(!go_on, Ordering::Relaxed);
        go_on
    });
    let looked = look_on(connection).await;
    connection.lock_handle().await?.remove_progress_handler();
    match looked {
        Ok(()) => Ok(IntegrityResult::Whole),
        Err(StoreError::Damaged(what)) => Err(StoreError::Damaged(what)),
        Err(_) if over.load(Ordering::Relaxed) => Ok(IntegrityResult::Partly),
        Err(error) => Err(error),
    }
}

async fn look_on(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    for table in FIRST {
        let known = query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = $1").bind(*table);
        if known.fetch_optional(&mut *connection).await?.is_some() {
            faults(&mut *connection, &format!("PRAGMA quick_check('{table}')")).await?;
        }
    }
    faults(connection, "PRAGMA quick_check").await
}

/// Looks at every byte of a file that nobody writes.
///
/// # Errors
/// [`StoreError::Damaged`] with what is wrong, [`StoreError::Unreadable`] where it is no Serin's or a newer one's.
pub(in crate::store) async fn look_whole(path: &Path) -> Result<Contents, StoreError> {
    let options = schema::connecting(path).read_only(true).immutable(true);
    let mut connection = Connection::Sqlite(options.disable_statement_logging().connect().await?);
    let found = async {
        faults(&mut connection, "PRAGMA integrity_check").await?;
        contents(&mut connection).await
    };
    let found = found.await;
    connection.close().await?;
    found
}

/// What an open database holds.
async fn contents(connection: &mut Connection) -> Result<Contents, StoreError> {
    let schema = schema::version(connection).await?;
    let row = query(
        "SELECT (SELECT COUNT(*) FROM monitors WHERE removed_at IS NULL), (SELECT COUNT(*) FROM incidents), \
         (SELECT COUNT(*) FROM incidents WHERE resolved_at IS NULL), (SELECT MAX(started_at) FROM beats)",
    )
    .fetch_one(connection)
    .await?;
    Ok(Contents {
        schema,
        monitors: row.try_get::<i64>(0)?.unsigned_abs(),
        incidents: row.try_get::<i64>(1)?.unsigned_abs(),
        open: row.try_get::<i64>(2)?.unsigned_abs(),
        last_beat: row.try_get::<Option<i64>>(3)?.map(timestamp_from).transpose()?,
    })
}

/// Runs one of SQLite's checks; what it finds becomes an error like any other damage.
async fn faults(connection: impl Into<Via<'_>>, check: &str) -> Result<(), StoreError> {
    let rows = assembled(check.into()).fetch_all(connection).await?;
    let mut named = Vec::new();
    for row in &rows {
        let text: String = row.try_get(0)?;
        if text != "ok" {
            named.push(text.replace('\n', "; "));
        }
    }
    if named.is_empty() {
        return Ok(());
    }
    let more = named.len().saturating_sub(NAMED_MAX);
    named.truncate(NAMED_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(StoreError::Damaged(format!("{}{more}", named.join("; "))))
}
