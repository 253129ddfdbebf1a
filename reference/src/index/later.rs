//! Vectors that come later: words are searchable at once, where an embedder takes its time.
//!
//! A run of the indexer puts every document first, with the vectors that are known already. One that lacks some is put
//! without them, as cut in another way (`WORDS`), so that whoever cuts sources again gives it its vectors, in this run or,
//! where it is killed, in the next. Until then a fact says that vectors are missing.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use crate::chunk::{Chunk, ChunkSettings, Method};
use crate::index::preparing::Preparing;

/// The fact that some chunks wait for their vectors.
pub const PENDING: &str = "vectors_pending";
/// What stands behind the parser's name of a source that has its words alone.
const WORDS: &str = "words";

tokio::task_local! {
    /// Whether the document that is put now goes without its vectors.
    static WITHOUT: Cell<bool>;
}

/// Puts a document, without vectors where not all are known.
pub(super) async fn words_first<T>(put: impl Future<Output = T>) -> T {
    WITHOUT.scope(Cell::new(false), put).await
}

/// Whether the document that is put now may go without vectors; if so, it does.
pub(super) fn goes_without() -> bool {
    WITHOUT.try_with(|without| without.set(true)).is_ok()
}

/// A preparation that marks documents without vectors.
#[derive(Debug)]
pub struct Marking(pub Arc<dyn Preparing>);

impl Preparing for Marking {
    fn cleaned<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        self.0.cleaned(text)
    }

    fn cleaned_how(&self) -> &'static str {
        self.0.cleaned_how()
    }

    fn cut(&self, source: &str, method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk> {
        self.0.cut(source, method, text, settings)
    }

    fn cut_how(&self) -> String {
        let is_without = WITHOUT.try_with(Cell::get).unwrap_or(false);
        self.0.cut_how() + if is_without { WORDS } else { "" }
    }
}

#[cfg(test)]
#[cfg(feature = "lab")]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::embed::provider::Provider;
    use crate::embed::remote::{RemoteEmbedder, RemoteModel};
    use crate::index::document::Document;
    use crate::index::library::{Library, Parts};
    use crate::index::run::{self, Budgets, IndexPlan, Progress};
    use crate::index::walk::Selection;
    use crate::remote::scripted::Reply::{self, Hang, Made};
    use crate::remote::scripted::Scripted;
    use crate::search::question::Question;
    use crate::search::retrieval::Retrieval;
    use crate::search::settings::SearchSettings;
    use crate::store::contract::Patience;
    use crate::store::sqlite::open::SqliteStore;

    /// Requests by which an index learns whose vectors it has: probes as documents and as questions.
    const PROBES: usize = 2;

    fn vectors(request: &Value) -> Value {
        let texts = request["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().len());
        let data: Vec<Value> =
            texts.enumerate().map(|(index, bytes)| json!({"index": index, "embedding": [bytes, 7]})).collect();
        json!({ "data": data })
    }

    async fn library(database: &Path, server: &Scripted) -> Library {
        let store = Arc::new(SqliteStore::open(database).await.unwrap());
        let embedder = RemoteEmbedder::new(server.settings(), RemoteModel::new("m", 2)).unwrap();
        let parts = Parts::new(store, Provider::Remote(Box::new(embedder)));
        Library::open(Parts { preparing: Arc::new(Marking(Arc::clone(&parts.preparing))), ..parts }).await.unwrap()
    }

    struct Quiet;

    impl Progress for Quiet {
        fn at(&mut self, _: usize, _: usize, _: &str) {}
    }

    /// How many chunks have vectors of how many, and whether the rest is told to be on its way.
    async fn state(library: &Library) -> (i64, i64, bool) {
        let mut held = library.store().connect(Patience::Writer).await.unwrap();
        let figures = held.figures().await.unwrap();
        (figures.reachable, figures.chunks, held.fact(PENDING).await.unwrap().is_some())
    }

    #[tokio::test]
    async fn words_are_found_while_vectors_are_made_and_a_killed_run_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a.md", "The kiln is fired at night."), ("b.md", "The tank is drained.")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let made = |count: usize| std::iter::repeat_with(|| Made(vectors)).take(count);
        let script: Vec<Reply> = made(PROBES).chain([Hang]).chain(made(20)).collect();
        let server = Scripted::play(script).await;
        let database = folder.path().join("index.db");
        let plan = IndexPlan {
            selection: Selection::all(folder.path()).unwrap(),
            rules: Vec::new(),
            budgets: Budgets { files: 9, bytes: 9_999, tokens: 9_999 },
        };

        let (broken_off, mut quiet) = (library(&database, &server).await, Quiet);
        let run = tokio::select! {
            ended = run::run(&broken_off, &plan, false, &mut quiet) => Some(ended),
            () = asked(&server, PROBES + 1) => None,
        };
        assert!(run.is_none(), "it waits for its first vectors");
        assert_eq!(state(&broken_off).await, (0, 2, true), "all words are in");
        let retrieval = Retrieval::new(broken_off, SearchSettings::default());
        let found = retrieval.search(&Question::new("when is the kiln fired", 3)).await.unwrap();
        assert_eq!((found.hits[0].chunk.source.as_str(), found.degraded), ("a.md", vec!["vectors"]));
        retrieval.library.store().close().await;

        let library = library(&database, &server).await;
        let report = run::run(&library, &plan, false, &mut Quiet).await.unwrap();
        assert!(report.resumed);
        assert_eq!(state(&library).await, (2, 2, false));
        let own = Document::plain("c.md", "note", "The ferry waits for fog.");
        library.put(&own, chrono::Utc::now()).await.unwrap();
        assert_eq!(state(&library).await, (3, 3, false), "one document has its vectors at once");
        let report = run::run(&library, &plan, false, &mut Quiet).await.unwrap();
        assert_eq!((report.unchanged, report.indexed), (2, 0), "and nothing is done twice");
        let retrieval = Retrieval::new(library, SearchSettings::default());
        let found = retrieval.search(&Question::new("when is the kiln fired", 3)).await.unwrap();
        assert!(found.degraded.is_empty(), "{:?}", found.degraded);
    }

    /// Returns once so many requests have come.
    async fn asked(server: &Scripted, count: usize) {
        while server.asked().len() < count {
            server.came().await;
        }
    }
}
