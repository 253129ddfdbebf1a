//! What an index needs that outlives its program: sources cut again, left alone, or all begun anew.

use chrono::{DateTime, Utc};

use crate::index::document::{Cutting, Document};
use crate::index::library::{Library, LibraryError};
use crate::store::contract::Patience;
use crate::store::records::StoredSource;

impl Library {
    /// Cuts every source again that was cut by another parser or otherwise; gives how many those were, and tells of each
    /// how many were done before. It needs no files: the store keeps the texts.
    ///
    /// # Errors
    /// As `put`; sources before the one that failed are done.
    pub async fn recut(
        &self,
        now: DateTime<Utc>,
        tell: &mut (dyn FnMut(usize, usize, &str) + Send),
    ) -> Result<usize, LibraryError> {
        let mut sources = self.parts.store.connect(Patience::Writer).await?.sources().await?;
        sources.retain(|known| known.parser != self.parser(&as_it_was(known)));
        let mut done = 0;
        for (before, known) in sources.iter().enumerate() {
            tell(before, sources.len(), &known.source);
            let document = as_it_was(known);
            let text = self.parts.store.connect(Patience::Writer).await?.text(&known.source).await?;
            let Some(text) = text else { continue };
            self.keep(&Document { text: &text, ..document }, &known.content_hash, now).await?;
            done += 1;
        }
        Ok(done)
    }

    /// How sources are cut now, beside their methods and settings: another line asks for `recut`.
    pub fn cut_how(&self) -> String {
        self.parts.preparing.cut_how()
    }

    /// Whether a source is this very document, cut as it would be cut now.
    pub fn has(&self, known: &StoredSource, document: &Document<'_>) -> bool {
        let facts = (&known.source_type, &known.collection, &known.tags, known.dated, known.volatility);
        let wanted = (document.source_type, document.collection, document.tags, document.dated, document.volatility);
        (facts.0.as_str(), facts.1.as_str(), facts.2.as_slice(), facts.3, facts.4) == wanted
            && known.parser == self.parser(document)
            && known.content_hash == self.content_hash(document.text)
    }

    /// Takes everything away, so that another embedder or another store layout can begin anew.
    ///
    /// # Errors
    /// The store's.
    pub async fn rebuild(&self) -> Result<(), LibraryError> {
        self.parts.store.wipe(false).await?;
        self.sign().await
    }
}

/// A source as a document, without its text.
fn as_it_was(known: &StoredSource) -> Document<'_> {
    Document {
        collection: &known.collection,
        tags: &known.tags,
        dated: known.dated,
        volatility: known.volatility,
        origin: known.origin,
        cutting: Cutting::named(&known.parser),
        ..Document::plain(&known.source, &known.source_type, "")
    }
}

#[cfg(test)]
#[cfg(feature = "lab")]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use crate::embed::provider::Provider;
    use crate::embed::remote::{RemoteEmbedder, RemoteModel};
    use crate::index::document::Document;
    use crate::index::later::{Marking, PENDING};
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
