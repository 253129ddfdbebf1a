//! What a server is to be.

use std::net::SocketAddr;
use std::path::PathBuf;
#[cfg(feature = "census")]
use std::time::Duration;

#[cfg(feature = "fetch")]
use ipnet::IpNet;

use crate::index::corpus::Corpus;
#[cfg(feature = "project")]
use crate::project::opened::Project;

/// What a server is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The index file; `None` is a temporary one that goes with the server.
    pub database: Option<PathBuf>,
    /// What it knows when it starts.
    pub corpus: Corpus,
    /// The name it goes by.
    pub name: String,
    /// The token that callers of `/mcp` must bring.
    pub bearer: Option<String>,
    /// The project whose index is served; `None` is the index file above.
    #[cfg(feature = "project")]
    pub project: Option<Project>,
    /// The folder that `index_document` may read files from; `None` is the project's, or none.
    #[cfg(feature = "fetch")]
    pub root: Option<PathBuf>,
    /// How old the indexing of a source may be before `/health` says so; `None` is any age.
    #[cfg(feature = "census")]
    pub stale_after: Option<Duration>,
    /// Networks that `index_document` may read from although they are not public.
    #[cfg(feature = "fetch")]
    pub allow_private: Vec<IpNet>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            database: None,
            corpus: Corpus::default(),
            name: "serin-reference".to_owned(),
            bearer: None,
            #[cfg(feature = "project")]
            project: None,
            #[cfg(feature = "fetch")]
            root: None,
            #[cfg(feature = "census")]
            stale_after: None,
            #[cfg(feature = "fetch")]
            allow_private: Vec::new(),
        }
    }
}

impl Options {
    /// What is searched: a name, with a summary where somebody wrote one.
    pub fn subject(&self) -> String {
        #[cfg(feature = "project")]
        if let Some(project) = &self.project {
            return project.subject();
        }
        self.corpus.subject()
    }

    /// Whether the log has questions in words, and not as digests.
    pub fn logs_questions(&self) -> bool {
        #[cfg(feature = "project")]
        return self.project.as_ref().is_some_and(|project| project.config.logs_questions());
        #[cfg(not(feature = "project"))]
        false
    }
}
