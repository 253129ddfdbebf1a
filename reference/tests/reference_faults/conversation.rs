//! What a conversation was shown is not brought again.

use serde_json::{Value, json};

use crate::server::{Server, empty, results};

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
