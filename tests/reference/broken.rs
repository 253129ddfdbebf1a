//! Faults that show in answers, times and life.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use serin_reference::index::corpus::Corpus;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;

use crate::{LEGACY, MODERN, broken, healthy, server, sources};

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
async fn errors_are_errors_unless_they_are_swallowed() {
    let server = healthy().await;
    let faults = server.running.faults();
    for (fault, code) in [(Fault::ToolError, "RETRIEVAL_FAILED"), (Fault::Panic, "INTERNAL_ERROR")] {
        faults.all_off();
        faults.on(fault, Dose::of(fault));
        let answer = server.call(MODERN, "search_documents", json!({"query": "OC-31"})).await;
        assert_eq!((&answer["isError"], &answer["structuredContent"]["error_code"]), (&json!(true), &json!(code)));
    }
    faults.all_off();
    faults.on(Fault::EmbedderDown, Dose::of(Fault::EmbedderDown));
    let by_words = server.search("OC-31").await;
    assert_eq!((&by_words["partial"], &by_words["degraded_scopes"]), (&json!(true), &json!(["embedding"])));
    assert_eq!(by_words["data"]["results"][0]["content"].as_str().map(|text| text.contains("OC-31")), Some(true));
    let whole = json!({"query": "OC-31", "allow_partial": false});
    let refused = server.call(MODERN, "search_documents", whole).await;
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["error_code"]),
        (&json!(true), &json!("EMBEDDING_UNAVAILABLE")),
        "unless both retrievers are demanded"
    );
    assert_eq!(server.health("health").await.1["reason"], "external_api_failure");
    faults.on(Fault::ToolError, Dose::of(Fault::ToolError));
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
    let server = server(LabOptions { corpus: Corpus::Empty, ..LabOptions::default() }).await;
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
    faults.all_off();
    let places = async |asked: &str| -> Vec<(String, String)> {
        let answer = server.search(asked).await;
        let hits = answer["data"]["results"].as_array().unwrap().clone();
        hits.iter().map(|hit| (hit["chunk_id"].to_string(), hit["final_score"].to_string())).collect()
    };
    // Ranks in disguise are equal where each retriever has a first hit of its own.
    faults.on(Fault::RerankerOff, Dose::of(Fault::RerankerOff));
    let usual = places("an old login stops working").await;
    let scores = |places: &[(String, String)]| places.iter().map(|(_, score)| score.clone()).collect::<Vec<_>>();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 1..=8 {
        faults.on(Fault::Shuffled, Dose::of(Fault::Shuffled).mode("ties").seed(seed));
        let tied = places("an old login stops working").await;
        assert_eq!(tied, places("an old login stops working").await, "seed {seed}: the same each time");
        assert_eq!(scores(&tied), scores(&usual), "seed {seed}: only equal ones change places");
        seen.insert(tied);
    }
    assert!(seen.len() > 1, "some are equal, and change places: {usual:?}");
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
