//! A fault that strikes a share strikes the same ones again.

use serde_json::{Value, json};

use crate::server::{NOTES, Server, chunks, knowing, seen};

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
    let affected = seen_of_a_dozen(&server).await;
    assert_ne!(affected, healthy, "{fault}: something is struck");
    server.crash().await;
    assert_eq!(seen_of_a_dozen(&server).await, affected, "{fault}: after a restart");
    server.mend().await;
    assert_eq!(seen_of_a_dozen(&server).await, healthy, "{fault}: mended");
    server.switch(&dose(7)).await;
    assert_eq!(seen_of_a_dozen(&server).await, affected, "{fault}: switched on again");
    server.mend().await;
    server.switch(&dose(8)).await;
    assert_ne!(seen_of_a_dozen(&server).await, affected, "{fault}: by another seed");
    let other = knowing("live", &dose(7)).await;
    assert_eq!(seen_of_a_dozen(&other).await, affected, "{fault}: on another server");
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
    for fault in ["chunks_tripled", "chunks_duplicated", "chunks_empty", "chunks_mid_sentence", "text_garbled"] {
        check_share(fault, &json!({})).await;
    }
}
