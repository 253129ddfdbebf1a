//! Which questions are given the answer to another, by searches over a real store; and that it is theirs, too.

use std::sync::Arc;

use chrono::Utc;

use crate::embed::provider::Provider;
use crate::index::document::Document;
use crate::index::library::{Library, Parts};
use crate::search::question::Question;
use crate::search::retrieval::Retrieval;
use crate::search::settings::SearchSettings;
use crate::store::filter::Filter;
use crate::store::sqlite::open::SqliteStore;
use crate::text::draw::mix;

const TEXTS: [(&str, &str); 6] = [
    ("colour.md", "Convert HSV to RGB by the hexagon, and RGB to HSV by its corners. Conversions lose nothing."),
    ("keys.md", "# Rotating keys\n\nA rotated token is valid for an hour. Tokens rotate monthly."),
    ("pool.md", "A pool of 30 connections saturates at 300 requests. Pools and pooling are set up by RAG-1107."),
    ("pump.md", "The pump's seal wears. Pumps are sealed, and their seals are greased and tightened yearly."),
    ("cafe.md", "The café serves RAG 1107 kinds of coffee, connected by no pool."),
    ("other.md", "Requests are retried hourly, tokens are counted, and a connection is closed."),
];

/// A search of those texts; the folder is theirs.
async fn searching(provider: Provider, settings: SearchSettings) -> (Retrieval, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("index.db")).await.unwrap());
    let library = Library::open(Parts::new(store, provider)).await.unwrap();
    for (source, text) in TEXTS {
        library.put(&Document::plain(source, "documentation", text), Utc::now()).await.unwrap();
    }
    (Retrieval::new(library, settings), folder)
}

/// Whether a question is given an answer that is remembered; the answer has to be its own.
async fn is_remembered(retrieval: &Retrieval, question: &Question) -> bool {
    let given = retrieval.search(question).await.unwrap();
    let fresh = retrieval.search(&Question { passes_memory: true, ..question.clone() }).await.unwrap();
    assert_eq!(given.hits, fresh.hits, "{question:?}");
    given.cache.age.is_some()
}

async fn check_settings(says: &str, provider: Provider, settings: SearchSettings, then: Question, expected: bool) {
    let (retrieval, _folder) = searching(provider, settings).await;
    let first = Question::new("how is a token rotated", 3);
    assert!(!is_remembered(&retrieval, &first).await, "{says}: the first is searched for");
    assert!(is_remembered(&retrieval, &first).await, "{says}: its very words are remembered");
    assert_eq!(is_remembered(&retrieval, &then).await, expected, "{says}");
}

async fn check(says: &str, first: &str, then: &str, expected: bool) {
    let (retrieval, _folder) = searching(Provider::None, SearchSettings::default()).await;
    assert!(!is_remembered(&retrieval, &Question::new(first, 3)).await, "{says}: the first is searched for");
    assert_eq!(is_remembered(&retrieval, &Question::new(then, 3)).await, expected, "{says}: {then}");
}

#[tokio::test]
async fn whoever_asks_the_same_terms_has_the_same_answer() {
    check("forms of its words", "how is a token rotated", "rotating tokens", true).await;
    check("another order", "rotate the token", "what does the TOKEN's rotation do", true).await;
    check("small words", "can a token be rotated", "can a token not be rotated", true).await;
    check("signs", "pools, connections?", "pool connection", true).await;
    check("accents", "coffee of the café", "cafe coffee", true).await;
    // Both ways are the same words, so a search finds the same by them.
    check("the other way round", "convert HSV to RGB", "convert RGB to HSV", true).await;
    check("a further word", "rotate the token", "rotate the token hourly", false).await;
    check("another word", "tighten the seal", "grease the seal", false).await;
    check("a number", "30 connections", "300 connections", false).await;
    check("a code is a phrase", "what is RAG-1107", "what is RAG 1107", false).await;
    check("a word in two forms counts twice", "pool and pools", "pool", false).await;
    check("two questions in one", "seals wear and pumps leak", "seals wear, pumps leak", false).await;
}

#[tokio::test]
async fn all_else_has_to_be_the_same() {
    let usual = SearchSettings::default;
    let then = || Question::new("rotating tokens", 3);
    check_settings("by words alone", Provider::None, usual(), then(), true).await;
    check_settings("more hits", Provider::None, usual(), Question { top_k: 4, ..then() }, false).await;
    check_settings("better ones", Provider::None, usual(), Question { min_score: 0.01, ..then() }, false).await;
    let filter = Filter { source: "k".to_owned(), ..Filter::default() };
    check_settings("of some sources", Provider::None, usual(), Question { filter, ..then() }, false).await;
    #[cfg(feature = "builtin")]
    {
        let embedder = || Provider::Hashing(crate::embed::hashing::HashingEmbedder::INDEX);
        check_settings("an embedder reads all words", embedder(), usual(), then(), false).await;
        let reranker = Some(Arc::new(crate::rerank::joint::JointReranker) as Arc<dyn crate::rerank::Reranker>);
        let reranked = SearchSettings { reranker, ..usual() };
        check_settings("as does a reranker", Provider::None, reranked, then(), false).await;
    }
}

/// Drawn questions of few words in many forms: what is remembered of any is what a search would have found.
#[tokio::test]
async fn no_answer_is_anybody_elses() {
    const WORDS: [&str; 24] = [
        "pool",
        "Pools",
        "pooling",
        "token",
        "tokens'",
        "rotate",
        "rotated",
        "rotation",
        "seal",
        "sealed",
        "seals",
        "the",
        "not",
        "RAG-1107",
        "rag",
        "1107",
        "30",
        "300",
        "connected",
        "Connections",
        "hourly",
        "hour",
        "café",
        "cafe",
    ];
    let (retrieval, _folder) = searching(Provider::None, SearchSettings::default()).await;
    let mut remembered = 0;
    for draw in 0..400_u64 {
        let count = 1 + mix(draw) % 3;
        let words = (0..count).map(|place| WORDS[(mix(draw << 8 | place) % 24) as usize]);
        let question = words.collect::<Vec<_>>().join(" ");
        remembered += u32::from(is_remembered(&retrieval, &Question::new(&question, 5)).await);
    }
    assert!(remembered > 100, "{remembered} of 400 were remembered");
}
