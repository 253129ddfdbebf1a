//! An answer cache, on as shipped: what is broken behind it is seen, and what it does wrong itself is told as that.

use std::path::Path;

use serin_reference::index::corpus::Corpus;
use serin_reference::index::documentation::SOURCES;
use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::options::LabOptions;
use serin_reference::lab::server::{self, LabServer};
use tokio_util::sync::CancellationToken;

use crate::stage::{Expected, Stage, crypto, evidence, reference};

/// Canaries of each arm, all of them asked on each beat.
const CANARIES: &str = "
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }
      - { id: lapse, query: when does my passphrase lapse, expect: [reference/tokens.md], kind: meaning }
      - { id: cheap, query: \"is it cheap, how many dollars\", expect: [reference/costs.md], kind: meaning }
      - { id: lies, query: fibs and fiction, expect: [reference/canaries.md], kind: meaning }
";

/// A monitor that goes past the cache, and one that leaves it alone.
fn both(name: &str, url: &str) -> String {
    let monitor = |id: &str, fresh: &str| {
        format!(
            "  - id: {id}\n    url: {url}\n    search: {{ arguments: {{ top_k: 5 }}, per_beat: 5{fresh} }}\n    canaries:{CANARIES}"
        )
    };
    format!("{}{}", monitor(name, ""), monitor(&format!("{name}-cached"), ", fresh: off"))
}

/// A reference server that remembers its answers: of the documentation that it has by itself it keeps none.
async fn remembering(documents: &Path) -> LabServer {
    crypto();
    let options = LabOptions { corpus: Corpus::Folder(documents.to_owned()), ..LabOptions::default() };
    server::serve(options, CancellationToken::new()).await.unwrap()
}

/// Writes the documentation into a folder, but for one source.
fn write_documents(folder: &Path, without: &str) {
    for (source, text) in SOURCES.iter().filter(|(source, _)| *source != without) {
        let file = folder.join(source);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_behind_a_cache_is_seen_past_it() {
    let rows = [
        ("vectors", Fault::VectorArmOff, "vector_arm_down"),
        ("zeroes", Fault::VectorsZeroed, "vector_arm_down"),
        ("truncated", Fault::CorpusTruncated, "empty_results"),
        ("empty", Fault::EmptyResults, "empty_results"),
    ];
    let documents = tempfile::tempdir().unwrap();
    write_documents(documents.path(), "");
    let mut servers = Vec::new();
    for (name, ..) in rows {
        servers.push((name, remembering(documents.path()).await));
    }
    let monitors: String = servers.iter().map(|(name, server)| both(name, &server.mcp_url())).collect();
    let stage = Stage::start(&monitors).await;
    for (name, ..) in rows {
        stage.well(name).await;
        let is_right = |canary: &serde_json::Value| canary["verdict"] == "right";
        let remembers =
            |body: &serde_json::Value| body["canaries"].as_array().is_some_and(|all| all.iter().all(is_right));
        stage.until("the cache remembers", &format!("{name}-cached"), remembers).await;
    }
    for ((_, fault, _), (_, server)) in rows.iter().zip(&servers) {
        server.faults().on(*fault, Dose::of(*fault));
    }
    for (name, fault, reason) in rows {
        let wrong = Expected { monitor: name, signal: "quality", reason, severity: "page", stage: "search" };
        stage.opened(fault.name(), wrong).await;
        let cached = stage.told(&format!("{name}-cached"));
        assert!(cached.is_empty(), "{name}: plainly asked, the cache still answers: {cached:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_mixes_questions_up_is_named() {
    let server = reference().await;
    let stage = Stage::start(&format!(
        "  - id: mixed-up\n    url: {}\n    search: {{ arguments: {{ top_k: 5 }}, per_beat: 5 }}\n    canaries:{CANARIES}",
        server.mcp_url()
    ))
    .await;
    stage.well("mixed-up").await;
    let dose = Dose::of(Fault::CacheFalseHit).amount(0.0);
    server.faults().on(Fault::CacheFalseHit, dose);
    let hit = Expected {
        monitor: "mixed-up",
        signal: "quality",
        reason: "cache_false_hit",
        severity: "page",
        stage: "search",
    };
    let opened = stage.opened("one answer for all", hit).await;
    assert!(opened.summary.contains("another question's results"), "{opened:#?}");
    assert!(evidence(&opened, "wrong").parse::<u32>().unwrap() >= 1, "{opened:#?}");
    assert_eq!(opened.reproduce.as_deref(), Some("serin probe mixed-up --plain"), "past the cache all is well");
    server.faults().all_off();
    stage.resolved("one answer for all", &opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_takes_one_question_for_its_near_miss_is_told_where_both_stay_right() {
    let server = reference().await;
    let either = "expect: [reference/fusion.md, reference/tokens.md]";
    let url = server.mcp_url();
    let stage = Stage::start(&format!(
        "  - id: alike\n    url: {url}\n    search: {{ arguments: {{ top_k: 5 }}, per_beat: 2 }}\n    canaries:\n      \
         - {{ id: authors, query: Cormack Büttcher, {either}, pair: lapse }}\n      \
         - {{ id: lapse, query: when does my passphrase lapse, {either} }}\n"
    ))
    .await;
    stage.well("alike").await;
    server.faults().on(Fault::CacheFalseHit, Dose::of(Fault::CacheFalseHit).amount(0.0));
    let mixed_up = Expected {
        monitor: "alike",
        signal: "quality",
        reason: "cache_false_hit",
        severity: "ticket",
        stage: "search",
    };
    let opened = stage.opened("one list for both", mixed_up).await;
    assert_eq!(evidence(&opened, "pair"), "authors lapse", "{opened:#?}");
    assert_eq!(evidence(&opened, "one"), evidence(&opened, "other"), "{opened:#?}");
    server.faults().all_off();
    stage.resolved("one list for both", &opened).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_whose_source_was_taken_out_is_a_notice() {
    let gone = "reference/fusion.md";
    let [before, after] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    write_documents(before.path(), "");
    write_documents(after.path(), gone);
    let server = remembering(before.path()).await;
    let (url, listen) = (server.mcp_url(), server.address);
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {url}\n    search: {{ arguments: {{ top_k: 5 }}, per_beat: 5 }}\n    \
         rules: {{ freshness: {{ older_than: 72h, shrinks: {{ by: 20% }} }} }}\n    canaries:{CANARIES}"
    ))
    .await;
    stage.well("docs").await;
    server.stop().await;
    // Somebody indexes the folder anew, and starts the server again.
    let options = LabOptions { corpus: Corpus::Folder(after.path().to_owned()), listen, ..LabOptions::default() };
    let _server = server::serve(options, CancellationToken::new()).await.unwrap();
    let wrong =
        Expected { monitor: "docs", signal: "quality", reason: "canary_stale", severity: "notice", stage: "search" };
    let opened = stage.opened("a source was taken out", wrong).await;
    assert!(evidence(&opened, "canary.authors").contains("wrong_results"), "{opened:#?}");
}
