//! What callers see of the faults that do not change what is found, and of those modes that
//! `tests/figures.rs` has no signature for; the memory of answers and of conversations besides.
//!
//! Everything is asked through the public door of a real server that knows a few notes. Nothing is
//! timed: where something must wait, it is still waiting when looked at, and ends by an event.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

use std::pin::pin;
use std::time::Duration;

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use serin::rag::fault::kinds;
use serin::rag::index::corpus::Corpus;
use serin::rag::serve::{
    options::Options,
    server::{self, Running},
};
use tokio_util::sync::CancellationToken;

/// What the server knows: source, day, text. The last is the newest.
const NOTES: &[(&str, &str, &str)] = &[
    (
        "notes/boiler.md",
        "2026-01-10",
        "# Boiler\n\n## Draining\nThe boiler is drained every 14 days. Open the lower cock, let the sludge run into the \
         pit, and close it when clear water comes. Write the day into the boiler book.\n\n## Firing\nThe boiler is \
         fired with beech. Two logs an hour keep the pressure at 5 bar, three are too many for the boiler's old grate. Ash \
         is carried out before it chokes the grate, and the boiler is left to cool overnight.",
    ),
    (
        "notes/pump.md",
        "2026-02-10",
        "# Pump\n\n## Priming\nThe pump is primed with a bucket of water. Fill the funnel until the glass shows no \
         bubbles, then start the pump slowly.\n\n## Bearings\nThe bearings of the pump are greased each spring. A \
         pump that sings has dry bearings.",
    ),
    (
        "notes/mill.md",
        "2026-03-10",
        "# Mill\n\nThe mill grinds rye on Tuesdays and wheat on Fridays. Its stones are dressed after 200 sacks, \
         with a pick of hard steel. Error MILL-17 means that the hopper is empty.",
    ),
    (
        "notes/bees.md",
        "2026-04-10",
        "# Bees\n\nFour hives stand behind the orchard. Honey is taken in July, never in rain. A hive that is \
         silent in March is opened at noon.",
    ),
    (
        "notes/ferry.md",
        "2026-05-10",
        "# Ferry\n\nThe ferry crosses at each full hour. In fog it rings its bell and does not cross. Horses are \
         led aboard first, carts follow.",
    ),
    (
        "notes/lamp.md",
        "2026-06-10",
        "# Lamp\n\nThe lamp on the jetty burns whale oil. Its wick is trimmed at dusk by whoever has the watch.",
    ),
];
/// A question that the first note answers, by words and by meaning.
const BOILER: &str = "when is the boiler drained";
/// How long a call is looked at that must not be done yet: longer than a search waits for the pool.
const LOOKED_AT: Duration = Duration::from_millis(600);
/// Longer than any client here waits.
const FOREVER_MS: u64 = 3_600_000;

struct Server {
    running: Running,
    client: Client,
}

/// A server that knows nothing yet, with faults from its start.
async fn empty(faults: &Value) -> Server {
    // Another test of this process may have been first.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let read = |(name, value): (&String, &Value)| kinds::read(name, value).unwrap();
    let faults = faults.as_object().unwrap().iter().map(read).filter_map(|(fault, dose)| Some((fault, dose?)));
    let options = Options {
        admin: Some("127.0.0.1:0".parse().unwrap()),
        corpus: Corpus::Empty,
        faults: faults.collect(),
        ..Options::default()
    };
    let running = server::serve(options, CancellationToken::new()).await.unwrap();
    Server { running, client: Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap() }
}

/// A server that knows the notes. Answers from `live` ones are not remembered.
async fn knowing(volatility: &str, faults: &Value) -> Server {
    let server = empty(faults).await;
    for (source, date, text) in NOTES {
        let note = json!({"source": source, "date": date, "text": text, "volatility": volatility});
        server.call("index_document", note).await;
    }
    server
}

impl Server {
    async fn send(&self, url: String, session: Option<&str>, method: &str, params: Value) -> Response {
        let request = self.client.post(url).header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", "2025-11-25");
        let request = session.into_iter().fold(request, |request, session| request.header("Mcp-Session-Id", session));
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        request.json(&body).send().await.unwrap()
    }

    /// What a tool says; a refusal at the door as an error with its status as the code.
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.send(self.running.mcp_url(), None, "tools/call", params).await;
        if !answer.status().is_success() {
            return json!({"status": "error", "error_code": answer.status().as_str()});
        }
        answer.json::<Value>().await.unwrap()["result"]["structuredContent"].take()
    }

    async fn ask(&self, query: &str) -> Value {
        self.call("search_documents", json!({"query": query})).await
    }

    async fn index(&self, source: &str, text: &str) -> Value {
        self.call("index_document", json!({"source": source, "text": text})).await
    }

    /// The schema and description of the search, as a client is told.
    async fn search_tool(&self) -> Value {
        let answer = self.send(self.running.mcp_url(), None, "tools/list", json!({})).await;
        answer.json::<Value>().await.unwrap()["result"]["tools"][0].take()
    }

    async fn admin(&self, verb: Method, path: &str, body: &Value) {
        let url = format!("http://{}/admin/{path}", self.running.admin.unwrap());
        let answer = self.client.request(verb, url).json(body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{}", answer.text().await.unwrap());
    }

    async fn switch(&self, faults: &Value) {
        self.admin(Method::POST, "faults", faults).await;
    }

    async fn mend(&self) {
        self.admin(Method::DELETE, "faults", &json!({})).await;
    }

    /// Crashes, and is back.
    async fn crash(&self) {
        self.admin(Method::POST, "crash", &json!({})).await;
        while self.client.get(self.running.url("live")).send().await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}

fn results(envelope: &Value) -> Vec<Value> {
    envelope["data"]["results"].as_array().cloned().unwrap_or_default()
}

/// How many hits came, or the code of the error.
fn outcome(envelope: &Value) -> String {
    match envelope["error_code"].as_str() {
        Some(code) => code.to_owned(),
        None => format!("{} hits", results(envelope).len()),
    }
}

/// All that is seen of an answer, in short: its code, or names, texts' lengths and scores of the hits.
fn seen(envelope: &Value) -> String {
    let hit = |hit: &Value| {
        let length = hit["content"].as_str().unwrap().len();
        format!("{} {length} {} {} {}", hit["chunk_id"], hit["score"], hit["fused_score"], hit["final_score"])
    };
    let hits: Vec<String> = results(envelope).iter().map(hit).collect();
    format!("{} {}", envelope["error_code"], hits.join(", "))
}

/// Whether anything was left out, and whether the reranker's scores or the fused ones make the order.
fn scopes(envelope: &Value) -> String {
    let fused = results(envelope).iter().all(|hit| hit["final_score"] == hit["fused_score"]);
    format!("{} {} {}", envelope["partial"], envelope["degraded_scopes"], if fused { "fused" } else { "reranked" })
}

/// Whether the context keeps the 100 tokens that were asked for.
fn budget(envelope: &Value) -> String {
    let within = envelope["data"]["tokens_used"].as_u64().unwrap() <= 100;
    if within { "kept" } else { "exceeded" }.to_owned()
}

/// The best fused score: 2/61 where one chunk is first in both arms.
fn best_fused(envelope: &Value) -> String {
    let best = results(envelope).iter().map(|hit| hit["fused_score"].as_f64().unwrap()).fold(0.0, f64::max);
    format!("{best:.6}")
}

/// Whether anything is near in meaning; no error is told either way.
fn nearness(envelope: &Value) -> String {
    let near = results(envelope).iter().any(|hit| hit["semantic_score"].as_f64().unwrap() > 0.3);
    format!("{} {} {}", envelope["status"], envelope["partial"], if near { "near" } else { "far" })
}

/// How many chunks are indexed.
fn chunks(envelope: &Value) -> String {
    envelope["data"]["total_chunks"].to_string()
}

/// Which chunks came, with text or without, and the headings above the first.
fn shape(envelope: &Value) -> String {
    let hits = results(envelope);
    let bare = hits.iter().filter(|hit| hit["content"] == "").count();
    format!("{} hits, {bare} bare, under {}", hits.len(), hits[0]["section"])
}

fn search(query: &str) -> (&'static str, Value) {
    ("search_documents", json!({"query": query, "budget_tokens": 100}))
}

fn of_boiler() -> (&'static str, Value) {
    ("search_documents", json!({"query": "boiler drained fired", "source": "notes/boiler.md", "top_k": 20}))
}

fn of_newest() -> (&'static str, Value) {
    ("search_documents", json!({"query": "whale oil lamp", "source": "notes/lamp.md"}))
}

/// What a caller sees without faults, with them, and when they are gone again; and the same with them
/// on from the start.
async fn check(says: &str, faults: Value, ask: (&str, Value), look: fn(&Value) -> String, without: &str, with: &str) {
    let server = knowing("live", &json!({})).await;
    let seen = async |server: &Server| look(&server.call(ask.0, ask.1.clone()).await);
    assert_eq!(seen(&server).await, without, "{says}: before");
    server.switch(&faults).await;
    assert_eq!(seen(&server).await, with, "{says}: while it is on");
    server.mend().await;
    assert_eq!(seen(&server).await, without, "{says}: afterwards");
    let server = knowing("live", &faults).await;
    assert_eq!(seen(&server).await, with, "{says}: from the start");
    server.crash().await;
    assert_eq!(seen(&server).await, with, "{says}: after a restart");
}

#[tokio::test]
async fn what_fails_fails_as_it_says() {
    let on = |name: &str| json!({ name: true });
    let boiler = || search(BOILER);
    check("an error is told", on("tool_error"), boiler(), outcome, "5 hits", "RETRIEVAL_FAILED").await;
    let swallowed = json!({"tool_error": true, "error_as_empty": true});
    check("or swallowed", swallowed, boiler(), outcome, "5 hits", "0 hits").await;
    check("a panic is answered", on("panic"), boiler(), outcome, "5 hits", "INTERNAL_ERROR").await;
    check("no token fits", on("auth_required"), boiler(), outcome, "5 hits", "401").await;
    check("a threshold nothing reaches", on("empty_results"), boiler(), outcome, "5 hits", "0 hits").await;
    let down = |mode: &str| json!({ "embedder_down": mode });
    check("the provider is down", down("error"), boiler(), outcome, "5 hits", "EMBEDDING_UNAVAILABLE").await;
    let (near, far) = ("\"ok\" false near", "\"ok\" false far");
    check("another steps in, and nobody is told", down("fallback"), boiler(), nearness, near, far).await;
    let newest = json!({"corpus_truncated": {"mode": "newest", "share": 0.17}});
    check("the newest of six is missing", newest.clone(), of_newest(), outcome, "1 hits", "0 hits").await;
    check("and no other", newest, of_boiler(), outcome, "2 hits", "2 hits").await;
}

#[tokio::test]
async fn what_is_answered_otherwise_looks_otherwise() {
    let (whole, fused) = ("false [] reranked", "true [\"rerank\"] fused");
    let fails = |mode: &str| json!({ "reranker_fails": mode });
    check("out of memory", fails("memory"), search(BOILER), scopes, whole, fused).await;
    check("too slow", fails("slow"), search(BOILER), scopes, whole, fused).await;
    check("four budgets", json!({"budget_exceeded": true}), search(BOILER), budget, "kept", "exceeded").await;
    let (from_one, from_zero) = ("0.032787", "0.033333");
    check("2/60", json!({"rrf_zero_based": true}), search(BOILER), best_fused, from_one, from_zero).await;
}

#[tokio::test]
async fn what_is_there_is_cut_again_and_back() {
    let on = |name: &str| json!({ name: true });
    let all = || ("list_sources", json!({}));
    check("thrice as many", on("chunks_tripled"), all(), chunks, "8", "24").await;
    check("each twice", on("chunks_duplicated"), all(), chunks, "8", "16").await;
    let whole = "2 hits, 0 bare, under \"Boiler > Draining\"";
    let bare = "2 hits, 2 bare, under \"Boiler > Draining\"";
    check("no text left", on("chunks_empty"), of_boiler(), shape, whole, bare).await;
    let through = "2 hits, 0 bare, under \"\"";
    check("cut through words", on("chunks_mid_sentence"), of_boiler(), shape, whole, through).await;
}

/// A search tool that differs from the documented one in its description, its arguments, or both.
async fn check_drift(mode: &str, expected: [bool; 3], by_old_name: &str, by_new_name: &str) {
    let server = knowing("live", &json!({})).await;
    let before = server.search_tool().await;
    server.switch(&json!({ "schema_drift": mode })).await;
    let after = server.search_tool().await;
    let changed = |pointer: &str| before.pointer(pointer) != after.pointer(pointer);
    let seen = ["/description", "/inputSchema/properties", "/inputSchema/required"].map(changed);
    assert_eq!(seen, expected, "{mode}: description, arguments, what must be sent");
    for (name, expected) in [("query", by_old_name), ("question", by_new_name)] {
        let answer = server.call("search_documents", json!({ name: BOILER })).await;
        assert_eq!(outcome(&answer), expected, "{mode}: asked by '{name}'");
    }
    server.mend().await;
    assert_eq!(server.search_tool().await, before, "{mode}: afterwards");
    let server = empty(&json!({ "schema_drift": mode })).await;
    assert_eq!(server.search_tool().await, after, "{mode}: from the start");
}

#[tokio::test]
async fn the_search_tool_drifts_in_three_ways() {
    let (found, invalid) = ("5 hits", "INVALID_ARGUMENT");
    check_drift("wording", [true, false, false], found, invalid).await;
    check_drift("compatible", [false, true, false], found, invalid).await;
    check_drift("breaking", [false, true, true], invalid, found).await;
}

#[tokio::test]
async fn a_frozen_index_says_yes_and_keeps_nothing() {
    let server = knowing("live", &json!({})).await;
    let heard = async || outcome(&server.call("search_documents", json!({"query": "quagga", "source": "new"})).await);
    server.switch(&json!({"index_frozen": true})).await;
    let told = server.index("new", "A quagga is kept in the stable.").await;
    assert_eq!((&told["status"], &told["data"]["chunk_count"]), (&json!("ok"), &json!(1)));
    assert_eq!(heard().await, "0 hits", "it was accepted, and is not there");
    server.mend().await;
    server.index("new", "A quagga is kept in the stable.").await;
    assert_eq!(heard().await, "1 hits", "and is once it is sent again");

    server.switch(&json!({"chunks_tripled": true})).await;
    server.switch(&json!({"index_frozen": true})).await;
    server.switch(&json!({"chunks_tripled": false})).await;
    let count = async || chunks(&server.call("list_sources", json!({})).await);
    assert_eq!(count().await, "27", "what is frozen is not cut again");
    server.mend().await;
    assert_eq!(count().await, "9", "until it thaws");
}

#[tokio::test]
async fn a_secret_leaks_only_while_that_is_asked_for() {
    const TOKEN: &str = "ghp_R4nd0mLookingT0kenOfThirtySixLett3rs";
    let server = empty(&json!({})).await;
    let text = format!("# Deploy\n\nThe deploy job signs in with {TOKEN} before it runs.");
    let shown = async |source: &str| {
        let hits = results(&server.call("search_documents", json!({"query": "deploy job", "source": source})).await);
        assert_eq!(hits.len(), 1, "{source} is found");
        hits[0]["content"].as_str().unwrap().contains(TOKEN)
    };
    for (says, fault, leaks) in [
        ("it is taken out", false, false),
        ("it stays in, also where the note was known", true, true),
        ("and is taken out when the note is sent again", false, false),
    ] {
        server.switch(&json!({ "secret_leaked": fault })).await;
        let told = server.index("deploy.md", &text).await;
        assert_eq!(told["data"]["redacted"] == 0, leaks, "{says}");
        assert_eq!(shown("deploy.md").await, leaks, "{says}");
    }
}

#[tokio::test]
async fn an_index_in_memory_is_gone_after_a_crash() {
    for (says, fault, expected) in [("a file outlives it", false, "5 hits"), ("memory does not", true, "INDEX_MISSING")]
    {
        let switched = knowing("live", &json!({})).await;
        switched.switch(&json!({ "index_in_memory": fault })).await;
        let from_start = knowing("live", &json!({ "index_in_memory": fault })).await;
        for server in [switched, from_start] {
            assert_eq!(outcome(&server.ask(BOILER).await), "5 hits", "{says}: before");
            server.crash().await;
            assert_eq!(outcome(&server.ask(BOILER).await), expected, "{says}");
        }
    }
}

#[tokio::test]
async fn a_server_that_refuses_can_be_asked_again_later() {
    let server = empty(&json!({"refused": true})).await;
    let live = async || server.client.get(server.running.url("live")).send().await;
    assert!(live().await.unwrap_err().is_connect(), "from the start");
    server.mend().await;
    assert_eq!(live().await.unwrap().status(), StatusCode::OK);
    server.switch(&json!({"refused": true})).await;
    assert!(live().await.unwrap_err().is_connect(), "while it runs");
}

#[tokio::test]
async fn a_lost_session_is_not_found() {
    let server = empty(&json!({})).await;
    let url = server.running.legacy_url();
    let open = async || {
        let client = json!({"name": "t", "version": "0"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let opened = server.send(url.clone(), None, "initialize", params).await;
        opened.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    };
    let list = async |session: &str| server.send(url.clone(), Some(session), "tools/list", json!({})).await.status();
    let session = open().await;
    assert_eq!(list(&session).await, StatusCode::OK);
    server.switch(&json!({"session_lost": true})).await;
    assert_eq!(list(&session).await, StatusCode::NOT_FOUND);
    server.mend().await;
    assert_eq!(list(&session).await, StatusCode::NOT_FOUND, "it was dropped, and not hidden");
    assert_eq!(list(&open().await).await, StatusCode::OK);
}

#[tokio::test]
async fn a_saturated_pool_lets_callers_wait() {
    let server = knowing("live", &json!({})).await;
    server.switch(&json!({"pool_saturated": "empty"})).await;
    assert_eq!(outcome(&server.ask(BOILER).await), "0 hits", "a naive server gives nothing");
    server.switch(&json!({"pool_saturated": "slow"})).await;
    let mut waiting = pin!(server.ask(BOILER));
    assert!(tokio::time::timeout(LOOKED_AT, &mut waiting).await.is_err(), "another lets its callers wait");
    let ready = server.client.get(server.running.url("ready")).send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.json::<Value>().await.unwrap()["reason"], "pool_saturated");
    server.mend().await;
    assert_eq!(outcome(&waiting.await), "5 hits", "who waited is answered once a connection is free");

    server.switch(&json!({"pool_saturated": true})).await;
    let both = json!({"pool_saturated": false, "chunks_tripled": true});
    server.switch(&both).await;
    assert_eq!(
        chunks(&server.call("list_sources", json!({})).await),
        "24",
        "nor does a held pool keep it from cutting"
    );
}

#[tokio::test]
async fn a_hanging_search_is_never_answered_and_others_are() {
    let server = knowing("live", &json!({"hang": true})).await;
    let mut hanging = pin!(server.ask(BOILER));
    assert!(tokio::time::timeout(LOOKED_AT, &mut hanging).await.is_err());
    server.mend().await;
    assert_eq!(outcome(&server.ask(BOILER).await), "5 hits", "what is asked afterwards is answered");
    assert!(tokio::time::timeout(LOOKED_AT, &mut hanging).await.is_err(), "and the first is lost all the same");
}

#[tokio::test]
async fn only_what_is_not_remembered_is_slow() {
    let server = knowing("normal", &json!({})).await;
    server.ask("when are the bearings greased").await;
    server.switch(&json!({"slow_on_miss": FOREVER_MS})).await;
    let remembered = server.ask("when are the bearings greased").await;
    assert_eq!(remembered["data"]["cache"]["kind"], "answer", "it does not wait");
    assert!(tokio::time::timeout(LOOKED_AT, server.ask(BOILER)).await.is_err(), "what is new waits");
    server.mend().await;
    assert_eq!(server.ask(BOILER).await["data"]["cache"]["kind"], "vector", "and does not without the fault");
}

#[tokio::test]
async fn vectors_heal_or_do_not() {
    let server = knowing("live", &json!({"keyword_arm_off": true})).await;
    let hits = async || results(&server.ask(BOILER).await).len();
    let all = hits().await;
    let unreachable = |mode: &str, tau_ms: u64| json!({"vectors_unreachable": {"mode": mode, "tau_ms": tau_ms}});
    server.switch(&unreachable("lasting", 1)).await;
    assert_eq!(hits().await, 0, "none is reached, however short the time constant");
    server.switch(&unreachable("healing", FOREVER_MS)).await;
    assert_eq!(hits().await, 0, "none is healed yet");
    server.switch(&unreachable("healing", 50)).await;
    // It ends once they are back; a server that never heals is ended by the runner.
    while hits().await < all {
        tokio::task::yield_now().await;
    }
}

/// What happens between two questions.
enum Meanwhile {
    Nothing,
    Indexed(&'static str, &'static str),
    Crashed,
    Switched(Value),
}

impl Server {
    async fn pass(&self, meanwhile: &Meanwhile) {
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Indexed(source, text) => drop(self.index(source, text).await),
            Meanwhile::Crashed => self.crash().await,
            Meanwhile::Switched(faults) => self.switch(faults).await,
        }
    }

    /// Whether a question is answered from memory, and how near the remembered one was.
    async fn memory(&self, arguments: &Value) -> &'static str {
        let answer = self.call("search_documents", arguments.clone()).await;
        let note = &answer["data"]["cache"];
        let similarity = note["similarity"].as_f64();
        if note["kind"] != "answer" {
            assert_eq!(similarity, None, "what was not remembered is near to nothing: {note}");
            return "new";
        }
        assert!(note["hit"] == true && note["age_seconds"].is_u64(), "{note}");
        match similarity.unwrap() {
            1.0 => "same",
            0.92..1.0 => "similar",
            _ => "far",
        }
    }
}

/// A question about the boiler only, so that its answer touches one source.
fn of(query: &str) -> Value {
    json!({"query": query, "source": "notes/boiler.md"})
}

fn with(name: &str, value: Value) -> Value {
    let mut arguments = of(BOILER);
    arguments[name] = value;
    arguments
}

/// Two questions to a healthy server, and where the answer to the second comes from.
async fn check_memory(says: &str, volatility: &str, first: &Value, meanwhile: Meanwhile, second: &Value, from: &str) {
    let server = knowing(volatility, &json!({})).await;
    assert_eq!(server.memory(first).await, "new", "{says}: nobody asked before");
    server.pass(&meanwhile).await;
    assert_eq!(server.memory(second).await, from, "{says}");
}

#[tokio::test]
async fn an_answer_is_remembered_for_those_who_ask_the_same() {
    use Meanwhile::{Crashed, Indexed, Nothing, Switched};
    let boiler = of(BOILER);
    check_memory("the very words", "normal", &boiler, Nothing, &boiler, "same").await;
    check_memory("also after a restart", "stable", &boiler, Crashed, &boiler, "same").await;
    check_memory("the same meaning", "normal", &boiler, Nothing, &of("when exactly is the boiler drained"), "similar")
        .await;
    check_memory("another meaning", "normal", &boiler, Nothing, &of("with what is the boiler fired"), "new").await;
    check_memory("a number", "normal", &boiler, Nothing, &of("when is the boiler 2 drained"), "new").await;
    let two = of("when is the boiler 2 drained");
    check_memory("another number", "normal", &two, Nothing, &of("when is the boiler 3 drained"), "new").await;
    let named = of("when is MILL-17 of the boiler drained");
    check_memory("another name", "normal", &named, Nothing, &of("when is MILL-18 of the boiler drained"), "new").await;
    check_memory("the opposite", "normal", &boiler, Nothing, &of("when is the boiler not drained"), "new").await;
    check_memory("more hits", "normal", &boiler, Nothing, &with("top_k", json!(6)), "new").await;
    check_memory("other sources", "normal", &boiler, Nothing, &with("source", json!("notes/")), "new").await;
    check_memory("another day", "normal", &boiler, Nothing, &with("since", json!("2026-01-02")), "new").await;
    check_memory("another bar", "normal", &boiler, Nothing, &with("min_score", json!(0.1)), "new").await;
    check_memory("another budget is the same", "normal", &boiler, Nothing, &with("budget_tokens", json!(100)), "same")
        .await;
    let other = Switched(json!({"wrong_query_model": true}));
    check_memory("another model", "normal", &boiler, other, &boiler, "new").await;
    check_memory("what changes all the time", "live", &boiler, Nothing, &boiler, "new").await;
    let again = Indexed("notes/boiler.md", "# Boiler\n\nThe boiler is drained every 7 days.");
    check_memory("its source is indexed anew", "normal", &boiler, again, &boiler, "new").await;
    let pump = Indexed("notes/pump.md", "# Pump\n\nThe pump is gone.");
    check_memory("another source is", "normal", &boiler, pump, &boiler, "same").await;
    let new = Indexed("notes/kiln.md", "# Kiln\n\nThe kiln is new.");
    check_memory("a source is new", "normal", &boiler, new, &boiler, "new").await;
}

/// Two questions with faults of the memory, from the start or switched on, and without: only with
/// them does the first one's answer come.
async fn check_forgery(says: &str, faults: Value, first: &str, meanwhile: Meanwhile, second: &str) {
    for (when, from_start, switched, falsely) in [
        ("without", json!({}), json!({}), false),
        ("from the start", faults.clone(), json!({}), true),
        ("switched on", json!({}), faults, true),
    ] {
        let server = knowing("normal", &from_start).await;
        server.switch(&switched).await;
        let remembered = results(&server.call("search_documents", of(first)).await);
        server.pass(&meanwhile).await;
        let answer = server.call("search_documents", of(second)).await;
        let from_memory = answer["data"]["cache"]["kind"] == "answer";
        assert_eq!(from_memory, falsely, "{says}, {when}: {answer}");
        assert!(!falsely || results(&answer) == remembered, "{says}, {when}: {answer}");
    }
}

#[tokio::test]
async fn a_broken_memory_gives_the_wrong_answer() {
    let again = Meanwhile::Indexed("notes/boiler.md", "# Boiler\n\nThe boiler is drained every 7 days.");
    check_forgery("the old text", json!({"cache_stale": true}), BOILER, again, BOILER).await;
    let new = Meanwhile::Indexed("notes/boiler.md.new", "# Boiler\n\nThe boiler is never drained.");
    check_forgery("without what is new", json!({"cache_stale": true}), BOILER, new, BOILER).await;
    let near = || json!({"cache_false_hit": true});
    let (two, three) = ("when is the boiler 2 drained", "when is the boiler 3 drained");
    check_forgery("another number's", near(), two, Meanwhile::Nothing, three).await;
    check_forgery("the opposite's", near(), BOILER, Meanwhile::Nothing, "when is the boiler not drained").await;
    let other = Meanwhile::Switched(json!({"wrong_query_model": true}));
    check_forgery("another model's", json!({"cache_without_model": true}), BOILER, other, BOILER).await;
}

#[tokio::test]
async fn a_mended_memory_gives_no_false_answer() {
    let server = knowing("normal", &json!({"cache_false_hit": true})).await;
    assert_eq!(server.memory(&of("when is the boiler not drained")).await, "new");
    server.mend().await;
    assert_eq!(server.memory(&of(BOILER)).await, "new", "an opposite that was remembered meanwhile");

    // Of the questions a half is embedded with another model: which one a question has is settled, so
    // that neither memory, of vectors and of answers, ever holds what the other model made.
    let server = knowing("live", &json!({})).await;
    let ask_all = async || {
        let mut answers = Vec::new();
        for (_, _, text) in NOTES {
            let query: String = text.chars().skip(2).take(60).filter(|c| *c != '#').collect();
            answers.push(seen(&server.ask(&query).await));
        }
        answers
    };
    let healthy = ask_all().await;
    server.crash().await;
    server.switch(&json!({"wrong_query_model": {"share": 0.5, "seed": 1}})).await;
    for _ in 0..4 {
        assert_ne!(ask_all().await, healthy, "half of them are worse");
    }
    server.mend().await;
    assert_eq!(ask_all().await, healthy, "no vector of the other model stays");
}

/// Which chunks a conversation is shown, and how many were left out as seen.
async fn shown(server: &Server, query: &str, conversation: &str) -> (Vec<String>, Value) {
    let arguments = json!({"query": query, "source": "stalls/", "top_k": 2, "conversation": conversation});
    let answer = server.call("search_documents", arguments).await;
    let ids = results(&answer).iter().map(|hit| hit["chunk_id"].as_str().unwrap().to_owned()).collect();
    (ids, answer["data"]["seen_before"].clone())
}

#[tokio::test]
async fn a_conversation_is_not_shown_the_same_again() {
    let server = empty(&json!({})).await;
    for number in ["one", "two", "three", "four", "five", "six"] {
        let text = format!("Stall {number} sells apples and pears.");
        server.index(&format!("stalls/{number}.md"), &text).await;
    }
    let query = "who sells apples and pears";
    let (first, left_out) = shown(&server, query, "a").await;
    assert_eq!((first.len(), left_out), (2, json!(0)));
    let (second, left_out) = shown(&server, query, "a").await;
    assert_eq!((second.len(), left_out), (2, json!(2)));
    assert!(second.iter().all(|id| !first.contains(id)), "others come: {first:?}, then {second:?}");
    assert_eq!(shown(&server, query, "b").await.0, first, "another conversation was shown nothing yet");
    assert_eq!(shown(&server, query, "").await.0, first, "nor is none ever");
    server.crash().await;
    let (third, _) = shown(&server, query, "a").await;
    assert_eq!(third.len(), 2, "two were left");
    assert!(third.iter().all(|id| !first.contains(id) && !second.contains(id)), "a restart does not forget: {third:?}");
    assert_eq!(shown(&server, query, "a").await, (Vec::new(), json!(2)), "all was shown");

    let changed = first[0].trim_end_matches("#0");
    server.index(changed, "This stall sells apples and pears no longer.").await;
    assert_eq!(shown(&server, query, "a").await.0, [first[0].as_str()], "a new text was never shown");
    server.index("stalls/bread.md", "This stall bakes bread of rye, sourdough and spelt.").await;
    let best = || shown(&server, "bread of rye, sourdough and spelt", "a");
    assert_eq!(best().await.0[0], "stalls/bread.md#0");
    server.index("stalls/last.md", "This stall mends shoes for bakers of bread.").await;
    assert_eq!(best().await.0[0], "stalls/bread.md#0", "what is clearly better than all that is new comes again");
}

/// What is seen of a dozen questions, and how many chunks there are.
async fn seen_of_a_dozen(server: &Server) -> Vec<String> {
    let mut all = vec![chunks(&server.call("list_sources", json!({})).await)];
    for (_, _, text) in NOTES {
        let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "#" && *word != "##").collect();
        for question in [words[..6].join(" "), words[6..14].join(" ")] {
            all.push(seen(&server.ask(&question).await));
        }
    }
    all
}

/// A fault that strikes a half: the same half after a restart, on another server, and when it is switched
/// off and on; another half by another seed.
async fn check_share(fault: &str, parts: &Value) {
    let dose = |seed: u64| {
        let mut dose = parts.clone();
        (dose["share"], dose["seed"]) = (json!(0.5), json!(seed));
        json!({ fault: dose })
    };
    let server = knowing("live", &json!({})).await;
    let healthy = seen_of_a_dozen(&server).await;
    server.switch(&dose(7)).await;
    let struck = seen_of_a_dozen(&server).await;
    assert_ne!(struck, healthy, "{fault}: something is struck");
    server.crash().await;
    assert_eq!(seen_of_a_dozen(&server).await, struck, "{fault}: after a restart");
    server.mend().await;
    assert_eq!(seen_of_a_dozen(&server).await, healthy, "{fault}: mended");
    server.switch(&dose(7)).await;
    assert_eq!(seen_of_a_dozen(&server).await, struck, "{fault}: switched on again");
    server.mend().await;
    server.switch(&dose(8)).await;
    assert_ne!(seen_of_a_dozen(&server).await, struck, "{fault}: by another seed");
    let other = knowing("live", &dose(7)).await;
    assert_eq!(seen_of_a_dozen(&other).await, struck, "{fault}: on another server");
}

#[tokio::test]
async fn a_share_of_the_calls_is_the_same_after_a_restart() {
    for fault in ["tool_error", "panic", "empty_results", "keyword_arm_off", "vector_arm_off", "wrong_query_model"] {
        check_share(fault, &json!({})).await;
    }
    for fault in ["reranker_off", "reranker_reversed", "embedder_down", "reranker_fails"] {
        check_share(fault, &json!({})).await;
    }
    check_share("embedder_down", &json!({"mode": "fallback"})).await;
}

#[tokio::test]
async fn a_share_of_the_chunks_is_the_same_after_a_restart() {
    for fault in ["vectors_unreachable", "vectors_zeroed", "corpus_truncated"] {
        check_share(fault, &json!({})).await;
    }
    for fault in ["chunks_tripled", "chunks_duplicated", "chunks_empty", "chunks_mid_sentence"] {
        check_share(fault, &json!({})).await;
    }
}

#[tokio::test]
async fn a_note_that_is_sent_again_as_another_kind_is_one() {
    let server = knowing("normal", &json!({})).await;
    let (source, _, text) = NOTES[0];
    assert_eq!(server.memory(&of(BOILER)).await, "new");
    let note = json!({"source": source, "text": text, "volatility": "live", "tags": ["heat"], "date": "2026-07-01"});
    server.call("index_document", note).await;
    let hot = json!({"query": BOILER, "tags": ["heat"], "since": "2026-07-01"});
    assert_eq!(outcome(&server.call("search_documents", hot).await), "2 hits");
    for _ in 0..2 {
        assert_eq!(server.memory(&of(BOILER)).await, "new", "a live note is not remembered");
    }
}
