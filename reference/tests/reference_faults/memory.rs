//! Remembered answers: for whom they are, until when, and what faults make of that.

use serde_json::{Value, json};

use crate::server::{BOILER, NOTES, Server, knowing, outcome, results, seen};

/// What happens between two questions.
enum Meanwhile {
    Nothing,
    Indexed(&'static str, &'static str),
    Crashed,
    Switched(Value),
}

impl Server {
    async fn pass(&self, meanwhile: &Meanwhile) {
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Indexed(source, text) => drop(self.index(source, text).await),
            Meanwhile::Crashed => self.crash().await,
            Meanwhile::Switched(faults) => self.switch(faults).await,
        }
    }

    /// Whether a question is answered from memory.
    async fn memory(&self, arguments: &Value) -> &'static str {
        let answer = self.call("search_documents", arguments.clone()).await;
        let note = &answer["data"]["cache"];
        if note["kind"] != "answer" {
            return "new";
        }
        assert!(note["hit"] == true && note["age_seconds"].is_u64(), "{note}");
        "same"
    }
}

/// A question about the boiler only, so that its answer touches one source.
fn of(query: &str) -> Value {
    json!({"query": query, "source": "notes/boiler.md"})
}

fn with(name: &str, value: Value) -> Value {
    let mut arguments = of(BOILER);
    arguments[name] = value;
    arguments
}

/// Two questions to a healthy server, and where the answer to the second comes from.
async fn check_memory(says: &str, volatility: &str, first: &Value, meanwhile: Meanwhile, second: &Value, from: &str) {
    let server = knowing(volatility, &json!({})).await;
    assert_eq!(server.memory(first).await, "new", "{says}: nobody asked before");
    server.pass(&meanwhile).await;
    assert_eq!(server.memory(second).await, from, "{says}");
}

#[tokio::test]
async fn an_answer_is_remembered_for_those_who_ask_the_same() {
    use Meanwhile::{Crashed, Indexed, Nothing, Switched};
    let boiler = of(BOILER);
    check_memory("the very words", "normal", &boiler, Nothing, &boiler, "same").await;
    check_memory("also after a restart", "stable", &boiler, Crashed, &boiler, "same").await;
    check_memory("asked afresh", "normal", &boiler, Nothing, &with("cache", json!("bypass")), "new").await;
    check_memory("the same meaning", "normal", &boiler, Nothing, &of("when exactly is the boiler drained"), "new")
        .await;
    check_memory("another meaning", "normal", &boiler, Nothing, &of("with what is the boiler fired"), "new").await;
    check_memory("a number", "normal", &boiler, Nothing, &of("when is the boiler 2 drained"), "new").await;
    let two = of("when is the boiler 2 drained");
    check_memory("another number", "normal", &two, Nothing, &of("when is the boiler 3 drained"), "new").await;
    let named = of("when is MILL-17 of the boiler drained");
    check_memory("another name", "normal", &named, Nothing, &of("when is MILL-18 of the boiler drained"), "new").await;
    check_memory("the opposite", "normal", &boiler, Nothing, &of("when is the boiler not drained"), "new").await;
    check_memory("more hits", "normal", &boiler, Nothing, &with("top_k", json!(6)), "new").await;
    check_memory("other sources", "normal", &boiler, Nothing, &with("source", json!("notes/")), "new").await;
    check_memory("another day", "normal", &boiler, Nothing, &with("since", json!("2026-01-02")), "new").await;
    check_memory("another bar", "normal", &boiler, Nothing, &with("min_score", json!(0.1)), "new").await;
    check_memory("another budget is the same", "normal", &boiler, Nothing, &with("budget_tokens", json!(100)), "same")
        .await;
    let other = Switched(json!({"wrong_query_model": true}));
    check_memory("another model", "normal", &boiler, other, &boiler, "new").await;
    check_memory("what changes all the time", "live", &boiler, Nothing, &boiler, "new").await;
    let again = Indexed("notes/boiler.md", "# Boiler\n\nThe boiler is drained every 7 days.");
    check_memory("its source is indexed anew", "normal", &boiler, again, &boiler, "new").await;
    let pump = Indexed("notes/pump.md", "# Pump\n\nThe pump is gone.");
    check_memory("another source is", "normal", &boiler, pump, &boiler, "same").await;
    let new = Indexed("notes/kiln.md", "# Kiln\n\nThe kiln is new.");
    check_memory("a source is new", "normal", &boiler, new, &boiler, "new").await;
}

/// Two questions with faults of the memory, from the start or switched on, and without: only with
/// them does the first one's answer come.
async fn check_forgery(says: &str, faults: Value, first: &str, meanwhile: Meanwhile, second: &str) {
    for (when, from_start, switched, falsely) in [
        ("without", json!({}), json!({}), false),
        ("from the start", faults.clone(), json!({}), true),
        ("switched on", json!({}), faults, true),
    ] {
        let server = knowing("normal", &from_start).await;
        server.switch(&switched).await;
        let remembered = results(&server.call("search_documents", of(first)).await);
        server.pass(&meanwhile).await;
        let answer = server.call("search_documents", of(second)).await;
        let from_memory = answer["data"]["cache"]["kind"] == "answer";
        assert_eq!(from_memory, falsely, "{says}, {when}: {answer}");
        assert!(!falsely || results(&answer) == remembered, "{says}, {when}: {answer}");
    }
}

#[tokio::test]
async fn a_broken_memory_gives_the_wrong_answer() {
    let again = Meanwhile::Indexed("notes/boiler.md", "# Boiler\n\nThe boiler is drained every 7 days.");
    check_forgery("the old text", json!({"cache_stale": true}), BOILER, again, BOILER).await;
    let new = Meanwhile::Indexed("notes/boiler.md.new", "# Boiler\n\nThe boiler is never drained.");
    check_forgery("without what is new", json!({"cache_stale": true}), BOILER, new, BOILER).await;
    let near = || json!({"cache_false_hit": true});
    let guard_only = || json!({"cache_false_hit": 0.92});
    let (two, three) = (
        "when is the old boiler 2 by the river drained and swept by the crew",
        "when is the old boiler 3 by the river drained and swept by the crew",
    );
    check_forgery("a number alone", guard_only(), two, Meanwhile::Nothing, three).await;
    let named = "how is MILL_A by the old river bridge greased and swept by the crew in spring";
    let other = "how is MILL_B by the old river bridge greased and swept by the crew in spring";
    check_forgery("a name alone", guard_only(), named, Meanwhile::Nothing, other).await;
    check_forgery("a negation alone", guard_only(), BOILER, Meanwhile::Nothing, "when is the boiler not drained").await;
    check_forgery("another number's", near(), two, Meanwhile::Nothing, three).await;
    check_forgery("the opposite's", near(), BOILER, Meanwhile::Nothing, "when is the boiler not drained").await;
    let other = Meanwhile::Switched(json!({"wrong_query_model": true}));
    check_forgery("another model's", json!({"cache_without_model": true}), BOILER, other, BOILER).await;
}

#[tokio::test]
async fn a_mended_memory_gives_no_false_answer() {
    let server = knowing("normal", &json!({"cache_false_hit": true})).await;
    assert_eq!(server.memory(&of("when is the boiler not drained")).await, "new");
    server.mend().await;
    assert_eq!(server.memory(&of(BOILER)).await, "new", "an opposite that was remembered meanwhile");

    // Of the questions a half is embedded with another model: which one a question has is settled, so
    // that neither memory, of vectors and of answers, ever holds what the other model made.
    let server = knowing("live", &json!({})).await;
    let ask_all = async || {
        let mut answers = Vec::new();
        for (_, _, text) in NOTES {
            let query: String = text.chars().skip(2).take(60).filter(|c| *c != '#').collect();
            answers.push(seen(&server.ask(&query).await));
        }
        answers
    };
    let healthy = ask_all().await;
    server.crash().await;
    server.switch(&json!({"wrong_query_model": {"share": 0.5, "seed": 1}})).await;
    for _ in 0..4 {
        assert_ne!(ask_all().await, healthy, "half of them are worse");
    }
    server.mend().await;
    assert_eq!(ask_all().await, healthy, "no vector of the other model stays");
}

#[tokio::test]
async fn a_note_that_is_sent_again_as_another_kind_is_one() {
    let server = knowing("normal", &json!({})).await;
    let (source, _, text) = NOTES[0];
    assert_eq!(server.memory(&of(BOILER)).await, "new");
    let note = json!({"source": source, "text": text, "volatility": "live", "tags": ["heat"], "date": "2026-07-01"});
    server.call("index_document", note).await;
    let hot = json!({"query": BOILER, "tags": ["heat"], "since": "2026-07-01"});
    assert_eq!(outcome(&server.call("search_documents", hot).await), "2 hits");
    for _ in 0..2 {
        assert_eq!(server.memory(&of(BOILER)).await, "new", "a live note is not remembered");
    }
}
