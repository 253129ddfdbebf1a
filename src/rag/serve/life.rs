//! One life of a server, from its start to its crash: what a restart loses.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::rag::fault::switches::Faults;
use crate::rag::find::retrieval::{Retrieval, Settings};
use crate::rag::index::corpus::{self, Corpus, CorpusError};
use crate::rag::index::fetch::Fetcher;
use crate::rag::index::library::Library;
use crate::rag::store::sqlite::open::SqliteStore;

/// What every part of a running server reaches for.
#[derive(Debug)]
pub struct Life {
    /// The name it goes by.
    pub name: String,
    /// New with each start.
    pub instance_id: String,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// The search.
    pub retrieval: Retrieval,
    /// The switchboard, which outlives it.
    pub faults: Faults,
    /// Brings documents that are named and not sent.
    pub fetcher: Fetcher,
    /// Whether the log has questions in words, and not as digests.
    pub logs_questions: bool,
    /// The token callers of `/mcp` must bring, where there is one.
    pub bearer: Option<String>,
}

impl Life {
    /// Starts: opens the store and indexes what is new in the corpus.
    ///
    /// # Errors
    /// `CorpusError`, which holds the store's too.
    pub async fn begin(
        name: &str,
        bearer: Option<String>,
        database: &Path,
        corpus: &Corpus,
        faults: &Faults,
    ) -> Result<Self, CorpusError> {
        let (started, started_at) = (Instant::now(), Utc::now());
        let store = SqliteStore::open(database).await?;
        let library = Library::open(Arc::new(store), faults.clone()).await?;
        let sources = corpus::index(corpus, &library, started_at).await?;
        let instance_id = Uuid::now_v7().to_string();
        tracing::info!(name, instance_id, sources, "reference server is ready");
        Ok(Self {
            name: name.to_owned(),
            instance_id,
            started_at,
            retrieval: Retrieval::new(library, Settings::default(), faults.clone(), started),
            faults: faults.clone(),
            bearer,
            fetcher: Fetcher::default(),
            logs_questions: false,
        })
    }
}
