//! A backup is whole or is not there; what is put back is what was; what is damaged is said, with the way out.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tokio::process::Command;

use crate::process::Serin;
use crate::stage::{Stage, bounded, received};

/// How often a backup is killed.
const KILLS: u32 = 50;
/// Another run with `SERIN_TEST_SEED=N` kills at the same moments.
const SEED_VARIABLE: &str = "SERIN_TEST_SEED";

/// Runs a command of Serin's on the stage's configuration.
async fn serin(stage: &Stage, arguments: &[&str]) -> Output {
    let output = command(stage, arguments).output();
    bounded(&format!("{arguments:?} ends"), output).await.expect("the binary starts")
}

fn command(stage: &Stage, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(arguments).arg("--config").arg(stage.config()).env("NO_COLOR", "1").kill_on_drop(true);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// What a person would compare: every row of what is counted, decided and told, as one text a table.
async fn figures(path: &Path, immutable: bool) -> Vec<(String, String)> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(immutable);
    let options = options.busy_timeout(Duration::from_secs(5)).disable_statement_logging();
    let mut connection = options.connect().await.expect("it opens");
    let sound: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await.expect("it reads");
    assert_eq!(sound, "ok", "{}", path.display());
    let tables: Vec<String> = sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .fetch_all(&mut connection)
        .await
        .expect("its tables");
    let mut figures = Vec::new();
    for table in tables {
        let columns: Vec<String> = sqlx::query_scalar("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info($1)")
            .bind(&table)
            .fetch_all(&mut connection)
            .await
            .expect("its columns");
        let row = columns.join("||'|'||");
        let sql =
            format!("SELECT COALESCE(group_concat(r, char(10)), '') FROM (SELECT {row} r FROM \"{table}\" ORDER BY r)");
        let rows: String = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.expect("its rows");
        figures.push((table, rows));
    }
    connection.close().await.expect("it closes");
    figures
}

fn rows(figures: &[(String, String)], table: &str) -> usize {
    figures.iter().find(|(name, _)| name == table).map_or(0, |(_, rows)| rows.lines().count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_while_serin_runs_gives_the_same_figures_back() {
    let (mut stage, _) = Stage::set(2).await;
    let (running, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 3).await;
    stage.refuse(1);
    received(&stage.oncall, "incident.opened", Some("s1")).await;
    stage.counted("the page is recorded as sent", 1, crate::outage::SENT, &[]).await;
    let copy = stage.folder.path().join("copy.db");
    let name = copy.to_str().expect("a name");
    let output = serin(&stage, &["backup", name]).await;
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("sound: 2 monitors, 1 incident (1 open)"), "{}", said(&output));
    stage.more_beats("s0", 2).await;

    let again = serin(&stage, &["backup", name]).await;
    assert!(!again.status.success() && said(&again).contains("--force"), "nothing is overwritten: {}", said(&again));
    let in_use = serin(&stage, &["restore", name]).await;
    assert!(!in_use.status.success() && said(&in_use).contains("is in use by another serin"), "{}", said(&in_use));
    stage.more_beats("s0", 1).await;
    running.kill().await;

    let backed = figures(&copy, true).await;
    let newest = figures(&stage.database(), false).await;
    assert!(rows(&newest, "beats") > rows(&backed, "beats"), "there is something to lose");
    let held = serin(&stage, &["restore", name]).await;
    assert!(!held.status.success() && said(&held).contains("another process has"), "we look on: {}", said(&held));
    assert_eq!(figures(&stage.database(), false).await, newest, "and nothing was changed");
    stage.look_away().await;
    let output = serin(&stage, &["restore", name]).await;
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(figures(&stage.database(), true).await, backed, "row by row what the backup holds");
    let aside = aside(&stage, "replaced");
    assert_eq!(figures(&aside, true).await, newest, "and row by row what it replaced, the log folded in");

    let (running, _) = Serin::start(&stage.config()).await;
    stage.mend(1);
    received(&stage.oncall, "incident.resolved", Some("s1")).await;
    assert_eq!(stage.count("SELECT COUNT(*) FROM incidents", &[]).await, 1, "the incident of the backup goes on");
    running.stop().await;
}

/// The one file beside the database whose name says why it was put there.
fn aside(stage: &Stage, word: &str) -> PathBuf {
    let names =
        std::fs::read_dir(stage.folder.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
    let dated = format!("serin.db.{word}-");
    let is_it = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.starts_with(&dated) && name.ends_with('Z')
    };
    let found: Vec<PathBuf> = names.filter(is_it).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_fifty_times_no_half_backup_is_taken_for_a_whole_one() {
    let seed = std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("{SEED_VARIABLE}={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (stage, _) = Stage::set(2).await;
    let (running, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    enlarge(&stage.database(), FILLER).await;
    let copy = stage.folder.path().join("copy.db");
    let name = copy.to_str().expect("a name");
    let (mut whole, mut killed, mut partial) = (0, 0, 0);
    let took = std::time::Instant::now();
    assert!(serin(&stage, &["backup", name]).await.status.success(), "undisturbed, it is made");
    let took_ms = u64::try_from(took.elapsed().as_millis()).expect("not that long");
    for _ in 0..KILLS {
        std::fs::remove_file(&copy).ok();
        let mut child =
            command(&stage, &["backup", name]).stdout(std::process::Stdio::null()).spawn().expect("the binary starts");
        // Also past its end, so that the rename itself is hit.
        tokio::time::sleep(Duration::from_millis(random.random_range(0..took_ms + took_ms / 4))).await;
        child.start_kill().ok();
        let status = bounded("it ends", child.wait()).await.expect("its status");
        killed += u32::from(!status.success());
        partial += u32::from(stage.folder.path().join("copy.db.partial").exists());
        if copy.exists() {
            whole += 1;
            assert!(rows(&figures(&copy, true).await, "blobs") >= FILLER, "whole, though it was killed: {status}");
        } else {
            assert!(!status.success(), "what ends well has left a backup");
        }
    }
    println!("{took_ms} ms undisturbed; of {KILLS}: {killed} killed, {whole} whole, {partial} left a partial file");
    assert!(killed > 0 && partial > 0, "the kills hit: {killed} killed, {partial} partial");
    let output = serin(&stage, &["backup", name, "--force"]).await;
    assert!(output.status.success(), "after all that it still works: {}", said(&output));
    stage.more_beats("s0", 2).await;
    running.stop().await;
    figures(&stage.database(), true).await;
}

/// Rows that give a backup something to do.
const FILLER: usize = 3000;

async fn enlarge(database: &Path, rows: usize) {
    let options = SqliteConnectOptions::new().filename(database).busy_timeout(Duration::from_secs(30));
    let mut connection = options.disable_statement_logging().connect().await.expect("it opens");
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) INSERT INTO blobs \
               (hash, kind, codec, created_at, data) SELECT 'h' || i, 'filler', 'raw', 0, randomblob(10000) FROM n";
    sqlx::query(sql).bind(i64::try_from(rows).expect("few")).execute(&mut connection).await.expect("it grows");
    connection.close().await.expect("it closes");
}

/// Two backups are put back in turn, and each time somebody pulls the plug.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_fifty_times_while_putting_back_the_database_is_the_old_or_the_new_one() {
    let seed = std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("{SEED_VARIABLE}={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (mut stage, _) = Stage::set(1).await;
    let (running, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    running.stop().await;
    stage.look_away().await;
    let backups = ["first.db", "second.db"].map(|name| stage.folder.path().join(name));
    for (at, backup) in backups.iter().enumerate() {
        if at > 0 {
            enlarge(&stage.database(), FILLER / 3).await;
        }
        let output = serin(&stage, &["backup", backup.to_str().expect("a name")]).await;
        assert!(output.status.success(), "{}", said(&output));
    }
    let whole = [figures(&backups[0], true).await, figures(&backups[1], true).await];
    assert_ne!(whole[0], whole[1]);
    let took = std::time::Instant::now();
    assert!(serin(&stage, &["restore", backups[0].to_str().expect("a name")]).await.status.success());
    let took_ms = u64::try_from(took.elapsed().as_millis()).expect("not that long");
    let (mut now, mut changed, mut killed) = (0, 0, 0);
    // Kills are spread over twice the time it takes, which other work on the machine changes: one that came too late
    // says how long it takes now, and one that came in time lets the next come later.
    let mut spread_ms = took_ms * 2;
    for _ in 0..KILLS {
        let next = 1 - now;
        let arguments = ["restore", backups[next].to_str().expect("a name")];
        let began = std::time::Instant::now();
        let mut child = command(&stage, &arguments).stdout(std::process::Stdio::null()).spawn().expect("it starts");
        let kill_after = Duration::from_millis(random.random_range(0..spread_ms.max(2)));
        let in_time = tokio::time::timeout(kill_after, child.wait()).await.is_err();
        let took_now = u64::try_from(began.elapsed().as_millis()).expect("not that long");
        spread_ms = if in_time { spread_ms + spread_ms / 8 + 1 } else { took_now * 2 };
        child.start_kill().ok();
        let status = bounded("it ends", child.wait()).await.expect("its status");
        killed += u32::from(!status.success());
        let found = figures(&stage.database(), true).await;
        let is = whole.iter().position(|figures| *figures == found).expect("one of the two, row by row");
        assert!(is == next || !status.success(), "what ends well is done");
        changed += u32::from(is != now);
        now = is;
        forget_kept(&stage);
    }
    println!("{took_ms} ms undisturbed; of {KILLS}: {killed} killed, {changed} put back");
    assert!(killed > 0 && changed > 0, "the kills hit on both sides: {killed} killed, {changed} put back");
    let (running, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    running.stop().await;
}

/// Removes what was put aside, so that fifty of them do not fill the disk.
fn forget_kept(stage: &Stage) {
    for entry in std::fs::read_dir(stage.folder.path()).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().contains("serin.db.replaced-") {
            std::fs::remove_file(path).expect("it goes");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_sound_backup_is_not_put_back() {
    let (stage, _) = Stage::set(1).await;
    let (running, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    let folder = stage.folder.path().to_owned();
    let good = folder.join("good.db");
    let output = serin(&stage, &["backup", good.to_str().expect("a name")]).await;
    assert!(output.status.success(), "{}", said(&output));
    running.stop().await;
    let before = figures(&stage.database(), true).await;
    let bytes = std::fs::read(&good).expect("the backup");
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        bytes
    };
    let make = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("it is written");
        path
    };
    let newer = make("newer.db", &bytes);
    altered(&newer, "INSERT INTO _sqlx_migrations VALUES (99, 'later', 0, 1, x'00', 0)").await;
    let foreign = folder.join("foreign.db");
    altered(&foreign, "CREATE TABLE songs (name TEXT)").await;
    let by_hand = make("hand.db", &bytes);
    make("hand.db-wal", b"frames");
    let refused = [
        (make("text.db", b"this is a shopping list"), "file is not a database", "a text"),
        (make("empty.db", b""), "no database of Serin's", "an empty file"),
        (make("short.db", &bytes[..bytes.len() / 2 / 4096 * 4096]), "damaged", "the first half of a backup"),
        (make("flipped.db", &with(&|bytes| bytes[4096..5000].fill(0xa5))), "damaged", "a page full of rubbish"),
        (newer, "step 99 of its tables", "a newer Serin's"),
        (foreign, "no database of Serin's", "another program's"),
        (by_hand, "made by hand", "a copy that lacks its newest part"),
        (folder.join("nothing.db"), "cannot copy", "nothing"),
    ];
    for (file, words, sentence) in refused {
        let output = serin(&stage, &["restore", file.to_str().expect("a name")]).await;
        assert!(!output.status.success() && said(&output).contains(words), "{sentence}: {}", said(&output));
        assert_eq!(figures(&stage.database(), true).await, before, "{sentence}: the database is as it was");
        assert!(!folder.join("serin.db.restoring").exists(), "{sentence}: nothing is left behind");
    }
    let own = stage.database();
    let places = [
        (own.to_str().expect("a name"), "belongs to the database itself", "over the database"),
        (folder.to_str().expect("a name"), "is a folder", "over a folder"),
        ("/proc/nowhere/copy.db", "cannot write", "where nothing can be written"),
    ];
    for (to, words, sentence) in places {
        let output = serin(&stage, &["backup", to, "--force"]).await;
        assert!(!output.status.success() && said(&output).contains(words), "{sentence}: {}", said(&output));
    }
    assert_eq!(figures(&own, true).await, before);
}

async fn altered(path: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).disable_statement_logging();
    let mut connection = options.connect().await.expect("it opens");
    sqlx::query(sql).execute(&mut connection).await.expect("it is altered");
    connection.close().await.expect("it closes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_database_says_the_ways_out_and_both_are_open() {
    let (mut stage, _) = Stage::set(1).await;
    let (running, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 2).await;
    let copy = stage.folder.path().join("copy.db");
    let name = copy.to_str().expect("a name");
    assert!(serin(&stage, &["backup", name]).await.status.success());
    running.stop().await;
    stage.look_away().await;
    let backed = figures(&copy, true).await;
    let sound = std::fs::read(stage.database()).expect("the database");
    type Damage<'a> = (&'a str, &'a dyn Fn(&mut Vec<u8>));
    let damages: [Damage<'_>; 3] = [
        ("its header is rubbish", &|bytes| bytes[..100].fill(0xa5)),
        ("its tables are rubbish", &|bytes| bytes[4096..].fill(0xa5)),
        ("its second half is gone", &|bytes| bytes.truncate(bytes.len() / 2 / 4096 * 4096)),
    ];
    for (sentence, damage) in damages {
        let mut bytes = sound.clone();
        damage(&mut bytes);
        std::fs::write(stage.database(), &bytes).expect("the damage is done");
        let mut refused = Serin::spawn(&stage.config());
        assert!(!refused.ended().await.success(), "{sentence}");
        let log = refused.log();
        for words in ["is damaged (", "`serin restore BACKUP`", "`serin run --set-aside-damaged`"] {
            assert!(log.contains(words), "{sentence}: it says {words}: {log}");
        }
        assert_eq!(std::fs::read(stage.database()).expect("it is there"), bytes, "{sentence}: nothing was changed");
    }
    let output = serin(&stage, &["restore", name]).await;
    assert!(output.status.success(), "one way out: {}", said(&output));
    assert_eq!(figures(&stage.database(), true).await, backed);

    let damaged = &sound[..sound.len() / 2 / 4096 * 4096];
    std::fs::write(stage.database(), damaged).expect("the damage is done");
    let (running, address) = Serin::start_with(&stage.config(), &["--set-aside-damaged"]).await;
    stage.shown(address, "/", "the pages say that history is gone", |page| page.contains("began anew")).await;
    received(&stage.ops, "serin.trouble", None).await;
    stage.shown(address, "/api/v1/monitors/s0", "it watches", |text| text.contains("\"state\":\"up\"")).await;
    assert_eq!(std::fs::read(aside(&stage, "damaged")).expect("it is kept"), damaged, "the damaged one is kept");
    running.stop().await;
}
