//! The database's file taken away or replaced under a running Serin: told, gone on with, and never begun anew.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::process::Serin;
use crate::stage::{Stage, bounded, messages, received, times};

/// Files of a database in use.
const PARTS: [&str; 3] = ["serin.db", "serin.db-wal", "serin.db-shm"];
/// Visitors at once: more than there are connections that read.
const VISITORS: usize = 32;

fn move_parts(from: &Path, to: &Path) {
    for part in PARTS {
        std::fs::rename(from.join(part), to.join(part)).expect("it is moved");
    }
}

async fn beats_in(database: PathBuf) -> i64 {
    let options = SqliteConnectOptions::new().filename(database).read_only(true).disable_statement_logging();
    let mut connection = options.connect().await.expect("a connection");
    let row = sqlx::query("SELECT COUNT(*) FROM beats").fetch_one(&mut connection).await.expect("it is read");
    connection.close().await.expect("it closes");
    row.get(0)
}

/// Asks for pages that read the database, all at once.
async fn crowd(stage: &Stage, address: SocketAddr) {
    let visits = (0..VISITORS).map(|_| stage.get(address, "/api/v1/incidents"));
    for (status, text) in join_all(visits).await {
        assert_eq!(status, 200, "pages go on, from the file that is open: {text}");
    }
}

/// `put` is what stands in the database's place meanwhile.
async fn check(sentence: &str, put: Option<&[u8]>, word: &str) {
    let (stage, _) = Stage::set(1).await;
    let (serin, address) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    let away = stage.folder.path().join("away");
    std::fs::create_dir(&away).expect("a folder");
    move_parts(stage.folder.path(), &away);
    if let Some(bytes) = put {
        std::fs::write(stage.database(), bytes).expect("something in its place");
    }
    let told = received(&stage.ops, "serin.trouble", None).await;
    assert_eq!(told.evidence.0[0].1, "database_moved", "{sentence}: {told:?}");
    assert!(told.evidence.0[3].1.contains(word), "{sentence}: {told:?}");
    let (status, ready) = stage.get(address, "/readyz").await;
    assert!(status == 503 && ready.contains(word), "{sentence}: {status} {ready}");
    let (_, said) = stage.get(address, "/api/v1/status").await;
    assert!(said.contains("\"well\":false") && said.contains("database_moved since"), "{sentence}: {said}");
    let (_, page) = stage.get(address, "/").await;
    assert!(page.contains("database file is not where it was"), "{sentence}: pages say so");

    crowd(&stage, address).await;
    let before = beats_in(away.join("serin.db")).await;
    bounded("beats are written on into the open file", async {
        while beats_in(away.join("serin.db")).await < before + 5 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
    crowd(&stage, address).await;
    let there = std::fs::read(stage.database()).ok();
    assert_eq!(there.as_deref(), put, "{sentence}: what stands in its place is not touched");
    for part in &PARTS[1..] {
        assert!(!stage.folder.path().join(part).exists(), "{sentence}: no {part} is made anew");
    }
    assert!(serin_refuses(&stage).await, "{sentence}: a second Serin does not begin beside it");

    if put.is_some() {
        std::fs::remove_file(stage.database()).expect("it is taken away");
    }
    move_parts(&away, stage.folder.path());
    received(&stage.ops, "serin.trouble_over", None).await;
    let (status, ready) = stage.get(address, "/readyz").await;
    assert_eq!(status, 200, "{sentence}: {ready}");
    stage.more_beats("s0", 2).await;
    assert_eq!(times(&stage.ops, "serin.trouble"), 1, "{sentence}: {:?}", messages(&stage.ops));
    serin.stop().await;
}

/// Whether a start on the same file ends for want of the database.
async fn serin_refuses(stage: &Stage) -> bool {
    let mut second = Serin::spawn(&stage.config());
    second.started().await.is_none() && !second.ended().await.success() && second.log().contains("in use by another")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_taken_away_is_told_and_not_begun_anew() {
    check("taken away", None, "is gone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_replaced_is_told_and_the_other_is_left_alone() {
    check("replaced", Some(b""), "is another file by now").await;
}
