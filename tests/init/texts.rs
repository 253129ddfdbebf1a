//! Servers that answer with text, with columns, with an echo: what `serin init` makes of them, and of a person's questions.

use serde_json::{Value, json};
use serin::domain::monitor::{CanaryKind, Monitor};

use crate::{fleet, probed_well, said, serin, stranger, text};

fn prose(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn tools() -> Value {
    json!([{"name": "search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}])
}

/// Tells everything as text: what it found, that it found nothing, that it was not asked.
fn notes(params: &Value) -> Value {
    let Some(question) = params["arguments"]["query"].as_str() else { return prose("Sorry: no question was given.") };
    prose(&match question {
        "copper" => "# Results for copper\n\nBoiler upkeep, see INV-2044".to_owned(),
        "swarm" => "# Results for swarm\n\nBeehives are crowded in spring".to_owned(),
        other => format!("No notes were found for '{other}'."),
    })
}

/// Repeats the question, whatever it is.
fn echo(params: &Value) -> Value {
    prose(&format!("Results for {}: see above", params["arguments"]["query"].as_str().unwrap_or("nothing")))
}

/// The parts of all results side by side, a question each.
fn columns(params: &Value) -> Value {
    let about = [
        ("boilers", "A copper boiler needs its valve checked. Code INV-2044."),
        ("bees", "Bees swarm in May when hives are full. Code BX-1177."),
    ];
    let question = params["arguments"]["query_texts"][0].as_str().unwrap_or_default().to_lowercase();
    let words: Vec<&str> = question.split_whitespace().filter(|word| word.len() > 3).collect();
    let found = about.iter().filter(|(_, body)| words.iter().any(|word| body.to_lowercase().contains(word)));
    let (ids, documents): (Vec<&str>, Vec<&str>) = found.copied().unzip();
    text(&json!({"ids": [ids], "documents": [documents], "metadatas": null}))
}

fn positive(monitor: &Monitor) -> usize {
    monitor.canaries.iter().filter(|canary| canary.kind != CanaryKind::Negative).count()
}

#[tokio::test]
async fn a_server_that_answers_with_text_gets_canaries_by_what_only_one_answer_says() {
    let (url, _stranger) = stranger("Notes", tools(), notes).await;
    let output = serin(&["init", &url, "--ask", "copper", "--ask", "swarm"], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{err}{yaml}");
    let fleet = fleet(&yaml);
    let monitor = &fleet.monitors[0];
    let expected: Vec<(&str, String)> =
        monitor.canaries.iter().map(|canary| (&*canary.query, canary.expected())).collect();
    assert_eq!(expected[0], ("copper", "“INV-2044”".to_owned()), "{yaml}");
    assert_eq!((positive(monitor), expected.len()), (2, 3), "and one of nonsense: {yaml}");
    let signs = monitor.search.said.as_ref().expect("signs");
    let signs = [&signs.error, &signs.empty].map(|sign| sign.as_ref().map(|sign| sign.as_str()));
    assert_eq!(signs, [Some("^Sorry: no question was given"), Some("^No notes were found for")], "{yaml}");
    probed_well("as proposed", &yaml, &[]).await;
}

#[tokio::test]
async fn an_echo_is_no_answer() {
    let (url, _stranger) = stranger("Echo", tools(), echo).await;
    let output = serin(&["init", &url, "--ask", "copper", "--ask", "swarm"], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{err}{yaml}");
    let fleet = fleet(&yaml);
    assert_eq!(positive(&fleet.monitors[0]), 0, "{yaml}");
    assert_eq!(fleet.monitors[0].search.tool.as_deref(), Some("search"), "what was found out is written: {yaml}");
    assert!(yaml.contains("# canaries:") && yaml.contains("--ask"), "with what is to be filled in: {yaml}");
}

#[tokio::test]
async fn columns_and_a_list_of_questions_are_found_by_themselves() {
    let tools = json!([{"name": "search", "inputSchema": {"type": "object", "required": ["query_texts"], "properties": {
        "query_texts": {"type": "array", "items": {"type": "string"}}}}}]);
    let (url, _stranger) = stranger("Vectors", tools, columns).await;
    let output = serin(&["init", &url, "--ask", "copper", "--ask", "swarm"], &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{err}{yaml}");
    let fleet = fleet(&yaml);
    let search = &fleet.monitors[0].search;
    assert_eq!((&*search.query, search.by_columns), (["/query_texts/0".to_owned()].as_slice(), true), "{yaml}");
    assert_eq!(
        (search.fields.source.as_deref(), search.fields.content.as_deref()),
        (Some("/ids/0"), Some("/documents/0"))
    );
    assert!(positive(&fleet.monitors[0]) >= 3, "{yaml}");
    probed_well("as proposed", &yaml, &[]).await;
}

#[tokio::test]
async fn a_program_is_proposed_with_its_arguments_and_without_its_secrets() {
    let server = serin_program();
    let arguments = [
        "init",
        "--env",
        "MODE=probe",
        "--env",
        "API_TOKEN=tok-verysecret-1",
        "--ask",
        "copper",
        "--ask",
        "swarm",
        "--",
    ];
    let output = serin(&[&arguments, server.as_slice()].concat(), &[]).await;
    let (yaml, err) = said(&output);
    assert_eq!(output.status.code(), Some(0), "{err}{yaml}");
    assert!(!format!("{yaml}{err}").contains("verysecret"), "{err}{yaml}");
    let fleet = fleet(&yaml);
    let program = fleet.monitors[0].reach.program.as_ref().expect("a program");
    assert_eq!((&*program.command, program.args.len()), (server[0], server.len() - 1), "{yaml}");
    assert!(
        yaml.contains("API_TOKEN: \"${env:API_TOKEN}\"") && err.contains("set the variable API_TOKEN"),
        "{err}{yaml}"
    );
    assert!(positive(&fleet.monitors[0]) >= 2, "{yaml}");
    probed_well("with the variable set", &yaml, &[("API_TOKEN", "tok-verysecret-1")]).await;
}

/// A server of a few lines that any machine with Python can start.
fn serin_program() -> Vec<&'static str> {
    const SERVER: &str = r#"
import json, os, sys
assert os.environ["API_TOKEN"] and os.environ["MODE"] == "probe"
docs = [("boilers", "A copper boiler needs its valve checked. Code INV-2044."), ("bees", "Bees swarm in May when hives are full. Code BX-1177.")]
tool = {"name": "search", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask: continue
    method, params = ask["method"], ask.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list": result = {"tools": [tool]}
    elif method == "tools/call":
        words = [word for word in params["arguments"].get("query", "").lower().split() if len(word) > 3]
        hits = [{"source": name, "text": text} for name, text in docs if any(word in text.lower() for word in words)]
        result = {"content": [{"type": "text", "text": json.dumps({"results": hits})}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "error": {"code": -32601, "message": "unknown"}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": result}), flush=True)
"#;
    vec!["python3", "-c", SERVER]
}
