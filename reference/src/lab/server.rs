//! The server that fails: options in, an address out, running until it is told to stop.
//!
//! One task watches over it: it opens the listener, holds the pool when that is asked for, closes the
//! listener and opens it again, and starts another run after a crash. The address stays the same over
//! all restarts. Dropping `LabServer` stops nothing; the token given to `serve` does.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::index::corpus::Corpus;
use crate::lab::admin::{self, Admin};
use crate::lab::crash::{Crash, CrashControl};
use crate::lab::decorated;
use crate::lab::kinds::Fault;
use crate::lab::listener;
use crate::lab::options::LabOptions;
use crate::lab::switches::Faults;
use crate::serve::database::Database;
use crate::serve::listener::Listener;
use crate::serve::options as serve;
use crate::serve::server;
use crate::serve::state::{Assembly, ServerState, StartError};
use crate::store::contract::{Connection, Patience};
use crate::store::records::StoreError;

/// How often a taken port is tried again when the server comes back.
const BIND_PAUSE: Duration = Duration::from_millis(100);
/// Crashes that may wait; each is over before the next makes sense.
const CRASHES_MAX: usize = 4;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The admin endpoint must be on loopback.
    #[error("the admin endpoint breaks things on request: {0} is not on loopback")]
    AdminNotLocal(SocketAddr),
    /// The server itself does not start.
    #[error(transparent)]
    Server(#[from] server::ServeError),
}

/// A server that runs, and how it is broken.
#[derive(Debug)]
pub struct LabServer {
    /// Where its admin endpoint listens.
    pub admin: Option<SocketAddr>,
    server: server::Running,
    faults: Faults,
    crashes: CrashControl,
}

/// The server by itself; its address stays while it refuses.
impl Deref for LabServer {
    type Target = server::Running;

    fn deref(&self) -> &server::Running {
        &self.server
    }
}

impl LabServer {
    /// The switchboard.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Crashes: listener and connections are gone when this returns. After `down_for` another run
    /// begins at the same address, with a new instance id and nothing remembered but its index file.
    pub async fn crash(&self, down_for: Duration) {
        self.crashes.crash(down_for).await;
    }

    /// Stops, letting answers under way end.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    /// Waits until it has stopped.
    pub async fn ended(self) {
        self.server.ended().await;
    }
}

/// Starts a server and gives its address; it answers when this returns, and runs until `stop`.
///
/// # Errors
/// `LabError`; nothing listens then.
pub async fn serve(options: LabOptions, stop: CancellationToken) -> Result<LabServer, LabError> {
    let server = options.server();
    if let Some(admin) = options.admin.filter(|admin| !admin.ip().is_loopback()) {
        return Err(LabError::AdminNotLocal(admin));
    }
    let faults = Faults::default();
    for (fault, dose) in &options.faults {
        faults.on(*fault, *dose);
    }
    let (listener, address) = server::listen(&server).await?;
    let database = Arc::new(Database::at(server.database.clone()));
    let state = begin(&server, &database, &faults).await.map_err(server::ServeError::from)?;
    let (sender, crashes) = mpsc::channel(CRASHES_MAX);
    let crash = CrashControl { sender, database: Arc::clone(&database) };
    let admin = match options.admin {
        None => None,
        Some(wanted) => {
            let (listener, address) = server::bind(wanted).await?;
            let admin = Admin { faults: faults.clone(), crash: crash.clone(), may_exit: options.may_exit };
            tokio::spawn(admin::serve(listener, admin, stop.clone()));
            Some(address)
        }
    };
    let keeper = Keeper { options: server, address, database, faults: faults.clone(), crashes, stop: stop.clone() };
    let task = tokio::spawn(keeper.keep(Arc::new(state), listener));
    faults.settled().await;
    Ok(LabServer { admin, server: server::Running::new(address, stop, task), faults, crashes: crash })
}

/// Begins a run with the laboratory around each of its parts.
async fn begin(options: &serve::Options, database: &Database, faults: &Faults) -> Result<ServerState, StartError> {
    let started = Instant::now();
    let assembly = decorated::assembly(Assembly::of(options, &database.path).await?, faults, started);
    if faults.dose(Fault::IndexInMemory).is_none() {
        return ServerState::begin(options, assembly).await;
    }
    // What was only in memory went with the run before.
    let mut state = ServerState::begin(&serve::Options { corpus: Corpus::Empty, ..options.clone() }, assembly).await?;
    state.subject = options.subject();
    state.retrieval.library.rebuild().await?;
    Ok(state)
}

/// Watches over a server through all its restarts.
struct Keeper {
    options: serve::Options,
    address: SocketAddr,
    database: Arc<Database>,
    faults: Faults,
    crashes: mpsc::Receiver<Crash>,
    stop: CancellationToken,
}

enum LabEnd {
    Stopped,
    Crashed(Crash),
}

impl Keeper {
    async fn keep(mut self, state: Arc<ServerState>, listener: TcpListener) {
        self.runs(state, listener).await;
        // Nothing is applied any more: nobody need wait for it.
        self.faults.applied(u64::MAX);
    }

    async fn runs(&mut self, mut state: Arc<ServerState>, listener: TcpListener) {
        let mut listener = Some(listener);
        loop {
            let end = self.run(&state, listener.take()).await;
            state.retrieval.library.store().close().await;
            let LabEnd::Crashed(crash) = end else { return };
            tracing::warn!(down_for = ?crash.down_for, "crashed on request");
            // Whoever ordered it may have gone away.
            let _unheard = crash.done.send(());
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(crash.down_for) => {}
            }
            match begin(&self.options, &self.database, &self.faults).await {
                Ok(next) => state = Arc::new(next),
                Err(error) => {
                    tracing::error!(%error, "could not start again");
                    return;
                }
            }
        }
    }

    /// One run, from a start to its crash. Ends with the listener closed.
    async fn run(&mut self, state: &Arc<ServerState>, bound: Option<TcpListener>) -> LabEnd {
        let mut changes = self.faults.changes();
        self.faults.restarted();
        let mut held: Vec<Box<dyn Connection>> = Vec::new();
        let mut bound = bound;
        let mut listener: Option<Listener> = None;
        let mut damage: Option<String> = None;
        loop {
            let generation = *changes.borrow_and_update();
            recut(state, &self.faults, &mut held, &mut damage).await;
            hold(state, &self.faults, &mut held).await;
            if self.faults.dose(Fault::Refused).is_some() {
                bound = None;
                if let Some(open) = listener.take() {
                    open.abort().await;
                }
            } else if listener.is_none() {
                let again = match bound.take() {
                    Some(bound) => Some(bound),
                    None => self.bind_again().await,
                };
                listener = again.map(|bound| self.open(bound, state));
            }
            self.faults.applied(generation);
            tokio::select! {
                () = self.stop.cancelled() => {
                    drop(held);
                    if let Some(open) = listener {
                        open.close().await;
                    }
                    return LabEnd::Stopped;
                }
                Some(crash) = self.crashes.recv() => {
                    if let Some(open) = listener {
                        open.abort().await;
                    }
                    return LabEnd::Crashed(crash);
                }
                // The sender is our own: it never goes away.
                _changed = changes.changed() => {}
            }
        }
    }

    fn open(&self, bound: TcpListener, state: &Arc<ServerState>) -> Listener {
        let mcp = CancellationToken::new();
        let router = listener::router(state, &self.faults, mcp.clone(), !self.address.ip().is_loopback());
        Listener::open(bound, router, mcp)
    }

    /// The same port again; somebody else may have it for a moment. `None` when it is time to stop.
    async fn bind_again(&self) -> Option<TcpListener> {
        loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => return Some(listener),
                Err(error) => tracing::warn!(address = %self.address, %error, "the port is taken, trying again"),
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(BIND_PAUSE) => {}
            }
        }
    }
}

/// Cuts what is there again, where a fault of the cutting came or went. It gives back the connections
/// that are held, for it needs some itself; `hold` takes them again.
async fn recut(state: &ServerState, faults: &Faults, held: &mut Vec<Box<dyn Connection>>, damage: &mut Option<String>) {
    let library = &state.retrieval.library;
    let wanted = library.cut_how();
    // A frozen index is cut once it thaws.
    if damage.as_ref() == Some(&wanted) || faults.dose(Fault::IndexFrozen).is_some() {
        return;
    }
    held.clear();
    let cutting = async {
        let _alone = library.write("recut", true).await?;
        library.recut(chrono::Utc::now(), &mut |_, _, _| {}).await
    };
    match cutting.await {
        Ok(sources) => {
            tracing::info!(sources, "cut again");
            *damage = Some(wanted);
        }
        Err(error) => tracing::error!(%error, "what is there could not be cut again"),
    }
}

/// Takes so many of the pool's connections as the fault wants, or gives them back.
async fn hold(state: &ServerState, faults: &Faults, held: &mut Vec<Box<dyn Connection>>) {
    let store = state.retrieval.library.store();
    let share = faults.dose(Fault::PoolSaturated).map_or(0.0, |dose| dose.share);
    let wanted = (f64::from(store.pool().max) * share).ceil() as usize;
    held.truncate(wanted);
    while held.len() < wanted && faults.dose(Fault::PoolSaturated).is_some() {
        match store.connect(Patience::Search).await {
            Ok(connection) => held.push(connection),
            // A search has it still; it comes back.
            Err(StoreError::Saturated { .. }) => {}
            Err(error) => {
                tracing::error!(%error, "the pool could not be taken");
                return;
            }
        }
    }
}
