//! Agents that ask Serin before they believe a server: over HTTP, over a program's standard input, in both eras; and
//! Serin's own prober finds nothing to complain of in it.

use std::process::Stdio;

use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::stage::{Expected, Stage, reference};

/// What all tools together may cost an agent's context.
const TOKENS_MAX: u64 = 600;

/// Calls a tool as a client of the modern era does, and gives back its structured content.
async fn called(stage: &Stage, name: &str, arguments: Value) -> Value {
    let version = "2026-07-28";
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "agent", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": name, "arguments": arguments, "_meta": meta } });
    let request = stage.client.post(format!("{}/mcp", stage.pages)).json(&message);
    let request = request.header("accept", "application/json, text/event-stream").header("mcp-method", "tools/call");
    let answer = request.header("mcp-name", name).header("mcp-protocol-version", version).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let answer: Value = answer.json().await.unwrap();
    answer["result"]["structuredContent"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_told_when_a_server_is_quietly_wrong() {
    let server = reference().await;
    let url = server.mcp_url();
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {url}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n  - {{ id: bare, url: {url} }}\n"
    ))
    .await;
    stage.well("docs").await;
    stage.well("bare").await;
    let fitness = async |id: &str| called(&stage, "retrieval_fitness", json!({ "server": id })).await;
    let docs = fitness("docs").await;
    assert_eq!((&docs["fit"], &docs["why"], &docs["canaries_right"]), (&"fit".into(), &json!([]), &"1 of 1".into()));
    let bare = fitness("bare").await;
    assert_eq!(bare["fit"], "unknown", "nobody judges its results: {bare}");
    assert!(fitness("dosc").await["error"].as_str().unwrap().starts_with("no server of this name is watched"));
    assert!(fitness(&url).await["error"].as_str().unwrap().starts_with("2 servers are called so"));
    assert!(called(&stage, "open_incidents", json!({ "server": "dosc" })).await["error"].is_string());

    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let empty =
        Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };
    stage.opened("nothing is found any more", empty).await;
    let docs = fitness("docs").await;
    assert_eq!(docs["fit"], "unfit", "{docs}");
    let why = &docs["why"][0];
    assert_eq!((&why["failure_reason"], why["detail"].is_string()), (&"empty_results".into(), true), "{docs}");
    let summary = called(&stage, "fleet_summary", json!({})).await;
    assert_eq!((&summary["unfit"], &summary["not_fit"][0]["server"]), (&1.into(), &"docs".into()), "the worst first");
    let open = called(&stage, "open_incidents", json!({ "server": "docs" })).await;
    assert_eq!(
        (&open["open"], &open["incidents"][0]["failure_reason"]),
        (&1.into(), &"empty_results".into()),
        "{open}"
    );
    assert_eq!(called(&stage, "open_incidents", json!({ "server": "bare" })).await["open"], 0);
    let runbook = called(&stage, "runbook", json!({ "reason": "empty_results" })).await;
    assert!(runbook["runbook"].as_str().unwrap().contains('#') && runbook["url"].is_string(), "{runbook}");
}

#[tokio::test(flavor = "multi_thread")]
async fn serins_own_prober_is_content_with_it_and_a_program_speaks_the_same() {
    let server = reference().await;
    let stage = Stage::start(&format!("  - {{ id: docs, url: {} }}\n", server.mcp_url())).await;
    stage.well("docs").await;
    for era in ["modern", "legacy"] {
        let own = format!("version: 1\nmonitors: [{{ id: serin, url: \"{}/mcp\", era: {era} }}]\n", stage.pages);
        stage.beside("own.yaml", &own);
        let (code, said) = stage.runs(&["probe", "serin", "--config", "own.yaml", "--json"]).await;
        let seen: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, &seen["outcome"]["verdict"]), (Some(0), &"good".into()), "{era}: {said}");
        let tokens = seen["tools"]["tokens"].as_u64().unwrap();
        assert!(tokens <= TOKENS_MAX, "{tokens} tokens of tools");
    }

    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["mcp", "--url", &stage.pages]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut program = command.spawn().unwrap();
    let (mut to, mut from) = (program.stdin.take().unwrap(), BufReader::new(program.stdout.take().unwrap()).lines());
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "agent", "version": "1" } } });
    let call = json!({ "jsonrpc": "2.0", "id": "two", "method": "tools/call",
        "params": { "name": "fleet_summary", "arguments": {} } });
    let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for line in [opening.to_string(), done.to_string(), "no json".to_owned(), call.to_string()] {
        to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    let mut next = async || -> Value {
        let line = stage.soon("the program answers", from.next_line()).await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    };
    let opened = next().await;
    assert_eq!((&opened["id"], &opened["result"]["serverInfo"]["name"]), (&1.into(), &"serin".into()), "{opened}");
    assert_eq!(next().await["error"]["code"], -32700, "and goes on");
    let summary = next().await;
    assert_eq!((&summary["id"], &summary["result"]["structuredContent"]["servers"]), (&"two".into(), &1.into()));
    drop(to);
    assert!(stage.soon("it ends with its input", program.wait()).await.unwrap().success());
}

/// Somebody else makes requests up from the document, and judges the answers by it. Left out is what Serin means:
/// most odd values in a query are as good as none, and what an id or a `before` may be no schema can say.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs tests/install.sh"]
async fn a_fuzzer_finds_every_answer_as_the_document_says() {
    let server = reference().await;
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {}\n    canaries:\n      - {{ id: card, query: OC-31, expect: [reference/oncall.md] }}\n",
        server.mcp_url()
    ))
    .await;
    stage.well("docs").await;
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi/.venv/bin/schemathesis");
    let folder = tempfile::tempdir().unwrap();
    let told = Command::new(program)
        .args([
            "run",
            &format!("{}/api/v1/openapi.json", stage.pages),
            "--seed",
            "1",
            "--max-examples",
            "50",
            "--no-color",
        ])
        .args(["--exclude-checks", "negative_data_rejection,positive_data_acceptance"])
        .current_dir(folder.path())
        .output()
        .await
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
}
