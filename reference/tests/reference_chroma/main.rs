//! A store whose vectors are in Chroma keeps the contract that the others keep, and what only it can do to us.
//!
//! `tests/install.sh` installs the server; `SERIN_TEST_CHROMA` names another one's folder, in which
//! `chromadb_rust_bindings` is. Run with `cargo test --test reference_chroma -- --ignored`.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

#[path = "../reference_postgres/contract.rs"]
mod contract;
mod kills;
#[path = "../reference_postgres/learning.rs"]
mod learning;
mod outages;
#[path = "../reference_postgres/pieces.rs"]
mod pieces;
mod proxy;
#[path = "../reference_postgres/searching.rs"]
mod searching;
mod server;
#[path = "../reference_postgres/table.rs"]
mod table;

use std::sync::Arc;

use serin_reference::store::chroma::open::ChromaStore;

use crate::server::Server;
use crate::table::{CONTRACT, Two, check};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a Chroma server: tests/install.sh"]
async fn a_collection_keeps_the_contract() {
    let server = Server::new().await;
    for (number, (says, shows)) in CONTRACT.iter().enumerate() {
        let started = std::time::Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chroma.db");
        let options = server.options(&format!("row_{number}"));
        let one = Arc::new(ChromaStore::open(&file, options.clone()).await.unwrap());
        let other = Arc::new(ChromaStore::open(&file, options).await.unwrap());
        check(says, Two { one, other, name: "Chroma", is_approximate: true, keeps_bits: false }, *shows).await;
        println!("{says}: {} ms", started.elapsed().as_millis());
    }
}
