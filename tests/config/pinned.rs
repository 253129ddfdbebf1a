//! monitors.lock beside the file: what is pinned, what is a fault with its place, and what only a warning.

use std::path::Path;

use serin::config::Loaded;
use serin::config::check::checker::Unset;
use serin::config::check::definition::asked;
use serin::config::load;
use serin::config::read::diagnostic::PlacedDiagnostic;
use serin::config::read::source::{SourceReader, read};
use serin::domain::pinned::{Pinned, PinnedScore, Relation};
use tempfile::TempDir;

use crate::secrets;

const FILE: &str = "version: 1\nmonitors:\n  - id: docs\n    url: https://docs.example.org/mcp\n    canaries: [{ id: a, query: how, expect: [a.md] }]\n  - { id: wiki, url: \"https://wiki.example.org/mcp\" }\n";
const TOOL: &str = "    tools:\n      search: |-\n        {\n          \"name\": \"search\",\n          \"description\": \"Finds.\"\n        }\n";

/// What stands for how the one canary of [`FILE`] is asked.
fn asked_now() -> String {
    let bare = folder(FILE, None);
    let fleet = loaded(&bare).fleet;
    asked(&fleet.monitors[0].search, &fleet.monitors[0].canaries[0])
}

/// The entry of `docs`, whole, with what a row puts in place of a part of it.
fn lock(from: &str, to: &str) -> String {
    let asked = asked_now();
    let whole = format!(
        "version: 1\nmonitors:\n  docs:\n    runs: 20\n    answered: from the index\n    \
         server: {{ name: \"reference\", version: \"1\" }}\n    scale: {{ lowest: 0.1, highest: 0.9 }}\n    \
         sources: 412\n    relations: [nonce, same_twice]\n    canaries:\n      a:\n        asked: {asked}\n        \
         results: {{ fewest: 4, most: 5 }}\n        lists:\n          - [a.md, b.md]\n          - [b.md, a.md]\n        \
         top_score: {{ median: 0.5, mad: 0 }}\n        chars: 400\n        sorted: true\n    instructions: [\"Ask.\", \"Read.\"]\n{TOOL}"
    );
    assert!(whole.contains(from), "{from} is none of its parts");
    whole.replacen(from, to, 1)
}

fn folder(file: &str, lock: Option<&str>) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("monitors.yaml"), file).expect("written");
    if let Some(lock) = lock {
        std::fs::write(folder.path().join("monitors.lock"), lock).expect("written");
    }
    folder
}

fn loaded(folder: &TempDir) -> Loaded {
    let source = read(&folder.path().join("monitors.yaml")).expect("it can be read");
    load(&source, &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"))
}

fn pinned(lock: &str) -> (Option<Pinned>, Vec<String>) {
    let loaded = loaded(&folder(FILE, Some(lock)));
    assert_eq!(loaded.fleet.monitors[1].pinned, None, "of the other nothing is pinned");
    (loaded.fleet.monitors[0].pinned.as_deref().cloned(), about_the_lock(&loaded))
}

/// The warnings that a lock is the place of.
fn about_the_lock(loaded: &Loaded) -> Vec<String> {
    loaded.warnings.iter().filter(|warning| warning.contains("monitors.lock:")).cloned().collect()
}

#[test]
fn what_is_pinned_stands_beside_the_file() {
    let (found, warnings) = pinned(&lock("", ""));
    let found = found.expect("it is pinned");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(found.place, ("monitors.lock".to_owned(), 3), "file and line of its block");
    assert_eq!((found.runs, found.reached_index), (20, true));
    assert_eq!(found.server, Some(("reference".to_owned(), "1".to_owned())));
    assert!(found.scale.is_some_and(|(low, high)| (low - 0.1).abs() < 1e-4 && (high - 0.9).abs() < 1e-3));
    assert_eq!(found.sources, Some(412));
    assert_eq!(found.relations, [Relation::SameTwice, Relation::Nonce], "in their own order");
    let canary = &found.canaries["a"];
    let fleet = loaded(&folder(FILE, None)).fleet;
    assert_eq!(canary.definition_hash, fleet.monitors[0].canaries[0].definition_hash);
    assert_eq!(canary.lists, [["a.md", "b.md"], ["b.md", "a.md"]]);
    assert_eq!(canary.top_score, Some(PinnedScore { median: 0.5, mad: 0.0 }));
    assert_eq!((canary.results, canary.chars, canary.sorted), ((4, 5), Some(400), true));
    let tools = found.tools.expect("and its tools");
    assert_eq!(tools.json, r#"[{"description":"Finds.","name":"search"}]"#, "canonical, whatever its order");
    assert_eq!(tools.server_instructions.as_deref(), Some("Ask.\nRead."));
    assert_eq!(
        fleet.monitors[0].definition_hash,
        loaded(&folder(FILE, Some(&lock("", "")))).fleet.monitors[0].definition_hash
    );
}

#[test]
fn of_texts_that_differ_their_length_alone_is_pinned() {
    let lists = "lists:\n          - [a.md, b.md]\n          - [b.md, a.md]";
    let rows = [
        ("text: { shortest: 400, longest: 440 }", Some((400, 440)), true, "another text each time"),
        (
            "lists:\n          - [\"text:ab\"]\n        text: { shortest: 9, longest: 9 }",
            Some((9, 9)),
            false,
            "the same",
        ),
        ("lists:\n          - [\"text:ab\"]", None, false, "the same, in a lock of before lengths were pinned"),
        ("lists:\n          - [\"text:ab\"]\n          - [\"text:cd\"]", None, true, "and another one there"),
    ];
    for (written, text_chars, words_anew, sentence) in rows {
        let (found, warnings) = pinned(&lock(lists, written));
        assert_eq!(warnings, Vec::<String>::new(), "{sentence}");
        let canary = &found.expect("it is pinned").canaries["a"];
        assert!(canary.is_text(), "{sentence}");
        assert_eq!((canary.text_chars, canary.words_anew()), (text_chars, words_anew), "{sentence}");
    }
    let canary = &pinned(&lock("", "")).0.expect("it is pinned").canaries["a"];
    assert!(!canary.is_text() && !canary.words_anew(), "lists are no texts");
}

#[test]
fn its_hash_changes_with_what_is_pinned_and_with_nothing_else() {
    let hash = |lock: &str| pinned(lock).0.expect("it is pinned").hash;
    let first = hash(&lock("", ""));
    for (from, to, is_same, sentence) in [
        ("version: 1\n", "version: 1\n# looked at by two\n\n", true, "a comment"),
        ("runs: 20", "runs: 19", false, "runs"),
        ("from the index", "through a cache", false, "the way"),
        ("[a.md, b.md]", "[a.md, c.md]", false, "a list"),
        ("median: 0.5", "median: 0.75", false, "a score"),
        ("chars: 400", "chars: 400\n        text: { shortest: 1, longest: 2 }", false, "the length of texts"),
        ("Finds.", "Seeks.", false, "a tool"),
        ("\"Read.\"", "\"Obey.\"", false, "instructions"),
    ] {
        assert_eq!(hash(&lock(from, to)) == first, is_same, "{sentence}");
    }
}

#[test]
fn faults_name_their_place_and_the_mend() {
    let again = "run `serin pin` instead of editing the lock";
    let rows = [
        (
            "version: 1",
            "version: 2",
            "monitors.lock:1:10 'version' of a lock is out of its range: '2' => between 1 and 1",
        ),
        ("runs: 20\n    ", "", "monitors.lock:4:5 the entry 'docs' has no 'runs' => how often each canary was asked"),
        ("runs: 20", "run: 20", "monitors.lock:4:5 the entry 'docs' has no key 'run' => did you mean 'runs'?"),
        (
            "from the index",
            "by luck",
            "monitors.lock:5:15 'answered' cannot be 'by luck' => one of: from the index, through a cache",
        ),
        (
            "same_twice",
            "same_thrice",
            "monitors.lock:9:24 a relation cannot be 'same_thrice' => did you mean 'same_twice'?",
        ),
        ("fewest: 4", "fewest: 6", &format!("monitors.lock:13:18 'fewest' is more than 'most' => {again}")),
        (
            "chars: 400",
            "text: { shortest: 9, longest: 8 }",
            &format!("monitors.lock:18:15 'shortest' is more than 'longest' => {again}"),
        ),
        (
            "lists:\n          - [a.md, b.md]\n          - [b.md, a.md]\n        ",
            "",
            "monitors.lock:12:9 the pinned canary 'a' has no 'lists' => the accepted lists of sources",
        ),
        (
            "lists:\n          - [a.md, b.md]\n          - [b.md, a.md]",
            "lists: []",
            "monitors.lock:14:9 the pinned canary 'a' has 0 lists => one to 100, the most frequent first",
        ),
        (
            "\"name\": \"search\"",
            "\"name\": \"find\"",
            "monitors.lock:22:7 the tool 'search' has another name in its JSON => run `serin pin`, or take the block that `serin accept` prints",
        ),
    ];
    for (from, to, expected) in rows {
        let folder = folder(FILE, Some(&lock(from, to)));
        let source = read(&folder.path().join("monitors.yaml")).expect("it can be read");
        let faults = load(&source, &secrets, Unset::Refuse).expect_err(to);
        let line = |fault: &PlacedDiagnostic| {
            let help = fault.help.as_deref().unwrap_or("");
            format!("{}:{}:{} {} => {help}", fault.file, fault.line, fault.column, fault.message)
        };
        let lines: Vec<String> = faults.list().iter().map(line).collect();
        assert!(lines.iter().any(|line| line == expected), "{to}: {lines:#?}");
        assert!(load(&source.without_locks(), &secrets, Unset::Refuse).is_ok(), "without it the file is right");
    }
}

#[test]
fn both_files_are_refused_at_once() {
    let folder = folder(&FILE.replace("url: https", "uri: https"), Some(&lock("runs: 20", "runs: many")));
    let source = read(&folder.path().join("monitors.yaml")).expect("it can be read");
    let faults = load(&source, &secrets, Unset::Refuse).expect_err("both are wrong");
    let files: Vec<&str> = faults.list().iter().map(|fault| fault.file.as_str()).collect();
    assert!(files.contains(&"monitors.yaml") && files.contains(&"monitors.lock"), "{faults}");
}

#[test]
fn what_runs_ahead_of_the_lock_counts_as_not_pinned() {
    let rows = [
        ("  docs:\n", "  gone:\n", None, "'gone' is pinned, and no file beside this lock declares it"),
        ("      a:\n", "      b:\n", Some(0), "canary 'b' of 'docs' is declared no longer, and counts as not pinned"),
        (
            &*asked_now(),
            "0123456789abcdef",
            Some(0),
            "canary 'a' of 'docs' was pinned by another question or search, and counts as not pinned",
        ),
    ];
    for (from, to, canaries, expected) in rows {
        let (found, warnings) = pinned(&lock(from, to));
        assert_eq!(found.map(|found| found.canaries.len()), canaries, "{to}");
        assert!(warnings.len() == 1 && warnings[0].contains(expected), "{to}: {warnings:?}");
    }
    assert_eq!(pinned("").0, None, "an empty lock pins nothing");
    let other = FILE.replace("    canaries", "    search: { arguments: { top_k: 3 } }\n    canaries");
    let warnings = about_the_lock(&loaded(&folder(&other, Some(&lock("", "")))));
    assert!(warnings.iter().any(|warning| warning.contains("another question or search")), "{warnings:?}");
}

#[test]
fn a_lock_stands_beside_the_file_that_declares_the_monitor() {
    let first = "version: 1\ninclude: [team/*.yaml]\nmonitors: [{ id: own, url: \"https://own.example.org/\" }]\n";
    let folder = folder(first, Some("version: 1\nmonitors: { docs: { runs: 1, answered: from the index } }\n"));
    let team = folder.path().join("team");
    std::fs::create_dir(&team).expect("a folder");
    std::fs::write(team.join("docs.yaml"), "monitors: [{ id: docs, url: \"https://docs.example.org/\" }]\n")
        .expect("written");
    let found = loaded(&folder);
    assert!(found.fleet.monitors.iter().all(|monitor| monitor.pinned.is_none()), "it is another file's");
    assert_eq!(about_the_lock(&found).len(), 1, "{:?}", found.warnings);
    std::fs::rename(folder.path().join("monitors.lock"), team.join("monitors.lock")).expect("moved");
    let found = loaded(&folder);
    let docs = found.fleet.monitors.iter().find(|monitor| monitor.id.as_str() == "docs").expect("it is declared");
    let place = docs.pinned.as_ref().map(|pinned| pinned.place.clone());
    assert_eq!(place, Some(("team/monitors.lock".to_owned(), 2)), "as people open it");
}

#[test]
fn a_lock_that_comes_changes_or_goes_is_another_content() {
    let folder = folder(FILE, None);
    let path = folder.path().join("monitors.yaml");
    let hash = |path: &Path| SourceReader::new(path).read().expect("it can be read").hash;
    let bare = hash(&path);
    let mut seen = vec![bare.clone()];
    for text in [lock("", ""), lock("runs: 20", "runs: 21")] {
        std::fs::write(path.with_file_name("monitors.lock"), text).expect("written");
        seen.push(hash(&path));
    }
    seen.dedup();
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(read(&path).expect("it can be read").without_locks().hash, bare);
}
