//! What is listed: the tools, in words of what is searched, and the sources, page by page.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use reqwest::{Client, StatusCode, Url};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::{
    options::LabOptions,
    server::{self, LabServer},
};
use serin_reference::project::{opened::Project, place::ProjectFolder, subject::Subject, template};
use serin_reference::serve::arguments::cursor;
use tokio_util::sync::CancellationToken;

async fn serve(options: LabOptions) -> LabServer {
    let _already = rustls::crypto::ring::default_provider().install_default();
    server::serve(options, CancellationToken::new()).await.unwrap()
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

async fn mcp(running: &LabServer, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = client().post(running.mcp_url()).header("Accept", "application/json, text/event-stream");
    let answer = request.header("MCP-Protocol-Version", "2025-11-25").json(&body).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["result"].take()
}

async fn call(running: &LabServer, tool: &str, arguments: Value) -> Value {
    mcp(running, "tools/call", json!({"name": tool, "arguments": arguments})).await["structuredContent"].take()
}

/// A server that knows some notes, which were sent in no order.
async fn knowing(names: &[&str]) -> LabServer {
    let running = serve(LabOptions { corpus: Corpus::Empty, ..LabOptions::default() }).await;
    for name in names {
        let told = call(&running, "index_document", json!({"source": name, "text": "The kiln is fired."})).await;
        assert_eq!(told["status"], "ok", "{told}");
    }
    running
}

/// The same page by MCP and by HTTP.
async fn page(running: &LabServer, cursor: Option<&str>, limit: Option<u32>) -> Value {
    let mut arguments = json!({});
    let mut url = Url::parse(&running.url("sources")).unwrap();
    if let Some(cursor) = cursor {
        arguments["cursor"] = json!(cursor);
        url.query_pairs_mut().append_pair("cursor", cursor);
    }
    if let Some(limit) = limit {
        arguments["limit"] = json!(limit);
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
    }
    let mut by_mcp = call(running, "list_sources", arguments).await;
    let mut by_http: Value = client().get(url).send().await.unwrap().json().await.unwrap();
    for envelope in [&mut by_mcp, &mut by_http] {
        assert!(envelope["operation_id"].take().is_string());
    }
    assert_eq!(by_mcp, by_http);
    by_mcp
}

fn names(page: &Value) -> Vec<&str> {
    page["data"]["sources"].as_array().unwrap().iter().map(|source| source["source"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn sources_come_in_pages_that_each_say_the_whole() {
    let running = knowing(&["b.md", "Z.md", "a b.md", "é&.md", "c.md"]).await;
    let whole = page(&running, None, None).await;
    assert_eq!(names(&whole), ["Z.md", "a b.md", "b.md", "c.md", "é&.md"], "by name, a byte after the other");
    assert_eq!(whole["data"]["next_cursor"], Value::Null, "nothing is left");
    let (mut walked, mut asked) = (Vec::new(), None);
    loop {
        let page = page(&running, asked.as_deref(), Some(2)).await;
        for part in ["total", "total_chunks", "last_indexed"] {
            assert_eq!(page["data"][part], whole["data"][part], "{part} is of the whole index");
        }
        walked.push(names(&page).join(" "));
        asked = page["data"]["next_cursor"].as_str().map(str::to_owned);
        if asked.is_none() {
            break;
        }
    }
    assert_eq!(walked, ["Z.md a b.md", "b.md c.md", "é&.md"]);
    assert_eq!(whole["data"]["total"], 5);
    let newest =
        whole["data"]["sources"].as_array().unwrap().iter().filter_map(|source| source["last_indexed"].as_str());
    assert_eq!(whole["data"]["last_indexed"].as_str(), newest.max());
}

#[tokio::test]
async fn a_page_goes_on_whatever_came_and_went() {
    let running = knowing(&["b.md", "d.md", "f.md"]).await;
    let first = page(&running, None, Some(1)).await;
    let after_b = first["data"]["next_cursor"].as_str().unwrap();
    for name in ["a.md", "c.md"] {
        call(&running, "index_document", json!({"source": name, "text": "The kiln is cold."})).await;
    }
    let second = page(&running, Some(after_b), None).await;
    assert_eq!(names(&second), ["c.md", "d.md", "f.md"], "what came before is passed, what comes after is seen");
    assert_eq!(second["data"]["total"], 5);
    assert_eq!(names(&page(&running, Some(&cursor("e.md")), None).await), ["f.md"], "a name that is gone");
    assert_eq!(names(&page(&running, Some(&cursor("x.md")), None).await), [""; 0], "nothing is left");
}

#[tokio::test]
async fn what_is_no_page_is_refused_or_brought_into_its_bounds() {
    let running = knowing(&["a.md", "b.md", "c.md"]).await;
    for (says, arguments, expected) in [
        ("somebody's own", json!({"cursor": "b.md"}), Err("next_cursor")),
        ("a name under a wrong digest", json!({"cursor": "00000000.a.md"}), Err("next_cursor")),
        ("one that was cut", json!({"cursor": &cursor("a.md")[..9]}), Err("next_cursor")),
        ("a number", json!({"cursor": 7}), Err("string")),
        ("words for a number", json!({"limit": "many"}), Err("u32")),
        ("less than none", json!({"limit": -1}), Err("u32")),
        ("none", json!({"limit": 0}), Ok(1)),
        ("too many", json!({"limit": 100_000}), Ok(3)),
        ("no cursor", json!({"cursor": ""}), Ok(3)),
        ("an argument that is not there", json!({"collection": "x"}), Ok(3)),
    ] {
        let envelope = call(&running, "list_sources", arguments).await;
        match expected {
            Ok(count) => assert_eq!(names(&envelope).len(), count, "{says}: {envelope}"),
            Err(why) => {
                assert_eq!(envelope["error_code"], "INVALID_ARGUMENT", "{says}: {envelope}");
                assert!(envelope["error_message"].as_str().unwrap().contains(why), "{says}: {envelope}");
            }
        }
    }
    let strange = call(&running, "list_sources", json!({"collection": "x"})).await;
    assert_eq!(strange["data"]["ignored_arguments"], json!(["collection"]));
}

#[tokio::test]
async fn the_list_over_http_is_guarded_as_the_search_is() {
    let running = serve(LabOptions { bearer: Some("open-sesame".to_owned()), ..LabOptions::default() }).await;
    let ask = async |query: &str, token: &str, origin: &str| {
        let url = format!("{}{query}", running.url("sources"));
        let request = client().get(url).bearer_auth(token).header("Origin", origin);
        request.send().await.unwrap().status()
    };
    let here = "http://localhost";
    assert_eq!(ask("", "open-sesame", here).await, StatusCode::OK);
    assert_eq!(ask("", "wrong", here).await, StatusCode::UNAUTHORIZED, "another token");
    assert_eq!(ask("", "open-sesame", "https://evil.example").await, StatusCode::FORBIDDEN, "a page from elsewhere");
    assert_eq!(ask("?cursor=x", "open-sesame", here).await, StatusCode::BAD_REQUEST);
    assert_eq!(ask("?limit=some", "open-sesame", here).await, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_tools_speak_of_what_is_searched() {
    let check = async |says: &str, options: LabOptions, expected: &str| {
        let running = serve(options).await;
        let opened = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"}});
        let instructions = mcp(&running, "initialize", opened).await["instructions"].take();
        let tools = mcp(&running, "tools/list", json!({})).await["tools"].take();
        for said in [&instructions, &tools[0]["description"]] {
            assert!(said.as_str().unwrap().contains(&format!("earches {expected}. ")), "{says}: {said}");
        }
        assert!(!format!("{instructions}{tools}").contains("runbook"), "{says}: none of ours");
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("kiln");
    std::fs::create_dir(&root).unwrap();
    let of = |name: &str, summary: &str| {
        let subject = Subject { name: name.to_owned(), summary: summary.to_owned() };
        ProjectFolder::set_up(&root, &template::filled(&subject), true).unwrap();
        let project = Some(Project::find(&root).unwrap());
        LabOptions { project, corpus: Corpus::Empty, ..LabOptions::default() }
    };
    check("a project with both", of("Kiln", "How pots are fired."), "Kiln: How pots are fired").await;
    check("one with a name", of("Kiln", ""), "Kiln").await;
    check("one with neither", of("", ""), "kiln").await;
    let files = LabOptions { corpus: Corpus::Folder(root.clone()), ..LabOptions::default() };
    check("a folder", files, "kiln").await;
    check("documentation", LabOptions::default(), "Serin's documentation").await;
}

#[tokio::test]
async fn what_tools_answer_fits_what_they_say_of_it() {
    let running = serve(LabOptions::default()).await;
    let tools = mcp(&running, "tools/list", json!({})).await["tools"].take();
    let note = json!({"source": "notes/a.md", "text": "# Kiln\nIt is fired.", "collection": "notes", "tags": ["hot"],
        "date": "2026-11-21", "method": "parent_child"});
    for (tool, arguments, status) in [
        ("index_document", note, "ok"),
        ("index_document", json!({"source": "a.md"}), "error"),
        ("search_documents", json!({"query": "when is the kiln fired", "collection": "notes", "expand": true}), "ok"),
        ("search_documents", json!({"query": "OC-31"}), "ok"),
        ("search_documents", json!({"query": "OC-31"}), "ok"),
        ("search_documents", json!({"query": ""}), "error"),
        ("list_sources", json!({"limit": 1}), "ok"),
        ("list_sources", json!({}), "ok"),
        ("list_sources", json!({"cursor": "x"}), "error"),
        ("generate_embedding", json!({"text": "a pool that runs dry"}), "ok"),
        ("generate_embedding", json!({"text": ""}), "error"),
        ("generate_embedding", json!({"texts": ["a pool that runs dry", "a kiln"]}), "ok"),
        ("generate_embedding", json!({"texts": vec!["a"; 65]}), "error"),
        ("check_constraints", json!({"change": "retry writes without a lock", "min_score": 0}), "ok"),
        ("query_impact", json!({"symbol": "splitmix64"}), "ok"),
    ] {
        let listed = tools.as_array().unwrap().iter().find(|listed| listed["name"] == tool).unwrap();
        let fits = |schema: &str, value: &Value| {
            let validator = jsonschema::validator_for(&listed[schema]).unwrap();
            let faults: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{tool} {arguments}: {schema}: {faults:?} in {value}");
        };
        fits("inputSchema", &arguments);
        let envelope = call(&running, tool, arguments.clone()).await;
        assert_eq!(envelope["status"], status, "{tool} {arguments}: {envelope}");
        fits("outputSchema", &envelope);
        assert!(listed["outputSchema"]["properties"]["data"].is_object(), "{tool} says what it brings");
    }
}

#[tokio::test]
async fn texts_are_embedded_by_the_batch_as_one_by_one() {
    let running = serve(LabOptions { corpus: Corpus::Empty, ..LabOptions::default() }).await;
    let texts = ["a pool that runs dry", "a kiln is fired", "a pool that runs dry"];
    for purpose in ["query", "document"] {
        let batch = call(&running, "generate_embedding", json!({"texts": texts, "purpose": purpose})).await;
        let vectors = batch["data"]["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), texts.len(), "{batch}");
        for (text, vector) in texts.iter().zip(vectors) {
            let one = call(&running, "generate_embedding", json!({"text": text, "purpose": purpose})).await;
            assert_eq!((&one["data"]["vector"], &one["data"]["vectors"]), (vector, &Value::Null), "{purpose} {text}");
            assert_eq!(one["data"]["dimensions"], batch["data"]["dimensions"]);
        }
    }
    for (says, arguments, mend) in [
        ("nothing", json!({}), "either"),
        ("both", json!({"text": "a", "texts": ["a"]}), "either"),
        ("an empty one among them", json!({"texts": ["a", " "]}), "1 to 8000"),
        ("a long one among them", json!({"texts": ["a", "a".repeat(8_001)]}), "1 to 8000"),
        ("too many", json!({"texts": vec!["a"; 65]}), "several batches"),
        ("too long together", json!({"texts": vec!["a".repeat(7_200); 9]}), "several batches"),
    ] {
        let told = call(&running, "generate_embedding", arguments).await;
        assert!(told["error_message"].as_str().unwrap_or_default().contains(mend), "{says}: {told}");
    }
}
