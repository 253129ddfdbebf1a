//! The contract of the server, kept by its core alone: what is sent is cut, indexed and found, by MCP and by HTTP.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::serve::options::Options;
use serin_reference::serve::plain;
use serin_reference::serve::server::{self, Running};
use tokio_util::sync::CancellationToken;

const NOTES: &[(&str, &str)] = &[
    ("boiler.md", "# Boiler\n\nThe boiler is drained every 14 days. Error BOIL-17 means that its valve sticks."),
    ("ferry.md", "# Ferry\n\nThe ferry crosses at each full hour. In fog it rings its bell and does not cross."),
    ("bees.md", "# Bees\n\nFour hives stand behind the orchard. Honey is taken in July, never in rain."),
];

async fn serve(options: Options) -> Running {
    // The client of the test wants one; the server does not.
    let _already = rustls::crypto::ring::default_provider().install_default();
    server::serve(options, CancellationToken::new()).await.unwrap()
}

async fn empty() -> Running {
    serve(Options { corpus: Corpus::Empty, ..Options::default() }).await
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

async fn mcp(running: &Running, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = client().post(running.mcp_url()).header("Accept", "application/json, text/event-stream");
    let answer = request.header("MCP-Protocol-Version", "2025-11-25").json(&body).send().await.unwrap();
    answer.json::<Value>().await.unwrap()["result"].take()
}

async fn call(running: &Running, tool: &str, arguments: Value) -> Value {
    mcp(running, "tools/call", json!({"name": tool, "arguments": arguments})).await["structuredContent"].take()
}

async fn search(running: &Running, arguments: Value) -> (StatusCode, Value) {
    let answer = client().post(running.url("search")).body(arguments.to_string()).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn look(running: &Running, path: &str) -> (StatusCode, Value) {
    let answer = client().get(running.url(path)).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

#[tokio::test]
async fn what_is_sent_is_found_by_word_and_by_meaning() {
    let running = empty().await;
    for (source, text) in NOTES {
        let told = call(&running, "index_document", json!({"source": source, "text": text})).await;
        assert_eq!((&told["status"], &told["data"]["chunk_count"]), (&json!("ok"), &json!(1)), "{told}");
    }
    let check = async |says: &str, query: &str, expected: &str| {
        let (status, by_http) = search(&running, json!({"query": query})).await;
        assert_eq!(status, StatusCode::OK, "{says}");
        assert_eq!(by_http["data"]["results"][0]["source"], expected, "{says}: {by_http}");
        let by_mcp = call(&running, "search_documents", json!({"query": query})).await;
        assert_eq!(by_mcp["data"]["results"], by_http["data"]["results"], "{says}: the same by either way");
    };
    check("an exact code", "BOIL-17", "boiler.md").await;
    check("a question", "when does the ferry cross", "ferry.md").await;
    check("other words", "when is honey harvested", "bees.md").await;
    let listed = call(&running, "list_sources", json!({})).await;
    assert_eq!(listed["data"]["total"], 3);
    running.stop().await;
}

#[tokio::test]
async fn a_source_is_replaced_and_an_unchanged_one_left_alone() {
    let running = empty().await;
    let index = async |text: &str| call(&running, "index_document", json!({"source": "a.md", "text": text})).await;
    assert_eq!(index("The kiln is fired on Mondays.").await["data"]["unchanged"], false);
    assert_eq!(index("The kiln is fired on Mondays.").await["data"]["unchanged"], true);
    assert_eq!(index("The kiln is fired on Fridays.").await["data"]["unchanged"], false);
    let (_, found) = search(&running, json!({"query": "kiln"})).await;
    assert_eq!(found["data"]["total_results"], 1);
    assert_eq!(found["data"]["results"][0]["content"], "The kiln is fired on Fridays.");
}

#[tokio::test]
async fn each_trouble_has_its_status() {
    let running = empty().await;
    let check = async |says: &str, arguments: Value, status: StatusCode, code: &str| {
        let (got, envelope) = search(&running, arguments).await;
        assert_eq!((got, envelope["error_code"].as_str()), (status, Some(code)), "{says}: {envelope}");
    };
    check("nothing is indexed", json!({"query": "x"}), StatusCode::NOT_FOUND, "INDEX_MISSING").await;
    check("no question", json!({}), StatusCode::BAD_REQUEST, "INVALID_ARGUMENT").await;
    check("a list", json!([]), StatusCode::BAD_REQUEST, "INVALID_ARGUMENT").await;
    let closed = serve(Options { bearer: Some("sesame".to_owned()), ..Options::default() }).await;
    let answer = client().post(closed.url("search")).body("{}").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "no token");
}

#[tokio::test]
async fn health_says_what_it_sees_in_the_words_of_openapi() {
    let running = empty().await;
    assert_eq!(look(&running, "live").await.0, StatusCode::OK);
    #[cfg(feature = "census")]
    {
        let (status, report) = look(&running, "health").await;
        assert_eq!((status, &report["reason"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("index_empty_or_stale")));
    }
    for (source, text) in NOTES {
        call(&running, "index_document", json!({"source": source, "text": text})).await;
    }
    let (status, report) = look(&running, "health").await;
    assert_eq!(status, StatusCode::OK, "{report}");
    #[cfg(feature = "census")]
    assert_eq!(report["canary"]["rank"], 1, "{report}");
    let (_, described) = look(&running, "openapi.json").await;
    assert_eq!(described, plain::document());
    let schema = &described["paths"]["/health"]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
    let whole = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": [schema],
        "components": described["components"]});
    let validator = jsonschema::validator_for(&whole).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:?} in {report}");
}

#[tokio::test]
async fn a_folder_is_served_and_an_index_file_outlives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    for (source, text) in NOTES {
        std::fs::write(folder.path().join(source), text).unwrap();
    }
    let database = Some(folder.path().join("index.db"));
    let corpus = Corpus::Folder(folder.path().to_owned());
    let first = serve(Options { corpus, database: database.clone(), ..Options::default() }).await;
    let tools = mcp(&first, "tools/list", json!({})).await;
    assert_eq!(tools["tools"][0]["name"], "search_documents");
    first.stop().await;
    let second = serve(Options { corpus: Corpus::Empty, database, ..Options::default() }).await;
    let (_, found) = search(&second, json!({"query": "ferry in fog"})).await;
    assert_eq!(found["data"]["results"][0]["source"], "ferry.md");
}
