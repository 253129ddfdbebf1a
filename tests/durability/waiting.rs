//! A start that the disk or another process keeps from its database: told, shown, tried again, and begun.

use std::net::{Ipv4Addr, SocketAddr};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::net::TcpListener;
use tokio::process::Command;

use crate::process::{Serin, run};
use crate::stage::{File, Stage, messages, received, times};
use crate::trouble::{FULL_BYTES, SmallDisk};

/// A port that is free now, put in the file: whoever waits says nothing on standard output yet.
async fn known_address(stage: &Stage, file: &File) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    stage.write_text(&stage.text(file).replace("listen: 127.0.0.1:0", &format!("listen: {address}")));
    address
}

/// A stage whose database was in use once.
async fn used() -> (Stage, SocketAddr) {
    let (stage, file) = Stage::set(1).await;
    let address = known_address(&stage, &file).await;
    let (serin, _) = Serin::start(&stage.config()).await;
    stage.more_beats("s0", 1).await;
    serin.stop().await;
    (stage, address)
}

async fn holder(stage: &Stage) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(stage.database()).disable_statement_logging();
    let mut connection = options.connect().await.expect("a connection");
    sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.expect("the lock");
    connection
}

/// What is seen of a Serin that waits, and after it.
async fn waits_and_begins(
    stage: &Stage,
    address: SocketAddr,
    serin: &mut Serin,
    kinds: &[&str],
    end: impl Future<Output = ()>,
) {
    let told = received(&stage.ops, "serin.trouble", None).await;
    assert!(kinds.contains(&&*told.evidence.0[0].1), "{told:?}");
    assert!(told.evidence.0[3].1.contains("has not started"), "it says what that means: {told:?}");
    let (status, health) = stage.get(address, "/healthz").await;
    assert_eq!(status, 200, "the process is alive, and is not to be killed for what it waits for: {health}");
    assert!(health.starts_with("starting: ") && health.contains(" since 20"), "{health}");
    let (status, ready) = stage.get(address, "/readyz").await;
    assert_eq!(status, 503, "{ready}");
    assert!(ready.contains("\"ready\":false") && ready.contains("starting: "), "{ready}");
    for path in ["/", "/api/v1/status", "/metrics"] {
        let (status, text) = stage.get(address, path).await;
        assert_eq!(status, 503, "{path}: {text}");
        assert!(text.contains("starting: "), "{path} says why: {text}");
    }
    let log = serin.log();
    assert!(log.contains("has not started") && log.contains("tried again in"), "the log says it too:\n{log}");
    end.await;
    serin.listens().await;
    stage.more_beats("s0", 2).await;
    received(&stage.ops, "serin.trouble_over", None).await;
    assert_eq!(times(&stage.ops, "serin.trouble"), 1, "told once: {:?}", messages(&stage.ops));
    let (status, ready) = stage.get(address, "/readyz").await;
    assert_eq!((status, stage.get(address, "/healthz").await.1.as_str()), (200, "ok\n"), "{ready}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_on_a_busy_database_waits_and_tells() {
    let (stage, address) = used().await;
    let mut holder = holder(&stage).await;
    let mut serin = Serin::spawn(&stage.config());
    let end = async {
        sqlx::query("ROLLBACK").execute(&mut holder).await.expect("the lock is let go");
    };
    waits_and_begins(&stage, address, &mut serin, &["database_locked"], end).await;
    holder.close().await.expect("it closes");
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_on_a_full_disk_waits_and_tells() {
    let (stage, file) = Stage::set(1).await;
    let address = known_address(&stage, &file).await;
    let mut command = Command::new("prlimit");
    command.args([FULL_BYTES, Serin::PROGRAM]);
    let mut serin = Serin::spawn_by(command, &stage.config(), &[], &[]);
    let id = serin.id().to_string();
    let end = async { run("prlimit", &["--pid", &id, "--fsize=unlimited:unlimited"]).await };
    waits_and_begins(&stage, address, &mut serin, &["disk_full", "database_broken"], end).await;
    serin.stop().await;
}

/// The same without a limit on the process: a file system without a free page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "mounts a small file system, so it runs as root: --include-ignored"]
async fn a_start_on_a_disk_without_a_free_page_waits_and_tells() {
    let (stage, file) = Stage::set(1).await;
    let Some(disk) = SmallDisk::over(stage.folder.path()) else {
        println!("skipped: this user may not mount a tmpfs; run it as root");
        return;
    };
    let address = known_address(&stage, &file).await;
    disk.fill();
    let mut serin = Serin::spawn(&stage.config());
    let end = async { std::fs::remove_file(disk.filler()).expect("there is room again") };
    waits_and_begins(&stage, address, &mut serin, &["disk_full", "database_broken"], end).await;
    serin.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_waits_ends_when_told_to() {
    let (stage, _) = used().await;
    let _holder = holder(&stage).await;
    let serin = Serin::spawn(&stage.config());
    received(&stage.ops, "serin.trouble", None).await;
    serin.stop().await;
}

/// What is done to the database, and what is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_waiting_mends_ends_a_start_at_once() {
    let rows = [
        ("a newer Serin's tables", "UPDATE _sqlx_migrations SET version = version + 900", "written by a newer Serin"),
        ("a damaged file", "", "is damaged"),
    ];
    for (sentence, sql, said) in rows {
        let (mut stage, _) = used().await;
        stage.look_away().await;
        if sql.is_empty() {
            std::fs::write(stage.database(), vec![7; 16_384]).expect("it is overwritten");
        } else {
            let options = SqliteConnectOptions::new().filename(stage.database()).disable_statement_logging();
            let mut connection = options.connect().await.expect("a connection");
            sqlx::query(sql).execute(&mut connection).await.expect("it is changed");
            connection.close().await.expect("it closes");
        }
        let mut serin = Serin::spawn(&stage.config());
        assert_eq!(serin.started().await, None, "{sentence}");
        assert_eq!(serin.ended().await.code(), Some(1), "{sentence}");
        assert!(serin.log().contains(said), "{sentence}: {}", serin.log());
        assert!(stage.ops.hooks().is_empty(), "{sentence}: whoever starts it reads that: {:?}", messages(&stage.ops));
    }
}
