//! Whether what is remembered of questions is warm, by searches over a real store.

use std::sync::Arc;
use std::time::Instant;

use chrono::Utc;

use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::index::document::Document;
use crate::index::library::{Library, Parts};
use crate::search::answers::Remembering;
use crate::search::question::Question;
use crate::search::retrieval::Retrieval;
use crate::search::settings::SearchSettings;
use crate::store::sqlite::open::SqliteStore;

fn question(text: &str, passes_memory: bool) -> Question {
    Question { passes_memory, ..Question::new(text, 3) }
}

/// Asks questions, `~` before those that pass the memory; gives the hit rate after them.
async fn rate(is_on: bool, questions: &[&str]) -> Option<f64> {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("index.db")).await.unwrap());
    let built_in = Provider::Hashing(HashingEmbedder::INDEX);
    let library = Library::open(Parts::new(store, built_in)).await.unwrap();
    let text = "A pool holds connections. A seal of the pump wears.";
    library.put(&Document::plain("a.md", "documentation", text), Utc::now()).await.unwrap();
    let remembering = Remembering { is_on };
    let settings = SearchSettings { remembering, ..SearchSettings::default() };
    let retrieval = Retrieval::new(library, settings);
    for text in questions {
        let bare = text.trim_start_matches('~');
        retrieval.search(&question(bare, bare != *text)).await.unwrap();
    }
    retrieval.query_cache.hit_rate(Instant::now())
}

#[tokio::test]
async fn a_question_is_one_look() {
    async fn check(says: &str, is_on: bool, questions: &[&str], expected: Option<f64>) {
        assert_eq!(rate(is_on, questions).await, expected, "{says}");
    }
    check("nobody asked", true, &[], None).await;
    check("a new question", true, &["the pool"], Some(0.0)).await;
    check("the same again", true, &["the pool", "the pool"], Some(0.5)).await;
    check("one that means the same", true, &["the pool", "the pools"], Some(0.0)).await;
    check("one whose vector alone is remembered", false, &["the pool", "the pool"], Some(0.5)).await;
    let split = "how large is the pool and how does the pump wear";
    check("one in two parts is one", false, &[split, split], Some(0.5)).await;
    check("one that passes the memory is none", true, &["the pool", "~the pool"], Some(0.0)).await;
}
