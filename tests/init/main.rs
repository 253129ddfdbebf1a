//! `serin init` with the real binary: against the reference server, strangers, and those that mean no good.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

mod rerun;
mod texts;

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Json, Router};
use serde_json::{Value, json};
use serin::config::check::checker::Unset;
use serin::config::read::source::ConfigSource;
use serin::domain::fleet::Fleet;
use serin::domain::monitor::CanaryKind;
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::{options::LabOptions, server};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// "About 40 requests".
const REQUESTS_MAX: u32 = 45;
/// Ends a line, a string, a document, a comment; refers to our environment.
const HOSTILE: &str = "x\"\r\nmonitors: []\n---\n# a: [b\u{2028}${env:HOME} {{ y }} 'z' \u{1b}[2J\u{85}\\";

async fn serin(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    command
        .args(arguments)
        .envs(variables.iter().copied())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command.output().await.expect("the binary starts")
}

fn said(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn fleet(text: &str) -> Fleet {
    let source = ConfigSource::new(Path::new("monitors.yaml"), text.as_bytes().to_vec(), None);
    let loaded = serin::config::load(&source, &|name| std::env::var(name).ok(), Unset::Warn);
    loaded.unwrap_or_else(|faults| panic!("`serin check` refuses it:\n{faults}\n{text}")).fleet
}

/// Writes the YAML down and looks whether `serin probe` finds the monitor well by it.
async fn probed_well(sentence: &str, yaml: &str, variables: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.yaml");
    std::fs::write(&file, yaml).unwrap();
    let id = fleet(yaml).monitors[0].id.to_string();
    let output = serin(&["probe", &id, "--config", file.to_str().unwrap(), "--json"], variables).await;
    let (out, err) = said(&output);
    assert!(output.status.success(), "{sentence}: {err}{out}");
    let seen: Value = serde_json::from_str(&out).unwrap();
    let right = |ask: &&Value| ask["verdict"] == "right";
    assert!(seen["asks"].as_array().unwrap().iter().all(|ask| right(&ask)), "{sentence}: {out}");
}

async fn reference(bearer: Option<&str>) -> (String, tokio_util::sync::DropGuard) {
    let options = LabOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        admin: None,
        database: None,
        corpus: Corpus::Documentation,
        faults: Vec::new(),
        name: "Product docs".to_owned(),
        bearer: bearer.map(str::to_owned),
        may_exit: false,
        ..LabOptions::default()
    };
    let stop = CancellationToken::new();
    let running = server::serve(options, stop.clone()).await.unwrap();
    (running.mcp_url(), stop.drop_guard())
}

#[tokio::test]
async fn the_reference_server_gets_a_monitor_that_is_up_with_passing_canaries() {
    let (url, _stop) = reference(None).await;
    let output = serin(&["init", &url], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{err}{yaml}");
    let fleet = fleet(&yaml);
    let monitor = &fleet.monitors[0];
    assert_eq!((monitor.id.as_str(), &*monitor.name), ("product-docs", "Product docs"));
    assert_eq!(monitor.search.tool.as_deref(), Some("search_documents"));
    assert!(monitor.canaries.len() >= 3, "{yaml}");
    let kinds: Vec<CanaryKind> = monitor.canaries.iter().map(|canary| canary.kind).collect();
    assert!(kinds.contains(&CanaryKind::Keyword) && kinds.contains(&CanaryKind::Mixed), "{yaml}");
    assert!(!kinds.contains(&CanaryKind::Meaning) && yaml.contains("has to be written by a person"), "{yaml}");
    assert!(monitor.rules.latency.p95 >= std::time::Duration::from_millis(200), "{yaml}");
    assert!(err.contains("requests sent") && yaml.contains("calls a day"), "{err}{yaml}");
    probed_well("as proposed", &yaml, &[]).await;
}

#[tokio::test]
async fn a_token_is_used_and_never_written() {
    let (url, _stop) = reference(Some("tok-verysecret-1")).await;
    let output = serin(&["init", &url], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{err}{yaml}");
    assert!(err.contains("needs credentials") && err.contains("--bearer-env"), "{err}");
    assert!(fleet(&yaml).monitors[0].canaries.is_empty(), "sensible all the same:\n{yaml}");

    let variable = ("A_TOKEN", "tok-verysecret-1");
    let rows: [(&[&str], (&str, &str)); 2] = [
        (&["--bearer", "tok-verysecret-1"], ("PRODUCT_DOCS_TOKEN", "tok-verysecret-1")),
        (&["--bearer-env", "A_TOKEN"], variable),
    ];
    for (arguments, set) in rows {
        let output = serin(&[&["init", &url], arguments].concat(), &[variable]).await;
        let (yaml, err) = said(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {err}{yaml}");
        assert!(!format!("{yaml}{err}").contains("verysecret"), "{err}{yaml}");
        assert!(yaml.contains(&format!("bearer: \"${{env:{}}}\"", set.0)), "{yaml}");
        assert!(err.contains(&format!("set the variable {}", set.0)), "{err}");
        probed_well("with the variable set", &yaml, &[set]).await;
    }
    let output = serin(&["init", &url, "--bearer-env", "NOT_SET_AT_ALL"], &[]).await;
    assert!(said(&output).1.contains("NOT_SET_AT_ALL is not set"), "{output:?}");
}

/// What one server of the older era does, and what was done to it.
struct Stranger {
    tools: Value,
    answer: fn(&Value) -> Value,
    name: &'static str,
    requests: AtomicU32,
    open: AtomicI64,
}

const DOCUMENTS: [(&str, &str); 4] = [
    (
        "billing/refunds",
        "Code RF-2207. A refund is paid within fourteen days after approval. Chargebacks are handled by treasury.",
    ),
    (
        "billing/invoices",
        "Code IN-9931. An invoice is sent on the first weekday of the month. Numbering restarts each January.",
    ),
    (
        "people/holidays",
        "Code HO-1174. Unused vacation is carried over until the end of March. Supervisors approve absences.",
    ),
    (
        "security/badges",
        "Code BD-5520. A lost badge is blocked by the reception at once. Replacement requires identification.",
    ),
];

/// Documents by how many words of the question they hold; none where none does.
fn ranked(question: &str) -> Vec<(&'static str, &'static str, f64)> {
    let words: Vec<String> = question
        .to_lowercase()
        .split(|c: char| c != '-' && !c.is_alphanumeric())
        .filter(|word| word.len() > 3)
        .map(str::to_owned)
        .collect();
    let mut found: Vec<_> = DOCUMENTS
        .iter()
        .map(|(source, text)| {
            (
                *source,
                *text,
                words.iter().filter(|word| text.to_lowercase().contains(*word) || source.contains(*word)).count()
                    as f64,
            )
        })
        .filter(|(_, _, score)| *score > 0.0)
        .collect();
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    found
}

async fn stranger(name: &'static str, tools: Value, answer: fn(&Value) -> Value) -> (String, Arc<Stranger>) {
    let stranger = Arc::new(Stranger { tools, answer, name, requests: AtomicU32::new(0), open: AtomicI64::new(0) });
    let state = Arc::clone(&stranger);
    let app =
        Router::new().route(
            "/mcp",
            any(move |method: Method, headers: HeaderMap, body: String| async move {
                serve(&state, &method, &headers, &body)
            }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, stranger)
}

fn serve(stranger: &Stranger, method: &Method, headers: &HeaderMap, body: &str) -> Response {
    stranger.requests.fetch_add(1, Ordering::Relaxed);
    if *method == Method::DELETE {
        stranger.open.fetch_sub(1, Ordering::Relaxed);
        return StatusCode::OK.into_response();
    }
    let Ok(body) = serde_json::from_str::<Value>(body) else { return StatusCode::METHOD_NOT_ALLOWED.into_response() };
    let reply = |result: Value| Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result})).into_response();
    match body["method"].as_str().unwrap_or_default() {
        _ if body["id"].is_null() => StatusCode::ACCEPTED.into_response(),
        "initialize" => {
            stranger.open.fetch_add(1, Ordering::Relaxed);
            let info = json!({"name": stranger.name, "version": "1"});
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info});
            ([("mcp-session-id", "s-1")], reply(result)).into_response()
        }
        "tools/list" => reply(json!({"tools": stranger.tools})),
        // An answer of null stands for a server that asks for quiet.
        "tools/call" if (stranger.answer)(&body["params"]).is_null() => {
            (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "60")]).into_response()
        }
        "tools/call" if headers.contains_key("mcp-session-id") => reply((stranger.answer)(&body["params"])),
        _ => {
            let error = json!({"code": -32601, "message": "unknown method"});
            Json(json!({"jsonrpc": "2.0", "id": body["id"], "error": error})).into_response()
        }
    }
}

fn text(value: &Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}]})
}

#[tokio::test]
async fn a_stranger_of_the_older_era_with_a_shape_of_its_own_is_described() {
    let tools = json!([
        {"name": "delete_all", "inputSchema": {}, "annotations": {"destructiveHint": true}},
        {"name": "kb-lookup", "description": "Company rules on refunds, vacation, invoices and badges.", "inputSchema": {
            "type": "object", "required": ["question", "space"], "properties": {
                "question": {"type": "string"}, "space": {"type": "string", "enum": ["handbook", "wiki"]},
                "limit": {"type": "integer", "maximum": 3}}}}
    ]);
    let (url, stranger) = stranger("", tools, |params| {
        assert_eq!(params["name"], "kb-lookup", "no other tool is tried");
        let arguments = &params["arguments"];
        assert_eq!((&arguments["space"], &arguments["limit"]), (&json!("handbook"), &json!(3)));
        let found: Vec<Value> = ranked(arguments["question"].as_str().unwrap())
            .into_iter()
            .take(3)
            .map(|(source, text, score)| json!({"where": {"doc": source}, "said": text, "match_score": score}))
            .collect();
        text(&json!({"reply": {"found": found}}))
    })
    .await;
    let output = serin(&["init", &url, "--id", "rules"], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{err}{yaml}");
    let fleet = fleet(&yaml);
    let monitor = &fleet.monitors[0];
    let search = &monitor.search;
    assert_eq!((search.tool.as_deref(), &*search.query), (Some("kb-lookup"), ["/question".to_owned()].as_slice()));
    assert_eq!(search.results.as_deref(), Some("/reply/found"));
    assert_eq!(
        (search.fields.source.as_deref(), search.fields.content.as_deref()),
        (Some("/where/doc"), Some("/said"))
    );
    assert!(err.contains("`space` is required; \"handbook\" was guessed"), "{err}");
    let positive = monitor.canaries.iter().filter(|canary| canary.kind != CanaryKind::Negative).count();
    assert!(positive >= 3, "{yaml}");
    let negative = monitor.canaries.iter().find(|canary| canary.kind == CanaryKind::Negative).expect("there is one");
    assert_eq!(negative.max_score, None, "nonsense finds nothing here");
    let sent = stranger.requests.load(Ordering::Relaxed);
    assert!(sent <= REQUESTS_MAX && err.contains(&format!("{sent} requests sent")), "{sent}: {err}");
    assert_eq!(stranger.open.load(Ordering::Relaxed), 0, "every session is closed");
    probed_well("a stranger", &yaml, &[]).await;
}

#[tokio::test]
async fn what_cannot_be_found_out_is_said_and_the_rest_is_sensible() {
    let schema = json!({"type": "object", "required": ["query", "collection"], "properties": {
        "query": {"type": "string"}, "collection": {"type": "string"}}});
    let echo =
        json!([{"name": "echo", "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}}}]);
    type Row = (&'static str, Value, fn(&Value) -> Value, &'static str, bool);
    let search = || json!([{"name": "search", "inputSchema": {"properties": {"query": {"type": "string"}}}}]);
    let rows: [Row; 6] = [
        ("the server asks for quiet", search(), |_| Value::Null, "asked for quiet (429)", true),
        ("no tool searches", echo, |_| panic!("nothing is called"), "no search tool found among `echo`", false),
        (
            "an argument nobody can guess",
            json!([{"name": "search", "inputSchema": schema}]),
            |_| panic!("nothing is called"),
            "cannot be guessed: `collection`",
            false,
        ),
        (
            "the tool fails",
            search(),
            |_| json!({"isError": true, "content": [{"type": "text", "text": "no index"}]}),
            "no index",
            true,
        ),
        (
            "the answer is prose",
            search(),
            |_| json!({"content": [{"type": "text", "text": "I found this."}]}),
            "no list of results in the answer",
            true,
        ),
        ("nothing is ever found", search(), |_| text(&json!({"results": []})), "no search brought a result", true),
    ];
    for (sentence, tools, answer, expected, searched) in rows {
        let (url, stranger) = stranger("Quiet", tools, answer).await;
        let output = serin(&["init", &url], &[]).await;
        let (yaml, err) = said(&output);
        assert_eq!(output.status.code(), Some(2), "{sentence}: {err}{yaml}");
        assert!(err.contains(expected) && yaml.contains(expected), "{sentence}: {err}{yaml}");
        let fleet = fleet(&yaml);
        assert_eq!(fleet.monitors[0].canaries.len(), 0, "{sentence}");
        assert_eq!(fleet.monitors[0].search.tool.is_some(), searched, "{sentence}: {yaml}");
        assert_eq!(stranger.open.load(Ordering::Relaxed), 0, "{sentence}: every session is closed");
        probed_well(sentence, &yaml, &[]).await;
    }
    let output = serin(&["init", "http://127.0.0.1:9/mcp"], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("the server could not be asked"), "{err}");
    assert_eq!(fleet(&yaml).monitors[0].id.as_str(), "127-0-0-1");
    let output = serin(&["init", "docs.example.org"], &[]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[tokio::test]
async fn a_hostile_server_writes_no_line_of_the_file() {
    let tools = json!([{"name": "search", "title": HOSTILE, "description": HOSTILE, "inputSchema": {
        "type": "object", "required": ["query", HOSTILE], "properties": {
            "query": {"type": "string", "description": HOSTILE},
            HOSTILE: {"type": "string", "default": HOSTILE}, "top_k": {"type": "integer", "default": "5\n- id: x"}}}}]);
    let answer = |params: &Value| {
        let question = params["arguments"]["query"].as_str().unwrap();
        assert!(!question.contains("${") && !question.chars().any(char::is_control), "{question:?}");
        let hit = |source: String| json!({"text": format!("{HOSTILE} Code ZZ-9981. {question} is what it is about today."), "source": source, "score": 1e300});
        let sources =
            [HOSTILE.to_owned(), "$${env:HOME}: [".to_owned(), "y".repeat(5_000), "- plain: {enough}".to_owned()];
        text(&json!({"results": sources.map(hit)}))
    };
    // Tried with the argument it demands out of reach, and with it given.
    for arguments in [&[][..], &["--argument", &format!("{HOSTILE}=1"), "--tool", "search"][..]] {
        let (url, stranger) = stranger(HOSTILE, tools.clone(), answer).await;
        let output = serin(&[&["init", &url], arguments].concat(), &[("HOME", "home-sweet-home")]).await;
        let (yaml, err) = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{err}{yaml}");
        let fleet = fleet(&yaml);
        assert_eq!(fleet.monitors.len(), 1, "{yaml}");
        assert!(!yaml.contains("home-sweet-home") && !err.contains("home-sweet-home"), "{err}{yaml}");
        assert!(yaml.lines().all(|line| line.is_empty() || !line.starts_with("monitors: []")), "{yaml}");
        assert_eq!(yaml.lines().filter(|line| !line.starts_with([' ', '#'])).count(), 3, "{yaml}");
        for text in [&yaml, &err] {
            assert!(!text.contains(['\u{1b}', '\u{85}', '\u{2028}', '\r']), "{text:?}");
        }
        assert!(stranger.requests.load(Ordering::Relaxed) <= REQUESTS_MAX);
    }
}

#[tokio::test]
async fn a_server_that_says_our_token_back_does_not_get_it_written() {
    let tools = || json!([{"name": "search", "inputSchema": {"properties": {"query": {"type": "string"}}}}]);
    let answer = |params: &Value| {
        let question = params["arguments"]["query"].as_str().unwrap();
        let said =
            format!("Code TOK-echoed-77. The token is tok-echoed-77 in this and every other text. About {question}.");
        text(
            &json!({"results": [{"text": said, "source": "a.md"}, {"text": "Fine by itself.", "source": "tok-echoed-77.md"}]}),
        )
    };
    for query in ["", "?key=tok-echoed-77"] {
        let (url, _stranger) = stranger("tok-echoed-77", tools(), answer).await;
        let output = serin(&["init", &format!("{url}{query}"), "--bearer", "tok-echoed-77"], &[]).await;
        let (yaml, err) = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{err}{yaml}");
        assert!(!format!("{yaml}{err}").to_lowercase().contains("tok-echoed-77"), "{err}{yaml}");
        assert_eq!(fleet(&yaml).monitors[0].id.as_str(), "127-0-0-1", "{yaml}");
        assert_eq!(yaml.contains("url: \"${env:MCP_127_0_0_1_URL}\""), !query.is_empty(), "{yaml}");
    }
}

#[tokio::test]
async fn a_monitor_is_appended_and_the_rest_of_the_file_stays() {
    let (url, _stop) = reference(None).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.yaml");
    let file = path.to_str().unwrap();
    let run =
        async |more: &[&str]| serin(&[&["init", &url, "--append", file, "--canaries", "2"], more].concat(), &[]).await;

    let output = run(&[]).await;
    assert!(said(&output).1.contains("give --yes") && !path.exists(), "{output:?}");
    let output = run(&["--yes"]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let made = std::fs::read_to_string(&path).unwrap();
    assert_eq!(fleet(&made).monitors.len(), 1);

    let head = "# ours\nversion: 1\ndefaults: { every: 2s, timeout: 1500ms, probe_budget: 2s }\nmonitors:\n    # the first\n    - { id: product-docs, url: \"http://127.0.0.1:1/mcp\" }   # stays\n";
    let tail = "\n# who hears of it\nrunbooks: { default: \"https://r.example.org/#{reason}\" }\n";
    std::fs::write(&path, format!("{head}{tail}")).unwrap();
    let output = run(&["--yes"]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
    let ids: Vec<String> = fleet(&text).monitors.iter().map(|monitor| monitor.id.to_string()).collect();
    assert_eq!(ids, ["product-docs", "product-docs-2"], "{text}");
    let calls = fleet(&text).monitors[1].calls_per_day();
    assert!(text.contains(&format!("Up to {calls} calls a day")), "as `defaults` make it: {calls}\n{text}");

    let before = text;
    let rows = [
        ("an id that is there", before.clone(), &["--id", "product-docs"][..], "already"),
        ("a file with faults", before.replace("url:", "uri:"), &[][..], "faults to mend first"),
        (
            "a list that is not in lines",
            "version: 1\nmonitors: [{ id: a, url: \"http://h/\" }]\n".to_owned(),
            &[][..],
            "with dashes",
        ),
    ];
    for (sentence, text, arguments, expected) in rows {
        std::fs::write(&path, &text).unwrap();
        let output = run(&[arguments, &["--yes"]].concat()).await;
        assert_eq!(output.status.code(), Some(1), "{sentence}: {output:?}");
        assert!(said(&output).1.contains(expected), "{sentence}: {output:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{sentence}");
    }
}
