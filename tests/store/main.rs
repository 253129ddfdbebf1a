//! The store over a real file: what is promised survives, what is in order stays in order, and our trouble has a name.
//! `tests/postgres` holds a server to the same sentences.

use std::path::{Path, PathBuf};

use serin::domain::database_address::DatabaseAddress;
use serin::store::Store;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Row};

use crate::shared::{ask, at, beat, claimed, incident, outgoing, record, saying, wide};

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
mod shared;
mod resuming;
mod outbox;
mod together;
mod dialect;
mod holds;
mod handed_over;
mod file;
mod texts;
mod why;

/// A folder with a database that is gone with the test.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder can be made") }
    }

    /// Whether others may work on it meanwhile.
    fn is_shared(&self) -> bool {
        false
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("serin.db")
    }

    /// As a command line names it.
    fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn address(&self) -> DatabaseAddress {
        DatabaseAddress::from(&self.path())
    }

    async fn open(&self) -> Store {
        Store::open(&self.path()).await.expect("the store opens")
    }

    /// What somebody else reads there: a text a row, its columns apart by `|`.
    async fn read(&self, sql: &str) -> Vec<String> {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut stranger(&self.path()).await).await;
        rows.expect("it is read").iter().map(|row| row.try_get(0).expect("a text")).collect()
    }

    /// A number that somebody else reads there.
    async fn number(&self, sql: &str) -> i64 {
        let row = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(&mut stranger(&self.path()).await).await;
        row.expect("it counts").try_get(0).expect("a number")
    }

    /// How many rows somebody else writes there.
    async fn write(&self, sql: &str) -> u64 {
        let written = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut stranger(&self.path()).await).await;
        written.expect("written").rows_affected()
    }
}

/// A second connection, as a backup or a shell would have one.
async fn stranger(path: &Path) -> sqlx::SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.expect("sqlite opens")
}
