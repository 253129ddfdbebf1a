//! The life of a project's index, through the real program: set up, index, killed, gone on with,
//! queried from any folder, migrated, wiped; and what never gets into it.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use chrono::Utc;
use serde_json::{Value, json};
use serin_reference::index::lock::WriterLock;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::{options::LabOptions, server};
use serin_reference::project::opened::Project;
use tokio_util::sync::CancellationToken;

/// A project in a folder of its own.
struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            project.write(name, text);
        }
        assert!(project.run(&["setup"]).status.success());
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn configure(&self, from: &str, to: &str) {
        let path = self.path(".serin-reference/config.yaml");
        let config = std::fs::read_to_string(&path).unwrap();
        assert!(config.contains(from), "the template has {from}");
        std::fs::write(path, config.replace(from, to)).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
        command.arg("reference").args(arguments).current_dir(self.folder.path()).env_remove("RUST_LOG");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn index(&self) -> Value {
        let output = self.run(&["index", "--json", "--skipped"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    fn query(&self, question: &str) -> Value {
        let output = self.run(&["query", question, "--json"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or(Value::from(said))
    }

    /// What a command says when it refuses.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} is refused");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Every byte below the index's folder.
    fn index_bytes(&self) -> Vec<u8> {
        let entries = std::fs::read_dir(self.path(".serin-reference")).unwrap();
        entries.flat_map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect()
    }
}

fn holds(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

const PUMP: &str = "# Pump\nThe pump runs dry when the tank is empty. Code PX-17 is shown then.\n";
const VALVE: &str = "# Valve\nThe valve opens at four bar. Code VA-04 is shown then.\n";

#[test]
fn an_index_is_set_up_once_and_used_from_any_folder_below() {
    let project = Workspace::new(&[("docs/pump.md", PUMP), ("src/deep/er/x.rs", "fn main() {}\n")]);
    assert!(project.refusal(&["query", "x"]).contains("INDEX_MISSING"), "never indexed is an error, no empty list");
    assert!(project.refusal(&["setup"]).contains("--force"));
    assert_eq!(project.index()["indexed"], 1);
    let mut below = Command::new(env!("CARGO_BIN_EXE_serin"));
    below.args(["reference", "query", "PX-17", "--json"]).current_dir(project.path("src/deep/er"));
    let hits: Value = serde_json::from_slice(&below.output().unwrap().stdout).unwrap();
    assert_eq!(hits["results"][0]["source"], "docs/pump.md");
    let outside = tempfile::tempdir().unwrap();
    let mut elsewhere = Command::new(env!("CARGO_BIN_EXE_serin"));
    elsewhere.args(["reference", "query", "x"]).current_dir(outside.path());
    let refused = String::from_utf8_lossy(&elsewhere.output().unwrap().stderr).into_owned();
    assert!(refused.contains("PROJECT_NOT_INITIALIZED") && refused.contains("serin reference setup"), "{refused}");
}

#[test]
fn a_run_does_what_has_changed_and_says_what_it_left_out() {
    let project = Workspace::new(&[("pump.md", PUMP), ("valve.md", VALVE), ("image.png", "no"), ("data.md", "a\0b")]);
    let check = |says: &str, expected: [u64; 4]| {
        let report = project.index();
        let got = ["indexed", "unchanged", "removed", "scanned"].map(|name| report[name].as_u64().unwrap());
        assert_eq!(got, expected, "{says}: {report}");
        report
    };
    let first = check("everything is new", [2, 0, 0, 4]);
    assert_eq!(first["skipped"], json!({"not a text": 1, "not in the allow list": 1}));
    check("nothing has changed", [0, 2, 0, 4]);
    project.write("pump.md", &PUMP.replace("PX-17", "PX-18"));
    check("one has", [1, 1, 0, 4]);
    assert_eq!(project.query("PX-18")["results"][0]["source"], "pump.md");
    std::fs::remove_file(project.path("valve.md")).unwrap();
    check("one is gone", [0, 1, 1, 3]);
    assert!(!project.query("VA-04").to_string().contains("valve.md"), "and is not found any more");
    project.configure("tokens: 200", "tokens: 60");
    check("they are cut otherwise", [1, 0, 0, 3]);
    project.configure("files: 20000", "files: 0");
    let output = project.run(&["index"]);
    assert_eq!(output.status.code(), Some(3), "over the budget is no success");
    assert!(String::from_utf8_lossy(&output.stdout).contains("BUDGET_LIMIT_EXCEEDED"));
    assert_eq!(project.query("PX-18")["results"][0]["source"], "pump.md", "and takes nothing away");
}

#[test]
fn one_writes_and_the_next_is_told_or_waits() {
    let project = Workspace::new(&[("pump.md", PUMP)]);
    let lock = project.path(".serin-reference/index.lock");
    let held = WriterLock::take(&lock, "a test", false, Utc::now()).unwrap();
    let refused = project.refusal(&["index"]);
    assert!(
        refused.contains("INDEX_LOCK_ACTIVE") && refused.contains("a test") && refused.contains("--wait"),
        "{refused}"
    );
    let mut waiting = project.command(&["index", "--wait"]).stdout(Stdio::null()).spawn().unwrap();
    assert!(waiting.try_wait().unwrap().is_none(), "it waits");
    drop(held);
    assert!(waiting.wait().unwrap().success(), "and goes on");
    std::fs::write(&lock, r#"{"pid": 4242, "doing": "index", "since": "2026-11-20T03:00:00Z"}"#).unwrap();
    let output = project.run(&["index"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("recovered the lock of process 4242"), "{said}");
}

/// A corpus that takes some hundred milliseconds to index.
fn manuals(project: &Workspace) {
    for number in 0..40 {
        let text: String = (0..30)
            .map(|line| {
                format!("## Part {line}\nThe part {number}-{line} turns by {line} degrees. It is checked weekly.\n")
            })
            .collect();
        project.write(&format!("manuals/m{number:02}.md"), &format!("# Manual {number}\n{text}"));
    }
}

/// A chunk with its vector, and whether its words are found.
type Indexed = (String, i64, String, String, i64, Vec<u8>, bool);

/// Everything an index can find, in the order of the documents.
#[tokio::main(flavor = "current_thread")]
async fn contents(project: &Workspace) -> Vec<Indexed> {
    let options =
        sqlx::sqlite::SqliteConnectOptions::new().filename(project.path(".serin-reference/index.db")).read_only(true);
    let mut file = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options).await.unwrap();
    sqlx::query_as(
        "SELECT source, ordinal, section, content, tokens, vector, \
         id IN (SELECT rowid FROM words WHERE words MATCH 'weekly') FROM chunks ORDER BY source, ordinal",
    )
    .fetch_all(&mut file)
    .await
    .unwrap()
}

#[test]
fn fifty_kills_leave_a_searchable_index_and_a_job_to_go_on_with() {
    let project = Workspace::new(&[]);
    manuals(&project);
    project.index();
    // A cheap generator of its own: the moments are other ones each time, and the seed is shown.
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    let (mut broken_off, mut sizes) = (0, ["tokens: 200", "tokens: 100"]);
    for kill in 0..50 {
        // Another size of chunks gives every run the whole work to do.
        project.configure(sizes[0], sizes[1]);
        sizes.swap(0, 1);
        let mut indexing = project.command(&["index"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(20 + (seed >> 33) % 600));
        indexing.kill().unwrap();
        broken_off += usize::from(!indexing.wait().unwrap().success());
        let hits = project.query("part 17-3 turns");
        assert!(!hits["results"].as_array().unwrap_or_else(|| panic!("kill {kill}: {hits}")).is_empty());
    }
    assert!(broken_off > 10, "only {broken_off} of 50 runs were still at work: the corpus is too small for this test");
    let report = project.index();
    assert_eq!(report["indexed"].as_u64().unwrap() + report["unchanged"].as_u64().unwrap(), 40, "{report}");
    let fresh = Workspace::new(&[]);
    manuals(&fresh);
    fresh.configure("tokens: 200", sizes[0]);
    fresh.index();
    let (after, before) = (contents(&project), contents(&fresh));
    assert_eq!(after.len(), before.len(), "no chunk is lost or left over");
    for (after, before) in after.iter().zip(&before) {
        assert_eq!(after, before, "fifty kills later the index is that of one that was never killed");
    }
    let answers = |project: &Workspace| ["part 17-3 turns", "checked weekly", "Manual 9"].map(|q| project.query(q));
    assert_eq!(answers(&project), answers(&fresh), "and so are its answers, however many chunks are worth the same");
}

#[test]
fn a_run_that_was_killed_is_gone_on_with_and_shown() {
    let project = Workspace::new(&[]);
    manuals(&project);
    let mut indexing = project.command(&["index"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The lock names its holder as soon as the run begins; the run itself takes far longer.
    let lock = project.path(".serin-reference/index.lock");
    while std::fs::metadata(&lock).map_or(0, |facts| facts.len()) == 0 {
        std::thread::yield_now();
    }
    while !project.path(".serin-reference/index.db-wal").exists() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(100));
    indexing.kill().unwrap();
    let was_killed = !indexing.wait().unwrap().success();
    let report = project.index();
    assert_eq!(report["resumed"], was_killed, "{report}");
    let status: Value = serde_json::from_slice(&project.run(&["status", "--json"]).stdout).unwrap();
    assert_eq!((&status["run_broken_off"], &status["sources"]), (&json!(false), &json!(40)), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_secret_gets_nowhere() {
    let secret = concat!("ghp_", "0123456789abcdefABCD", "EFGH0123456789abcdef");
    let password = concat!("hunter2-", "Vq8ZpLw3Xr", "9T");
    let project = Workspace::new(&[
        (".env", &format!("GITHUB_TOKEN={secret}\n")),
        ("env.txt", &format!("GITHUB_TOKEN={secret}\nDB_PASSWORD={password}\n")),
        ("docs/setup.md", &format!("# Setup\nCall with `Authorization: Bearer {secret}` and wait.\n")),
    ]);
    project.configure("questions: hashed", "questions: plain");
    let report = project.index();
    assert_eq!((report["indexed"].as_u64(), report["redacted"].as_u64()), (Some(2), Some(3)), "{report}");
    let running = serve(&project).await;
    let asked = call(&running, "search_documents", json!({"query": format!("who uses {secret} as a token?")})).await;
    let written = json!({"source": "note.md", "text": format!("# Note\nThe key is {secret}, keep it.")});
    let indexed = call(&running, "index_document", written).await;
    assert_eq!(indexed["data"]["redacted"], 1, "{indexed}");
    let found = call(&running, "search_documents", json!({"query": "the key, keep it", "source": "note.md"})).await;
    assert!(found.to_string().contains("[REDACTED:"), "{found}");
    for (where_, text) in [("a question's answer", &asked), ("an answer", &found)] {
        assert!(!text.to_string().contains(secret) && !text.to_string().contains(password), "{where_}: {text}");
    }
    let bytes = project.index_bytes();
    assert!(!holds(&bytes, secret) && !holds(&bytes, password), "nor into the index, its journal or its notes");
    running.faults().on(Fault::SecretLeaked, Dose::of(Fault::SecretLeaked));
    let written = json!({"source": "leak.md", "text": format!("# Leak\nThe key is {secret}.")});
    call(&running, "index_document", written).await;
    assert!(holds(&project.index_bytes(), secret), "the fault shows that this test can see a secret");
    running.stop().await;
}

async fn serve(project: &Workspace) -> server::LabServer {
    let _already = rustls::crypto::ring::default_provider().install_default();
    let found = Project::find(project.folder.path()).unwrap();
    let options = LabOptions {
        corpus: serin_reference::index::corpus::Corpus::Empty,
        project: Some(found),
        ..LabOptions::default()
    };
    server::serve(options, CancellationToken::new()).await.unwrap()
}

async fn call(running: &server::LabServer, tool: &str, arguments: Value) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let request = client
        .post(running.mcp_url())
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2025-11-25")
        .json(&body);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    answer["result"]["structuredContent"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_on_one_index_see_each_others_writes() {
    let project = Workspace::new(&[("pump.md", PUMP)]);
    project.index();
    let (left, right) = (serve(&project).await, serve(&project).await);
    let write = async |running: &server::LabServer, name: &str| {
        for number in 0..20 {
            let text = format!("# Note {name} {number}\nThe word of {name}{number}x is kept.\n");
            loop {
                let arguments = json!({"source": format!("{name}/{number}.md"), "text": text});
                let envelope = call(running, "index_document", arguments).await;
                // The other has the lock at this moment: what a caller is told to do.
                if envelope["error_code"] != "INDEX_LOCK_ACTIVE" {
                    assert_eq!(envelope["status"], "ok", "{envelope}");
                    break;
                }
            }
        }
    };
    tokio::join!(write(&left, "left"), write(&right, "right"));
    for running in [&left, &right] {
        for name in ["left", "right"] {
            for number in [0, 7, 19] {
                let found = call(running, "search_documents", json!({"query": format!("{name}{number}x")})).await;
                assert_eq!(found["data"]["results"][0]["source"], format!("{name}/{number}.md"), "{found}");
            }
        }
        let listed = call(running, "list_sources", json!({})).await;
        assert_eq!(listed["data"]["total"], 41);
        let health = reqwest::get(running.url("health")).await.unwrap();
        assert_eq!(health.status(), 200, "memory and file agree: {}", health.text().await.unwrap());
    }
    left.stop().await;
    right.stop().await;
}

/// An embedding server that hashes words, and counts what it is asked.
async fn embedding_server(asked: Arc<AtomicUsize>, width: usize) -> String {
    async fn embed(State((asked, width)): State<(Arc<AtomicUsize>, usize)>, Json(body): Json<Value>) -> Json<Value> {
        let inputs = body["input"].as_array().unwrap();
        asked.fetch_add(inputs.len(), Ordering::Relaxed);
        let vector = |text: &str| {
            let mut numbers = vec![0.01_f32; width];
            for word in text.split_whitespace() {
                let place =
                    word.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
                numbers[place % width] += 1.0;
            }
            numbers
        };
        let data: Vec<Value> = inputs
            .iter()
            .enumerate()
            .map(|(index, text)| json!({"index": index, "embedding": vector(text.as_str().unwrap()), "object": "embedding"}))
            .collect();
        Json(
            json!({"object": "list", "data": data, "model": "words", "usage": {"prompt_tokens": 1, "total_tokens": 1}}),
        )
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/embeddings", post(embed)).with_state((asked, width));
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/v1")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_refuses_another_embedder_and_pays_for_each_text_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let url = embedding_server(Arc::clone(&asked), 64).await;
    let project = Workspace::new(&[("pump.md", PUMP), ("valve.md", VALVE)]);
    project.index();
    project.configure(
        "embedder: none",
        &format!("embedder: {{ http: {{ url: \"{url}\", model: words, dimensions: 64 }} }}"),
    );
    let refused = project.refusal(&["index"]);
    assert!(
        refused.contains("no embedder") && refused.contains("words") && refused.contains("--full-rebuild"),
        "{refused}"
    );
    assert!(
        project.refusal(&["query", "PX-17"]).contains("--full-rebuild"),
        "nor is it searched with another's vectors"
    );
    let rebuild = || {
        let output = project.run(&["index", "--full-rebuild", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    rebuild();
    assert_eq!(project.query("the valve opens")["results"][0]["source"], "valve.md");
    let paid = asked.load(Ordering::Relaxed);
    rebuild();
    // Fixed texts show again whose embedder it is; the documents' vectors are remembered.
    let again = asked.load(Ordering::Relaxed) - paid;
    assert!(again <= 15 && paid > again, "a rebuild asked for {again} vectors anew, after {paid}");
    project.query("the valve opens");
    let before = asked.load(Ordering::Relaxed);
    project.query("the valve opens");
    let own = asked.load(Ordering::Relaxed) - before;
    assert!(own <= 5, "a question that was asked before is not paid for again: {own} vectors");
}

const VERSION_1: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (source TEXT PRIMARY KEY, source_type TEXT NOT NULL, content_hash TEXT NOT NULL,
    indexed_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (id INTEGER PRIMARY KEY, source TEXT NOT NULL REFERENCES sources (source) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL, section TEXT NOT NULL, content TEXT NOT NULL, char_start INTEGER NOT NULL,
    char_end INTEGER NOT NULL, tokens INTEGER NOT NULL, vector BLOB NOT NULL, UNIQUE (source, ordinal));
CREATE VIRTUAL TABLE words USING fts5 (section, content, content='', contentless_delete=1,
    tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO meta VALUES ('schema', '1');
INSERT INTO sources VALUES ('pump.md', 'file', 'x', 0);
INSERT INTO chunks VALUES (7, 'pump.md', 0, 'Pump', 'Code PX-17 is shown.', 0, 20, 6, zeroblob(1536));
INSERT INTO words (rowid, section, content) VALUES (7, 'Pump', 'Code PX-17 is shown.');
";

#[tokio::test(flavor = "multi_thread")]
async fn an_older_index_is_migrated_and_a_strange_one_refused() {
    let project = Workspace::new(&[("pump.md", PUMP)]);
    let path = project.path(".serin-reference/index.db");
    let options = |path: &Path| sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let make = async |sql: &str| {
        let _absent = std::fs::remove_file(&path);
        let mut file = <sqlx::SqliteConnection as sqlx::Connection>::connect_with(&options(&path)).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(&mut file).await.unwrap();
        sqlx::Connection::close(file).await.unwrap();
    };
    make(VERSION_1).await;
    let refused = project.refusal(&["query", "PX-17"]);
    assert!(refused.contains("version 1") && refused.contains("serin reference migrate"), "{refused}");
    let migrated = project.run(&["migrate"]);
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    let hits = project.query("PX-17");
    assert_eq!(hits["results"][0]["source"], "pump.md", "what was there is found: {hits}");
    assert_eq!(project.index()["indexed"], 1, "and cut anew from its file");
    assert!(String::from_utf8_lossy(&project.run(&["migrate"]).stdout).contains("already"));
    make(
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE chunks (x); CREATE TABLE sources (y); \
          INSERT INTO meta VALUES ('schema', '99');",
    )
    .await;
    let refused = project.refusal(&["index"]);
    assert!(refused.contains("unknown") && refused.contains("index again"), "{refused}");
}

#[test]
fn a_wipe_wants_a_yes_and_leaves_the_configuration() {
    let project = Workspace::new(&[("pump.md", PUMP)]);
    project.index();
    assert!(project.refusal(&["wipe"]).contains("--yes"));
    assert!(!project.query("PX-17")["results"].as_array().unwrap().is_empty(), "nothing is gone without it");
    assert!(project.run(&["wipe", "--yes"]).status.success());
    assert!(project.refusal(&["query", "PX-17"]).contains("INDEX_MISSING"));
    assert_eq!(project.index()["indexed"], 1);
}

#[test]
fn a_document_that_is_too_long_is_named_with_its_limit() {
    let project = Workspace::new(&[("pump.md", PUMP), ("valve.md", VALVE)]);
    project.index();
    project.write("valve.md", &format!("{}The flange of VA-09 is welded.", "A word of many.\n".repeat(16_000)));
    assert_eq!(project.index()["indexed"], 1, "a book is indexed");
    assert_eq!(project.query("VA-09")["results"][0]["source"], "valve.md", "to its end");
    project.write("valve.md", &"word ".repeat(800_001));
    let said = String::from_utf8(project.run(&["index"]).stdout).unwrap();
    for part in ["valve.md: 4000005 characters", "may have 4000000", "split it", "1 removed"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let found = project.query("VA-09")["results"].clone();
    assert!(found.as_array().unwrap().iter().all(|hit| hit["source"] != "valve.md"), "its old text is gone: {found}");
    assert_eq!(project.index()["too_long"][0][0], "valve.md");
}

#[test]
fn a_wipe_removes_an_index_that_nobody_can_read() {
    let project = Workspace::new(&[("pump.md", PUMP)]);
    project.index();
    let file = project.path(".serin-reference/index.db");
    std::fs::write(&file, "This is no database. ".repeat(1_000)).unwrap();
    let refused = project.refusal(&["wipe"]);
    assert!(refused.contains("--yes") && refused.contains("cannot be read"), "{refused}");
    assert!(file.exists(), "nothing is gone without it");
    assert!(project.run(&["wipe", "--yes"]).status.success());
    assert!(!file.exists());
    assert_eq!(project.index()["indexed"], 1);
}

#[test]
fn a_gate_stops_a_change_that_a_rule_speaks_of() {
    let project = Workspace::new(&[
        ("rules/outbox.md", "# Outbox\nA delivery is written to the outbox in the same transaction as its incident.\n"),
        ("rules/names.md", "# Names\nModules are named after what they hold, in one word.\n"),
        ("notes/tea.md", "# Tea\nGreen tea is brewed at seventy degrees.\n"),
    ]);
    project.configure("  rules: []", "  rules:\n    - { files: \"rules/**\", source_type: constraints }");
    project.index();
    let gate = |change: &str| project.run(&["check-constraints", "--max-rank", "3", change]);
    let touched = gate("write the delivery to the outbox after the transaction of the incident");
    let said = String::from_utf8_lossy(&touched.stdout).into_owned();
    assert_eq!(touched.status.code(), Some(1), "{said}");
    assert!(said.contains("rules/outbox.md"), "{said}");
    let named = gate("write the delivery to the outbox in the transaction of the incident, as rules/outbox.md asks");
    assert_eq!(named.status.code(), Some(0), "a change that names the rule has been thought about");
    let far = gate("brew the green tea cooler");
    assert_eq!(far.status.code(), Some(0), "{}", String::from_utf8_lossy(&far.stdout));
    assert!(project.refusal(&["check-constraints", " "]).contains("no change"));
}
