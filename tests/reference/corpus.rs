//! The corpus and its canaries.

use reqwest::StatusCode;
use serde_json::json;
use serin_reference::index::corpus::Corpus;
use serin_reference::index::documentation::SOURCES as DOCUMENTATION;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;
use serin_reference::text::words as text;

use crate::{CANARIES, MODERN, broken, healthy, server, sources};

/// Questions about what is not there, and the highest score they may bring.
const NEGATIVES: &[(&str, &str, f64)] = &[
    ("bread", "sourdough hydration for rye bread", 0.3),
    ("painting", "who painted the mona lisa", 0.3),
    ("dragons", "colour of the tax on dragons", 0.3),
];

fn canaries(kind: &str) -> Vec<&'static str> {
    CANARIES.iter().filter(|canary| canary.0 == kind).map(|canary| canary.1).collect()
}

#[test]
fn meaning_canaries_share_no_stem_with_their_source() {
    for (_, id, query, expected) in CANARIES.iter().filter(|canary| canary.0 == "meaning") {
        for (_, text) in DOCUMENTATION.iter().filter(|(source, _)| expected.contains(source)) {
            let stems = text::content_stems(text);
            let shared: Vec<String> =
                text::content_stems(query).into_iter().filter(|stem| stems.contains(stem)).collect();
            assert!(shared.is_empty(), "{id} shares {shared:?} with its source");
        }
    }
}

/// What `serin reference faults` lists, and what the documentation says of it: each fault in a heading, its
/// ways in the section below, and no heading that names what there is not.
#[test]
fn the_documentation_names_every_fault_and_its_ways() {
    let listed =
        std::process::Command::new(env!("CARGO_BIN_EXE_serin")).args(["reference", "faults"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let (_, text) = DOCUMENTATION.iter().find(|(source, _)| *source == "reference/faults.md").unwrap();
    let sections: Vec<(Vec<&str>, &str)> = text
        .split("\n## ")
        .skip(1)
        .map(|section| section.split_once('\n').unwrap())
        .map(|(heading, body)| (heading.split([' ', ',']).collect(), body))
        .collect();
    let mut names = Vec::new();
    for line in listed.lines() {
        let (name, ways) =
            line.split_whitespace().next().map(|word| word.split_once('=').unwrap_or((word, ""))).unwrap();
        let section = sections.iter().find(|(heading, _)| heading.contains(&name));
        let (_, body) = section.unwrap_or_else(|| panic!("{name} is in no heading"));
        let is_amount = ways.parse::<f64>().is_ok();
        for way in ways.split('|').filter(|way| !way.is_empty() && !is_amount) {
            assert!(body.contains(&format!("`{way}`")), "the way `{way}` of {name} is not told");
        }
        names.push(name);
    }
    assert_eq!(names.len(), Fault::ALL.len());
    for (heading, _) in &sections {
        for word in heading.iter().filter(|word| word.contains('_')) {
            assert!(names.contains(word), "there is no fault {word}");
        }
    }
}

#[tokio::test]
async fn every_canary_passes_on_a_healthy_server() {
    let server = healthy().await;
    for kind in ["keyword", "meaning", "mixed"] {
        assert!(server.lost(kind).await.is_empty(), "{kind}: {:?}", server.lost(kind).await);
    }
    for (id, query, highest) in NEGATIVES {
        let envelope = server.search(query).await;
        for hit in envelope["data"]["results"].as_array().unwrap() {
            assert!(hit["score"].as_f64().unwrap() <= *highest, "{id} brings {hit}");
        }
    }
}

#[tokio::test]
async fn the_corpus_is_large_enough_for_bm25() {
    let server = healthy().await;
    let (status, health) = server.health("health").await;
    assert_eq!((status, &health["status"]), (StatusCode::OK, &json!("ok")));
    assert!(health["chunks"].as_u64().unwrap() >= 150, "{health}");
    let listed = server.call(MODERN, "list_sources", json!({})).await["structuredContent"]["data"].clone();
    assert_eq!(listed["total"], DOCUMENTATION.len());
    assert_eq!(listed["total_chunks"], health["chunks"]);
    assert!(chrono::DateTime::parse_from_rfc3339(listed["last_indexed"].as_str().unwrap()).is_ok());
}

#[tokio::test]
async fn a_wrong_query_model_loses_meaning_and_nothing_else() {
    let server = broken(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel)).await;
    // The reranker reads words and concepts, whatever the vectors say: it may rescue one that reached it.
    assert!(server.lost("meaning").await.len() + 1 >= canaries("meaning").len());
    assert!(server.lost("keyword").await.is_empty());
    assert!(server.lost("mixed").await.is_empty());
    assert_eq!(server.health("ready").await.0, StatusCode::OK, "every part works");
    assert_eq!(server.health("health").await.1["reason"], "wrong_results", "and its own canary is far from itself");
    server.running.faults().off(Fault::WrongQueryModel);
    assert!(server.lost("meaning").await.is_empty());
}

/// Faults of one arm, and the canaries each loses.
async fn check_arm(says: &str, fault: Fault, keyword: &[&str], meaning: &[&str]) {
    let server = broken(fault, Dose::of(fault)).await;
    assert_eq!(server.lost("keyword").await, keyword, "{says}");
    assert_eq!(server.lost("meaning").await, meaning, "{says}");
}

#[tokio::test]
async fn an_arm_that_is_off_shows() {
    let meaning = canaries("meaning");
    check_arm("without vectors, meaning is lost", Fault::VectorArmOff, &[], &meaning).await;
    check_arm("with zero vectors too", Fault::VectorsZeroed, &[], &meaning).await;
    check_arm("unreachable vectors are no better", Fault::VectorsUnreachable, &[], &meaning).await;
    check_arm("a steep constant harms nothing here", Fault::RrfSteep, &[], &[]).await;
    check_arm("nor do moved scores", Fault::ScoresOffset, &[], &[]).await;
    check_arm("a truncated corpus loses all", Fault::CorpusTruncated, &canaries("keyword"), &meaning).await;

    let server = broken(Fault::KeywordArmOff, Dose::of(Fault::KeywordArmOff)).await;
    assert!(server.lost("meaning").await.is_empty(), "without words, meaning stays");
    let best = server.search("OC-31").await["data"]["results"][0]["fused_score"].as_f64().unwrap();
    assert!((best - 1.0 / 4.0).abs() < 1e-6, "and the best fused score is that of one arm");
}

#[tokio::test]
async fn a_folder_is_a_corpus_and_a_file_is_an_index() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/a.md"), "# A\nThe quagga-17 valve.").unwrap();
    std::fs::write(folder.path().join("b.txt"), b"broken \xff text about okapi-18").unwrap();
    std::fs::write(folder.path().join("c.bin"), "no").unwrap();
    std::fs::write(folder.path().join(".d.md"), "The hidden quagga-17.").unwrap();
    let options = LabOptions {
        corpus: Corpus::Folder(folder.path().to_owned()),
        database: Some(folder.path().join("index.db")),
        ..LabOptions::default()
    };
    let first = server(options.clone()).await;
    let found = sources(&first.search("quagga-17").await);
    assert!(found[0] == "sub/a.md" && found.iter().all(|source| source != ".d.md"), "{found:?}");
    assert_eq!(sources(&first.search("okapi-18").await)[0], "b.txt");
    first.running.stop().await;
    let second = server(LabOptions { corpus: Corpus::Empty, ..options }).await;
    assert_eq!(sources(&second.search("quagga-17").await)[0], "sub/a.md", "the file remembers");
}
