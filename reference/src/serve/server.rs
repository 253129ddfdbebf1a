//! The server as a value: options in, an address out, running until it is told to stop.
//!
//! Dropping `Running` stops nothing; the token given to `serve` does.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::serve::database::Database;
#[cfg(feature = "sessions")]
use crate::serve::legacy;
use crate::serve::listener::{self, Endpoint, Listener};
use crate::serve::options::Options;
use crate::serve::state::{Assembly, ServerState, StartError};
use crate::serve::tools::McpHandler;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// What the operating system says.
        #[source]
        why: std::io::Error,
    },
    /// A server others can reach needs a token.
    #[error("{0} can be reached by others: give a token, or listen on loopback")]
    TokenNeeded(SocketAddr),
    /// It does not begin.
    #[error(transparent)]
    ServerState(#[from] StartError),
}

/// A server that runs.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// What a task serves at an address, until `stop`.
    pub fn new(address: SocketAddr, stop: CancellationToken, task: JoinHandle<()>) -> Self {
        Self { address, stop, task }
    }

    /// The URL a monitor is given.
    pub fn mcp_url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The URL a client of sessions is given.
    #[cfg(feature = "sessions")]
    pub fn legacy_url(&self) -> String {
        self.url(legacy::PATH)
    }

    /// The URL of `/live`, `/ready` or `/health`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{}", self.address, path.trim_start_matches('/'))
    }

    /// Stops, letting answers under way end.
    pub async fn stop(self) {
        self.stop.cancel();
        self.ended().await;
    }

    /// Waits until it has stopped.
    pub async fn ended(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the reference server broke off");
        }
    }
}

/// Starts a server and gives its address; it answers when this returns, and runs until `stop`.
///
/// # Errors
/// `ServeError`; nothing listens then.
pub async fn serve(options: Options, stop: CancellationToken) -> Result<Running, ServeError> {
    let (bound, address) = listen(&options).await?;
    let database = Database::at(options.database.clone());
    let state = ServerState::begin(&options, Assembly::of(&options, &database.path).await?).await?;
    let (state, mcp) = (Arc::new(state), CancellationToken::new());
    let endpoint = Endpoint {
        state: Arc::clone(&state),
        handler: McpHandler(Arc::clone(&state)),
        #[cfg(feature = "sessions")]
        sessions: Arc::default(),
        mcp: mcp.clone(),
        public: !address.ip().is_loopback(),
    };
    let router = listener::router(endpoint);
    let listener = Listener::open(bound, router, mcp);
    let stopped = stop.clone();
    let task = tokio::spawn(async move {
        stopped.cancelled().await;
        listener.close().await;
        state.retrieval.library.store().close().await;
        drop(database);
    });
    Ok(Running::new(address, stop, task))
}

/// Listens where the options say, and only where a server may: one that others can reach needs a token.
///
/// # Errors
/// `Bind`, `TokenNeeded`.
pub async fn listen(options: &Options) -> Result<(TcpListener, SocketAddr), ServeError> {
    if !options.listen.ip().is_loopback() && options.bearer.is_none() {
        return Err(ServeError::TokenNeeded(options.listen));
    }
    bind(options.listen).await
}

/// A listener, and its address.
///
/// # Errors
/// `Bind`.
pub async fn bind(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |why| ServeError::Bind { address: wanted, why };
    let listener = TcpListener::bind(wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}
