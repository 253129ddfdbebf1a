//! A folder in which a server keeps its notes, the file that watches it, and ways in which the notes are lost.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::notes::{NOTES, Note, TABLE, rows};
use crate::servers::{Data, Loss, Runs, Server};
use crate::talk::{Call, Program};

/// A server's own folder; what plays its upstream ends with it.
pub(crate) struct Folder {
    server: &'static Server,
    folder: TempDir,
    upstream: Option<(Child, u16)>,
}

impl Folder {
    /// A server with the five notes in it.
    pub(crate) async fn seeded(server: &'static Server) -> Self {
        // mcp-obsidian reads its folder's name in small letters.
        let plain = server.name.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let name = format!("serin-{}-{plain}", std::process::id());
        let folder = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir().expect("a folder");
        let mut seeded = Self { server, folder, upstream: None };
        for own in ["home", "tmp", "notes"] {
            std::fs::create_dir(seeded.at(own)).expect("the folder is writable");
        }
        match server.data {
            Data::Graph => {
                let lines = NOTES.map(|note| note.entity().to_string());
                std::fs::write(seeded.at("memory.jsonl"), lines.join("\n")).expect("the folder is writable");
            }
            Data::Markdown => seeded.files("md", |note| note.markdown()),
            Data::Python => {
                seeded.files("py", |note| note.python());
                // Or the project would be taken to begin further up.
                std::fs::write(seeded.at("notes/pyproject.toml"), "").expect("the folder is writable");
            }
            Data::Table => {
                let rows = rows();
                seeded.sql(&[TABLE, &rows]).await;
            }
            Data::Upstream => {
                seeded.files("md", |note| note.markdown());
                seeded.upstream = Some(upstream(&seeded.at("notes")).await);
            }
            Data::Told(more, calls) => seeded.told(more, calls()).await,
        }
        std::fs::write(seeded.config(), seeded.yaml()).expect("the folder is writable");
        seeded
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The file that watches the server.
    pub(crate) fn config(&self) -> PathBuf {
        self.at("monitors.yaml")
    }

    /// Has the notes lost.
    pub(crate) async fn lose(&mut self, loss: &Loss) {
        match loss {
            Loss::EmptyFile(name) => std::fs::write(self.at(name), "").expect("the folder is writable"),
            Loss::NoFile(name) => std::fs::remove_file(self.at(name)).expect("it is there"),
            Loss::NoFolder(name) => std::fs::remove_dir_all(self.at(name)).expect("it is there"),
            Loss::NoNotes => {
                for note in std::fs::read_dir(self.at("notes")).expect("it is there") {
                    let path = note.expect("it can be listed").path();
                    if path.extension().is_some_and(|ending| ending != "toml") {
                        std::fs::remove_file(path).expect("it is there");
                    }
                }
            }
            Loss::NoRows => self.sql(&["DELETE FROM notes"]).await,
            Loss::Told(more, calls) => self.told(more, calls()).await,
            Loss::NoUpstream => {
                let (mut child, _) = self.upstream.take().expect("it runs");
                child.kill().await.expect("it can be killed");
            }
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn files(&self, ending: &str, text: impl Fn(&Note) -> String) {
        for note in &NOTES {
            let path = self.at("notes").join(format!("{}.{ending}", note.name));
            std::fs::write(path, text(note)).expect("the folder is writable");
        }
    }

    /// Runs these in the database that lies in the folder.
    async fn sql(&self, statements: &[&str]) {
        let options = SqliteConnectOptions::new().filename(self.at("notes.db")).create_if_missing(true);
        let pool = SqlitePool::connect_with(options).await.expect("a database");
        for statement in statements {
            sqlx::raw_sql(sqlx::AssertSqlSafe((*statement).to_owned())).execute(&pool).await.expect("it is SQL");
        }
        pool.close().await;
    }

    async fn told(&self, more: &[&str], calls: Vec<Call>) {
        let mut program = self.program();
        program.args.extend(more.iter().map(|argument| (*argument).to_owned()));
        program.told(calls, self.path()).await;
    }

    /// How the server is started here.
    fn program(&self) -> Program {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_servers");
        let here = tests.join("packages");
        let of = |package: &str, name: &str| here.join(package).join("venv/bin").join(name).display().to_string();
        let (command, first) = match self.server.runs {
            Runs::Node(package, script) => {
                ("node".to_owned(), Some(here.join(package).join("node_modules").join(script)))
            }
            Runs::Python(package, name) => (of(package, name), None),
            Runs::Script(package, script) => (of(package, "python"), Some(tests.join(script))),
        };
        let own = [("HOME", "FOLDER/home"), ("TMPDIR", "FOLDER/tmp")];
        Program {
            command,
            args: first
                .map(|script| script.display().to_string())
                .into_iter()
                .chain(self.server.args.iter().map(|argument| self.filled(argument)))
                .collect(),
            env: own
                .iter()
                .chain(self.server.env)
                .map(|(name, value)| ((*name).to_owned(), self.filled(value)))
                .collect(),
        }
    }

    /// A text of the table with this folder and this upstream put in.
    fn filled(&self, text: &str) -> String {
        let port = self.upstream.as_ref().map_or_else(String::new, |(_, port)| port.to_string());
        text.replace("FOLDER", &self.path().display().to_string()).replace("PORT", &port)
    }

    /// What `serin init` would leave to a person is the one line of `search:` and the three of `canaries:`.
    fn yaml(&self) -> String {
        let Program { command, args, env } = self.program();
        let env: serde_json::Map<_, _> = env.into_iter().map(|(name, value)| (name, json!(value))).collect();
        let canaries = self.server.canaries.map(|canary| format!("      - {canary}\n")).concat();
        format!(
            "version: 1\ndefaults: {{ every: 10m, timeout: 5m, probe_budget: 10m }}\nmonitors:\n  - id: server\n    \
             command: {}\n    args: {}\n    env: {}\n    search: {}\n    canaries:\n{canaries}",
            json!(command),
            json!(args),
            json!(env),
            self.filled(self.server.search)
        )
    }
}

/// Starts what plays an upstream over a folder.
async fn upstream(folder: &Path) -> (Child, u16) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_servers/upstream.mjs");
    let mut child = Command::new("node")
        .arg(script)
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node is installed");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let line = lines.next_line().await.expect("text").expect("it listens");
    let port = line.strip_prefix("listening on ").and_then(|port| port.parse().ok());
    (child, port.unwrap_or_else(|| panic!("no port: {line}")))
}
