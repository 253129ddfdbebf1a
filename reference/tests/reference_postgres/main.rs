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

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serin_reference::store::contract::Store;
use serin_reference::store::postgres::open::{PostgresOptions, PostgresStore};
use serin_reference::store::sqlite::open::SqliteStore;

use crate::server::{PASSWORD, Server};

/// Two stores on one new database, as two servers have them.
pub(crate) struct Two {
    pub(crate) one: Arc<dyn Store>,
    pub(crate) other: Arc<dyn Store>,
    /// Whether its vectors are found by HNSW, which need not find every one.
    pub(crate) is_approximate: bool,
}

/// What shows that a sentence is so.
type Shows = fn(Arc<Two>) -> Pin<Box<dyn Future<Output = ()> + Send>>;
type Row = (&'static str, Shows);

/// A sentence and the function that shows it.
macro_rules! rows {
    ($($says:literal => $shows:path,)+) => { &[$(($says, |two| Box::pin($shows(two)))),+] };
}

const CONTRACT: &[Row] = rows![
    "a source is added, unchanged, changed and removed, and every change is counted" => contract::a_source_lives,
    "the same text with another fact is a change" => contract::a_fact_is_a_change,
    "a source comes back as it was given" => contract::a_source_comes_back,
    "facts are written, overwritten and forgotten" => contract::facts_are_kept,
    "a wipe leaves nothing, and no key is used again" => contract::a_wipe_leaves_nothing,
    "a full pool says so, and serves again" => contract::a_full_pool_says_so,
    "two servers write at once and nothing is lost" => contract::two_write_at_once,
    "filters narrow both arms" => searching::filters_narrow,
    "words are ranked by BM25" => searching::words_are_ranked,
    "what was written over and over weighs what it weighed at first" => searching::weights_stay,
    "terms have holders" => searching::terms_have_holders,
    "what has no vector is found by its words and names" => searching::words_need_no_vectors,
    "the nearest of 2,000 vectors are those of an exact scan" => searching::the_nearest_are_found,
    "what a fault strikes is not found, and the rest is" => searching::faults_strike,
    "an answer is kept until the index changes" => learning::answers_are_kept,
    "a conversation remembers what it was shown" => learning::conversations_remember,
    "the oldest vectors and answers make room" => learning::the_oldest_make_room,
];

async fn check(says: &str, two: Two, shows: Shows) {
    let two = Arc::new(two);
    let ended = tokio::spawn(shows(Arc::clone(&two))).await;
    assert!(ended.is_ok(), "not so in {}: {says}", if two.is_approximate { "PostgreSQL" } else { "SQLite" });
    two.one.close().await;
    two.other.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_keeps_the_contract() {
    for (says, shows) in CONTRACT {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let one = Arc::new(SqliteStore::open(&path).await.unwrap());
        let other = Arc::new(SqliteStore::open(&path).await.unwrap());
        check(says, Two { one, other, is_approximate: false }, *shows).await;
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
            let two = Two { one: Arc::new(one.unwrap()), other: Arc::new(other.unwrap()), is_approximate: true };
            check(says, two, *shows).await;
            println!("{says}: {} ms", started.elapsed().as_millis());
        }
    }
}
