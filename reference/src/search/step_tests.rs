//! When steps have their turn, by searches over a real store.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::Utc;
use parking_lot::Mutex;

use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::index::document::Document;
use crate::index::library::{Library, Parts};
use crate::search::question::{Question, RetrievalError};
use crate::search::retrieval::Retrieval;
use crate::search::settings::SearchSettings;
use crate::search::step::{Search, Step};
use crate::store::sqlite::open::SqliteStore;

type Moments = Arc<Mutex<Vec<(&'static str, usize)>>>;

/// Notes each moment, and how many hits there are at it.
#[derive(Debug)]
struct Noting {
    moments: Moments,
    knows: bool,
}

impl Noting {
    fn note(&self, moment: &'static str, search: &Search<'_>) {
        self.moments.lock().push((moment, search.findings.hits.len()));
    }
}

#[async_trait]
impl Step for Noting {
    async fn prepare(&self, search: &mut Search<'_>) -> Result<bool, RetrievalError> {
        self.note("prepare", search);
        Ok(self.knows)
    }

    async fn widen<'a>(&self, search: Search<'a>) -> Result<Search<'a>, RetrievalError> {
        self.note("widen", &search);
        Ok(search)
    }

    async fn candidates(&self, search: &mut Search<'_>, _depth: usize) -> Result<bool, RetrievalError> {
        self.note("candidates", search);
        Ok(false)
    }

    async fn refine(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        self.note("refine", search);
        Ok(())
    }

    fn order(&self, search: &mut Search<'_>) {
        self.note("order", search);
    }

    async fn found(&self, search: &mut Search<'_>) -> Result<(), RetrievalError> {
        self.note("found", search);
        Ok(())
    }

    async fn choose(&self, search: &mut Search<'_>, _budget: usize) -> Result<bool, RetrievalError> {
        self.note("choose", search);
        Ok(false)
    }
}

/// The moments of one search that asks for two hits of three.
async fn check(says: &str, knows: bool, expected: &[(&str, usize)], shown: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("index.db")).await.unwrap());
    let built_in = Provider::Hashing(HashingEmbedder::INDEX);
    let library = Library::open(Parts::new(store, built_in)).await.unwrap();
    for source in ["a.md", "b.md", "c.md"] {
        let text = format!("A pool of {source} holds connections.");
        library.put(&Document::plain(source, "documentation", &text), Utc::now()).await.unwrap();
    }
    let mut retrieval = Retrieval::new(library, SearchSettings::default());
    let moments = Moments::default();
    retrieval.steps.push(Box::new(Noting { moments: Arc::clone(&moments), knows }));
    let question = Question::new("pool", 2);
    let findings = retrieval.search(&question).await.unwrap();
    assert_eq!(*moments.lock(), expected, "{says}");
    assert_eq!(findings.hits.len(), shown, "{says}");
}

#[tokio::test]
async fn steps_have_their_turn() {
    let searched =
        [("prepare", 0), ("widen", 0), ("candidates", 0), ("refine", 3), ("order", 3), ("found", 3), ("choose", 3)];
    check("a question is searched for", false, &searched, 2).await;
    check("what is known is not", true, &[("prepare", 0), ("choose", 0)], 0).await;
}

#[cfg(feature = "local-models")]
#[test]
fn models_have_scales() {
    use crate::embed::Model;
    use crate::search::score::Scale;
    let of = |revision: &'static str, dimensions| {
        Scale::of(&Model { name: "m".into(), revision: revision.into(), dimensions, normalised: true })
    };
    assert_eq!(of("", 0), Scale::Words);
    assert_eq!(of(crate::search::worth::REVISION, 384), Scale::Weights);
    assert_eq!(of("2", 384), Scale::Cosine);
}
