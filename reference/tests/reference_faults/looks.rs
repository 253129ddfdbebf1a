//! Faults that are seen in one answer: what a caller sees with each and without.

use serde_json::{Value, json};

use crate::server::{BOILER, Server, chunks, empty, knowing, outcome, results};

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

/// The best fused score: 2/4 where one chunk is first in both arms.
fn best_fused(envelope: &Value) -> String {
    let best = results(envelope).iter().map(|hit| hit["fused_score"].as_f64().unwrap()).fold(0.0, f64::max);
    format!("{best:.6}")
}

/// Whether anything is near in meaning; no error is told either way.
fn nearness(envelope: &Value) -> String {
    let near = results(envelope).iter().any(|hit| hit["semantic_score"].as_f64().unwrap() > 0.3);
    format!("{} {} {}", envelope["status"], envelope["partial"], if near { "near" } else { "far" })
}

/// Whether any hit says how well it fits.
fn scores(envelope: &Value) -> String {
    let hits = results(envelope);
    let said =
        hits.iter().flat_map(|hit| hit.as_object().into_iter().flatten()).any(|(name, _)| name.ends_with("score"));
    format!("{} hits {}", hits.len(), if said { "scored" } else { "unscored" })
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
    check(
        "the provider is down",
        down("error"),
        boiler(),
        scopes,
        "false [] reranked",
        "true [\"embedding\"] reranked",
    )
    .await;
    let (near, far) = ("\"ok\" false near", "\"ok\" false far");
    check("another steps in, and nobody is told", down("fallback"), boiler(), nearness, near, far).await;
    let newest = json!({"corpus_truncated": {"mode": "newest", "share": 0.17}});
    check("the newest of six was never there", newest.clone(), of_newest(), outcome, "1 hits", "SOURCE_UNKNOWN").await;
    check("and no other", newest.clone(), of_boiler(), outcome, "2 hits", "2 hits").await;
    check("nor is it on the list", newest, ("list_sources", json!({})), chunks, "8", "7").await;
}

#[tokio::test]
async fn what_is_answered_otherwise_looks_otherwise() {
    let (whole, fused) = ("false [] reranked", "true [\"rerank\"] fused");
    let fails = |mode: &str| json!({ "reranker_fails": mode });
    check("out of memory", fails("memory"), search(BOILER), scopes, whole, fused).await;
    check("too slow", fails("slow"), search(BOILER), scopes, whole, fused).await;
    check("four budgets", json!({"budget_exceeded": true}), search(BOILER), budget, "kept", "exceeded").await;
    check("no scores", json!({"scores_hidden": true}), search(BOILER), scores, "5 hits scored", "5 hits unscored")
        .await;
    let (from_one, from_zero) = ("0.500000", "0.666667");
    check("2/3", json!({"rrf_zero_based": true}), search(BOILER), best_fused, from_one, from_zero).await;
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
    let garbled = "2 hits, 0 bare, under \"Erlohu > Ilulqj\"";
    check("letters are others", on("text_garbled"), of_boiler(), shape, whole, garbled).await;
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
