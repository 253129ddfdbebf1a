//! What a server is to be that fails on request.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::index::corpus::Corpus;
use crate::lab::kinds::{Dose, Fault};
use crate::project::opened::Project;
use crate::serve::options as serve;

/// What a server is to be: `serve::options::Options`, and what is broken in it.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the admin endpoint listens, on loopback; `None` is nowhere.
    pub admin: Option<SocketAddr>,
    /// The index file; `None` is a temporary one that goes with the server.
    pub database: Option<PathBuf>,
    /// What it knows when it starts.
    pub corpus: Corpus,
    /// What is broken from the start.
    pub faults: Vec<(Fault, Dose)>,
    /// The name it goes by.
    pub name: String,
    /// The token that callers of `/mcp` must bring.
    pub bearer: Option<String>,
    /// Whether a crash may take the process with it.
    pub may_exit: bool,
    /// The project whose index is served; `None` is the index file above.
    pub project: Option<Project>,
    /// The folder that `index_document` may read files from; `None` is the project's, or none.
    pub root: Option<PathBuf>,
    /// How old the indexing of a source may be before `/health` says so; `None` is any age.
    pub stale_after: Option<Duration>,
    /// Networks that `index_document` may read from although they are not public.
    pub allow_private: Vec<IpNet>,
}

impl Default for LabOptions {
    fn default() -> Self {
        let serve::Options { listen, database, corpus, name, bearer, project, root, stale_after, allow_private } =
            serve::Options::default();
        Self {
            listen,
            admin: None,
            database,
            corpus,
            faults: Vec::new(),
            name,
            bearer,
            may_exit: false,
            project,
            root,
            stale_after,
            allow_private,
        }
    }
}

impl LabOptions {
    /// The server by itself.
    pub fn server(&self) -> serve::Options {
        let Self { listen, database, corpus, name, bearer, project, root, stale_after, allow_private, .. } =
            self.clone();
        serve::Options { listen, database, corpus, name, bearer, project, root, stale_after, allow_private }
    }
}
