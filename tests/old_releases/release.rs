//! Which releases there are, and a server on one of them as a process.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::client::{self, Raw};

/// What a server is built on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sdk {
    /// `mcp` and anyio, each of a release.
    Python(&'static str, &'static str),
    /// `@modelcontextprotocol/sdk` 1.12.0.
    TypeScript,
}

/// How Serin has to treat its sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A DELETE may bring it down: one session is kept, and discover never sent.
    Kept,
    /// It has no sessions, and discover may bring it down.
    Sessionless,
    /// Each session is closed.
    Closed,
}

/// A server as it is started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) sdk: Sdk,
    pub(crate) manner: Manner,
    /// Whether it has sessions.
    pub(crate) sessions: bool,
    /// What its author calls its version, so that nothing shows the SDK's.
    pub(crate) own_version: Option<&'static str>,
    /// Whether what stands before it loses the first `notifications/initialized`.
    pub(crate) lossy: bool,
}

/// The releases that one DELETE or one discover brings down, with an anyio that matters and one that does not.
const OLD: [&str; 4] = ["1.8.0", "1.8.1", "1.9.2", "1.9.4"];
/// Those that negotiate 2025-06-18 or newer, and are closed.
const NEWER: [&str; 4] = ["1.10.1", "1.12.4", "1.30.0", "2.3.0"];
/// The one where a session's end raises nothing, and the one since which it does.
const ANYIO: [&str; 2] = ["4.9.0", "4.16.0"];

impl Release {
    /// A server on the Python SDK.
    pub(crate) const fn python(mcp: &'static str, anyio: &'static str, sessions: bool, manner: Manner) -> Self {
        Self { sdk: Sdk::Python(mcp, anyio), manner, sessions, own_version: None, lossy: false }
    }

    /// The old releases with sessions, one of them with a version of its own.
    pub(crate) fn kept() -> Vec<Self> {
        let one = Self::python("1.9.4", "4.16.0", true, Manner::Kept);
        let own = Self { own_version: Some("7.4.1"), ..one };
        old(true, Manner::Kept).chain([own]).collect()
    }

    /// The old releases without sessions, one of them with a version of its own.
    pub(crate) fn sessionless() -> Vec<Self> {
        let one = Self::python("1.9.2", "4.16.0", false, Manner::Sessionless);
        let own = Self { own_version: Some("7.4.1"), ..one };
        old(false, Manner::Sessionless).chain([own]).collect()
    }

    /// Newer releases with and without sessions, and the older one in TypeScript.
    pub(crate) fn closed() -> Vec<Self> {
        let python = |mcp| [true, false].map(|sessions| Self::python(mcp, ANYIO[1], sessions, Manner::Closed));
        let typescript = Self { sdk: Sdk::TypeScript, sessions: true, ..Self::python("", "", true, Manner::Closed) };
        NEWER.into_iter().flat_map(python).chain([typescript]).collect()
    }

    fn command(self, port: u16) -> Command {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_releases");
        let port = format!("port={port}");
        let Sdk::Python(mcp, anyio) = self.sdk else {
            let mut command = Command::new("node");
            command.current_dir(&folder).args(["server.mjs", &port]);
            return command;
        };
        let mut command = Command::new(folder.join(".venv/bin/python"));
        // The types of 2.x are a package of their own; a folder that is not there does no harm.
        let packages = [format!("anyio-{anyio}"), format!("mcp-{mcp}"), format!("mcp-types-{mcp}")];
        let paths: Vec<PathBuf> = packages.iter().map(|package| folder.join("releases").join(package)).collect();
        command
            .current_dir(&folder)
            .args(["server.py", mcp, anyio, &port])
            .env("PYTHONPATH", std::env::join_paths(paths).expect("no colon in a path"))
            .args(self.own_version.map(|version| format!("version={version}")))
            .args((!self.sessions).then_some("stateless"))
            .args(self.lossy.then_some("lossy"));
        command
    }
}

fn old(sessions: bool, manner: Manner) -> impl Iterator<Item = Release> {
    let on = move |mcp| ANYIO.map(|anyio| Release::python(mcp, anyio, sessions, manner));
    OLD.into_iter().flat_map(on)
}

impl fmt::Display for Release {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sdk {
            Sdk::Python(mcp, anyio) => write!(to, "mcp {mcp}, anyio {anyio}")?,
            Sdk::TypeScript => write!(to, "@modelcontextprotocol/sdk 1.12.0")?,
        }
        write!(to, ", {}", if self.sessions { "sessions" } else { "no sessions" })?;
        self.own_version.map_or(Ok(()), |version| write!(to, ", version {version} of its own"))
    }
}

/// What a server counted since its process started.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Counts {
    /// By JSON-RPC method, or by HTTP method.
    pub(crate) received: BTreeMap<String, u64>,
    /// The ids of sessions that its answers announced.
    pub(crate) opened: BTreeSet<String>,
    /// Those that requests to end one named.
    pub(crate) deleted: BTreeSet<String>,
    /// Requests whose session had heard their JSON-RPC id before: such answers go astray.
    pub(crate) repeated: u64,
}

impl Counts {
    /// How many requests came of a method.
    pub(crate) fn of(&self, method: &str) -> u64 {
        self.received.get(method).copied().unwrap_or_default()
    }
}

/// A server that runs. It dies with its value.
pub(crate) struct Server {
    pub(crate) release: Release,
    pub(crate) port: u16,
    child: Child,
    raw: Raw,
}

impl Server {
    /// Starts it on a free port.
    pub(crate) async fn start(release: Release) -> Self {
        let (child, port) = spawn(release, free_port()).await;
        Self { release, port, child, raw: Raw::default() }
    }

    /// Ends the process at once; nobody listens then.
    pub(crate) async fn stop(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// Starts it again where it was; its counts begin anew.
    pub(crate) async fn start_again(&mut self) {
        self.stop().await;
        (self.child, _) = spawn(self.release, self.port).await;
        self.raw = Raw::default();
    }

    /// The address that is probed.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// What it counted of others than ourselves.
    pub(crate) async fn counts(&self) -> Counts {
        let text = client::get(&format!("http://127.0.0.1:{}/counts", self.port)).await;
        let mut counts: Counts = serde_json::from_str(&text).expect("counts");
        counts.opened.retain(|session| !self.raw.opened.contains(session));
        for method in &self.raw.sent {
            let theirs = counts.received.entry((*method).to_owned()).or_default();
            *theirs = theirs.saturating_sub(1);
        }
        counts
    }

    /// Whether it still lets a client of no monitor in and searches for it; else what it answered.
    pub(crate) async fn lives(&mut self) -> Result<(), String> {
        self.raw.searches(&self.url()).await
    }
}

/// A port that is nobody else's for as long as the tests run: below those that the system gives away, since a server that
/// is between two lives would find its own taken.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(21_000);
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

async fn spawn(release: Release, port: u16) -> (Child, u16) {
    let mut child = release
        .command(port)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{release} does not start ({error}); run tests/install.sh"));
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let port = loop {
        let line = lines.next_line().await.ok().flatten();
        let line = line.unwrap_or_else(|| panic!("{release} ended before it listened; run tests/install.sh"));
        println!("{release}: {line}");
        if let Some(port) = line.strip_prefix("listening on ") {
            break port.parse().expect("a port");
        }
    };
    // A full pipe would stop the server.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, port)
}
