//! A primary and its standby, of a test's own, on loopback: the primary can be killed at once, and the standby promoted.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serin::domain::database_address::DatabaseAddress;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

/// Far beyond what anything takes.
const LONG: Duration = Duration::from_secs(60);
/// The only database that both have, beside PostgreSQL's own.
const DATABASE: &str = "serin";

/// Whether a commit waits for the standby.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standby {
    Synchronous,
    Asynchronous,
}

/// Two servers, the second of which repeats what the first writes.
pub(crate) struct Cluster {
    pub(crate) primary: Server,
    pub(crate) standby: Server,
    _folder: tempfile::TempDir,
}

/// One server, which ends with this.
pub(crate) struct Server {
    port: u16,
    data: PathBuf,
    process: Child,
}

impl Cluster {
    pub(crate) async fn start(standby_is: Standby) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        hand_over(folder.path());
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        run(
            "initdb",
            &["--auth=trust", "--username=serin", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"],
            &first,
        );
        let primary = Server::start(first).await;
        primary.write("CREATE DATABASE serin").await;
        let port = primary.port.to_string();
        let copy = ["-R", "-X", "stream", "-c", "fast", "--no-sync", "-h", "127.0.0.1", "-U", "serin", "-p", &port];
        run("pg_basebackup", &copy, &second);
        let standby = Server::start(second).await;
        if standby_is == Standby::Synchronous {
            primary.write("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
            primary.write("SELECT pg_reload_conf()").await;
            primary.until("SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')").await;
        } else {
            primary.until("SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE state = 'streaming')").await;
        }
        Self { primary, standby, _folder: folder }
    }

    /// As a file would name it: the one that takes writes is used.
    pub(crate) fn address(&self) -> DatabaseAddress {
        let (first, second) = (self.primary.port, self.standby.port);
        DatabaseAddress::parse(&format!("postgres://serin@127.0.0.1:{first},127.0.0.1:{second}/{DATABASE}"))
            .expect("an address")
    }

    /// Waits until the standby has all that was written, and lets it hear of nothing more.
    pub(crate) async fn leave_behind(&self) {
        let written = self.primary.read("SELECT CAST(pg_current_wal_lsn() AS TEXT)").await.remove(0);
        self.standby.until(&format!("SELECT pg_last_wal_replay_lsn() >= CAST('{written}' AS pg_lsn)")).await;
        self.standby.write("ALTER SYSTEM SET primary_conninfo = ''").await;
        self.standby.write("SELECT pg_reload_conf()").await;
        self.standby.until("SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)").await;
    }

    /// The primary ends at once, without a word to anybody, and the standby takes its place.
    pub(crate) async fn fail_over(&mut self) {
        self.primary.kill();
        self.standby.write("SELECT pg_promote()").await;
        self.standby.until("SELECT NOT pg_is_in_recovery()").await;
    }
}

impl Server {
    async fn start(data: PathBuf) -> Self {
        // Somebody else may have it by the time it is wanted: then another one is.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
            let mut command = program("postgres");
            command.arg("-D").arg(&data).arg("-c").arg("listen_addresses=127.0.0.1");
            command.args(["-c", &format!("port={port}"), "-c", "unix_socket_directories=", "-c", "fsync=off"]);
            let process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
            let mut server = Self { port, data: data.clone(), process };
            if server.is_up().await {
                return server;
            }
        }
        panic!("no server of {} starts", data.display());
    }

    /// Waits until it answers; false where it ended instead.
    async fn is_up(&mut self) -> bool {
        let up = async {
            while PgConnection::connect(&self.name("postgres")).await.is_err() {
                if self.process.try_wait().expect("it is ours").is_some() {
                    let mut said = String::new();
                    drop(self.process.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said)));
                    eprintln!("{} ended: {said}", self.data.display());
                    return false;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            true
        };
        tokio::time::timeout(LONG, up).await.expect("it starts or ends")
    }

    fn name(&self, database: &str) -> String {
        format!("postgres://serin@127.0.0.1:{}/{database}", self.port)
    }

    async fn connect(&self) -> PgConnection {
        match PgConnection::connect(&self.name(DATABASE)).await {
            Ok(connection) => connection,
            // It is not made yet.
            Err(_) => PgConnection::connect(&self.name("postgres")).await.expect("it answers"),
        }
    }

    pub(crate) async fn write(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut self.connect().await).await.expect("it is done");
    }

    /// What is read there: a text a row.
    pub(crate) async fn read(&self, sql: &str) -> Vec<String> {
        let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&mut self.connect().await).await;
        rows.expect("it is read").iter().map(|row| row.try_get(0).expect("a text")).collect()
    }

    async fn is(&self, sql: &str) -> bool {
        let row = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_one(&mut self.connect().await).await;
        row.expect("it is read").try_get(0).expect("yes or no")
    }

    /// Waits until it says yes.
    async fn until(&self, sql: &str) {
        let so = async {
            while !self.is(sql).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LONG, so).await.unwrap_or_else(|_| panic!("{sql}"));
    }

    /// It and all its sessions end as they stand: nothing is written down, and nobody is told.
    fn kill(&mut self) {
        if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        drop(Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status());
        drop(self.process.wait());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A program of PostgreSQL's newest version here, which refuses to run as root.
fn program(name: &str) -> Command {
    let found = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let mut versions: Vec<PathBuf> = found.filter_map(Result::ok).map(|version| version.path()).collect();
    versions.sort();
    let path = versions.last().expect("a version").join("bin").join(name);
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    command
}

fn run(name: &str, arguments: &[&str], data: &Path) {
    let output = program(name).args(arguments).arg("-D").arg(data).output().expect("it runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Gives a folder to whom the server runs as.
fn hand_over(folder: &Path) {
    if is_root() {
        let given = Command::new("chown").arg("postgres").arg(folder).status();
        assert!(given.is_ok_and(|status| status.success()), "the folder is the server's");
    }
}

fn is_root() -> bool {
    let said = Command::new("id").arg("-u").output().expect("it says who we are");
    said.stdout.trim_ascii() == b"0"
}
