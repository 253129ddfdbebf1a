//! A machine that shares the fleet, behind a link of its own to the database: it can be killed, stopped and cut off.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use serde_json::Value;
use tokio::process::{Child, Command};

use super::link::Link;
use crate::stage::{SECRET, announced};

/// One of several; another process and another id with each start.
#[derive(Debug)]
pub(super) struct Machine {
    /// From 1.
    pub(super) nth: usize,
    pub(super) link: Link,
    folder: PathBuf,
    /// With the address of the link in it.
    database: String,
    log: PathBuf,
    serin: Child,
    pages: String,
}

impl Machine {
    /// Starts one in a folder; `database` is the address of the server and the name of the database.
    pub(super) async fn start(folder: &Path, nth: usize, database: &str) -> Self {
        let (scheme, rest) = database.split_once("://").unwrap();
        let (authority, name) = rest.split_once('/').unwrap();
        let (user, server) = authority.rsplit_once('@').map_or(("", authority), |(user, server)| (user, server));
        let link = Link::to(server.to_owned()).await;
        let database = format!("{scheme}://{user}@{}/{name}", link.address);
        let log = folder.join(format!("log-{nth}"));
        let (serin, pages) = serin(folder, &database, &log).await;
        Self { nth, link, folder: folder.to_owned(), database, log, serin, pages }
    }

    /// Sends it a signal, by name.
    pub(super) fn signal(&self, name: &str) {
        let id = self.serin.id().expect("it runs").to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        assert!(sent.success(), "kill -{name} {id}");
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) -> ExitStatus {
        self.serin.wait().await.unwrap()
    }

    /// Starts it again.
    pub(super) async fn again(&mut self) {
        (self.serin, self.pages) = serin(&self.folder, &self.database, &self.log).await;
    }

    /// When it says that it started, in microseconds since 1970: by this the database knows it.
    pub(super) async fn started_at(&self, client: &reqwest::Client) -> Option<i64> {
        let answer = client.get(format!("{}/api/v1/status", self.pages)).send().await.ok()?;
        let body: Value = answer.json().await.ok()?;
        let this = body["machines"].as_array()?.iter().find(|machine| machine["is_this"] == true)?;
        let started_at = chrono::DateTime::parse_from_rfc3339(this["started_at"].as_str()?).ok()?;
        Some(started_at.timestamp_micros())
    }
}

/// Starts `serin run`, and goes on in its log; where its pages are, it says itself.
async fn serin(folder: &Path, database: &str, log: &Path) -> (Child, String) {
    let said = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    let mut serin = Command::new(env!("CARGO_BIN_EXE_serin"))
        .args(["run", "--config"])
        .arg(folder.join("monitors.yaml"))
        .env("SERIN_JOURNEY_DATABASE", database)
        .env("SERIN_JOURNEY_SECRET", SECRET)
        .stdout(Stdio::piped())
        .stderr(said)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pages = announced(&mut serin, "pages at ").await;
    let pages = pages.unwrap_or_else(|| panic!("{}", std::fs::read_to_string(log).unwrap()));
    (serin, pages)
}
