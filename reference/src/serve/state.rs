//! What a server holds from its start to its crash, and a restart loses.

use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "census")]
use std::time::Duration;

use chrono::{DateTime, Utc};
#[cfg(feature = "census")]
use parking_lot::Mutex;
use uuid::Uuid;

#[cfg(feature = "builtin")]
use crate::embed::hashing::HashingEmbedder;
use crate::embed::provider::Provider;
use crate::index::corpus::{self, CorpusError};
#[cfg(feature = "fetch")]
use crate::index::fetch::Fetcher;
use crate::index::library::{Library, LibraryError, Parts};
#[cfg(feature = "project")]
use crate::project::opened::ProjectError;
#[cfg(feature = "builtin")]
use crate::rerank::joint::JointReranker;
use crate::search::retrieval::{Layer, Retrieval};
use crate::search::settings::SearchSettings;
#[cfg(feature = "metrics")]
use crate::serve::counts::Counts;
use crate::serve::options::Options;
use crate::store::records::StoreError;
use crate::store::sqlite::open::SqliteStore;

/// What every part of a running server reaches for.
#[derive(Debug)]
pub struct ServerState {
    /// The name it goes by.
    pub name: String,
    /// What is searched, in the words that callers are told.
    pub subject: String,
    /// New with each start.
    pub instance_id: String,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// The search.
    pub retrieval: Retrieval,
    /// How old the indexing of a source may be before `/health` says so; `None` is any age.
    #[cfg(feature = "census")]
    pub stale_after: Option<Duration>,
    /// Tokens of the longest chunk, and the index's count of changes when it was looked for.
    #[cfg(feature = "census")]
    pub longest: Mutex<Option<(i64, i64)>>,
    /// What it counts.
    #[cfg(feature = "metrics")]
    pub counts: Counts,
    /// Brings documents that are named and not sent.
    #[cfg(feature = "fetch")]
    pub fetcher: Fetcher,
    /// Whether the log has questions in words, and not as digests.
    pub logs_questions: bool,
    /// The token callers of `/mcp` must bring, where there is one.
    pub bearer: Option<String>,
    /// Others who are let in, each to its own.
    #[cfg(feature = "tenants")]
    pub tenants: Option<crate::tenants::roll::Roll>,
}

/// What a server is made of. Whoever wants something in between two parts puts it there before it begins.
#[derive(Debug)]
pub struct Assembly {
    /// Of its library.
    pub parts: Parts,
    /// How it searches.
    pub settings: SearchSettings,
    /// What stands around searches, if anything.
    pub layer: Option<Arc<dyn Layer>>,
}

impl Assembly {
    /// What the options ask for: the project's parts, or an index file with what is built in.
    ///
    /// # Errors
    /// `LifeError::Project`, `LifeError::Store`.
    #[cfg_attr(not(feature = "project"), expect(unused_variables, reason = "they ask for no project"))]
    pub async fn of(options: &Options, database: &Path) -> Result<Self, StartError> {
        #[cfg(feature = "project")]
        if let Some(project) = &options.project {
            return Ok(Self { parts: project.parts().await?, settings: project.settings()?, layer: None });
        }
        let store = Arc::new(SqliteStore::open(database).await?);
        Ok(Self {
            #[cfg(feature = "builtin")]
            parts: Parts::new(store, Provider::Hashing(HashingEmbedder::INDEX)),
            #[cfg(not(feature = "builtin"))]
            parts: Parts::new(store, Provider::None),
            settings: SearchSettings {
                #[cfg(feature = "builtin")]
                reranker: Some(Arc::new(JointReranker)),
                ..SearchSettings::default()
            },
            layer: None,
        })
    }
}

impl ServerState {
    /// Starts: opens the library and indexes what is new in the corpus.
    ///
    /// # Errors
    /// `LibraryError`, or `CorpusError`, which hold the store's too.
    pub async fn begin(options: &Options, assembly: Assembly) -> Result<Self, StartError> {
        let started_at = Utc::now();
        let library = Library::open(assembly.parts).await?;
        let retrieval = Retrieval::new(library, assembly.settings).within(assembly.layer);
        let sources = corpus::index(&options.corpus, &retrieval.library, started_at).await?;
        let instance_id = Uuid::now_v7().to_string();
        tracing::info!(name = options.name, instance_id, sources, "reference server is ready");
        Ok(Self {
            name: options.name.clone(),
            subject: options.subject(),
            instance_id,
            started_at,
            retrieval,
            bearer: options.bearer.clone(),
            #[cfg(feature = "tenants")]
            tenants: options.project.as_ref().map(crate::project::opened::Project::tenants).transpose()?.flatten(),
            #[cfg(feature = "census")]
            stale_after: options.stale_after,
            #[cfg(feature = "census")]
            longest: Mutex::default(),
            #[cfg(feature = "metrics")]
            counts: Counts::default(),
            #[cfg(feature = "fetch")]
            fetcher: options.fetcher().map_err(StartError::Selection)?,
            logs_questions: options.logs_questions(),
        })
    }
}

/// Why a server does not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The corpus cannot be indexed.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The project cannot be opened.
    #[cfg(feature = "project")]
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Which files may be read cannot be told.
    #[cfg(feature = "fetch")]
    #[error("{0}")]
    Selection(String),
    /// The library is not ours to use.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}
