//! The database file: its settings and its tables.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqlSafeStr, SqliteConnection};

use crate::store::file::held::DatabaseLock;
use crate::store::sql::connection::{Connection, Pool};
use crate::store::sql::statement::{assembled, query};
use crate::store::values::error::StoreError;
use crate::store::values::error::{MISPLACED, OpenError};

/// Pages that SQLite allows where nobody sets a limit (sqlite.org/limits.html).
pub(in crate::store) const PAGES_MAX: u32 = 4_294_967_294;

/// Every step from an empty file to this version, in order; one that was released is never edited.
const MIGRATIONS: &[(&str, &str)] = &[
    ("ground", include_str!("../../../migrations/sqlite/0001_ground.sql")),
    ("known", include_str!("../../../migrations/sqlite/0002_known.sql")),
    ("drift", include_str!("../../../migrations/sqlite/0003_drift.sql")),
    ("transcripts", include_str!("../../../migrations/sqlite/0004_transcripts.sql")),
    ("packs", include_str!("../../../migrations/sqlite/0005_packs.sql")),
    ("hours", include_str!("../../../migrations/sqlite/0006_hours.sql")),
    ("sessions", include_str!("../../../migrations/sqlite/0007_sessions.sql")),
    ("course", include_str!("../../../migrations/sqlite/0008_course.sql")),
    ("answers", include_str!("../../../migrations/sqlite/0009_answers.sql")),
    ("starts", include_str!("../../../migrations/sqlite/0010_starts.sql")),
    ("texts", include_str!("../../../migrations/sqlite/0011_texts.sql")),
    ("judged", include_str!("../../../migrations/sqlite/0012_judged.sql")),
    ("locks", include_str!("../../../migrations/sqlite/0013_locks.sql")),
    ("holds", include_str!("../../../migrations/sqlite/0014_holds.sql")),
    ("silences", include_str!("../../../migrations/sqlite/0015_silences.sql")),
    ("ledger", include_str!("../../../migrations/sqlite/0016_ledger.sql")),
    ("grouping", include_str!("../../../migrations/sqlite/0017_grouping.sql")),
    ("drills", include_str!("../../../migrations/sqlite/0018_drills.sql")),
    ("files", include_str!("../../../migrations/sqlite/0019_files.sql")),
    ("windows", include_str!("../../../migrations/sqlite/0020_windows.sql")),
    ("keys", include_str!("../../../migrations/sqlite/0021_keys.sql")),
    ("public", include_str!("../../../migrations/sqlite/0022_public.sql")),
    ("nodes", include_str!("../../../migrations/sqlite/0023_nodes.sql")),
    ("lists", include_str!("../../../migrations/sqlite/0024_lists.sql")),
    ("actions", include_str!("../../../migrations/sqlite/0025_actions.sql")),
    ("shards", include_str!("../../../migrations/sqlite/0026_shards.sql")),
    ("standings", include_str!("../../../migrations/sqlite/0027_standings.sql")),
    ("leases", include_str!("../../../migrations/sqlite/0028_leases.sql")),
    ("decisions", include_str!("../../../migrations/sqlite/0029_decisions.sql")),
];
/// How long a statement waits for another process: short, since a whole fleet waits behind it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// Reading connections: pages are few, and each connection is a thread with a heap of its own.
const READERS_MAX: u32 = 3;
/// How long a page waits for a reading connection.
const READER_WAIT: Duration = Duration::from_secs(5);
/// Statements kept prepared on the writing connection: six sizes for each of a few tables, and some forty single ones.
const STATEMENTS_KEPT: usize = 200;
/// The write-ahead log is cut back to this after it grew, in bytes.
const WAL_BYTES_KEPT: &str = "67108864";

/// Memory for pages of the file that the writing connection keeps, in KiB where negative: a quarter of what SQLite takes by
/// default, since the system's own cache stands behind it.
const CACHE: &str = "-500";
/// The same for a connection that reads.
const READER_CACHE: &str = "-250";

/// How every connection of ours opens a database. What SQLite puts aside stays in memory: the journal of a savepoint is a
/// temporary file else, and where no folder for one can be written (a hardened container), commits fail.
pub(in crate::store) fn connecting(database: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(database).pragma("temp_store", "MEMORY").pragma("cache_size", CACHE)
}

/// The one connection that writes, to a file that whoever holds it has made: SQLite would make it readable for all, and
/// gives the files beside it the same permissions.
pub(in crate::store) async fn writer(database: &Path) -> Result<SqliteConnection, StoreError> {
    let options = connecting(database)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Free pages can be given back a few at a time; only a file that is new takes this in.
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(STATEMENTS_KEPT)
        .pragma("journal_size_limit", WAL_BYTES_KEPT);
    Ok(options.disable_statement_logging().connect().await?)
}

/// Caps the file at so many pages; as long as the connection lasts.
pub(in crate::store) async fn limit_pages(connection: &mut Connection, pages: u32) -> Result<(), sqlx::Error> {
    assembled(format!("PRAGMA max_page_count = {pages}").into()).execute(connection).await?;
    Ok(())
}

/// Connections that read, opened as they are needed; they cannot write.
pub(in crate::store) async fn readers(database: &Path) -> Result<Pool, StoreError> {
    Ok(Pool::Sqlite(pool().connect_with(reading(database)).await?))
}

/// The same, all opened at once and for good: where the file is taken away, they go on reading the one that is open, and
/// none is opened on what stands in its place.
pub(in crate::store) async fn lasting_readers(database: &Path, place: Arc<DatabaseLock>) -> Result<Pool, StoreError> {
    let pool = pool().min_connections(READERS_MAX).idle_timeout(None).max_lifetime(None);
    let pool = pool.after_connect(move |_, _| {
        let looked = place.look();
        Box::pin(async move { looked.map_err(|error| sqlx::Error::Io(io::Error::new(MISPLACED, error.to_string()))) })
    });
    Ok(Pool::Sqlite(pool.connect_with(reading(database)).await?))
}

fn pool() -> SqlitePoolOptions {
    SqlitePoolOptions::new().max_connections(READERS_MAX).min_connections(0).acquire_timeout(READER_WAIT)
}

fn reading(database: &Path) -> SqliteConnectOptions {
    connecting(database)
        .read_only(true)
        .pragma("cache_size", READER_CACHE)
        .busy_timeout(BUSY_TIMEOUT)
        // Heard at `sqlx=trace` alone, and without values: what a page asks can be counted.
        .log_statements(log::LevelFilter::Trace)
        .log_slow_statements(log::LevelFilter::Off, Duration::MAX)
}

/// Brings the tables to this version; forward only.
pub(in crate::store) async fn migrate(database: &Path, connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let failed = |error: MigrateError| match error {
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
            OpenError::of(database, source.into())
        }
        other => OpenError::Migrate { path: database.to_owned(), message: other.to_string() },
    };
    Migrator::with_migrations(steps()).run_direct(None, connection, false).await.map_err(failed)
}

fn steps() -> Vec<Migration> {
    let steps = (1..).zip(MIGRATIONS).map(|(number, (name, sql))| {
        Migration::new(number, Cow::Borrowed(*name), MigrationType::Simple, sql.into_sql_str(), false)
    });
    steps.collect()
}

/// The version of the tables that this Serin works with.
pub(in crate::store) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The version of an open database's tables, if this Serin can use them: its own, or an older one that it brings forward.
///
/// # Errors
/// [`StoreError::Unreadable`] where no Serin, or a newer one, made them.
pub(in crate::store) async fn version(connection: &mut Connection) -> Result<i64, StoreError> {
    let table = query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'");
    if table.fetch_optional(&mut *connection).await?.is_none() {
        return Err(StoreError::Unreadable("it is no database of Serin's".to_owned()));
    }
    let applied =
        query("SELECT version, checksum, success FROM _sqlx_migrations ORDER BY version").fetch_all(connection).await?;
    let known = steps();
    let mut newest = 0;
    for row in &applied {
        newest = row.try_get(0)?;
        let (checksum, whole): (Vec<u8>, bool) = (row.try_get(1)?, row.try_get(2)?);
        let ours = known.iter().any(|step| step.version == newest && *step.checksum == *checksum);
        if !ours || !whole {
            let what = format!("step {newest} of its tables is not one of this version's {}", known.len());
            return Err(StoreError::Unreadable(what));
        }
    }
    Ok(newest)
}
