//! Sentences out of a server's own answers are asked back: an index is seen behind a cache that nothing passes, and nobody
//! reads them anywhere.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::small_server;
use crate::stage::{Stage, signal};

/// Notes that the server holds.
const NOTES: usize = 40;
/// Longer than what is kept of a result's beginning, so that nobody finds a sentence there.
const PREAMBLE_BYTES: usize = 1_000;

#[derive(Debug, Default)]
struct Memory {
    /// What was answered, by the very question.
    remembered: HashMap<String, Value>,
    /// Every question, in order, with what the answer was headed by.
    asked: Vec<String>,
}

fn source(nth: usize) -> String {
    format!("notes/{nth}.md")
}

/// Two words that no other note holds.
fn sentence(nth: usize) -> String {
    format!("The glimmer{nth}x is oiled by a quartz{nth}y in spring")
}

/// Finds the note whose own word or number the question holds, and those after it; remembers each answer, and says so.
fn found(memory: &mut Memory, question: &str) -> Value {
    memory.asked.push(question.to_owned());
    if let Some(known) = memory.remembered.get(question) {
        let mut known = known.clone();
        known["structuredContent"]["cache"] = json!({"hit": true});
        return known;
    }
    let words: BTreeSet<&str> = question.split(' ').collect();
    let holds = |nth: &usize| [format!("glimmer{nth}x"), nth.to_string()].iter().any(|word| words.contains(&**word));
    let first = (0..NOTES).find(holds).unwrap_or_default();
    let results: Vec<Value> = (0..5)
        .map(|step| (first + step) % NOTES)
        .map(|nth| {
            let preamble = "A note about devices. ".repeat(PREAMBLE_BYTES / 22 + 1);
            json!({"source": source(nth), "content": format!("{preamble}{}.", sentence(nth)), "score": 0.9})
        })
        .collect();
    let told = json!({ "results": results, "cache": {"hit": false} });
    let answer = json!({"content": [], "structuredContent": told});
    memory.remembered.insert(question.to_owned(), answer.clone());
    answer
}

async fn start() -> (String, Arc<Mutex<Memory>>) {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let shared = Arc::clone(&memory);
    let answered = move |question: String| std::future::ready(found(&mut shared.lock(), &question));
    (small_server::serve(answered).await, memory)
}

/// Every byte of every file in a folder.
fn all_files(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        bytes.extend(if path.is_dir() { all_files(&path) } else { std::fs::read(&path).unwrap_or_default() });
    }
    bytes
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_by_its_own_words_which_nobody_else_gets_to_see() {
    let (url, memory) = start().await;
    let canaries = [3, 8, 13, 18].map(|nth| {
        format!("      - {{ id: note-{nth}, query: which note is number {nth}, expect: [notes/{nth}.md] }}\n")
    });
    let canaries = canaries.concat();
    let monitors = format!(
        "  - id: notes\n    url: {url}\n    every: 1s\n    timeout: 900ms\n    probe_budget: 1s\n    \
         search: {{ arguments: {{}}, per_beat: 4, harvest: true }}\n    canaries:\n{canaries}"
    );
    let stage = Stage::start(&monitors).await;
    stage.until("it is up", "notes", |body| body["state"] == "up").await;
    let asked = |memory: &Mutex<Memory>| -> Vec<String> {
        memory.lock().asked.iter().filter(|asked| asked.contains("glimmer")).cloned().collect()
    };
    let three = |body: &Value| {
        let kinds = body["canary_watch"]["kinds"].as_array().into_iter().flatten();
        let mut harvested = kinds.filter(|kind| kind["kind"] == "harvested");
        harvested.any(|kind| kind["right"] == 3 && kind["asked"] == 3)
    };
    let body = stage.until("three sentences found their notes", "notes", three).await;
    let sentences: BTreeSet<String> = (0..NOTES).map(sentence).collect();
    let harvested = asked(&memory);
    assert!(harvested.iter().all(|asked| sentences.contains(asked)), "word by word: {harvested:?}");
    assert_eq!(harvested.iter().collect::<BTreeSet<_>>().len(), harvested.len(), "each once: {harvested:?}");
    assert_eq!(signal(&body, "quality")["level"], "calm", "the index was seen");

    let metrics = stage.page("/metrics").await;
    let counted = metrics.lines().find(|line| line.contains("kind=\"harvested\"") && line.contains("\"right\""));
    assert!(counted.is_some_and(|line| !line.ends_with(" 0")), "{metrics}");
    let page = stage.page("/monitors/notes").await;
    assert!(page.contains("harvested"), "{page}");
    let pages = ["/", "/api/v1/monitors", "/api/v1/monitors/notes", "/api/v1/monitors/notes/canaries"];
    let mut shown = vec![page, metrics];
    for path in pages {
        shown.push(stage.page(path).await);
    }
    stage.signal("TERM");
    let mut stage = stage;
    stage.ended().await;
    let kept = [all_files(stage.folder()), stage.stored().await].concat();
    // What is looked through does hold what is kept.
    assert!(holds(&kept, "notes/3.md") && holds(&kept, "(harvested)"), "lists, and that one was asked");
    for word in ["glimmer", "quartz"] {
        assert!(!holds(&kept, word), "{word} stands in a file");
        assert!(shown.iter().all(|page| !page.contains(word)), "{word} stands on a page");
        let told: Vec<_> = stage.told("notes").iter().map(|message| format!("{message:?}")).collect();
        assert!(told.iter().all(|message| !message.contains(word)), "{told:?}");
    }
}
