//! A server that remembers its answers and takes no argument against it: by what its index is seen all the same.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::small_server;
use crate::stage::{Expected, Stage};

/// Each source by the words that find it.
const NOTES: [(&str, &[&str]); 3] =
    [("boilers.md", &["boiler", "furnace"]), ("bees.md", &["bees", "hive"]), ("quay.md", &["quay", "mooring"])];
const CANARIES: &str = "
      - { id: boilers, query: how often is the boiler checked, expect: [boilers.md] }
      - { id: bees, query: when do bees swarm, expect: [bees.md] }
      - { id: quay, query: what does the quay cost, expect: [quay.md] }
";

#[derive(Debug, Default)]
struct Memory {
    /// What was answered, by the very question.
    remembered: HashMap<String, Value>,
    /// Every question, in order.
    asked: Vec<String>,
    /// Whether the index behind it finds another source for everything.
    is_broken: bool,
}

/// A search with a cache by exact text before it.
#[derive(Debug)]
struct Remembering {
    url: String,
    memory: Arc<Mutex<Memory>>,
}

impl Remembering {
    async fn start() -> Self {
        let memory = Arc::new(Mutex::new(Memory::default()));
        let shared = Arc::clone(&memory);
        let answered = move |question: String| std::future::ready(found(&mut shared.lock(), &question));
        let url = small_server::serve(answered).await;
        Self { url, memory }
    }

    fn breaks(&self) {
        self.memory.lock().is_broken = true;
    }

    fn asked(&self) -> Vec<String> {
        self.memory.lock().asked.clone()
    }
}

fn found(memory: &mut Memory, question: &str) -> Value {
    memory.asked.push(question.to_owned());
    if let Some(known) = memory.remembered.get(question) {
        return known.clone();
    }
    let words = question.to_lowercase();
    let fits = |(_, known): &(&str, &[&str])| known.iter().any(|word| words.contains(word));
    let shift = usize::from(memory.is_broken);
    let sources = NOTES.iter().position(fits).map(|nth| NOTES[(nth + shift) % NOTES.len()].0);
    // A word without meaning lowers every score.
    let score = if words.split(' ').next_back().is_some_and(is_nonce) { 0.7 } else { 0.8 };
    let result = |source: &str| json!({"source": source, "content": format!("What {source} holds."), "score": score});
    let results: Vec<Value> = sources.into_iter().map(result).collect();
    let told = json!({ "results": results });
    let answer = json!({"content": [{"type": "text", "text": told.to_string()}], "structuredContent": told});
    memory.remembered.insert(question.to_owned(), answer.clone());
    answer
}

fn is_nonce(word: &str) -> bool {
    word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_that_changes_nothing_takes_questions_past_a_cache() {
    let server = Remembering::start().await;
    let monitor = |id: &str, fresh: &str| {
        format!(
            "  - id: {id}\n    url: {}\n    search: {{ arguments: {{}}, per_beat: 3{fresh} }}\n    canaries:{CANARIES}",
            server.url
        )
    };
    let stage = Stage::start(&format!("{}{}", monitor("notes", ""), monitor("cached", ", fresh: off"))).await;
    stage.well("notes").await;
    stage.well("cached").await;
    let config = stage.path("monitors.yaml").display().to_string();
    let (code, said) = stage.runs(&["pin", "--runs", "3", "--config", &config]).await;
    assert_eq!(code, Some(0), "{said}");
    let held = said.lines().filter(|line| line.contains("relations: same_twice")).collect::<Vec<_>>();
    let has_nonce: Vec<bool> = held.iter().map(|line| line.contains("nonce")).collect();
    assert_eq!(has_nonce, [true, false], "of a server whose caches are left alone none is looked for: {said}");
    let lock = std::fs::read_to_string(stage.path("monitors.lock")).unwrap();
    let medians = |score: &str| lock.matches(&format!("top_score: {{ median: {score}, mad: 0 }}")).count();
    assert_eq!((medians("0.7"), medians("0.8")), (3, 3), "each is pinned as it is asked from then on: {lock}");
    let (code, said) = stage.runs(&["pin", "notes", "--check", "--config", &config]).await;
    assert!(code == Some(0) && said.contains("notes: as pinned"), "{said}");
    let (_, said) = stage.runs(&["canary", "lint", "notes", "--config", &config]).await;
    assert!(said.contains("past caches by a nonce"), "{said}");
    let (_, said) = stage.runs(&["check", "--config", &config]).await;
    assert!(
        said.contains("notes: past caches by an argument that is known, where the tool has one; else a nonce"),
        "{said}"
    );
    stage.look_again();
    let locked = |body: &Value| body["accepted"]["by"] == "monitors.lock";
    stage.until("the lock is in force", "notes/tools", locked).await;
    let before = server.asked().len();

    server.breaks();
    let wrong =
        Expected { monitor: "notes", signal: "quality", reason: "wrong_results", severity: "page", stage: "search" };
    stage.opened("the index behind the cache is broken", wrong).await;
    assert!(stage.told("cached").is_empty(), "plainly asked, the cache still answers");
    let later = server.asked().split_off(before);
    // Not what is asked now and then in other spelling: without a nonce, where caches are left alone, and so the same again.
    let mut with_nonce: Vec<&String> =
        later.iter().filter(|asked| asked.rsplit(' ').next().is_some_and(is_nonce)).collect();
    assert!(with_nonce.len() >= 9, "three canaries, three times each: {later:?}");
    let all = with_nonce.len();
    with_nonce.sort();
    with_nonce.dedup();
    assert_eq!(with_nonce.len(), all, "no nonce comes again: {later:?}");
}

/// A question in words that nobody asked yet, each with its source.
fn in_other_words(word: &str) -> String {
    let wordings =
        ["tell me of the", "what about the", "and the", "is there a", "whose is the", "where is the", "why the", "old"];
    wordings.map(|words| format!("{words} {word}")).join(", ")
}

#[tokio::test(flavor = "multi_thread")]
async fn other_words_reach_an_index_that_nothing_else_does() {
    let server = Remembering::start().await;
    let monitor = |id: &str, also: &dyn Fn(&str) -> String| {
        format!(
            "  - id: {id}\n    url: {}\n    search: {{ arguments: {{}}, per_beat: 2 }}\n    canaries:\n      \
             - {{ id: boilers, query: how often is the boiler checked, expect: [boilers.md]{} }}\n      \
             - {{ id: bees, query: when do bees swarm, expect: [bees.md]{} }}\n",
            server.url,
            also("furnace"),
            also("hive"),
        )
    };
    let words = |word: &str| format!(", also: [{}]", in_other_words(word));
    let stage = Stage::start(&format!("{}{}", monitor("notes", &words), monitor("plain", &|_| String::new()))).await;
    stage.well("notes").await;
    stage.well("plain").await;
    let before = server.asked().len();
    server.breaks();
    let wrong =
        Expected { monitor: "notes", signal: "quality", reason: "wrong_results", severity: "page", stage: "search" };
    let opened = stage.opened("the index behind the cache is broken", wrong).await;
    assert!(format!("{:?}", opened.evidence).contains("in other words"), "{opened:#?}");
    assert_eq!(opened.reproduce.as_deref(), Some("serin canary lint notes"), "a probe asks the question alone");
    assert!(stage.told("plain").is_empty(), "the question itself is answered by the cache");
    let asked = server.asked();
    let reworded =
        |asked: &[String], word: &str| asked.iter().filter(|asked| asked.ends_with(word)).cloned().collect::<Vec<_>>();
    for word in ["furnace", "hive"] {
        let (all, later) = (reworded(&asked, word), reworded(&asked[before..], word));
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert!(all.len() > 8 || distinct.len() == all.len(), "each once, as far as there are any: {later:?}");
    }

    let other = Remembering::start().await;
    let config = std::fs::read_to_string(stage.path("monitors.yaml")).unwrap();
    let doubtful = config.replace(&server.url, &other.url).replace("and the hive", "who knows");
    stage.beside("doubtful.yaml", &doubtful);
    let (code, said) = stage.runs(&["canary", "lint", "notes", "doubtful.yaml"]).await;
    assert!(code == Some(1) && said.contains("“who knows”: empty_results"), "{said}");
    assert_eq!(other.asked().len(), 2 * 9, "the question, and each of its other words");
}
