//! What a conversation was shown outlives the process.

use serde_json::json;

use crate::served::{Served, hits};

#[tokio::test]
async fn a_conversation_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    for number in ["one", "two", "three", "four", "five", "six"] {
        let text = format!("Stall {number} sells apples and pears.");
        server.index(json!({"source": format!("stalls/{number}.md"), "text": text})).await;
    }
    // By either door, a conversation is one.
    let shown = async |server: &Served, conversation: &str, by_mcp: bool| {
        let asked = json!({"query": "who sells apples and pears", "top_k": 2, "conversation": conversation});
        let found = if by_mcp { server.call("search_documents", asked).await } else { server.post(&asked).await };
        let ids: Vec<String> = hits(&found).iter().map(|hit| hit["chunk_id"].as_str().unwrap().to_owned()).collect();
        (ids, found["data"]["seen_before"].as_u64().unwrap())
    };
    let (first, left_out) = shown(&server, "a", true).await;
    assert_eq!((first.len(), left_out), (2, 0));
    let (second, left_out) = shown(&server, "a", false).await;
    assert_eq!((second.len(), left_out), (2, 2));
    drop(server);
    let server = Served::in_folder(folder.path(), &[]);
    let (third, _) = shown(&server, "a", true).await;
    assert_eq!(third.len(), 2, "two were left");
    let mut all = [first.clone(), second, third].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6, "each was shown once: {all:?}");
    assert_eq!(shown(&server, "a", false).await.0, [""; 0], "and now everything was");
    assert_eq!(shown(&server, "b", true).await.0, first, "another conversation was shown nothing");
}
