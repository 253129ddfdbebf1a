//! The file: one Serin at a time, a lock or a full disk that heals, and who may read it.

use std::collections::BTreeMap;
use std::path::Path;

use serin::domain::answer::CacheWord;
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::Judged;
use serin::store::values::change_set::{AskRow, ChangeSet};
use serin::store::{OpenError, Store, StoreError};
use sqlx::Connection;

use crate::{Place, ask, at, beat, record, stranger};

#[tokio::test]
async fn a_second_serin_is_refused() {
    let place = Place::new();
    let store = place.open().await;
    let second = Store::open(&place.path()).await.expect_err("one database, one serin");
    assert!(matches!(second, OpenError::InUse { .. }), "{second}");
    assert!(second.to_string().contains("in use by another serin; stop that one"), "it names the mend: {second}");
    store.close().await;
    place.open().await.close().await;
}

#[tokio::test]
async fn a_locked_database_is_said_and_heals() {
    let place = Place::new();
    let store = place.open().await;
    let mut other = stranger(&place.path()).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.expect("it locks");
    let (one, two) = tokio::join!(store.commit(record("a", 0)), store.commit(record("b", 0)));
    assert_eq!((one, two), (Err(StoreError::Locked), Err(StoreError::Locked)), "everybody of the batch hears of it");
    assert_eq!(store.beats(&MonitorId::new("a"), 1, at(3600)).await, Ok(vec![]), "reading goes on");
    sqlx::query("ROLLBACK").execute(&mut other).await.expect("it lets go");
    other.close().await.expect("it closes");
    assert_eq!(store.commit(record("a", 0)).await, Ok(()), "writing resumes by itself");
    store.close().await;
}

#[tokio::test]
async fn a_full_disk_is_said_and_heals() {
    let place = Place::new();
    let store = place.open().await;
    let pages = place.number("PRAGMA page_count").await;
    store.limit_pages(u32::try_from(pages).expect("a small file")).await.expect("limited");
    let large = |n: i64| ChangeSet {
        beat: Some(beat("a", n)),
        asks: (0..20).map(|i| AskRow { canary: format!("{i}{}", "x".repeat(400)), ..ask("", 1) }).collect(),
        ..ChangeSet::default()
    };
    let mut refusal = Ok(());
    for n in 0..200 {
        refusal = store.commit(large(n)).await;
        if refusal.is_err() {
            break;
        }
    }
    assert_eq!(refusal, Err(StoreError::Full), "a full disk has its own name");
    let beats = place.number("SELECT COUNT(*) FROM beats").await;
    let asks = place.number("SELECT COUNT(*) FROM asks").await;
    assert_eq!(asks, beats * 20, "no record was written in part");
    store.limit_pages(0).await.expect("space again");
    assert_eq!(store.commit(large(1000)).await, Ok(()), "writing resumes by itself");
    store.close().await;
}

/// The permissions of what lies in a folder, by name.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file"));
    let mode = |file: &std::fs::DirEntry| file.metadata().expect("it is there").permissions().mode() & 0o777;
    files.map(|file| (file.file_name().to_string_lossy().into_owned(), mode(&file))).collect()
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[tokio::test]
async fn nobody_else_reads_what_serin_writes() {
    let place = Place::new();
    let folder = place.folder.path();
    let store = place.open().await;
    store.commit(record("docs", 0)).await.expect("it commits");
    let backup = folder.join("backup.db");
    // What an older Serin left behind half-written is not written on as it was.
    std::fs::write(folder.join("backup.db.partial"), "").expect("a file");
    set_mode(&folder.join("backup.db.partial"), 0o644);
    serin::store::file::backup::write(&place.path(), &backup, false).await.expect("a backup");
    let output = folder.join("beats.csv");
    let mut export = std::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    export.args(["export", "beats", "--database"]).arg(place.path()).arg("--output").arg(&output);
    assert!(export.status().expect("the binary starts").success());
    let ours = ["backup.db", "beats.csv", "serin.db", "serin.db-shm", "serin.db-wal", "serin.db.lock"];
    assert_eq!(modes(folder), ours.map(|name| (name.to_owned(), 0o600)).into());
    store.close().await;

    // A backup of an older Serin, or one that somebody copied: what is put back is as private as a new one.
    set_mode(&backup, 0o644);
    let fresh = tempfile::tempdir().expect("a folder");
    let put_back = fresh.path().join("serin.db");
    serin::store::file::restore::restore(&backup, &put_back, at(0)).await.expect("it is put back");
    assert!(modes(fresh.path()).values().all(|mode| *mode == 0o600), "{:?}", modes(fresh.path()));
}

#[tokio::test]
async fn a_database_that_others_were_let_read_stays_so() {
    let place = Place::new();
    place.open().await.close().await;
    set_mode(&place.path(), 0o640);
    let store = place.open().await;
    store.commit(record("docs", 0)).await.expect("it commits");
    let modes = modes(place.folder.path());
    assert_eq!(["serin.db", "serin.db-wal", "serin.db-shm"].map(|name| modes[name]), [0o640; 3]);
    serin::store::file::backup::write(&place.path(), &place.folder.path().join("backup.db"), false)
        .await
        .expect("a backup");
    assert_eq!(self::modes(place.folder.path())["backup.db"], 0o600, "a backup is its own file");
}

#[tokio::test]
async fn a_database_of_the_version_before_answers_the_same() {
    let place = Place::new();
    let monitor = MonitorId::new("docs");
    let store = place.open().await;
    let older = |monitor: &str, beat: i64| {
        let mut record = record(monitor, beat * 60);
        record.beat.iter_mut().for_each(|beat| beat.judged = [Judged::UNKNOWN; 8]);
        record.asks.iter_mut().for_each(|ask| ask.cache = CacheWord::Unsaid);
        record
    };
    let beats = (0..90).flat_map(|beat| ["docs", "other"].map(|monitor| store.commit(older(monitor, beat))));
    assert!(futures_util::future::join_all(beats).await.iter().all(Result::is_ok), "committed");
    let told = async |store: &Store| {
        let past = store.past(&monitor, at(-3600), at(7200)).await.expect("the past");
        let hours = store.hours(&monitor, at(-3600), at(7200)).await.expect("hours");
        let beats = store.beats(&monitor, 100, at(5400)).await.expect("beats");
        assert_eq!((past.len(), beats.len()), (90, 90));
        // A score that was not given is not equal to itself.
        format!("{past:?} {hours:?} {beats:?}")
    };
    let before = told(&store).await;
    store.close().await;
    let mut older = stranger(&place.path()).await;
    for step in [
        "CREATE INDEX beats_of_monitor ON beats (monitor, started_at)",
        "DROP TABLE nodes",
        "DROP TABLE decisions",
        "DROP TABLE texts",
        "DROP TABLE locks",
        "DROP TABLE holds",
        "ALTER TABLE beats ADD COLUMN lock_hash TEXT",
        "ALTER TABLE beats DROP COLUMN lock",
        "ALTER TABLE beats DROP COLUMN signals",
        "ALTER TABLE beats DROP COLUMN source_count",
        "ALTER TABLE beats DROP COLUMN newest_source",
        "ALTER TABLE beats DROP COLUMN newest_known",
        "ALTER TABLE asks DROP COLUMN cache",
        "ALTER TABLE asks DROP COLUMN self_reported",
        "ALTER TABLE beats DROP COLUMN maintenance",
        "ALTER TABLE beat_packs DROP COLUMN apart",
        "DROP INDEX deliveries_gathering",
        "DROP INDEX deliveries_gathered",
        "DROP INDEX deliveries_together",
        "DROP INDEX deliveries_sent",
        "ALTER TABLE deliveries DROP COLUMN group_key",
        "ALTER TABLE deliveries DROP COLUMN batch",
        "ALTER TABLE deliveries DROP COLUMN lease_by",
        "DROP TABLE api_keys",
        "DROP TABLE audit",
        "DROP TABLE kept_lists",
        "DROP INDEX actions_waiting",
        "ALTER TABLE actions DROP COLUMN monitor",
        "ALTER TABLE actions DROP COLUMN applied_at",
        "ALTER TABLE sealing ADD COLUMN begun_until INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sealing ADD COLUMN sealed_until INTEGER NOT NULL DEFAULT 0",
        "UPDATE sealing SET (begun_until, sealed_until) = (SELECT begun_until, sealed_until FROM shards WHERE shard = 7)",
        "DROP TABLE shards",
        "DROP TABLE standings",
        "DROP TABLE standing_versions",
        "DROP INDEX incidents_of_monitor_by_end",
        "DELETE FROM _sqlx_migrations WHERE version >= 10",
    ] {
        sqlx::query(step).execute(&mut older).await.expect("made older");
    }
    older.close().await.expect("closed");
    let store = place.open().await;
    assert!(told(&store).await == before, "the same pages");
    let index = "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'beats_of_monitor'";
    assert_eq!(place.number(index).await, 0, "what is not asked any more is not written any more");
    store.close().await;
}
