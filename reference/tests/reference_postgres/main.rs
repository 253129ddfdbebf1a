//! Both stores of the reference server keep one contract: SQLite in a file, PostgreSQL with pgvector
//! in a real server that is started for the test.
//!
//! `tests/install.sh` installs that server; `SERIN_TEST_POSTGRES` names another one's folder (above
//! `bin`), such as `/usr/lib/postgresql/17`. Run with `cargo test --test reference_postgres -- --ignored`.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

mod contract;
mod database;
mod learning;
mod pieces;
mod searching;
mod server;
mod table;

use std::sync::Arc;

use serin_reference::store::postgres::open::{PostgresOptions, PostgresStore};
use serin_reference::store::sqlite::open::SqliteStore;

use crate::server::{PASSWORD, Server};
use crate::table::{CONTRACT, Two, check};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_keeps_the_contract() {
    for (says, shows) in CONTRACT {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let one = Arc::new(SqliteStore::open(&path).await.unwrap());
        let other = Arc::new(SqliteStore::open(&path).await.unwrap());
        check(says, Two { one, other, name: "SQLite", is_approximate: false, keeps_bits: true }, *shows).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a PostgreSQL server with pgvector: tests/install.sh"]
async fn a_database_keeps_the_contract() {
    for installed in server::installed() {
        let server = Server::of(&installed);
        println!("{}", installed.display());
        for (number, (says, shows)) in CONTRACT.iter().enumerate() {
            let started = std::time::Instant::now();
            let options = PostgresOptions { schema: format!("row_{number}"), ..PostgresOptions::default() };
            // Both at once: one of them makes the tables, and the other finds them.
            let url = server.url(PASSWORD);
            let (one, other) =
                tokio::join!(PostgresStore::open(&url, options.clone()), PostgresStore::open(&url, options));
            let (one, other) = (Arc::new(one.unwrap()), Arc::new(other.unwrap()));
            let two = Two { one, other, name: "PostgreSQL", is_approximate: true, keeps_bits: true };
            check(says, two, *shows).await;
            println!("{says}: {} ms", started.elapsed().as_millis());
        }
    }
}
