//! A sentence out of an earlier answer, asked back: what is sent, what is seen of it, and that nothing else is kept.

use std::sync::Arc;

use serin::domain::answer::Turn;
use serin::domain::classify;
use serin::domain::outcome::AskVerdict;
use serin::domain::reason::FailureReason;
use serin::probe::assignment::{Further, Harvesting};
use serin::probe::prober::Prober;

use crate::fault_server::{Act, FaultServer, Script, result};
use crate::older::older;
use crate::probing::{assignment, first_fault, monitor, recorded};
use crate::scripts::{FOUND, legacy, modern, with};

/// Words that no server of the table says by itself.
const SENTENCE: &str = "The alternator takes cartridge XK-2201 and gasket GT-9";

/// Sentences of so many sources that a word may be called rare, one of them fit to be asked.
pub(crate) fn harvesting(source: &str) -> Harvesting {
    let harvesting = Harvesting { pool: Arc::default(), is_wanted: true };
    let mut pool = harvesting.pool.lock();
    (0..8).for_each(|nth| pool.gather(&format!("{nth}.md"), "Boilers."));
    pool.gather(source, &format!("{SENTENCE}."));
    drop(pool);
    harvesting
}

#[tokio::test]
async fn a_sentence_is_asked_and_only_its_rank_is_kept() {
    let refused = r#"{"content":[{"type":"text","text":"no XK-2201 here"}],"isError":true}"#;
    let nothing = FOUND.split_once(r#""results":["#).expect("a list").0.to_owned() + r#""results":[]}}"#;
    let cached = FOUND.replacen(r#""results":"#, r#""cache":{"hit":true},"results":"#, 1);
    let says = |text: &str| with(legacy(), "tools/call search_documents", Act::Say(result(text)));
    let right = AskVerdict::Right { rank: Some(1) };
    let wrong = || AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: String::new() };
    let failed = AskVerdict::Failed { reason: FailureReason::ToolError };
    let rows: [(Script, &str, AskVerdict, bool, &str); 7] = [
        (legacy(), "a.md", right.clone(), true, "its source comes"),
        (modern(), "a.md", right.clone(), true, "in the newer era, where the question stands in a header too"),
        (older(), "a.md", right.clone(), true, "on a stream"),
        (legacy(), "other.md", wrong(), true, "another source comes"),
        (says(&nothing), "a.md", wrong(), true, "nothing comes"),
        (says(&cached), "a.md", right, false, "a cache knows it"),
        (says(refused), "a.md", failed, true, "it is refused in words that repeat it"),
    ];
    for (script, source, expected, of_index, sentence) in rows {
        let server = FaultServer::start(script, None).await;
        let mut monitor = monitor(&format!("http://{}/mcp", server.address), 1);
        monitor.search.harvest = true;
        let mut assignment = assignment(monitor);
        let harvest = harvesting(source);
        assignment.further = Further { harvest: Some(harvest.clone()), ..Further::NONE };
        let prober = Prober::new(8);
        let seen = recorded(&prober, &assignment).await;

        let bodies = server.seen().bodies;
        let sent = |text: &str| bodies.iter().filter(|body| body.contains(text)).count();
        assert_eq!((sent("what is"), sent(SENTENCE)), (1, 1), "{sentence}: {bodies:?}");
        let harvested = seen.harvested.as_deref().unwrap_or_else(|| panic!("{sentence}: {seen:#?}"));
        assert_eq!(classify::harvested(&seen).as_ref(), Some(&expected), "{sentence}: {seen:#?}");
        assert_eq!((harvested.ask.turn, seen.reached_index(&harvested.ask)), (Turn::Harvested, of_index), "{sentence}");
        let is_failing = matches!(expected, AskVerdict::Failed { .. });
        assert_eq!(first_fault(&seen).is_some(), is_failing, "{sentence}: the canary's own fault and no other");
        let transcript = seen.transcript.as_deref().expect("it is kept");
        assert!(transcript.contains("what is"), "{sentence}: {transcript}");
        assert!(!transcript.contains("alternator"), "{sentence}: {transcript}");
        let kept = transcript.matches(r#""method":"tools/call""#).count();
        assert_eq!((kept, sent("tools/call")), (1, 2), "{sentence}: the other is left out: {transcript}");
        let shown = format!("{:?}", (&seen.harvested, &assignment));
        assert!(!shown.contains("alternator") && !shown.contains("XK-2201"), "{sentence}: {shown}");

        let again = recorded(&prober, &assignment).await;
        assert_eq!(again.harvested, None, "{sentence}: each is asked once");
    }
}
