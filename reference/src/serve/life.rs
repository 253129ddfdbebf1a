//! One life of a server, from its start to its crash: what a restart loses.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::find::retrieval::{Retrieval, Settings};
use crate::index::corpus::{self, Corpus, CorpusError};
use crate::index::document::Cutting;
use crate::index::fetch::Fetcher;
use crate::index::library::{Library, LibraryError};
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::project::opened::ProjectError;
use crate::rerank::Reranker;
use crate::rerank::joint::JointReranker;
use crate::serve::counts::Counts;
use crate::serve::options::Options;
use crate::store::records::StoreError;
use crate::store::sqlite::open::SqliteStore;

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
    /// How old the indexing of a source may be before `/health` says so; `None` is any age.
    pub stale_after: Option<Duration>,
    /// Tokens of the longest chunk, and the index's count of changes when it was looked for.
    pub longest: Mutex<Option<(i64, i64)>>,
    /// What it counts.
    pub counts: Counts,
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
    /// `ProjectError`, or `CorpusError`, which hold the store's too.
    pub async fn begin(options: &Options, database: &Path, faults: &Faults) -> Result<Self, LifeError> {
        let (started, started_at) = (Instant::now(), Utc::now());
        let (library, settings, reranker, writer) = match &options.project {
            Some(project) => (
                project.library(faults.clone()).await?,
                project.config.settings(),
                project.reranker()?,
                project.writer()?,
            ),
            None => {
                let (store, built_in) = (SqliteStore::open(database).await?, Provider::Hashing(HashingEmbedder::INDEX));
                let library =
                    Library::open(Arc::new(store), built_in, Cutting::default(), None, faults.clone()).await?;
                let reranker: Arc<dyn Reranker> = Arc::new(JointReranker);
                (library, Settings::default(), Some(reranker), None)
            }
        };
        let forgets = faults.dose(Fault::IndexInMemory).is_some();
        if forgets {
            // What was only in memory went with the life before.
            library.rebuild().await?;
        }
        let corpus = if forgets { &Corpus::Empty } else { &options.corpus };
        let sources = corpus::index(corpus, &library, started_at).await?;
        let instance_id = Uuid::now_v7().to_string();
        tracing::info!(name = options.name, instance_id, sources, "reference server is ready");
        let root = options.root.clone().or_else(|| options.project.as_ref().map(|project| project.place.root.clone()));
        Ok(Self {
            name: options.name.clone(),
            instance_id,
            started_at,
            retrieval: Retrieval::new(library, settings, reranker, writer, faults.clone(), started),
            faults: faults.clone(),
            bearer: options.bearer.clone(),
            stale_after: options.stale_after,
            longest: Mutex::default(),
            counts: Counts::default(),
            fetcher: Fetcher::new(root, options.allow_private.clone()),
            logs_questions: options.project.as_ref().is_some_and(|project| project.config.logs_questions()),
        })
    }
}

/// Why a life does not begin.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    /// The corpus cannot be indexed.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The project cannot be opened.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The library is not ours to use.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}
