//! The real binary: commands that end, and `serin run` on a file of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::release::Server;

/// Past this a test hangs. A guard and no claim: nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
/// Pause between two looks at the database, which cannot wake us.
const LOOK_GAP: Duration = Duration::from_millis(50);

/// Lines of a command's output that a grievance shows.
const LINES_SHOWN: usize = 6;

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    /// Both streams, for a person.
    pub(crate) all: String,
}

impl Said {
    /// How it ended, and what it said at the last.
    pub(crate) fn short(&self) -> String {
        let last: Vec<&str> = self.all.trim_end().lines().rev().take(LINES_SHOWN).collect();
        format!("{:?}: {}", self.code, last.into_iter().rev().collect::<Vec<_>>().join(" / "))
    }
}

/// Runs the binary to its end.
pub(crate) async fn serin(arguments: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    let command = command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null()).kill_on_drop(true);
    let output = bounded(&format!("serin {arguments:?}"), command.output()).await.expect("the binary starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Said { code: output.status.code(), out: out.clone().into_owned(), all: format!("{out}{err}") }
}

/// A folder with a file that watches some servers as `s0`, `s1` and so on, and the Serin that runs on it, if one does.
pub(crate) struct Watch {
    folder: TempDir,
    /// The process, and where its pages are.
    running: Option<(Child, String)>,
}

impl Watch {
    /// Writes the file; nothing runs yet.
    pub(crate) fn over<'s>(servers: impl Iterator<Item = &'s Server>, every: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = format!(
            "version: 1\nserin:\n  listen: 127.0.0.1:0\n  database: serin.db\n  allow_private: [127.0.0.0/8]\n\
             defaults: {{ every: {every}, timeout: 10s, probe_budget: 12s }}\n\
             receivers: {{ nobody: {{ webhook: {{ url: 'http://127.0.0.1:9/hook' }} }} }}\n\
             routes: [{{ to: [nobody] }}]\nmonitors:\n"
        );
        for (number, server) in servers.enumerate() {
            let canary = "{ id: err-4417, query: ERR-4417, kind: keyword, expect: [errors/4417.md] }";
            text.push_str(&format!(
                "  - id: s{number}\n    url: {}\n    search: {{ tool: search_documents }}\n    canaries: [{canary}]\n",
                server.url()
            ));
        }
        let watch = Self { folder, running: None };
        std::fs::write(watch.config(), text).expect("the folder is writable");
        watch
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("monitors.yaml")
    }

    /// `serin run`, until it says where its pages are.
    pub(crate) async fn run(&mut self) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_serin"))
            .arg("run")
            .arg("--config")
            .arg(self.config())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let listens = async {
            loop {
                let line = lines.next_line().await.expect("text").expect("it runs on");
                if let Some((_, pages)) = line.split_once("pages at ") {
                    return pages.trim().to_owned();
                }
            }
        };
        let pages = bounded("serin says where its pages are", listens).await;
        let mut rest = lines.into_inner();
        tokio::spawn(async move { rest.read_to_end(&mut Vec::new()).await });
        self.running = Some((child, pages));
    }

    /// Has it end well.
    pub(crate) async fn stop(&mut self) {
        let (mut child, _) = self.running.take().expect("it runs");
        let id = child.id().expect("it runs").to_string();
        let told = Command::new("kill").args(["-s", "TERM", &id]).status().await.expect("kill is installed");
        assert!(told.success(), "it was told to stop");
        assert!(bounded("serin ends", child.wait()).await.expect("its status").success());
    }

    /// A command about its file, and about the Serin that runs on it.
    pub(crate) async fn serin(&self, arguments: &[&str]) -> Said {
        let config = self.config();
        let config = ["--config", config.to_str().expect("text")];
        // The file leaves the port open.
        let pages = self.running.iter().flat_map(|(_, pages)| ["--url", pages.as_str()]);
        serin(&[arguments, &config, &pages.collect::<Vec<_>>()].concat()).await
    }

    /// Rows of texts out of its database.
    pub(crate) async fn rows(&self, sql: &'static str) -> Vec<Vec<String>> {
        let options = SqliteConnectOptions::new()
            .filename(self.folder.path().join("serin.db"))
            .read_only(true)
            .busy_timeout(Duration::from_secs(5));
        let pool: SqlitePool = SqlitePoolOptions::new().max_connections(1).connect_lazy_with(options);
        let rows = sqlx::query(sql).fetch_all(&pool).await.expect("the database can be read");
        pool.close().await;
        let texts = |row: &sqlx::sqlite::SqliteRow| (0..row.len()).map(|nth| row.get::<String, _>(nth)).collect();
        rows.iter().map(texts).collect()
    }

    /// Waits until each of so many monitors has so many more beats than it has now.
    pub(crate) async fn beats(&self, monitors: usize, more: u64) {
        let sql = "SELECT CAST(COUNT(*) AS TEXT) FROM beats WHERE seen = 'seen' GROUP BY monitor ORDER BY monitor";
        let count =
            async || -> Vec<u64> { self.rows(sql).await.iter().map(|row| row[0].parse().expect("a figure")).collect() };
        let before = count().await;
        let came = async {
            loop {
                let now = count().await;
                let each = now.iter().enumerate().all(|(nth, now)| *now >= before.get(nth).unwrap_or(&0) + more);
                if now.len() == monitors && each {
                    return;
                }
                tokio::time::sleep(LOOK_GAP).await;
            }
        };
        bounded(&format!("{more} beats of {monitors} monitors"), came).await;
    }
}

/// Fails the test where something does not come about.
async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("this did not happen within {} s: {what}", PATIENCE.as_secs()),
    }
}
