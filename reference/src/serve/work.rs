//! What the tools do, whoever asks: by MCP or by plain HTTP.

use std::panic::AssertUnwindSafe;

use chrono::Utc;
use futures_util::FutureExt as _;
use rmcp::model::JsonObject;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::index::document::{Document, Indexed};
use crate::index::library::{DOCUMENT_CHARS_MAX, LibraryError};
use crate::search::question::RetrievalError;
use crate::serve::answer::{self, Envelope, IndexData, SearchData, SourcesData};
use crate::serve::arguments::{self, IndexArguments, ListArguments, SearchArguments};
use crate::serve::state::ServerState;
use crate::store::contract::Patience;
use crate::store::records::{Origin, StoreError};

/// What a call answers, under its name in the log; also where it panics.
pub async fn answered<T>(tool: &str, call: impl Future<Output = Envelope<T>>) -> Envelope<T> {
    let operation = Uuid::now_v7().to_string();
    let span = tracing::info_span!("call", operation, tool);
    let envelope = AssertUnwindSafe(call.instrument(span)).catch_unwind().await.unwrap_or_else(|_panic| {
        tracing::error!(operation, tool, "a call panicked");
        Envelope::error("INTERNAL_ERROR", "The call broke off. Ask again.".to_owned())
    });
    envelope.of(&operation)
}

impl ServerState {
    /// `search_documents`.
    pub async fn search(&self, arguments: JsonObject) -> Envelope<SearchData> {
        // Laboratory: a tool that panics must do so here, where its caller is answered all the same.
        self.retrieval.layer().inspect(|layer| layer.called());
        let ignored = arguments::strange::<SearchArguments>(&arguments);
        let asked = arguments::read::<SearchArguments>(arguments).and_then(arguments::question);
        let question = match asked {
            Ok(question) => question,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let shown = self.shown(&question.text);
        let outcome = self.retrieval.search(&question).await;
        #[cfg(feature = "metrics")]
        self.counts.searched(&outcome);
        match outcome {
            Ok(findings) => {
                let top = findings.hits.first().map(|found| found.chunk.source.as_str());
                tracing::info!(question = shown, hits = findings.hits.len(), top, "searched");
                let degraded = findings.degraded.clone();
                Envelope::ok(answer::search(question, findings, ignored)).degraded(&degraded)
            }
            Err(error) => {
                tracing::warn!(question = shown, %error, "a search failed");
                let doing = format!("Searching \"{}\"", question.text.chars().take(80).collect::<String>());
                Envelope::failed(&doing, &error)
            }
        }
    }

    /// `index_document`.
    pub async fn index(&self, arguments: JsonObject) -> Envelope<IndexData> {
        let ignored = arguments::strange::<IndexArguments>(&arguments);
        let asked = arguments::read::<IndexArguments>(arguments).and_then(arguments::document);
        let (mut wanted, cutting) = match asked {
            Ok(asked) => asked,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let (name, text) = match self.document_text(&mut wanted).await {
            Ok(found) => found,
            Err((code, why)) => return Envelope::error(code, why),
        };
        let letters = text.chars().count();
        if text.trim().is_empty() {
            return Envelope::error("INVALID_ARGUMENT", "the document is empty: send its text".to_owned());
        }
        if letters > DOCUMENT_CHARS_MAX {
            let why = format!("the document has {letters} characters, {DOCUMENT_CHARS_MAX} are allowed: split it");
            return Envelope::error("BUDGET_LIMIT_EXCEEDED", why);
        }
        let document = Document {
            source: &name,
            source_type: &wanted.source_type,
            collection: &wanted.collection,
            tags: &wanted.tags,
            dated: wanted.date,
            volatility: wanted.volatility,
            origin: Origin::Caller,
            cutting,
            text: &text,
        };
        match self.put(&document).await {
            Ok(indexed) => {
                #[cfg(feature = "metrics")]
                self.counts.indexed(if indexed.unchanged { "unchanged" } else { "indexed" });
                tracing::info!(source = name, chunks = indexed.chunks, indexed.unchanged, indexed.redacted, "indexed");
                Envelope::ok(IndexData {
                    source: name,
                    chunk_count: indexed.chunks,
                    unchanged: indexed.unchanged,
                    tokens: indexed.tokens,
                    redacted: indexed.redacted,
                    ignored_arguments: ignored,
                })
            }
            Err(error) => {
                tracing::warn!(source = name, %error, "indexing failed");
                let error = RetrievalError::from(error);
                #[cfg(feature = "metrics")]
                self.counts.indexed(error.code().0);
                Envelope::failed(&format!("Indexing \"{name}\""), &error)
            }
        }
    }

    async fn put(&self, document: &Document<'_>) -> Result<Indexed, LibraryError> {
        let library = &self.retrieval.library;
        let _alone = library.write("index_document", false).await?;
        library.put(document, Utc::now()).await
    }

    /// The name and the text of a document, from wherever it is.
    ///
    /// # Errors
    /// A code, and what is wrong.
    async fn document_text(&self, wanted: &mut IndexArguments) -> Result<(String, String), (&'static str, String)> {
        #[cfg(feature = "fetch")]
        if let Some((own, fetched)) = self.fetcher.named(wanted.file.as_deref(), wanted.url.as_deref()).await {
            let fetched = fetched.map_err(|error| (error.code(), error.to_string()))?;
            wanted.was_in(fetched.kind.source_type());
            let name = if wanted.source.is_empty() { own } else { wanted.source.clone() };
            return Ok((name, fetched.text));
        }
        let none = || ("INVALID_ARGUMENT", "this server is sent documents: send the document's 'text'".to_owned());
        Ok((wanted.source.clone(), wanted.text.clone().ok_or_else(none)?))
    }

    /// `list_sources`, and `GET /sources`.
    pub async fn sources(&self, arguments: JsonObject) -> Envelope<SourcesData> {
        let ignored = arguments::strange::<ListArguments>(&arguments);
        let page = match arguments::read::<ListArguments>(arguments).and_then(arguments::page) {
            Ok(page) => page,
            Err(why) => return Envelope::error("INVALID_ARGUMENT", why),
        };
        let listed: Result<_, StoreError> =
            async { self.retrieval.library.store().connect(Patience::Search).await?.sources().await }.await;
        match listed {
            Ok(sources) => Envelope::ok(answer::sources(sources, page, ignored)),
            Err(error) => {
                tracing::warn!(%error, "listing sources failed");
                Envelope::failed("Listing sources", &RetrievalError::Store(error))
            }
        }
    }

    /// A question as the log has it: a digest, which is the same for the same words and is not the
    /// words; or the words, where the operator wants them.
    fn shown(&self, question: &str) -> String {
        if self.logs_questions { question.to_owned() } else { arguments::digest(question, 8) }
    }
}
