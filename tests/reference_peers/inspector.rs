//! The Inspector's command line lists and calls our tools, in both eras, and finds nothing wrong with them.

use serde_json::{Value, json};

use crate::node;
use crate::served::Served;

/// Every tool, and what it is called with.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("search_documents", json!({"query": "OC-31", "top_k": 2})),
        ("index_document", json!({"source": "notes/okapi.md", "text": "# Okapi\nThe valve is shut."})),
        ("list_sources", json!({})),
        ("generate_embedding", json!({"text": "a pool that runs dry"})),
        ("check_constraints", json!({"change": "retry writes without a lock"})),
        ("query_impact", json!({"symbol": "splitmix64"})),
    ]
}

/// What the Inspector answers, and what it complains of.
fn inspect(url: &str, era: &str, method: &[&str]) -> Result<Value, String> {
    let home = tempfile::tempdir().unwrap();
    let launcher =
        node::tests("reference_peers/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let output = node::script(&launcher)
        .args(["--cli", url, "--transport", "http", "--protocol-era", era, "--method"])
        .args(method)
        // It keeps a catalogue of servers in the home of whoever runs it.
        .env("HOME", home.path())
        .output()
        .unwrap();
    let (said, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{said}{complaint}"));
    }
    assert_eq!(complaint, "", "{method:?} of {url}, {era}");
    serde_json::from_str(&said).map_err(|error| format!("{error}: {said}"))
}

fn check(sentence: &str, url: &str, era: &str) {
    let listed = inspect(url, era, &["tools/list"]).unwrap_or_else(|why| panic!("{sentence}: {why}"));
    let mut names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    let mut called: Vec<&str> = calls().iter().map(|call| call.0).collect();
    names.sort_unstable();
    called.sort_unstable();
    assert_eq!(names, called, "{sentence}: a tool that nobody calls");
    for (tool, arguments) in calls() {
        let arguments = arguments.to_string();
        let answer = inspect(url, era, &["tools/call", "--tool-name", tool, "--tool-args-json", &arguments])
            .unwrap_or_else(|why| panic!("{sentence}, {tool}: {why}"));
        assert_eq!(answer["structuredContent"]["status"], "ok", "{sentence}, {tool}: {answer}");
        assert_ne!(answer["isError"], true, "{sentence}, {tool}: {answer}");
    }
    assert!(inspect(url, era, &["tools/call", "--tool-name", "drop_tables"]).is_err(), "{sentence}: no such tool");
}

#[test]
#[ignore = "needs tests/install.sh"]
fn the_inspector_lists_and_calls_every_tool() {
    let served = Served::with(&[]);
    check("in the modern era", &served.mcp, "modern");
    check("in the older one", &served.mcp, "legacy");
    check("in sessions", &served.legacy, "legacy");
    check("in sessions, where it may choose", &served.legacy, "auto");
    assert!(inspect(&served.legacy, "modern", &["tools/list"]).is_err(), "sessions are not of the modern era");
}
