//! Searches with a writer beside them, over a real store and a real server on loopback.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::{Value, json};

use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::index::document::Document;
use crate::index::library::{Library, Parts};
use crate::lab::decorated;
use crate::lab::kinds::{Dose, Fault};
use crate::lab::switches::Faults;
use crate::remote::scripted::{Reply, Scripted};
use crate::remote::settings;
use crate::search::question::{Findings, Question};
use crate::search::retrieval::Retrieval;
use crate::search::settings::SearchSettings;
use crate::search::writer::{Tasks, Writer};
use crate::store::contract::Patience;
use crate::store::sqlite::open::{CONNECTIONS, SqliteStore};
use Reply::{Hang, Json, Made, Plain};

/// Asked with words of the first two documents, and letters of the fourth; the third answers it, in
/// words of its own.
const QUESTION: &str = "why does the kettle whistle";
const MISSED: &str = "valve.md";
const WORDING: &str = "narrow slot valve sings";
const PASSAGE: &str = "Escaping steam makes the valve sing in its narrow slot.";
const DOCUMENTS: [(&str, &str); 8] = [
    ("kettle.md", "The kettle comes with a whistle. Why a whistle: the kettle is loud."),
    ("shop.md", "Our shop has the kettle with a whistle in red."),
    (MISSED, "Escaping steam sets a thin lip vibrating, so the narrow slot of the valve sings."),
    ("music.md", "Whistler painted kettledrums."),
    ("harbour.md", "Ships unload timber at the northern quay."),
    ("orchard.md", "Apples ripen late on the shaded slope."),
    ("printing.md", "Lead letters are set by hand and inked."),
    ("bees.md", "A swarm settles where its queen rests."),
];
/// Candidates and hits: fewer than there are documents, so that not everything is found.
const DEPTH: usize = 3;

const REWRITE: Tasks = Tasks { rewrite: true, hyde: false };
const HYDE: Tasks = Tasks { rewrite: false, hyde: true };
const BOTH: Tasks = Tasks { rewrite: true, hyde: true };

fn says(text: &str) -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": text}}]})
}

fn wording() -> Reply {
    Json(says(&json!([WORDING]).to_string()))
}

fn passage() -> Reply {
    Json(says(PASSAGE))
}

/// Both tasks are asked for at once: whichever comes first gets what it wants.
fn as_asked() -> Reply {
    Made(|body| says(if wants_wording(body) { "[\"narrow slot valve sings\"]" } else { PASSAGE }))
}

fn wording_only() -> Reply {
    Made(|body| says(if wants_wording(body) { "[\"narrow slot valve sings\"]" } else { " " }))
}

fn wants_wording(body: &Value) -> bool {
    body["messages"][0]["content"].as_str().is_some_and(|system| system.contains("JSON array"))
}

/// An index in a folder, to be searched by several in turn.
struct Shelf(tempfile::TempDir);

impl Shelf {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    async fn retrieval(&self, writer: Option<Writer>, faults: &Faults) -> Retrieval {
        let store = SqliteStore::open(&self.0.path().join("index.db")).await.unwrap();
        let built_in = Provider::Hashing(HashingEmbedder::INDEX);
        let parts = decorated::parts(Parts::new(Arc::new(store), built_in), faults, Instant::now());
        let library = Library::open(parts).await.unwrap();
        for (source, text) in DOCUMENTS {
            library.put(&Document::plain(source, "documentation", text), Utc::now()).await.unwrap();
        }
        let writer = writer.map(Arc::new);
        Retrieval::new(library, SearchSettings { over_fetch: DEPTH, writer, ..SearchSettings::default() })
    }
}

fn question() -> Question {
    Question::new(QUESTION, DEPTH)
}

fn sources(findings: &Findings) -> Vec<&str> {
    findings.hits.iter().map(|found| found.chunk.source.as_str()).collect()
}

fn writer(server: &Scripted, tasks: Tasks) -> Writer {
    let settings = settings::RemoteSettings { total_max: Duration::from_millis(500), ..server.settings() };
    Writer::new(settings, "m", tasks).unwrap()
}

async fn search(tasks: Tasks, off: Option<Fault>, script: Vec<Reply>) -> Findings {
    let server = Scripted::play(script).await;
    let faults = Faults::default();
    if let Some(fault) = off {
        faults.on(fault, Dose::of(fault));
    }
    let retrieval = Shelf::new().retrieval(Some(writer(&server, tasks)), &faults).await;
    retrieval.search(&question()).await.unwrap()
}

#[tokio::test]
async fn what_is_written_is_searched_for() {
    async fn check(what: &str, tasks: Tasks, off: Option<Fault>, script: Vec<Reply>, finds: bool, shown: &[&str]) {
        let findings = search(tasks, off, script).await;
        assert_eq!(sources(&findings).contains(&MISSED), finds, "{what}: {:?}", sources(&findings));
        assert_eq!(findings.rewritten, shown, "{what}");
        assert!(findings.degraded.is_empty(), "{what}");
    }
    let asked_too = [QUESTION, WORDING];
    check("no better words", REWRITE, None, vec![Json(says("[]"))], false, &[]).await;
    check("other words find it", REWRITE, None, vec![wording()], true, &asked_too).await;
    let (near, worded) = (Some(Fault::KeywordArmOff), Some(Fault::VectorArmOff));
    check("by their vector", REWRITE, near, vec![wording()], true, &asked_too).await;
    check("by themselves", REWRITE, worded, vec![wording()], true, &asked_too).await;
    check("a passage finds it, and is not shown", HYDE, None, vec![passage()], true, &[]).await;
    check("by its vector", HYDE, near, vec![passage()], true, &[]).await;
    check("and not by its words", HYDE, worded, vec![passage()], false, &[]).await;
    check("both", BOTH, None, vec![as_asked(), as_asked()], true, &asked_too).await;
}

#[tokio::test]
async fn a_search_goes_on_without_its_writer() {
    let without = Shelf::new().retrieval(None, &Faults::default()).await.search(&question()).await.unwrap();
    assert!(!sources(&without).contains(&MISSED), "{:?}", sources(&without));
    let check = |what: &str, findings: &Findings| {
        assert_eq!(sources(findings), sources(&without), "{what}");
        assert_eq!(findings.degraded, ["rewriting"], "{what}");
        assert!(findings.rewritten.is_empty(), "{what}");
    };
    check("one in trouble", &search(BOTH, None, vec![Plain(500, &[], ""), Plain(500, &[], "")]).await);
    check("one that refuses", &search(REWRITE, None, vec![Plain(401, &[], "no key")]).await);
    check("one that wants to be asked tomorrow", &search(HYDE, None, vec![Plain(429, &[], "")]).await);
    check("a slow one", &search(BOTH, None, vec![Hang, Hang]).await);
    check("nonsense", &search(REWRITE, None, vec![Json(says("As a language model I cannot."))]).await);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let dead = Writer::new(settings::RemoteSettings::new(format!("http://{address}/v1"), None), "m", BOTH).unwrap();
    let retrieval = Shelf::new().retrieval(Some(dead), &Faults::default()).await;
    for number in 1..=4 {
        let findings = retrieval.search(&question()).await.unwrap();
        check(&format!("a dead one, asked {number} times: left alone from the second on"), &findings);
    }
}

#[tokio::test]
async fn half_of_it_is_used() {
    let findings = search(BOTH, None, vec![wording_only(), wording_only()]).await;
    assert!(sources(&findings).contains(&MISSED), "the wording is searched for");
    assert_eq!(findings.degraded, ["rewriting"], "though the passage is missing");
}

#[tokio::test]
async fn answers_are_remembered_by_who_wrote() {
    let (shelf, faults) = (Shelf::new(), Faults::default());
    let plain = shelf.retrieval(None, &faults).await;
    plain.search(&question()).await.unwrap();
    assert!(plain.search(&question()).await.unwrap().cache.age.is_some(), "it is remembered");

    let server = Scripted::play(vec![Plain(500, &[], ""), wording()]).await;
    let written = shelf.retrieval(Some(writer(&server, REWRITE)), &faults).await;
    let degraded = written.search(&question()).await.unwrap();
    assert_eq!((degraded.cache.age, degraded.degraded), (None, vec!["rewriting"]), "another's is not taken");
    let whole = written.search(&question()).await.unwrap();
    assert_eq!(whole.cache.age, None, "a degraded one was not kept");
    let again = written.search(&question()).await.unwrap();
    assert_eq!((again.cache.age.is_some(), sources(&again)), (true, sources(&whole)), "a whole one was");
    assert_eq!(server.asked().len(), 2, "and costs nothing any more");

    let hyde = Scripted::play(vec![passage()]).await;
    let other = shelf.retrieval(Some(writer(&hyde, HYDE)), &faults).await;
    assert_eq!(other.search(&question()).await.unwrap().cache.age, None, "another task is another answer");
}

#[tokio::test]
async fn a_slow_writer_keeps_no_connection() {
    let server = Scripted::play(vec![Hang]).await;
    let settings = settings::RemoteSettings { total_max: Duration::from_mins(1), ..server.settings() };
    let slow = Writer::new(settings, "m", REWRITE).unwrap();
    let retrieval = Shelf::new().retrieval(Some(slow), &Faults::default()).await;
    let everybody_else = async {
        server.came().await;
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            held.push(retrieval.library.store().connect(Patience::Search).await.unwrap());
        }
    };
    let asked = question();
    tokio::select! {
        biased;
        _ended = retrieval.search(&asked) => panic!("it was still being written for"),
        () = everybody_else => {}
    }
}
