//! Faults that wait, refuse, forget or leak: each is a story of its own.

use std::pin::pin;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::server::{BOILER, FOREVER_MS, GIVEN_UP, LOOKED_AT, chunks, empty, knowing, outcome, results};

#[tokio::test]
async fn a_frozen_index_says_yes_and_keeps_nothing() {
    let server = knowing("live", &json!({})).await;
    let heard = async || outcome(&server.call("search_documents", json!({"query": "quagga", "source": "new"})).await);
    server.switch(&json!({"index_frozen": true})).await;
    let told = server.index("new", "A quagga is kept in the stable.").await;
    assert_eq!((&told["status"], &told["data"]["chunk_count"]), (&json!("ok"), &json!(1)));
    assert_eq!(heard().await, "SOURCE_UNKNOWN", "it was accepted, and is not there");
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
    let healing = async {
        while hits().await < all {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(GIVEN_UP, healing).await.is_ok(), "they come back");
}
