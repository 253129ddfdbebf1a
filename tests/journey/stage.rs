//! What a journey has: a Serin of its own, a folder for its file and database, an inbox and a mail server.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use serde_json::Value;
use serin::cli::demo::inbox::{Hook, Inbox, InboxItem, Item, Mail};
use serin::cli::demo::smtp_sink::{Manners, SmtpSink};
use serin::deliver::message::Message;
use serin::domain::database_address::DatabaseAddress;
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::databases;

/// Base64 of 32 bytes.
pub(crate) const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// What links in messages start with; nobody listens there.
pub(crate) const PUBLIC: &str = "https://serin.example.org";
/// Far beyond what anything takes, even on a machine that does much else.
const GUARD: Duration = Duration::from_mins(2);
/// Lines of Serin's log that a failure shows.
const LOG_LINES: usize = 25;

/// The reason for which the file names a runbook.
const OWN_RUNBOOK: &str = "elevated_error_rate";

/// A Serin, what it tells and whom.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Where its pages are.
    pub(crate) pages: String,
    /// What reached a human.
    pub(crate) inbox: Inbox,
    pub(crate) client: reqwest::Client,
    serin: Child,
    /// Other machines that share its fleet, where the run has several.
    others: Vec<Child>,
    folder: tempfile::TempDir,
    /// As its file names it.
    database: String,
    head: String,
    _stop: DropGuard,
}

/// What a message has to say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) monitor: &'static str,
    pub(crate) signal: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) severity: &'static str,
    pub(crate) stage: &'static str,
}

impl Stage {
    /// Starts a Serin on these entries of `monitors:`; pages go to inbox and mail, the rest to the inbox.
    pub(crate) async fn start(monitors: &str) -> Self {
        Self::with("", "  - { to: [inbox], continue: true }\n  - { match: { severity: page }, to: [mail] }\n", monitors)
            .await
    }

    /// Starts a Serin with further lines under `serin:`.
    pub(crate) async fn under(serin: &str, monitors: &str) -> Self {
        Self::whole(serin, "", "  - { to: [inbox, mail] }\n", monitors).await
    }

    /// Starts a Serin with further receivers and with routes of its own.
    pub(crate) async fn with(receivers: &str, routes: &str, monitors: &str) -> Self {
        Self::whole("", receivers, routes, monitors).await
    }

    async fn whole(own: &str, receivers: &str, routes: &str, monitors: &str) -> Self {
        crypto();
        let stop = CancellationToken::new();
        let inbox = Inbox::new(Some(SECRET));
        let hooks = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mails = SmtpSink::bind(inbox.clone(), Manners::default()).await.unwrap();
        let database = match databases::server() {
            Some(server) => databases::make(&server, &databases::new_name(), "").await,
            None => "serin.db".to_owned(),
        };
        let head = head(hooks.local_addr().unwrap(), mails.address().unwrap(), &database, receivers, routes);
        let head = head.replacen("runbooks:", &format!("{own}runbooks:"), 1);
        tokio::spawn(inbox.clone().serve(hooks, stop.clone()));
        tokio::spawn(mails.run(stop.clone()));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("monitors.yaml"), format!("{head}{monitors}")).unwrap();
        let (serin, pages) = serin(folder.path(), "log").await;
        let client = client();
        let mut stage =
            Self { pages, inbox, client, serin, others: Vec::new(), folder, database, head, _stop: stop.drop_guard() };
        for _ in 1..databases::machines() {
            stage.joined().await;
        }
        stage
    }

    /// Has another machine share the fleet; where its pages are.
    pub(crate) async fn joined(&mut self) -> String {
        let (other, pages) = serin(self.folder.path(), &format!("log-{}", self.others.len() + 2)).await;
        self.others.push(other);
        pages
    }

    /// Puts other monitors in force, as somebody does who edits the file.
    pub(crate) fn declare(&self, monitors: &str) {
        std::fs::write(self.folder.path().join("monitors.yaml"), format!("{}{monitors}", self.head)).unwrap();
        self.signal("HUP");
    }

    /// Where a file beside the configuration lies.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its database, for whoever opens it beside it or after it.
    pub(crate) fn database(&self) -> DatabaseAddress {
        DatabaseAddress::parse(&self.database).unwrap().within(self.folder.path())
    }

    /// How many rows somebody else writes into its database.
    pub(crate) async fn write(&self, sql: &'static str) -> u64 {
        match self.database() {
            DatabaseAddress::File(path) => {
                let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
                sqlx::query(sql).execute(&mut connection).await.unwrap().rows_affected()
            }
            DatabaseAddress::Server(_) => {
                let mut connection = PgConnection::connect(&self.database).await.unwrap();
                sqlx::query(sql).execute(&mut connection).await.unwrap().rows_affected()
            }
        }
    }

    /// Every byte of the database's files; on a server, of every table.
    pub(crate) async fn stored(&self) -> Vec<u8> {
        let DatabaseAddress::Server(_) = self.database() else {
            let entries = std::fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path());
            let is_its =
                |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("serin.db"));
            return entries.filter(is_its).flat_map(|path| std::fs::read(path).unwrap()).collect();
        };
        let mut connection = PgConnection::connect(&self.database).await.unwrap();
        let tables = "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = 'public'";
        let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
        let mut bytes = Vec::new();
        for table in tables {
            let copied = connection.copy_out_raw(&format!("COPY {table} TO STDOUT (FORMAT binary)")).await.unwrap();
            bytes.extend(copied.try_collect::<Vec<_>>().await.unwrap().concat());
        }
        bytes
    }

    /// Has it look at its files at once.
    pub(crate) fn look_again(&self) {
        self.signal("HUP");
    }

    /// Puts a file beside the configuration; an empty one is taken away.
    pub(crate) fn beside(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        if text.is_empty() { std::fs::remove_file(path).unwrap() } else { std::fs::write(path, text).unwrap() }
    }

    /// Waits for an incident's first message, checks what it says, and that the mail of a page says the same.
    pub(crate) async fn opened(&self, sentence: &str, expected: Expected) -> Message {
        let Expected { monitor, signal, reason, severity, stage } = expected;
        let fits = |message: &Message| {
            message.event == "incident.opened"
                && about(message, monitor)
                && message.incident.as_ref().is_some_and(|incident| incident.signal == signal)
        };
        let message = self.message(&format!("{sentence}: opened"), fits).await;
        assert_eq!(message.failure_reason.as_deref(), Some(reason), "{sentence}: {message:#?}");
        assert_eq!(message.severity, severity, "{sentence}: {message:#?}");
        assert_eq!(message.failed_stage.as_deref(), Some(stage), "{sentence}: {message:#?}");
        assert!(message.summary.starts_with(monitor), "{sentence}: {message:#?}");
        let rule = message.rule.as_ref().expect("the rule that led here");
        assert_eq!(Path::new(&rule.file).file_name().unwrap(), "monitors.yaml", "{sentence}");
        assert!(rule.line > 0, "{sentence}");
        self.runbook(sentence, &message, reason).await;
        if severity == "page" {
            self.mailed(sentence, &message, "[page]").await;
        }
        message
    }

    /// Waits for the last message of an incident that was opened.
    pub(crate) async fn resolved(&self, sentence: &str, opened: &Message) -> Message {
        let id = &opened.incident.as_ref().unwrap().id;
        let ends = |message: &Message| {
            message.event == "incident.resolved" && message.incident.as_ref().is_some_and(|ended| ended.id == *id)
        };
        let message = self.message(&format!("{sentence}: resolved"), ends).await;
        assert!(message.sequence > opened.sequence, "{sentence}: {message:#?}");
        let incident = message.incident.as_ref().unwrap();
        assert!(incident.resolved_at.is_some() && incident.resolve_cause.is_some(), "{sentence}: {message:#?}");
        if opened.severity == "page" {
            self.mailed(sentence, &message, "[resolved]").await;
        }
        message
    }

    /// Waits for a restart notice of a monitor.
    pub(crate) async fn restarted(&self, sentence: &str, monitor: &str) -> Message {
        let fits = |message: &Message| message.event == "server.restarted" && about(message, monitor);
        self.message(&format!("{sentence}: restarted"), fits).await
    }

    /// What has reached the webhook receiver about a monitor, each signature verified by somebody else's code.
    pub(crate) fn told(&self, monitor: &str) -> Vec<Message> {
        self.inbox.hooks().iter().map(read).filter(|message| about(message, monitor)).collect()
    }

    /// Waits until what the API says of a monitor, or of a part of it such as `docs/tools`, is as wanted.
    pub(crate) async fn until(&self, what: &str, monitor: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let waiting = async {
            let mut events = self.client.get(format!("{}/events", self.pages)).send().await.unwrap();
            loop {
                let body = self.json(&format!("/api/v1/monitors/{monitor}")).await;
                if wanted(&body) {
                    return body;
                }
                events.chunk().await.unwrap().expect("events flow while it runs");
            }
        };
        self.soon(what, waiting).await
    }

    /// Waits until a monitor has been seen well for some beats: windows have samples, the tools a baseline.
    pub(crate) async fn well(&self, monitor: &str) {
        let seen = |body: &Value| body["state"] == "up" && body["p95_samples"].as_u64().is_some_and(|n| n >= 6);
        self.until(&format!("{monitor} is well"), monitor, seen).await;
    }

    /// A JSON answer of its API.
    pub(crate) async fn json(&self, path: &str) -> Value {
        self.client.get(format!("{}{path}", self.pages)).send().await.unwrap().json().await.unwrap()
    }

    /// A page.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.client.get(format!("{}{path}", self.pages)).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.text().await.unwrap()
    }

    /// Runs another command of the binary beside it, in its folder: the exit code, and what it says.
    pub(crate) async fn runs(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
        command.args(arguments).current_dir(self.folder.path()).kill_on_drop(true);
        command.env("SERIN_JOURNEY_TOKEN", TOKEN).env("SERIN_JOURNEY_SECRET", SECRET);
        let ran = self.soon("the command ends", command.output()).await.unwrap();
        let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (ran.status.code(), said)
    }

    /// Where its file and database are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its process, by number.
    pub(crate) fn process(&self) -> u32 {
        self.serin.id().expect("it runs")
    }

    /// Sends it a signal, by name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.process().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        assert!(sent.success(), "kill -{name} {id}");
    }

    /// Starts it again, on what the last one left.
    pub(crate) async fn again(&mut self) {
        (self.serin, self.pages) = serin(self.folder.path(), "log").await;
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(GUARD, self.serin.wait()).await.expect("it ends").unwrap()
    }

    /// Waits; a journey that stands still fails with what reached the inbox and what Serin logged.
    pub(crate) async fn soon<T>(&self, what: &str, waiting: impl Future<Output = T>) -> T {
        if let Ok(done) = tokio::time::timeout(GUARD, waiting).await {
            return done;
        }
        let arrived: Vec<String> = self.inbox.items().iter().map(said).collect();
        let live = match self.client.get(format!("{}/api/v1/monitors", self.pages)).send().await {
            Ok(answer) => answer.text().await.unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let log = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        panic!("{what}: it did not happen\n--- arrived\n{}\n--- board\n{live}\n--- log\n{log}", arrived.join("\n"));
    }

    /// Waits until something changes in the live state.
    pub(crate) async fn changed(&self) {
        let mut events = self.client.get(format!("{}/events", self.pages)).send().await.unwrap();
        let mut said = String::new();
        while !said.contains("event: change") {
            said += &String::from_utf8_lossy(&events.chunk().await.unwrap().expect("events flow while it runs"));
        }
    }

    /// Waits for a webhook that fits.
    pub(crate) async fn message(&self, what: &str, fits: impl Fn(&Message) -> bool) -> Message {
        let found = |items: &[Item]| items.iter().find_map(|item| hook(item).map(read).filter(&fits));
        self.soon(what, self.inbox.wait_for(found)).await
    }

    /// Waits for the mail of a message: the same words, in another channel.
    async fn mailed(&self, sentence: &str, message: &Message, tag: &str) {
        let header = format!("X-Serin-Notification: {}", message.id);
        let found = |items: &[Item]| {
            items.iter().find_map(|item| mail(item).filter(|mail| mail.raw.contains(&header)).cloned())
        };
        let mail: Mail = self.soon(&format!("{sentence}: mail {tag}"), self.inbox.wait_for(found)).await;
        assert!(mail.subject.starts_with(tag), "{sentence}: {mail:#?}");
        assert!(mail.subject.contains(&message.summary.chars().take(60).collect::<String>()), "{sentence}: {mail:#?}");
        for said in [message.failure_reason.as_ref().unwrap(), &message.runbook_url] {
            assert!(mail.text.contains(said.as_str()), "{sentence}: '{said}' is missing in\n{}", mail.text);
        }
    }

    /// The runbook's address fits the reason; the one that Serin brings is there too.
    async fn runbook(&self, sentence: &str, message: &Message, reason: &str) {
        let path = format!("/runbooks/{reason}");
        let ours = format!("{PUBLIC}{path}");
        let expected = if reason == OWN_RUNBOOK { "https://runbooks.example.org/errors" } else { &ours };
        assert_eq!(message.runbook_url, expected, "{sentence}");
        assert!(self.page(&path).await.contains(reason), "{sentence}: the runbook is about {reason}");
    }
}

/// Asks Serin with the token, which one that was given none does not look at.
pub(crate) fn client() -> reqwest::Client {
    let token = http::HeaderValue::from_str(&format!("Bearer {TOKEN}")).unwrap();
    let headers = http::HeaderMap::from_iter([(http::header::AUTHORIZATION, token)]);
    reqwest::Client::builder().no_proxy().default_headers(headers).build().unwrap()
}

/// The part of the file above the monitors. Beats have room on a machine that does much else.
fn head(hooks: SocketAddr, mails: SocketAddr, database: &str, receivers: &str, routes: &str) -> String {
    let port = mails.port();
    format!(
        "version: 1
serin:
  listen: 127.0.0.1:0
  public_url: {PUBLIC}
  database: \"{database}\"
  smtp: {{ host: 127.0.0.1, port: {port}, tls: none, from: serin@example.org }}
  internal: [inbox]
  allow_private: [127.0.0.0/8]
runbooks: {{ {OWN_RUNBOOK}: \"https://runbooks.example.org/errors\" }}
defaults:
  every: 2s
  timeout: 1900ms
  probe_budget: 2s
  search: {{ arguments: {{ top_k: 5 }}, per_beat: 3 }}
  rules:
    availability: {{ after: 3, recover_after: 2, page_after: 3s }}
    access: {{ after: 3, recover_after: 2 }}
    errors: {{ share: 20%, window: 14s, min_bad: 3 }}
    quality: {{ within: 5, after: 3 }}
    health: {{ after: 3, recover_after: 2 }}
receivers:
  inbox: {{ webhook: {{ url: \"http://{hooks}/hook\", secret: \"${{env:SERIN_JOURNEY_SECRET}}\" }} }}
  mail: {{ email: {{ to: [sre@example.org] }} }}
{receivers}routes:
{routes}monitors:
"
    )
}

/// Starts `serin run` in a folder; where its pages are, it says itself.
async fn serin(folder: &Path, log: &str) -> (Child, String) {
    let path = folder.join(log);
    let log = std::fs::File::create(&path).unwrap();
    let mut serin = Command::new(env!("CARGO_BIN_EXE_serin"))
        .args(["run", "--config"])
        .arg(folder.join("monitors.yaml"))
        .env("SERIN_JOURNEY_TOKEN", TOKEN)
        .env("SERIN_JOURNEY_SECRET", SECRET)
        .stdout(Stdio::piped())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pages = announced(&mut serin, "pages at ").await;
    let pages = pages.unwrap_or_else(|| panic!("{}", std::fs::read_to_string(path).unwrap()));
    (serin, pages)
}

/// What follows these words on the first line of a program's output that has them.
pub(crate) async fn announced(program: &mut Child, words: &str) -> Option<String> {
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let found = loop {
        let line = tokio::time::timeout(GUARD, lines.next_line()).await.expect("it says where it is").unwrap()?;
        if let Some((_, found)) = line.split_once(words) {
            break found.trim().to_owned();
        }
    };
    // A full pipe would stop the program.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Some(found)
}

/// The token that `${env:SERIN_JOURNEY_TOKEN}` stands for.
pub(crate) const TOKEN: &str = "journey-token";

/// Sets up rustls for this process.
pub(crate) fn crypto() {
    // Another test of this process may have been first.
    let _already = rustls::crypto::ring::default_provider().install_default();
}

/// A reference server within this process.
pub(crate) async fn reference() -> LabServer {
    crypto();
    server::serve(LabOptions::default(), CancellationToken::new()).await.unwrap()
}

/// A reference server in a process of its own, which can really crash.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// `http://HOST:PORT/mcp`.
    pub(crate) url: String,
    index: PathBuf,
    _folder: tempfile::TempDir,
}

impl Process {
    /// Starts one on a free port.
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index.db");
        let (child, url) = Self::spawn("127.0.0.1:0", &index).await;
        Self { child, url, index, _folder: folder }
    }

    /// Kills it, as the kernel does.
    pub(crate) async fn crash(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Starts it again at the same address.
    pub(crate) async fn come_back(&mut self) {
        let address = self.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        (self.child, _) = Self::spawn(&address, &self.index).await;
    }

    async fn spawn(listen: &str, index: &Path) -> (Child, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_serin"))
            .args(["reference", "serve", "--listen", listen, "--database"])
            .arg(index)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let url = announced(&mut child, "mcp ").await.expect("it listens");
        (child, url)
    }
}

/// The evidence under a key; empty where there is none.
pub(crate) fn evidence<'a>(message: &'a Message, key: &str) -> &'a str {
    message.evidence.0.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
}

/// A signal of a monitor, as the API gives it.
pub(crate) fn signal<'a>(body: &'a Value, name: &str) -> &'a Value {
    body["signals"].as_array().unwrap().iter().find(|signal| signal["signal"] == name).unwrap()
}

fn about(message: &Message, monitor: &str) -> bool {
    message.monitor.as_ref().is_some_and(|card| card.id == monitor)
}

/// Reads a webhook, its signature verified by somebody else's code.
pub(crate) fn read(hook: &Hook) -> Message {
    let mut headers = http::HeaderMap::new();
    for (name, value) in
        [("webhook-id", &hook.id), ("webhook-timestamp", &hook.timestamp), ("webhook-signature", &hook.signature)]
    {
        headers.insert(name, value.parse().unwrap());
    }
    let verifier = standardwebhooks::Webhook::new(SECRET).unwrap();
    verifier.verify(hook.body.as_bytes(), &headers).expect("every webhook is signed");
    let message = Message::parse(&hook.body).expect("every webhook is a message of the contract");
    assert_eq!(message.id, hook.id);
    message
}

pub(crate) fn hook(item: &Item) -> Option<&Hook> {
    match &item.what {
        InboxItem::Webhook(hook) => Some(hook),
        InboxItem::Mail(_) => None,
    }
}

pub(crate) fn mail(item: &Item) -> Option<&Mail> {
    match &item.what {
        InboxItem::Webhook(_) => None,
        InboxItem::Mail(mail) => Some(mail),
    }
}

fn said(item: &Item) -> String {
    match &item.what {
        InboxItem::Webhook(hook) => hook.body.clone(),
        InboxItem::Mail(mail) => format!("mail {}", mail.subject),
    }
}
