//! How a document is cut, and what a search makes of it: summaries, sections, sizes.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::served::{Served, hits, is_verbatim, place};

const THINGS: [&str; 8] = ["lamp", "stair", "bell", "boat", "cistern", "ledger", "window", "winch"];

/// A keeper's handbook of about so many characters, whose chapters are each about two things.
fn handbook(characters: usize) -> String {
    let mut text = "# Handbook\n".to_owned();
    for number in 1.. {
        if text.chars().count() >= characters {
            break;
        }
        let (thing, other) = (THINGS[number % 8], THINGS[(number / 8 + 3) % 8]);
        write!(
            text,
            "\n## Chapter {number}\nThe {thing} is looked after on day {number} of the round. Whoever has the watch \
             cleans the {thing} with oil and a soft cloth. In frost the {other} is looked at first, since the {thing} \
             can wait. What was done to the {thing} is written down as entry {number}.\n",
        )
        .unwrap();
    }
    text
}

/// Nothing in the handbook has as many of the things in one place as each lot of the auction; only the
/// handbook as a whole speaks of all of them.
#[tokio::test]
async fn a_long_document_is_found_by_its_summary_and_answered_by_its_passages() {
    async fn check(says: &str, characters: usize, method: &str, is_found: bool) {
        let folder = tempfile::tempdir().unwrap();
        // The fused order is looked at: a summary brings its passages into it, and the reranker judges them alone.
        let server = Served::in_folder(folder.path(), &["--fault", "reranker_off"]);
        let text = handbook(characters);
        server.index(json!({"source": "handbook.md", "text": text, "method": method, "chunk_size": 100})).await;
        for number in 0..40 {
            let [one, two, three] = [number, number / 8 + 1, number / 3 + 2].map(|number| THINGS[number % 8]);
            let lot = format!("Lot {number}: {one}, {two}, {three}.");
            server.index(json!({"source": format!("auction/{number}.md"), "text": lot})).await;
        }
        let found = server.search(json!({"query": THINGS.join(" "), "top_k": 20})).await;
        let of_handbook: Vec<&Value> = hits(&found).iter().filter(|hit| hit["source"] == "handbook.md").collect();
        assert_eq!(!of_handbook.is_empty(), is_found, "{says}: {found}");
        assert!(of_handbook.iter().all(|hit| is_verbatim(hit, &text)), "{says}: each is a passage, none the summary");
        if is_found {
            assert_eq!(of_handbook.len(), 5, "{says}: as many as come for one summary");
            let state = &of_handbook[0]["fused_score"];
            assert!(of_handbook.iter().all(|hit| hit["fused_score"] == *state), "{says}: all of them: {found}");
        }
    }
    check("a long one", 52_000, "markdown", true).await;
    check("in sections too", 52_000, "parent_child", true).await;
    check("a shorter one has no summary", 48_000, "markdown", false).await;
    check("nor has one that is cut by characters", 52_000, "fixed", false).await;
}

const PUMP: &str = "# Pump\n\n## Priming\nThe pump is primed with a bucket of water. Fill the funnel until the glass \
    shows no bubbles. Then start the motor slowly. Listen for a low hum within ten seconds. A rattle means air in the \
    line. Close the valve at once when it rattles. Wait for half a minute before the next attempt. Three attempts are \
    allowed in an hour. After the third one the fuse has to cool down.\n\n## Storage\nDrain it before the frost.\n";

#[tokio::test]
async fn a_hit_is_expanded_to_its_section() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    let facts = json!({"text": PUMP, "chunk_size": 40});
    for (source, method) in [("sections.md", "parent_child"), ("plain.md", "markdown")] {
        let mut facts = facts.clone();
        (facts["source"], facts["method"]) = (json!(source), json!(method));
        server.index(facts).await;
    }
    let best = async |source: &str, expand: bool| {
        let asked = json!({"query": "air in the line rattles", "source": source, "expand": expand});
        hits(&server.search(asked).await)[0].clone()
    };
    let hit = best("sections.md", true).await;
    let section = hit["expanded"].as_str().unwrap_or_else(|| panic!("its section comes: {hit}"));
    assert!(section.contains(hit["content"].as_str().unwrap()), "the hit is part of it: {hit}");
    assert!(section.contains("a bucket of water") && section.contains("has to cool down"), "all of it: {section}");
    assert!(!section.contains("before the frost") && PUMP.contains(section), "and nothing else: {section}");
    assert!(!hit["content"].as_str().unwrap().contains("a bucket of water"), "which the hit alone has not");
    assert_eq!(best("sections.md", false).await["expanded"], Value::Null, "where nobody asks, none comes");
    assert_eq!(best("plain.md", true).await["expanded"], Value::Null, "nor where there are no sections");
}

/// Words of every sentence, so that each piece is found.
const QUERY: &str = "the old forester of the valley plants in long straight rows each autumn";

/// Nine sentences of the same length, each with a word of its own.
fn sentences() -> String {
    ["ash", "birch", "cedar", "elm", "fir", "larch", "maple", "oak", "pine"]
        .map(|tree| format!("The old forester of the valley plants {tree:.<8} in long straight rows each autumn. "))
        .concat()
}

#[tokio::test]
async fn documents_are_cut_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::in_folder(folder.path(), &[]);
    let text = sentences();
    // Chunks, by where they are, in their order.
    let cut = async |arguments: &Value| -> Result<Vec<(usize, usize)>, Value> {
        let mut document = json!({"source": "forest.md", "text": text});
        document.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let envelope = server.call("index_document", document).await;
        if envelope["status"] == "error" {
            return Err(envelope["error_code"].clone());
        }
        let found = server.search(json!({"query": QUERY, "top_k": 20})).await;
        assert!(hits(&found).iter().all(|hit| is_verbatim(hit, &text)), "{arguments}");
        let mut places: Vec<(usize, usize)> = hits(&found).iter().map(place).collect();
        assert_eq!(json!(places.len()), envelope["data"]["chunk_count"], "{arguments}");
        places.sort_unstable();
        Ok(places)
    };
    let check = async |says: &str, arguments: Value, chunks: usize, shared: bool| {
        let places = cut(&arguments).await.unwrap_or_else(|code| panic!("{says}: {code}"));
        assert_eq!(places.len(), chunks, "{says}: {places:?}");
        assert_eq!(places.windows(2).any(|pair| pair[1].0 < pair[0].1), shared, "{says}: {places:?}");
    };
    let length = text.chars().count();
    check("as usual", json!({}), 2, true).await;
    check("small chunks", json!({"chunk_size": 40, "chunk_overlap": 0}), 5, false).await;
    check("small ones that share a sentence", json!({"chunk_size": 40, "chunk_overlap": 1}), 8, true).await;
    check("all in one", json!({"method": "topics", "chunk_size": 500}), 1, false).await;
    let fixed = json!({"method": "fixed", "chunk_size": 100, "chunk_overlap": 0});
    check("by characters", fixed, length.div_ceil(100), false).await;
    let fixed = json!({"method": "fixed", "chunk_size": 100, "chunk_overlap": 50});
    check("by characters, each twice", fixed, (length - 50).div_ceil(50), true).await;
    check(
        "by size alone, half a chunk shared at most",
        json!({"method": "fixed", "chunk_size": 80}),
        (length - 40).div_ceil(40),
        true,
    )
    .await;
    for (says, arguments) in [
        ("no such method", json!({"method": "magic"})),
        ("too small", json!({"chunk_size": 31})),
        ("too large", json!({"chunk_size": 501})),
        ("too much shared", json!({"chunk_overlap": 4})),
        ("characters that are too few", json!({"method": "fixed", "chunk_size": 63})),
        ("more than half shared", json!({"method": "fixed", "chunk_size": 100, "chunk_overlap": 51})),
        ("no number", json!({"chunk_size": "many"})),
    ] {
        assert_eq!(cut(&arguments).await, Err(json!("INVALID_ARGUMENT")), "{says}");
    }
}
