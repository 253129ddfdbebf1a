//! The store on a PostgreSQL server: the sentences of `tests/store`, and what a server alone may do to us.
//!
//! `SERIN_TEST_POSTGRES` names a server on which databases may be made; `tests/postgres/with_server.sh cargo test --test
//! postgres` starts one, runs these tests and ends it.

use std::time::Duration;

use serin::domain::database_address::DatabaseAddress;
use serin::store::Store;
use serin::store::{OpenError, StoreError};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::common::databases;
use crate::shared::{ask, at, beat, claimed, incident, outgoing, record, saying, wide};

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
#[path = "../store/shared.rs"]
mod shared;
#[path = "../store/resuming.rs"]
mod resuming;
#[path = "../store/outbox.rs"]
mod outbox;
#[path = "../store/together.rs"]
mod together;
#[path = "../store/holds.rs"]
mod holds;
#[path = "../store/handed_over.rs"]
mod handed_over;
#[path = "../store/texts.rs"]
mod texts;
#[path = "../store/why.rs"]
mod why;
mod server;
mod batches;
mod leases;
mod sharing;
mod cluster;
mod failover;
mod proxy;
mod cut_off;
mod enterprise;

/// A database of its own on the server; the server goes with the run.
struct Place {
    folder: tempfile::TempDir,
    name: String,
    made: tokio::sync::OnceCell<()>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Self { folder, name: databases::new_name(), made: tokio::sync::OnceCell::new() }
    }

    /// Whether others may work on it meanwhile.
    fn is_shared(&self) -> bool {
        true
    }

    /// As a command line names it.
    fn name(&self) -> String {
        format!("{}/{}", server(), self.name)
    }

    fn address(&self) -> DatabaseAddress {
        DatabaseAddress::parse(&self.name()).expect("an address")
    }

    async fn open(&self) -> Store {
        self.make("").await;
        // A Serin that ended a moment ago may not have been missed yet.
        loop {
            match Store::open(&self.address()).await {
                Err(OpenError::Database { source: StoreError::Taken, .. }) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                opened => return opened.expect("the store opens"),
            }
        }
    }

    /// Has the database be there, as the words behind its name say.
    async fn make(&self, how: &str) {
        let make = async || drop(databases::make(&server(), &self.name, how).await);
        self.made.get_or_init(make).await;
    }

    /// Somebody else's connection.
    async fn stranger(&self) -> PgConnection {
        PgConnection::connect(&self.name()).await.expect("the server answers")
    }

    /// What somebody else reads there: a text a row.
    async fn read(&self, sql: &str) -> Vec<String> {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut self.stranger().await).await;
        rows.expect("it is read").iter().map(|row| row.try_get(0).expect("a text")).collect()
    }

    /// A number that somebody else reads there.
    async fn number(&self, sql: &str) -> i64 {
        let row = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(&mut self.stranger().await).await;
        row.expect("it counts").try_get(0).expect("a number")
    }

    /// How many rows somebody else writes there.
    async fn write(&self, sql: &str) -> u64 {
        let written = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut self.stranger().await).await;
        written.expect("written").rows_affected()
    }
}

fn server() -> String {
    databases::server().expect("tests/postgres/with_server.sh starts a server and names it")
}
