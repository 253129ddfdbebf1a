//! `serin drill` on servers that remember answers: no fault of retrieval hides behind the cache, and nobody is woken for
//! nothing.

#![expect(clippy::unwrap_used, reason = "a test stops where what it stands on is missing")]

use std::process::Command;

use serde_json::Value;

/// Drills, and gives the trials.
fn drilled(only: &[&str], seeds: u32) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["drill", "--json", "--cache", "on", "--seeds", &seeds.to_string()]);
    command.args(only.iter().flat_map(|name| ["--only", name]));
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "nobody is woken for nothing: {said}");
    let matrix: Value = serde_json::from_slice(&ended.stdout).unwrap();
    matrix["cells"].as_array().unwrap().clone()
}

/// The nine faults of retrieval that canaries once did not see behind an answer cache.
const NINE: [&str; 9] = [
    "wrong_query_model",
    "vector_arm_off",
    "vectors_zeroed",
    "vectors_unreachable",
    "keyword_arm_off",
    "corpus_truncated",
    "empty_results",
    "shuffled",
    "reranker_reversed",
];
/// Of these, those that are drawn, and on some seeds lose no source of a canary at all: then a change is all that can be said.
const DRAWN: [&str; 3] = ["vectors_zeroed", "vectors_unreachable", "corpus_truncated"];

#[test]
fn nine_faults_of_nine_are_told_with_the_cache_on() {
    let only: Vec<&str> = NINE.into_iter().chain(["reranked"]).collect();
    let cells = drilled(&only, 2);
    for fault in NINE {
        let cells: Vec<&Value> =
            cells.iter().filter(|cell| cell["fault"] == fault && cell["of_nine"] == true).collect();
        assert!(!cells.is_empty(), "{fault} was drilled");
        for cell in cells {
            assert!(!cell["told"].as_array().unwrap().is_empty(), "{fault} is told: {cell:#}");
            assert!(cell["result"] == "right" || DRAWN.contains(&fault), "{fault} is told by its cause: {cell:#}");
            assert_eq!(cell["false_pages"], Value::Array(Vec::new()), "{fault}: nothing is told while all is well");
            assert!(cell["resolved_beats"].is_u64(), "{fault}: what was told ends once it is mended: {cell:#}");
        }
    }
}

#[test]
fn what_harms_nobody_wakes_nobody() {
    let cells =
        drilled(&["fused", "edited documents", "renumbered chunks", "re-index", "reordered ties", "cache flush"], 1);
    assert_eq!(cells.len(), 5);
    for cell in cells {
        assert_eq!(cell["result"], "quiet", "{cell:#}");
    }
}

#[test]
fn a_name_that_is_none_is_refused_with_those_that_are() {
    let ended = Command::new(env!("CARGO_BIN_EXE_serin")).args(["drill", "--only", "vector_arm"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(said.contains("'vector_arm' is no shape") && said.contains("vector_arm_off"), "{said}");
    let ended = Command::new(env!("CARGO_BIN_EXE_serin")).args(["drill", "--only", "index_frozen"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("'index_frozen' is not drilled"), "{said}");
}
