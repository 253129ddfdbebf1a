//! The tables on a server: as SQLite's, and numbered as they are.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};

use crate::store::server::connecting::within;
use crate::store::sql::connection::Connection;
use crate::store::sql::statement::query;
use crate::store::values::error::{OpenError, StoreError};

/// Every step from an empty database to this version: the first brings the tables as SQLite's first 27 steps left them. One
/// that was released is never edited. While a Serin of the version before still works on the tables, a newer one may add to
/// them: such a step has a name that begins with [`EXPANDS`], and what it makes needless is dropped a version later.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (27, "ground", include_str!("../../../migrations/postgres/0027_ground.sql")),
    (28, "leases", include_str!("../../../migrations/postgres/0028_leases.sql")),
    (29, "expand decisions", include_str!("../../../migrations/postgres/0029_decisions.sql")),
];

/// How the name of a step begins that only adds what an older Serin need not know.
const EXPANDS: &str = "expand";

/// How long new tables and indexes may take.
const MIGRATION_MAX: Duration = Duration::from_mins(30);

/// Brings the tables to this version; forward only. Whoever else does so meanwhile is waited for.
///
/// # Errors
/// Where the server refuses a step, or a newer Serin made the tables.
pub(in crate::store) async fn migrate(
    connection: &mut Connection,
    failed: impl Fn(StoreError) -> OpenError,
    refused: impl Fn(String) -> OpenError,
) -> Result<(), OpenError> {
    // A role that may make no tables may use those that are there.
    if matches!(is_ours(connection).await, Ok(true)) {
        return Ok(());
    }
    let Connection::Postgres(connection) = connection else { return Ok(()) };
    let steps = MIGRATIONS.iter().map(|(number, name, sql)| {
        Migration::new(*number, Cow::Borrowed(*name), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let run = async {
        let migrated = Migrator::with_migrations(steps.collect()).run_direct(None, connection, false).await;
        Ok(migrated)
    };
    let migrated = within(MIGRATION_MAX, run).await.map_err(&failed)?;
    migrated.map_err(|error| match error {
        MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => failed(source.into()),
        other => refused(other.to_string()),
    })
}

/// The version of the tables on a server.
///
/// # Errors
/// [`StoreError::Unreadable`] where no Serin made them.
pub(in crate::store) async fn version(connection: &mut Connection) -> Result<i64, StoreError> {
    let made = query("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !made.try_get::<bool>(0)? {
        return Err(StoreError::Unreadable("it is no database of Serin's".to_owned()));
    }
    let row =
        query("SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations WHERE success").fetch_one(connection).await?;
    Ok(row.try_get(0)?)
}

/// Whether this Serin can work with the tables: they are of its version, or a newer one only added to them.
///
/// # Errors
/// Where no Serin made them.
pub(in crate::store) async fn is_ours(connection: &mut Connection) -> Result<bool, StoreError> {
    let version = version(connection).await?;
    if version <= newest() {
        return Ok(version == newest());
    }
    let others = "SELECT COUNT(*) FROM _sqlx_migrations WHERE version > $1 AND NOT starts_with(description, $2)";
    let others = query(others).bind(newest()).bind(EXPANDS).fetch_one(connection).await?;
    Ok(others.try_get::<i64>(0)? == 0)
}

/// The version of the tables that this Serin works with.
pub(in crate::store) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |(number, ..)| *number)
}
