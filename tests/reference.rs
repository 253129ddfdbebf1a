//! The reference server through its public door: plain JSON-RPC over HTTP, in both eras.
//!
//! Its canaries are proposed for any monitor of this corpus. The `meaning` ones are those that a
//! wrong query model loses; the others pass on, which is the point of having both.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::time::Duration;

use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::index::documentation::SOURCES as DOCUMENTATION;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::{
    options::Options,
    server::{self, Running, ServeError},
};
use serin_reference::text::words as text;
use tokio_util::sync::CancellationToken;

/// The tools, in their order.
const TOOLS: [&str; 6] =
    ["search_documents", "index_document", "list_sources", "generate_embedding", "check_constraints", "query_impact"];
const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Kind, id, question, sources of which one must be among the first five.
const CANARIES: &[(&str, &str, &str, &[&str])] = &[
    ("keyword", "fusion-authors", "Cormack Büttcher", &["reference/fusion.md"]),
    ("keyword", "card-oncall", "OC-31", &["reference/oncall.md"]),
    ("keyword", "mixing-step", "splitmix64", &["reference/embedding.md"]),
    ("keyword", "version-error", "-32022", &["reference/mcp.md"]),
    ("keyword", "schema-code", "INDEX_SCHEMA_MISMATCH", &["reference/backup.md"]),
    ("keyword", "resource-rfc", "RFC 9728", &["reference/tokens.md"]),
    ("meaning", "token-life", "when does my passphrase lapse", &["reference/tokens.md"]),
    ("meaning", "expense", "is it cheap, how many dollars", &["reference/costs.md"]),
    ("meaning", "cold-start", "chilly and sluggish once rebooted", &["reference/warmup.md"]),
    ("meaning", "woken", "who gets buzzed at bedtime", &["reference/oncall.md"]),
    ("meaning", "loss", "salvage everything when a drive perishes", &["reference/backup.md"]),
    ("meaning", "lies", "fibs and fiction", &["reference/canaries.md"]),
    ("meaning", "cutting", "carving prose into slices", &["reference/chunking.md"]),
    ("meaning", "merging", "marry contradictory sortings", &["reference/fusion.md"]),
    ("mixed", "first-slow", "why are the first searches after a restart slow", &["reference/warmup.md"]),
    ("mixed", "pool-size", "how many connections does the pool hold", &["reference/pool.md"]),
    ("mixed", "canary-count", "how many canaries are needed", &["reference/canaries.md"]),
    ("mixed", "rotate", "rotating a token without an outage", &["reference/tokens.md"]),
];

/// Questions about what is not there, and the highest score they may bring.
const NEGATIVES: &[(&str, &str, f64)] = &[
    ("bread", "sourdough hydration for rye bread", 0.3),
    ("painting", "who painted the mona lisa", 0.3),
    ("dragons", "colour of the tax on dragons", 0.3),
];

struct Server {
    running: Running,
    client: Client,
}

async fn server(options: Options) -> Server {
    // Another test of this process may have been first.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let options = Options { admin: Some("127.0.0.1:0".parse().unwrap()), ..options };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    Server { running, client: Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap() }
}

async fn healthy() -> Server {
    server(Options::default()).await
}

async fn broken(fault: Fault, dose: Dose) -> Server {
    server(Options { faults: vec![(fault, dose)], ..Options::default() }).await
}

impl Server {
    async fn post(&self, era: &str, method: &str, mut params: Value) -> Response {
        let mut request = self
            .client
            .post(self.running.mcp_url())
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", era);
        if era == MODERN {
            request = request.header("Mcp-Method", method);
            if let Some(name) = params["name"].as_str() {
                request = request.header("Mcp-Name", name);
            }
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        request.json(&body).send().await.unwrap()
    }

    async fn rpc(&self, era: &str, method: &str, params: Value) -> Value {
        self.post(era, method, params).await.json().await.unwrap()
    }

    async fn call(&self, era: &str, tool: &str, arguments: Value) -> Value {
        self.rpc(era, "tools/call", json!({"name": tool, "arguments": arguments})).await["result"].clone()
    }

    async fn search(&self, query: &str) -> Value {
        self.call(LEGACY, "search_documents", json!({"query": query})).await["structuredContent"].clone()
    }

    async fn health(&self, path: &str) -> (StatusCode, Value) {
        let answer = self.client.get(self.running.url(path)).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    async fn admin(&self, path: &str, body: Value) -> (StatusCode, Value) {
        let url = format!("http://{}/admin/{path}", self.running.admin.unwrap());
        let answer = self.client.post(url).json(&body).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Ids of the canaries of a kind whose source is not among the first five.
    async fn lost(&self, kind: &str) -> Vec<&'static str> {
        let mut lost = Vec::new();
        for (_, id, query, expected) in CANARIES.iter().filter(|canary| canary.0 == kind) {
            let found = sources(&self.search(query).await);
            if !found.iter().any(|source| expected.contains(&source.as_str())) {
                lost.push(*id);
            }
        }
        lost
    }
}

fn sources(envelope: &Value) -> Vec<String> {
    let results = envelope["data"]["results"].as_array().cloned().unwrap_or_default();
    results.iter().map(|hit| hit["source"].as_str().unwrap().to_owned()).collect()
}

fn canaries(kind: &str) -> Vec<&'static str> {
    CANARIES.iter().filter(|canary| canary.0 == kind).map(|canary| canary.1).collect()
}

#[test]
fn meaning_canaries_share_no_stem_with_their_source() {
    for (_, id, query, expected) in CANARIES.iter().filter(|canary| canary.0 == "meaning") {
        for (_, text) in DOCUMENTATION.iter().filter(|(source, _)| expected.contains(source)) {
            let stems = text::content_stems(text);
            let shared: Vec<String> =
                text::content_stems(query).into_iter().filter(|stem| stems.contains(stem)).collect();
            assert!(shared.is_empty(), "{id} shares {shared:?} with its source");
        }
    }
}

/// What `serin reference faults` lists, and what the documentation says of it: each fault in a heading, its
/// ways in the section below, and no heading that names what there is not.
#[test]
fn the_documentation_names_every_fault_and_its_ways() {
    let listed =
        std::process::Command::new(env!("CARGO_BIN_EXE_serin")).args(["reference", "faults"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let (_, text) = DOCUMENTATION.iter().find(|(source, _)| *source == "reference/faults.md").unwrap();
    let sections: Vec<(Vec<&str>, &str)> = text
        .split("\n## ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap())
        .map(|(heading, body)| (heading.split([' ', ',']).collect(), body))
        .collect();
    let mut names = Vec::new();
    for line in listed.lines() {
        let (name, ways) =
            line.split_whitespace().next().map(|word| word.split_once('=').unwrap_or((word, ""))).unwrap();
        let section = sections.iter().find(|(heading, _)| heading.contains(&name));
        let (_, body) = section.unwrap_or_else(|| panic!("{name} is in no heading"));
        let is_amount = ways.parse::<f64>().is_ok();
        for way in ways.split('|').filter(|way| !way.is_empty() && !is_amount) {
            assert!(body.contains(&format!("`{way}`")), "the way `{way}` of {name} is not told");
        }
        names.push(name);
    }
    assert_eq!(names.len(), Fault::ALL.len());
    for (heading, _) in &sections {
        for word in heading.iter().filter(|word| word.contains('_')) {
            assert!(names.contains(word), "there is no fault {word}");
        }
    }
}

#[tokio::test]
async fn every_canary_passes_on_a_healthy_server() {
    let server = healthy().await;
    for kind in ["keyword", "meaning", "mixed"] {
        assert!(server.lost(kind).await.is_empty(), "{kind}: {:?}", server.lost(kind).await);
    }
    for (id, query, highest) in NEGATIVES {
        let envelope = server.search(query).await;
        for hit in envelope["data"]["results"].as_array().unwrap() {
            assert!(hit["score"].as_f64().unwrap() <= *highest, "{id} brings {hit}");
        }
    }
}

#[tokio::test]
async fn the_corpus_is_large_enough_for_bm25() {
    let server = healthy().await;
    let (status, health) = server.health("health").await;
    assert_eq!((status, &health["status"]), (StatusCode::OK, &json!("ok")));
    assert!(health["chunks"].as_u64().unwrap() >= 150, "{health}");
    let listed = server.call(MODERN, "list_sources", json!({})).await["structuredContent"]["data"].clone();
    assert_eq!(listed["total_sources"], DOCUMENTATION.len());
    assert_eq!(listed["total_chunks"], health["chunks"]);
    assert!(chrono::DateTime::parse_from_rfc3339(listed["last_indexed"].as_str().unwrap()).is_ok());
}

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
    check_arguments(&server, "an unknown source has nothing", json!({"query": q, "source": "x/"}), json!(0)).await;
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
async fn a_saturated_pool_is_empty_in_search_and_named_by_health() {
    let server = healthy().await;
    let (status, report) = server.admin("faults", json!({"pool_saturated": true})).await;
    assert_eq!((status, report["active"]["pool_saturated"]["share"].as_f64()), (StatusCode::OK, Some(1.0)));
    let envelope = server.search("OC-31").await;
    assert_eq!((&envelope["status"], &envelope["data"]["total_results"]), (&json!("ok"), &json!(0)));
    for path in ["health", "ready"] {
        let (status, health) = server.health(path).await;
        assert_eq!((status, &health["reason"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("pool_saturated")), "{path}");
        assert_eq!(health["pool"]["idle"], 0);
    }
    assert_eq!(server.health("live").await.0, StatusCode::OK);
    server.admin("faults", json!({"pool_saturated": false})).await;
    assert_eq!(server.health("health").await.0, StatusCode::OK);
    assert_eq!(server.search("OC-31").await["data"]["total_results"], 5);
}

#[tokio::test]
async fn a_wrong_query_model_loses_meaning_and_nothing_else() {
    let server = broken(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel)).await;
    // The reranker reads words and concepts, whatever the vectors say: it may rescue one that reached it.
    assert!(server.lost("meaning").await.len() + 1 >= canaries("meaning").len());
    assert!(server.lost("keyword").await.is_empty());
    assert!(server.lost("mixed").await.is_empty());
    assert_eq!(server.health("ready").await.0, StatusCode::OK, "every part works");
    assert_eq!(server.health("health").await.1["reason"], "wrong_results", "and its own canary is far from itself");
    server.running.faults().off(Fault::WrongQueryModel);
    assert!(server.lost("meaning").await.is_empty());
}

/// Faults of one arm, and the canaries each loses.
async fn check_arm(says: &str, fault: Fault, keyword: &[&str], meaning: &[&str]) {
    let server = broken(fault, Dose::of(fault)).await;
    assert_eq!(server.lost("keyword").await, keyword, "{says}");
    assert_eq!(server.lost("meaning").await, meaning, "{says}");
}

#[tokio::test]
async fn an_arm_that_is_off_shows() {
    let meaning = canaries("meaning");
    check_arm("without vectors, meaning is lost", Fault::VectorArmOff, &[], &meaning).await;
    check_arm("with zero vectors too", Fault::VectorsZeroed, &[], &meaning).await;
    check_arm("unreachable vectors are no better", Fault::VectorsUnreachable, &[], &meaning).await;
    check_arm("a steep constant harms nothing here", Fault::RrfSteep, &[], &[]).await;
    check_arm("nor do moved scores", Fault::ScoresOffset, &[], &[]).await;
    check_arm("a truncated corpus loses all", Fault::CorpusTruncated, &canaries("keyword"), &meaning).await;

    let server = broken(Fault::KeywordArmOff, Dose::of(Fault::KeywordArmOff)).await;
    assert!(server.lost("meaning").await.is_empty(), "without words, meaning stays");
    let best = server.search("OC-31").await["data"]["results"][0]["fused_score"].as_f64().unwrap();
    assert!((best - 1.0 / 61.0).abs() < 1e-6, "and the best fused score is that of one arm");
}

#[tokio::test]
async fn errors_are_errors_unless_they_are_swallowed() {
    let server = healthy().await;
    let faults = server.running.faults();
    for (fault, code) in [
        (Fault::ToolError, "RETRIEVAL_FAILED"),
        (Fault::EmbedderDown, "EMBEDDING_UNAVAILABLE"),
        (Fault::Panic, "INTERNAL_ERROR"),
    ] {
        faults.all_off();
        faults.on(fault, Dose::of(fault));
        let answer = server.call(MODERN, "search_documents", json!({"query": "OC-31"})).await;
        assert_eq!((&answer["isError"], &answer["structuredContent"]["error_code"]), (&json!(true), &json!(code)));
    }
    faults.all_off();
    faults.on(Fault::EmbedderDown, Dose::of(Fault::EmbedderDown));
    assert_eq!(server.health("health").await.1["reason"], "external_api_failure");
    faults.on(Fault::ErrorAsEmpty, Dose::of(Fault::ErrorAsEmpty));
    assert_eq!(server.search("OC-31").await["data"]["total_results"], 0);
    faults.all_off();
    faults.on(Fault::ToolError, Dose::of(Fault::ToolError).share(0.5).seed(7));
    let mut failed = 0;
    for _ in 0..40 {
        failed += u32::from(server.search("OC-31").await["status"] == "error");
    }
    assert!((10..=30).contains(&failed), "half of the calls, not {failed} of 40");
}

#[tokio::test]
async fn an_empty_index_is_named() {
    let server = server(Options { corpus: Corpus::Empty, ..Options::default() }).await;
    assert_eq!(server.search("OC-31").await["error_code"], "INDEX_MISSING");
    assert_eq!(server.health("health").await.1["reason"], "index_empty_or_stale");
}

#[tokio::test]
async fn the_merged_list_can_be_cut_and_shuffled() {
    let server = broken(Fault::KCut, Dose::of(Fault::KCut).amount(2.0)).await;
    assert_eq!(server.search("OC-31").await["data"]["total_results"], 2);
    let faults = server.running.faults();
    faults.all_off();
    faults.on(Fault::Shuffled, Dose::of(Fault::Shuffled));
    let orders = [sources(&server.search("canaries").await), sources(&server.search("canaries").await)];
    assert_ne!(orders[0], orders[1]);
}

#[tokio::test]
async fn slowness_is_real_and_fades_as_told() {
    let server = broken(Fault::LatencyStep, Dose::of(Fault::LatencyStep).amount(300.0)).await;
    let elapsed = async || {
        let started = std::time::Instant::now();
        server.search("OC-31").await;
        started.elapsed()
    };
    // Only from below: a wait cannot be shorter, however busy the machine.
    assert!(elapsed().await >= Duration::from_millis(300));
    let faults = server.running.faults();
    faults.all_off();
    faults.on(Fault::LatencyDecay, Dose::of(Fault::LatencyDecay).amount(200.0).tau(Duration::from_secs(3_600)));
    assert!(elapsed().await >= Duration::from_millis(150));
    assert_eq!(server.health("health").await.1["cache_warm"], false);
    faults.all_off();
    server.search("OC-31").await;
    assert_eq!(server.health("health").await.1["cache_warm"], true, "most of the questions are remembered by now");
}

#[tokio::test]
async fn a_hanging_search_answers_nobody_and_holds_up_nobody_else() {
    let server = broken(Fault::Hang, Dose::of(Fault::Hang)).await;
    let hanging = server.search("OC-31");
    tokio::pin!(hanging);
    let others = async { server.rpc(LEGACY, "tools/list", json!({})).await };
    tokio::select! {
        answered = &mut hanging => panic!("{answered}"),
        listed = others => assert!(listed["result"]["tools"].is_array()),
    }
}

#[tokio::test]
async fn a_frozen_index_accepts_and_forgets() {
    let server = broken(Fault::IndexFrozen, Dose::of(Fault::IndexFrozen)).await;
    let answer = server.call(MODERN, "index_document", json!({"source": "a", "text": "quagga-17"})).await;
    assert_eq!(answer["isError"], false);
    assert_eq!(server.search("OC-31").await["error_code"], "INDEX_MISSING", "nothing ever got in");
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

#[tokio::test]
async fn a_token_is_asked_for() {
    let server = server(Options { bearer: Some("s3cret".to_owned()), ..Options::default() }).await;
    let ask = async |token: &str| {
        let request = server.client.post(server.running.mcp_url()).bearer_auth(token);
        let request = request.header("Accept", "application/json, text/event-stream");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        request.json(&body).send().await.unwrap().status()
    };
    assert_eq!(ask("s3cret").await, StatusCode::OK);
    assert_eq!(ask("s3cre").await, StatusCode::UNAUTHORIZED);
    let bare = server.post(LEGACY, "tools/list", json!({})).await;
    assert_eq!(bare.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(bare.headers()["www-authenticate"], "Bearer realm=\"mcp\"");
    assert_eq!(server.health("health").await.0, StatusCode::OK, "health is open");
    server.running.faults().on(Fault::AuthRequired, Dose::of(Fault::AuthRequired));
    assert_eq!(ask("s3cret").await, StatusCode::UNAUTHORIZED, "a revoked token");
}

#[tokio::test]
async fn a_refusing_server_lives_on_and_comes_back_as_itself() {
    let server = healthy().await;
    let before = server.health("live").await.1["instance_id"].clone();
    server.admin("faults", json!({"refused": true})).await;
    let error = server.client.get(server.running.url("live")).send().await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    server.admin("faults", json!({"refused": false})).await;
    assert_eq!(server.health("live").await.1["instance_id"], before);
    assert_eq!(server.search("OC-31").await["status"], "ok");
}

#[tokio::test]
async fn a_crash_drops_what_is_under_way_and_another_life_begins() {
    let server = broken(Fault::Hang, Dose::of(Fault::Hang)).await;
    let faults = server.running.faults();
    faults.off(Fault::Hang);
    server.call(LEGACY, "index_document", json!({"source": "notes/a.md", "text": "quagga-17"})).await;
    let before = server.health("live").await.1;
    faults.on(Fault::Hang, Dose::of(Fault::Hang));
    let (client, url) = (server.client.clone(), server.running.mcp_url());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search_documents", "arguments": {"query": "OC-31"}}});
    let under_way = tokio::spawn(async move {
        client.post(url).header("Accept", "application/json, text/event-stream").json(&body).send().await
    });
    // The search holds a connection of the pool from the moment it hangs: that is when to crash.
    while server.health("live").await.1["pool"]["idle"] == before["pool"]["idle"] {}
    server.running.crash(Duration::from_millis(300)).await;
    assert!(under_way.await.unwrap().is_err(), "the connection is dropped, not answered");
    let error = server.client.get(server.running.url("live")).send().await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    faults.off(Fault::Hang);
    let after = loop {
        if let Ok(answer) = server.client.get(server.running.url("live")).send().await {
            break answer.json::<Value>().await.unwrap();
        }
    };
    assert_ne!(after["instance_id"], before["instance_id"]);
    assert_ne!(after["started_at"], before["started_at"]);
    assert_eq!(sources(&server.search("quagga-17").await)[0], "notes/a.md", "the index file outlives the crash");
    server.running.stop().await;
}

#[tokio::test]
async fn a_folder_is_a_corpus_and_a_file_is_an_index() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/a.md"), "# A\nThe quagga-17 valve.").unwrap();
    std::fs::write(folder.path().join("b.txt"), b"broken \xff text about okapi-18").unwrap();
    std::fs::write(folder.path().join("c.bin"), "no").unwrap();
    let options = Options {
        corpus: Corpus::Folder(folder.path().to_owned()),
        database: Some(folder.path().join("index.db")),
        ..Options::default()
    };
    let first = server(options.clone()).await;
    assert_eq!(sources(&first.search("quagga-17").await)[0], "sub/a.md");
    assert_eq!(sources(&first.search("okapi-18").await)[0], "b.txt");
    first.running.stop().await;
    let second = server(Options { corpus: Corpus::Empty, ..options }).await;
    assert_eq!(sources(&second.search("quagga-17").await)[0], "sub/a.md", "the file remembers");
}

#[tokio::test]
async fn the_admin_endpoint_takes_all_or_nothing_and_only_from_here() {
    let server = healthy().await;
    let (status, told) = server.admin("faults", json!({"tool_error": true, "tool_eror": true})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told["error"].as_str().unwrap().contains("tool_eror"));
    assert!(server.running.faults().active().is_empty(), "nothing was changed");
    let url = format!("http://{}/admin/faults", server.running.admin.unwrap());
    let rebound = server.client.get(&url).header("Host", "evil.example").send().await.unwrap();
    assert_eq!(rebound.status(), StatusCode::FORBIDDEN);
    server.admin("faults", json!({"latency_step": {"ms": 5, "share": 0.5}})).await;
    assert_eq!(server.running.faults().dose(Fault::LatencyStep).unwrap().amount, 5.0);
    server.client.delete(&url).send().await.unwrap();
    assert!(server.running.faults().active().is_empty());
    assert_eq!(server.admin("crash", json!({"process": true})).await.0, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_server_that_others_reach_needs_a_token_and_its_admin_is_local() {
    let stop = CancellationToken::new();
    let everywhere = Options { listen: "0.0.0.0:0".parse().unwrap(), ..Options::default() };
    assert!(matches!(
        server::serve(everywhere, stop.clone()).await,
        Err(ServeError::Server(serin_reference::serve::server::ServeError::TokenNeeded(_)))
    ));
    let admin = Options { admin: Some("0.0.0.0:0".parse().unwrap()), ..Options::default() };
    assert!(matches!(server::serve(admin, stop).await, Err(ServeError::AdminNotLocal(_))));
}
