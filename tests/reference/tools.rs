//! What the tools take and give in both eras.

use reqwest::StatusCode;
use serde_json::{Value, json};
use serin_reference::index::documentation::SOURCES as DOCUMENTATION;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::{CANARIES, LEGACY, MODERN, Server, TOOLS, healthy, sources};

#[tokio::test]
async fn both_eras_are_spoken() {
    let server = healthy().await;
    let opened = server
        .rpc(
            LEGACY,
            "initialize",
            json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}),
        )
        .await;
    assert_eq!(opened["result"]["protocolVersion"], LEGACY);
    assert_eq!(opened["result"]["serverInfo"]["name"], "serin-reference");
    let discovered = server.rpc(MODERN, "server/discover", json!({})).await;
    assert!(discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)));
    for era in [LEGACY, MODERN] {
        let tools = server.rpc(era, "tools/list", json!({})).await["result"]["tools"].clone();
        let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, TOOLS, "{era}");
        assert_eq!(tools[0]["inputSchema"]["required"], json!(["query"]));
        let answer = server.call(era, "search_documents", json!({"query": "OC-31"})).await;
        assert_eq!(answer["isError"], false, "{era}");
        assert_eq!(answer["structuredContent"]["data"]["results"][0]["source"], "reference/oncall.md");
        let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, answer["structuredContent"], "the text says the same, for callers that read only text");
    }
}

#[tokio::test]
async fn an_answer_has_its_parts() {
    let server = healthy().await;
    let envelope = server.search("how many connections does the pool hold").await;
    let (data, hit) = (&envelope["data"], &envelope["data"]["results"][0]);
    assert_eq!((&envelope["status"], &envelope["error_code"]), (&json!("ok"), &Value::Null));
    assert_eq!(data["total_results"], 5);
    assert_eq!(hit["rank"], 1);
    let (_, text) = DOCUMENTATION.iter().find(|(source, _)| hit["source"] == *source).unwrap();
    let (start, end) = (hit["char_start"].as_u64().unwrap() as usize, hit["char_end"].as_u64().unwrap() as usize);
    let verbatim: String = text.chars().skip(start).take(end - start).collect();
    assert_eq!(hit["content"], verbatim, "offsets point at the very text");
    assert!(data["context"].as_str().unwrap().starts_with("[Source: "));
    assert!(data["tokens_used"].as_u64().unwrap() <= 2_000);
    assert_eq!(data["cache"]["hit"], false);
    assert_eq!(server.search("how many connections does the pool hold").await["data"]["cache"]["hit"], true);
}

/// Arguments of a search, and the code or number of hits that come of them.
async fn check_arguments(server: &Server, says: &str, arguments: Value, expected: Value) {
    let answer = server.call(MODERN, "search_documents", arguments).await;
    let envelope = &answer["structuredContent"];
    let got = if answer["isError"] == true { &envelope["error_code"] } else { &envelope["data"]["total_results"] };
    assert_eq!(*got, expected, "{says}: {envelope}");
}

#[tokio::test]
async fn arguments_are_bounded_and_errors_say_what_to_do() {
    let server = healthy().await;
    let q = "canaries";
    check_arguments(&server, "five by default", json!({"query": q}), json!(5)).await;
    check_arguments(&server, "twenty at most", json!({"query": q, "top_k": 500}), json!(20)).await;
    check_arguments(&server, "one at least", json!({"query": q, "top_k": 0}), json!(1)).await;
    check_arguments(&server, "a high bar leaves nothing", json!({"query": q, "min_score": 1.0}), json!(0)).await;
    let unknown = json!("SOURCE_UNKNOWN");
    check_arguments(&server, "an unknown source", json!({"query": q, "source": "x/"}), unknown.clone()).await;
    check_arguments(&server, "an unknown collection", json!({"query": q, "collection": "x"}), unknown).await;
    let invalid = json!("INVALID_ARGUMENT");
    check_arguments(&server, "no question", json!({}), invalid.clone()).await;
    check_arguments(&server, "an empty one", json!({"query": " \u{0} "}), invalid.clone()).await;
    check_arguments(&server, "a number", json!({"query": 5}), invalid.clone()).await;
    check_arguments(&server, "a novel", json!({"query": "x".repeat(3_000)}), invalid.clone()).await;
    check_arguments(&server, "a negative count", json!({"query": q, "top_k": -1}), invalid.clone()).await;
    check_arguments(&server, "a bar above one", json!({"query": q, "min_score": 7}), invalid).await;
    check_arguments(&server, "operators are words", json!({"query": "\" OR NEAR( * AND NOT canaries"}), json!(5)).await;

    let one =
        server.call(LEGACY, "search_documents", json!({"query": q, "source": "reference/faults.md", "kk": 1})).await;
    let data = &one["structuredContent"]["data"];
    assert!(sources(&one["structuredContent"]).iter().all(|source| source == "reference/faults.md"));
    assert_eq!(data["ignored_arguments"], json!(["kk"]), "an unknown argument is tolerated and named");
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let server = healthy().await;
    for method in ["prompts/list", "resources/list", "resources/templates/list", "nonsense"] {
        assert_eq!(server.rpc(LEGACY, method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    let unknown = server.rpc(LEGACY, "tools/call", json!({"name": "drop_tables", "arguments": {}})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    let large = json!({"name": "index_document", "arguments": {"source": "a", "text": "x".repeat(2 << 20)}});
    assert_eq!(server.post(LEGACY, "tools/call", large).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let foreign = server.client.post(server.running.mcp_url()).header("Origin", "http://evil.example").json(&json!({}));
    assert_eq!(foreign.send().await.unwrap().status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_document_is_found_once_it_is_indexed_and_replaced_by_its_successor() {
    let server = healthy().await;
    let index =
        |text: &'static str| server.call(MODERN, "index_document", json!({"source": "notes/zebra.md", "text": text}));
    assert_eq!(
        index("# Zebra\nThe quagga-17 valve is left open.").await["structuredContent"]["data"]["chunk_count"],
        1
    );
    assert_eq!(sources(&server.search("quagga-17").await)[0], "notes/zebra.md");
    assert_eq!(
        index("# Zebra\nThe quagga-17 valve is left open.").await["structuredContent"]["data"]["unchanged"],
        true
    );
    index("# Zebra\nThe okapi-18 valve is shut.").await;
    let within = async |query: &str| {
        let arguments = json!({"query": query, "source": "notes/"});
        server.call(LEGACY, "search_documents", arguments).await["structuredContent"]["data"]["results"].clone()
    };
    assert_eq!(within("quagga-17").await, json!([]), "the old text is gone from both arms");
    assert_eq!(within("okapi-18").await[0]["content"], "The okapi-18 valve is shut.");
    for arguments in
        [json!({"source": "", "text": "x"}), json!({"source": "a\nb", "text": "x"}), json!({"source": "a"})]
    {
        let refused = server.call(LEGACY, "index_document", arguments.clone()).await;
        assert_eq!(refused["structuredContent"]["error_code"], "INVALID_ARGUMENT", "{arguments}");
    }
}

#[tokio::test]
async fn two_servers_answer_alike_to_the_byte() {
    let (left, right) = (healthy().await, healthy().await);
    for (_, id, query, _) in CANARIES {
        let (mut left, mut right) = (left.search(query).await, right.search(query).await);
        for answer in [&mut left, &mut right] {
            assert!(answer["operation_id"].take().is_string(), "{id}: each call has a name of its own");
        }
        assert_eq!(left.to_string(), right.to_string(), "{id}");
    }
}

#[tokio::test]
async fn tools_drift_in_three_ways() {
    let server = healthy().await;
    let faults = server.running.faults();
    let tools = async || server.rpc(MODERN, "tools/list", json!({})).await["result"]["tools"][0].clone();
    let before = tools().await;
    let drift = |way| faults.on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode(way));
    drift("wording");
    let after = tools().await;
    assert_ne!(before["description"], after["description"]);
    assert_eq!(before["inputSchema"], after["inputSchema"]);
    drift("compatible");
    assert_eq!(tools().await["inputSchema"]["properties"]["language"]["type"], "string");
    assert_eq!(server.search("OC-31").await["status"], "ok");
    drift("breaking");
    assert_eq!(tools().await["inputSchema"]["required"], json!(["question"]));
    assert_eq!(server.search("OC-31").await["error_code"], "INVALID_ARGUMENT");
    let asked = server.call(MODERN, "search_documents", json!({"question": "OC-31"})).await;
    assert_eq!(asked["isError"], false, "the new name works");
    faults.all_off();
    assert_eq!(tools().await, before);
}
