//! Everything that is remembered, from one database into another that is empty: from a file to a server, or back.
//!
//! Both are ours alone meanwhile, and the new one gets all or nothing. Rows pass through memory a few at a time.

use std::sync::Arc;

use futures_util::TryStreamExt as _;

use crate::domain::database_address::DatabaseAddress;
use crate::store::server::connecting::LockMode;
use crate::store::sql::connection::{Connection, Pool};
use crate::store::sql::row::Row;
use crate::store::sql::statement::{Statement, assembled, query};
use crate::store::sql::value::Value;
use crate::store::values::error::{OpenError, StoreError};
use crate::store::write::home::Home;

/// Rows in one statement.
const ROWS_AT_ONCE: usize = 200;
/// What a database has of itself as soon as it has tables.
const GIVEN: [&str; 4] = ["locations", "sealing", "shards", "standing_versions"];
/// Who works on a database, which is nobody while everything is moved.
const OF_NODES: [&str; 3] = ["decisions", "leases", "nodes"];
/// Notes of the database about itself, of which one is a server's own.
const NOTES: &str = "meta";
const TABLES_OF_FILE: &str = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
     AND name <> '_sqlx_migrations' ORDER BY name";
const TABLES_OF_SERVER: &str = "SELECT CAST(tablename AS TEXT) FROM pg_tables \
     WHERE schemaname = current_schema() AND tablename <> '_sqlx_migrations' ORDER BY 1";
const COLUMNS_OF_FILE: &str = "SELECT name, type FROM pragma_table_info($1) ORDER BY cid";
const COLUMNS_OF_SERVER: &str = "SELECT CAST(column_name AS TEXT), CAST(data_type AS TEXT) \
     FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position";
/// Columns whose numbers the server hands out.
const NUMBERED: &str = "SELECT CAST(table_name AS TEXT), CAST(column_name AS TEXT) FROM information_schema.columns \
     WHERE table_schema = current_schema() AND is_identity = 'YES'";

/// How many rows of a table came along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedTable {
    pub(crate) name: String,
    pub(crate) rows: u64,
}

/// Why nothing came along.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MoveError {
    /// One of them cannot be had for ourselves alone.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no such file.
    #[error("there is no {0}")]
    Missing(String),
    /// What is there would be mixed with what comes.
    #[error("{to} is not empty ({table} has rows); name a database that is")]
    NotEmpty {
        /// The database that was to take everything.
        to: String,
        /// The first table with rows.
        table: String,
    },
    /// One of them refuses a statement.
    #[error("{table} cannot be brought along: {source}; the new database is as empty as it was")]
    Table {
        /// Which table.
        table: String,
        /// What refused it, in its own words.
        source: StoreError,
    },
    /// One of them does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Rows are missing, or there are more.
    #[error("{table} has {from} rows, and {to} came along; the new database is as empty as it was")]
    Counts {
        /// Which table.
        table: String,
        /// Its rows there.
        from: u64,
        /// Its rows here.
        to: u64,
    },
}

/// Brings everything from one database into another that is empty; what came, table by table.
///
/// # Errors
/// Where one of them is in use, unsound or does not answer, or the new one is not empty; it stays as it was then.
pub(crate) async fn bring(from: &DatabaseAddress, to: &DatabaseAddress) -> Result<Vec<MovedTable>, MoveError> {
    if from.file().is_some_and(|path| !path.exists()) {
        return Err(MoveError::Missing(from.to_string()));
    }
    let (source_home, mut source, source_readers) = Home::open(from, LockMode::Exclusive).await?;
    if source.is_postgres() {
        // A table is one answer, however long it is.
        query("SET statement_timeout = 0").execute(&mut source).await.map_err(StoreError::from)?;
    }
    let moved = match Home::open(to, LockMode::Exclusive).await {
        Ok((home, mut target, readers)) => {
            let moved = copied(&mut source, &mut target, to).await;
            leave(home, target, &readers).await;
            moved
        }
        Err(error) => Err(error.into()),
    };
    leave(source_home, source, &source_readers).await;
    moved
}

async fn leave(home: Home, connection: Connection, readers: &Pool) {
    readers.close().await;
    home.leave(connection).await;
}

async fn copied(
    source: &mut Connection,
    target: &mut Connection,
    to: &DatabaseAddress,
) -> Result<Vec<MovedTable>, MoveError> {
    let tables = tables(target).await?;
    for table in tables.iter().filter(|table| !GIVEN.contains(&table.as_str()) && *table != NOTES) {
        if count(target, table).await? > 0 {
            return Err(MoveError::NotEmpty { to: to.to_string(), table: table.clone() });
        }
    }
    query(target.begin()).execute(&mut *target).await.map_err(StoreError::from)?;
    let moved = all(source, target, &tables).await;
    let end = if moved.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = query(end).execute(target).await.map_err(StoreError::from);
    // What refused it says more than what became of the rest.
    let moved = moved?;
    ended?;
    Ok(moved)
}

async fn all(
    source: &mut Connection,
    target: &mut Connection,
    tables: &[String],
) -> Result<Vec<MovedTable>, MoveError> {
    for table in GIVEN {
        assembled(format!("DELETE FROM {table}").into()).execute(&mut *target).await.map_err(StoreError::from)?;
    }
    let mut moved = Vec::with_capacity(tables.len());
    for table in tables {
        let refused = |source| MoveError::Table { table: table.clone(), source };
        let rows = one(source, target, table).await.map_err(refused)?;
        let (from, to) = (count(source, table).await?, count(target, table).await?);
        if from != to || rows != from {
            return Err(MoveError::Counts { table: table.clone(), from, to });
        }
        moved.push(MovedTable { name: table.clone(), rows });
    }
    if target.is_postgres() {
        number_on(target).await?;
    }
    Ok(moved)
}

/// Copies the rows of one table.
async fn one(source: &mut Connection, target: &mut Connection, table: &str) -> Result<u64, StoreError> {
    let columns = columns(target, table).await?;
    let names: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let names = names.join(", ");
    let read = format!("SELECT {names} FROM {table}{}", but_own(table));
    let mut rows = assembled(read.into()).fetch(source);
    let (mut chunk, mut brought) = (Vec::with_capacity(ROWS_AT_ONCE), 0);
    loop {
        let row = rows.try_next().await?;
        let is_last = row.is_none();
        if let Some(row) = row {
            let values = columns.iter().enumerate().map(|(index, column)| column.kind.read(&row, index));
            chunk.push(values.collect::<Result<Vec<Value>, _>>()?);
        }
        if chunk.len() == ROWS_AT_ONCE || is_last && !chunk.is_empty() {
            brought += chunk.len() as u64;
            insert(target.is_postgres(), table, &names, chunk.drain(..)).execute(&mut *target).await?;
        }
        if is_last {
            return Ok(brought);
        }
    }
}

fn insert(is_postgres: bool, table: &str, names: &str, rows: impl Iterator<Item = Vec<Value>>) -> Statement {
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        let place = |nth: usize| if is_postgres { format!("${}", values.len() + nth + 1) } else { "?".to_owned() };
        places.push(format!("({})", (0..row.len()).map(place).collect::<Vec<_>>().join(", ")));
        values.extend(row);
    }
    let text: Arc<str> = format!("INSERT INTO {table} ({names}) VALUES {}", places.join(", ")).into();
    values.into_iter().fold(assembled(text), Statement::bind)
}

/// A server's numbers go on after those that came along.
async fn number_on(target: &mut Connection) -> Result<(), StoreError> {
    for row in query(NUMBERED).fetch_all(&mut *target).await? {
        let (table, column): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let next = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), \
             (SELECT COALESCE(MAX({column}), 0) + 1 FROM {table}), false)"
        );
        assembled(next.into()).fetch_one(&mut *target).await?;
    }
    Ok(())
}

/// A column, and what stands in it.
struct Column {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Int,
    Real,
    Text,
    Blob,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "INTEGER" | "bigint" => Self::Int,
            "REAL" | "double precision" => Self::Real,
            "TEXT" | "text" => Self::Text,
            "BLOB" | "bytea" => Self::Blob,
            _ => return None,
        })
    }

    fn read(self, row: &Row, index: usize) -> Result<Value, sqlx::Error> {
        Ok(match self {
            Self::Int => row.try_get::<Option<i64>>(index)?.into(),
            Self::Real => row.try_get::<Option<f64>>(index)?.into(),
            Self::Text => row.try_get::<Option<String>>(index)?.into(),
            Self::Blob => row.try_get::<Option<Vec<u8>>>(index)?.into(),
        })
    }
}

async fn tables(connection: &mut Connection) -> Result<Vec<String>, StoreError> {
    let tables = query(if connection.is_postgres() { TABLES_OF_SERVER } else { TABLES_OF_FILE });
    let rows = tables.fetch_all(connection).await?;
    let mut tables: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    tables.retain(|table| !OF_NODES.contains(&table.as_str()));
    Ok(tables)
}

async fn columns(connection: &mut Connection, table: &str) -> Result<Vec<Column>, StoreError> {
    let columns = query(if connection.is_postgres() { COLUMNS_OF_SERVER } else { COLUMNS_OF_FILE });
    let rows = columns.bind(table).fetch_all(connection).await?;
    let column = |row: &Row| {
        let (name, kind): (String, &str) = (row.try_get(0)?, row.try_get(1)?);
        let kind = Kind::of(kind).ok_or_else(|| StoreError::Unreadable(format!("{table}.{name} is of kind {kind}")))?;
        Ok(Column { name, kind })
    };
    rows.iter().map(column).collect()
}

async fn count(connection: &mut Connection, table: &str) -> Result<u64, StoreError> {
    let row = assembled(format!("SELECT COUNT(*) FROM {table}{}", but_own(table)).into()).fetch_one(connection).await?;
    Ok(row.try_get::<i64>(0)?.unsigned_abs())
}

/// What a server notes of itself does not come along.
fn but_own(table: &str) -> &'static str {
    if table == NOTES { " WHERE key NOT IN ('file_in_force', 'file_in_force_at')" } else { "" }
}
