//! What a journey plays on: reference servers, receivers, a folder with file and database, and eyes on all of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use serde_json::Value;
use serin::cli::demo::inbox::Inbox;
use serin::deliver::message::Message;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::server::{self, LabServer};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Signs the webhooks; it protects nothing.
pub(crate) const SECRET: &str = "whsec_c2VyaW4tdGVzdC1zZWNyZXQtbm90LWZvci11c2U=";
/// Past this a journey hangs. A guard and no claim: nothing waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// Pause between two looks at what cannot wake us: a database, a page.
const LOOK_GAP: Duration = Duration::from_millis(10);

/// One monitor of the file.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) id: &'static str,
    pub(crate) url: String,
    /// More of its keys, a line each.
    pub(crate) keys: String,
}

/// What the file says. Its text is made of this, so that an edit is an edit of one field.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) monitors: Vec<Watched>,
    /// Names of receivers that are declared, out of `oncall`, `spare` and `ops`.
    pub(crate) receivers: Vec<&'static str>,
    pub(crate) routes: &'static str,
    /// `rules:` of `defaults`.
    pub(crate) rules: &'static str,
}

/// Servers, receivers and the folder.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) servers: Vec<LabServer>,
    /// Told of incidents.
    pub(crate) oncall: Inbox,
    /// The fallback of `oncall`.
    pub(crate) spare: Inbox,
    /// Told of Serin's own trouble.
    pub(crate) ops: Inbox,
    /// Where people read; nothing that comes here is signed. No file names it by itself.
    pub(crate) chat: Inbox,
    hooks: Vec<(&'static str, SocketAddr)>,
    http: reqwest::Client,
    database: SqlitePool,
    stop: CancellationToken,
}

/// Three failed beats in a row and two seconds; nothing else opens by itself within a journey.
pub(crate) const SHORT_RULES: &str = "{ availability: { after: 3, recover_after: 2, page_after: 2s } }";
/// The usual route.
pub(crate) const ROUTES: &str = "[{ to: [oncall], fallback: spare }]";

impl Stage {
    /// So many servers, three receivers, and a file that watches each server as `s0`, `s1` and so on.
    pub(crate) async fn set(servers: usize) -> (Self, File) {
        Self::with_slow_oncall(servers, Duration::ZERO).await
    }

    /// The same, with an `oncall` that takes a message at once and answers after a while.
    pub(crate) async fn with_slow_oncall(count: usize, answers_after: Duration) -> (Self, File) {
        // Every test of this binary does so; the first one wins.
        let _installed_already = rustls::crypto::ring::default_provider().install_default();
        let stop = CancellationToken::new();
        let mut servers = Vec::new();
        for number in 0..count {
            let options = serin_reference::lab::options::LabOptions {
                name: format!("s{number}"),
                ..serin_reference::lab::options::LabOptions::default()
            };
            servers.push(server::serve(options, stop.clone()).await.expect("a reference server"));
        }
        let [oncall, spare, ops] = [(); 3].map(|()| Inbox::new(Some(SECRET)));
        let slowly = move |request: Request, next: Next| async move {
            let answer = next.run(request).await;
            tokio::time::sleep(answers_after).await;
            answer
        };
        let chat = Inbox::new(None);
        let hooks = vec![
            ("oncall", serve(oncall.clone().router(stop.clone()).layer(from_fn(slowly)), &stop).await),
            ("chat", serve(chat.clone().router(stop.clone()).layer(from_fn(slowly)), &stop).await),
            ("spare", serve(spare.clone().router(stop.clone()), &stop).await),
            ("ops", serve(ops.clone().router(stop.clone()), &stop).await),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let database = eyes(&folder.path().join("serin.db"));
        let ids = ["s0", "s1", "s2", "s3"];
        let watched =
            |(id, server): (&'static str, &LabServer)| Watched { id, url: server.mcp_url(), keys: String::new() };
        let file = File {
            monitors: ids.into_iter().zip(&servers).map(watched).collect(),
            receivers: vec!["oncall", "spare", "ops"],
            routes: ROUTES,
            rules: SHORT_RULES,
        };
        let http = reqwest::Client::builder().timeout(PATIENCE).build().expect("a client");
        let stage = Self { folder, servers, oncall, spare, ops, chat, hooks, http, database, stop };
        stage.write(&file);
        (stage, file)
    }

    /// Closes our eyes on the database, so that another file can take its place.
    pub(crate) async fn look_away(&mut self) {
        self.database.close().await;
        self.database = eyes(&self.database());
    }

    /// monitors.yaml.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join("monitors.yaml")
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("serin.db")
    }

    /// The text of a file.
    pub(crate) fn text(&self, file: &File) -> String {
        let mut text = format!(
            "version: 1\nserin:\n  listen: 127.0.0.1:0\n  public_url: http://127.0.0.1:8080\n  database: serin.db\n  \
             internal: [ops]\n  allow_private: [127.0.0.0/8]\ndefaults:\n  every: 1s\n  timeout: 900ms\n  \
             probe_budget: 950ms\n  rules: {}\nroutes: {}\nreceivers:\n",
            file.rules, file.routes
        );
        for (name, address) in self.hooks.iter().filter(|(name, _)| file.receivers.contains(name)) {
            let hook = format!("{{ url: 'http://{address}/hook', secret: '${{env:SERIN_TEST_SECRET}}' }}");
            text.push_str(&format!("  {name}: {{ webhook: {hook} }}\n"));
        }
        text.push_str("monitors:\n");
        for Watched { id, url, keys } in &file.monitors {
            text.push_str(&format!("  - id: {id}\n    url: {url}\n"));
            for line in keys.lines() {
                text.push_str(&format!("    {line}\n"));
            }
        }
        text
    }

    /// Where a receiver listens.
    pub(crate) fn hook(&self, name: &str) -> SocketAddr {
        self.hooks.iter().find(|(known, _)| *known == name).map(|(_, address)| *address).expect("it is declared")
    }

    /// Puts a file in place in one step, as a careful editor does.
    pub(crate) fn write(&self, file: &File) {
        self.write_text(&self.text(file));
    }

    /// Puts a text in the file's place in one step.
    pub(crate) fn write_text(&self, text: &str) {
        let new = self.folder.path().join("monitors.yaml.new");
        std::fs::write(&new, text).expect("the folder is writable");
        std::fs::rename(new, self.config()).expect("the folder is writable");
    }

    /// Nothing listens at a server's address any more.
    pub(crate) fn refuse(&self, server: usize) {
        self.servers[server].faults().on(Fault::Refused, Dose::of(Fault::Refused));
    }

    /// A server is as it should be again.
    pub(crate) fn mend(&self, server: usize) {
        self.servers[server].faults().all_off();
    }

    /// One figure out of the database; `arguments` are texts.
    pub(crate) async fn count(&self, sql: &'static str, arguments: &[&str]) -> i64 {
        let mut query = sqlx::query_scalar::<_, i64>(sql);
        for argument in arguments {
            query = query.bind(*argument);
        }
        query.fetch_one(&self.database).await.expect("the database can be read")
    }

    /// Waits until every incident has ended and every delivery is brought.
    pub(crate) async fn all_is_over(&self) {
        const UNFINISHED: &str = "SELECT (SELECT COUNT(*) FROM incidents WHERE resolved_at IS NULL) \
                                  + (SELECT COUNT(*) FROM deliveries WHERE state = 'pending')";
        bounded("every incident ends and every delivery is brought", async {
            while self.count(UNFINISHED, &[]).await > 0 {
                tokio::time::sleep(LOOK_GAP).await;
            }
        })
        .await;
    }

    /// Has what ended be two hours ago, while no Serin runs: what comes and goes within the hour flaps, and stays open.
    pub(crate) async fn ages(&self) {
        const LATELY: &str = "UPDATE incidents SET opened_at = opened_at - 7200000000, resolved_at = resolved_at - 7200000000 \
                              WHERE resolved_at IS NOT NULL AND opened_at > (SELECT MAX(opened_at) FROM incidents) - 3600000000";
        let options = SqliteConnectOptions::new().filename(self.database()).busy_timeout(Duration::from_secs(5));
        let mut writing = options.connect().await.expect("the database opens");
        sqlx::query(LATELY).execute(&mut writing).await.expect("incidents age");
    }

    /// Rows of texts out of the database.
    pub(crate) async fn rows(&self, sql: &'static str) -> Vec<(String, String, String)> {
        sqlx::query_as(sql).fetch_all(&self.database).await.expect("the database can be read")
    }

    /// Waits until the database holds at least so many.
    pub(crate) async fn counted(&self, what: &str, least: i64, sql: &'static str, arguments: &[&str]) {
        let counted = async {
            while self.count(sql, arguments).await < least {
                tokio::time::sleep(LOOK_GAP).await;
            }
        };
        bounded(what, counted).await;
    }

    /// Waits until a monitor was seen so many times more than now.
    pub(crate) async fn more_beats(&self, monitor: &str, more: i64) {
        let sql = "SELECT COUNT(*) FROM beats WHERE monitor = $1 AND seen = 'seen'";
        let before = self.count(sql, &[monitor]).await;
        self.counted(&format!("{more} more beats of {monitor}"), before + more, sql, &[monitor]).await;
    }

    /// What Serin answers at a path, and with which status.
    pub(crate) async fn get(&self, address: SocketAddr, path: &str) -> (u16, String) {
        let answer = self.http.get(format!("http://{address}{path}")).send().await.expect("serin answers");
        (answer.status().as_u16(), answer.text().await.expect("its answer can be read"))
    }

    /// A monitor as the API tells of it.
    pub(crate) async fn monitor(&self, address: SocketAddr, id: &str) -> Value {
        let (status, text) = self.get(address, &format!("/api/v1/monitors/{id}")).await;
        assert_eq!(status, 200, "{id} is known: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Waits until what Serin answers at a path is as it should be.
    pub(crate) async fn shown(&self, address: SocketAddr, path: &str, what: &str, is_so: impl Fn(&str) -> bool) {
        let shown = async {
            while !is_so(&self.get(address, path).await.1) {
                tokio::time::sleep(LOOK_GAP * 10).await;
            }
        };
        bounded(what, shown).await;
    }
}

fn eyes(database: &Path) -> SqlitePool {
    let options = SqliteConnectOptions::new().filename(database).read_only(true).busy_timeout(Duration::from_secs(5));
    SqlitePoolOptions::new().max_connections(1).connect_lazy_with(options)
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Fails the test where something does not come about.
pub(crate) async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("this did not happen within {} s: {what}", PATIENCE.as_secs()),
    }
}

/// The messages that an inbox took and answered with yes, the oldest first; repeats included.
pub(crate) fn messages(inbox: &Inbox) -> Vec<Message> {
    let taken = inbox.hooks().into_iter().filter(|hook| hook.answered == 200);
    taken.map(|hook| Message::parse(&hook.body).expect("a message")).collect()
}

/// Waits for a message of an event; for a monitor where one is named.
pub(crate) async fn received(inbox: &Inbox, event: &str, monitor: Option<&str>) -> Message {
    let is_it = |message: &Message| {
        message.event == event
            && monitor.is_none_or(|id| message.monitor.as_ref().is_some_and(|monitor| monitor.id == id))
    };
    let what = format!("{event} of {} is received", monitor.unwrap_or("serin"));
    bounded(&what, inbox.wait_for(|_| messages(inbox).into_iter().find(|message| is_it(message)))).await
}

/// How many messages of an event an inbox took.
pub(crate) fn times(inbox: &Inbox, event: &str) -> usize {
    messages(inbox).iter().filter(|message| message.event == event).count()
}

async fn serve(app: Router, stop: &CancellationToken) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    let stop = stop.clone();
    tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await });
    address
}
