//! A canary's question in another way: what is sent, and that nothing of it counts as the canary's own answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serin::domain::answer::{Turn, Variant};
use serin::domain::classify::classify;
use serin::domain::outcome::Verdict;
use serin::domain::pinned::{Pinned, PinnedCanary};
use serin::domain::schedule::PlannedAsk;
use serin::probe::assignment::Further;
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Script, result};
use crate::probing::{assignment, first_fault, monitor};
use crate::scripts::{TOOLS, legacy};

/// What is pinned of a server whose answers have so many results.
fn pinned(results: u32) -> Arc<Pinned> {
    // Of another declaration, so that its own answers are not judged by it.
    let definition_hash = "another".to_owned();
    let canary = PinnedCanary { definition_hash, results: (results, results), ..PinnedCanary::default() };
    Arc::new(Pinned {
        hash: "one".to_owned(),
        place: ("monitors.lock".to_owned(), 1),
        runs: 20,
        reached_index: true,
        canaries: BTreeMap::from([("c0".to_owned(), canary)]),
        ..Pinned::default()
    })
}

/// A server whose tool takes the number of results.
fn counting() -> Script {
    let mut script = legacy();
    let takes = r#""properties":{"top_k":{"type":"integer"},"#;
    script.insert("tools/list", Act::Say(result(&TOOLS.replacen(r#""properties":{"#, takes, 1))));
    script
}

#[tokio::test]
async fn a_question_is_asked_once_more_for_fewer_results_or_respelled() {
    let own = r#"{"query":"what is \"one\"?","top_k":5}"#;
    let rows = [
        (Turn::Fewer, 5, Some(r#"{"query":"what is \"one\"?","top_k":2}"#), "half of what is asked for"),
        (Turn::Fewer, 4, Some(r#"{"query":"what is \"one\"?","top_k":2}"#), "or of what ever came"),
        (Turn::Fewer, 1, None, "half of one is nothing"),
        (Turn::Respelled, 5, Some(r#"{"query":" WHAT  IS  \"ONE\"? ","top_k":5}"#), "in other capitals and blanks"),
    ];
    for (turn, results, expected, sentence) in rows {
        let server = FaultServer::start(counting(), None).await;
        let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
        monitor.pinned = Some(pinned(results));
        let altered = Some(PlannedAsk::new(0, turn, Variant::Fresh));
        let mut assignment = assignment(monitor);
        assignment.further = Further { altered, ..Further::NONE };
        let (seen, ..) = Prober::new(8).run(&assignment).await;
        assert_eq!(first_fault(&seen), None, "{sentence}: {seen:#?}");
        let bodies = server.seen().bodies;
        let sent: Vec<&String> = bodies.iter().filter(|body| body.contains("search_documents")).collect();
        assert!(sent[0].contains(own), "{sentence}: its own comes first: {sent:?}");
        assert_eq!(
            sent.get(1).map(|sent| sent.contains(expected.unwrap_or_default())),
            expected.map(|_| true),
            "{sentence}: {sent:?}"
        );
        assert_eq!(seen.altered.as_ref().map(|ask| ask.turn), expected.map(|_| turn), "{sentence}");
        let outcome = classify(&assignment.monitor, &seen);
        assert_eq!((seen.asks.len(), outcome.asks.len(), outcome.verdict), (1, 1, Verdict::Good), "{sentence}");
    }
}

#[tokio::test]
async fn what_was_not_answered_is_not_asked_otherwise() {
    let mut script = counting();
    let failed = r#"{"content":[{"type":"text","text":"out of memory"}],"isError":true}"#;
    script.insert("tools/call search_documents", Act::Say(result(failed)));
    let server = FaultServer::start(script, None).await;
    let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
    monitor.pinned = Some(pinned(5));
    let altered = Some(PlannedAsk::new(0, Turn::Respelled, Variant::Fresh));
    let mut assignment = assignment(monitor);
    assignment.further = Further { altered, ..Further::NONE };
    let (seen, ..) = Prober::new(8).run(&assignment).await;
    assert!(seen.altered.is_none(), "{seen:#?}");
    assert_eq!(server.seen().asked.iter().filter(|asked| asked.contains("search_documents")).count(), 1);
}
