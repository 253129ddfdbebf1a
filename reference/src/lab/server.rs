//! The server that fails: options in, an address out, running until it is told to stop.
//!
//! One task watches over it: it opens the door, holds the pool when that is asked for, closes the
//! door and opens it again, and starts another life after a crash. The address stays the same over
//! all lives. Dropping `Running` stops nothing; the token given to `serve` does.

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
use crate::lab::door;
use crate::lab::kinds::Fault;
use crate::lab::options::Options;
use crate::lab::switches::Faults;
use crate::serve::database::Database;
use crate::serve::door::Door;
use crate::serve::life::{Assembly, Life, LifeError};
use crate::serve::options as serve;
use crate::serve::server;
use crate::store::contract::{Connection, Patience};
use crate::store::records::StoreError;

/// How often a taken port is tried again when the server comes back.
const BIND_PAUSE: Duration = Duration::from_millis(100);
/// Crashes that may wait; each is over before the next makes sense.
const CRASHES_MAX: usize = 4;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The admin endpoint must be on loopback.
    #[error("the admin endpoint breaks things on request: {0} is not on loopback")]
    AdminNotLocal(SocketAddr),
    /// The server itself does not start.
    #[error(transparent)]
    Server(#[from] server::ServeError),
}

/// A server that runs, and how it is broken.
#[derive(Debug)]
pub struct Running {
    /// Where its admin endpoint listens.
    pub admin: Option<SocketAddr>,
    server: server::Running,
    faults: Faults,
    crashes: CrashControl,
}

/// The server by itself; its address stays while it refuses.
impl Deref for Running {
    type Target = server::Running;

    fn deref(&self) -> &server::Running {
        &self.server
    }
}

impl Running {
    /// The switchboard.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Crashes: listener and connections are gone when this returns. After `down_for` another life
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
/// `ServeError`; nothing listens then.
pub async fn serve(options: Options, stop: CancellationToken) -> Result<Running, ServeError> {
    let server = options.server();
    if let Some(admin) = options.admin.filter(|admin| !admin.ip().is_loopback()) {
        return Err(ServeError::AdminNotLocal(admin));
    }
    let faults = Faults::default();
    for (fault, dose) in &options.faults {
        faults.on(*fault, *dose);
    }
    let (listener, address) = server::listen(&server).await?;
    let database = Arc::new(Database::at(server.database.clone()));
    let life = begin(&server, &database, &faults).await.map_err(server::ServeError::from)?;
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
    let task = tokio::spawn(keeper.keep(Arc::new(life), listener));
    faults.settled().await;
    Ok(Running { admin, server: server::Running::new(address, stop, task), faults, crashes: crash })
}

/// Begins a life with the laboratory around each of its parts.
async fn begin(options: &serve::Options, database: &Database, faults: &Faults) -> Result<Life, LifeError> {
    let started = Instant::now();
    let assembly = decorated::assembly(Assembly::of(options, &database.path).await?, faults, started);
    if faults.dose(Fault::IndexInMemory).is_none() {
        return Life::begin(options, assembly).await;
    }
    // What was only in memory went with the life before.
    let life = Life::begin(&serve::Options { corpus: Corpus::Empty, ..options.clone() }, assembly).await?;
    life.retrieval.library.rebuild().await?;
    Ok(life)
}

/// Watches over a server through all its lives.
struct Keeper {
    options: serve::Options,
    address: SocketAddr,
    database: Arc<Database>,
    faults: Faults,
    crashes: mpsc::Receiver<Crash>,
    stop: CancellationToken,
}

enum End {
    Stopped,
    Crashed(Crash),
}

impl Keeper {
    async fn keep(mut self, life: Arc<Life>, listener: TcpListener) {
        self.lives(life, listener).await;
        // Nothing is applied any more: nobody need wait for it.
        self.faults.applied(u64::MAX);
    }

    async fn lives(&mut self, mut life: Arc<Life>, listener: TcpListener) {
        let mut listener = Some(listener);
        loop {
            let end = self.live(&life, listener.take()).await;
            life.retrieval.library.store().close().await;
            let End::Crashed(crash) = end else { return };
            tracing::warn!(down_for = ?crash.down_for, "crashed on request");
            // Whoever ordered it may have gone away.
            let _unheard = crash.done.send(());
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(crash.down_for) => {}
            }
            match begin(&self.options, &self.database, &self.faults).await {
                Ok(next) => life = Arc::new(next),
                Err(error) => {
                    tracing::error!(%error, "could not start again");
                    return;
                }
            }
        }
    }

    /// One life. Ends with the door shut.
    async fn live(&mut self, life: &Arc<Life>, listener: Option<TcpListener>) -> End {
        let mut changes = self.faults.changes();
        self.faults.restarted();
        let mut held: Vec<Box<dyn Connection>> = Vec::new();
        let mut listener = listener;
        let mut door: Option<Door> = None;
        let mut damage: Option<String> = None;
        loop {
            let generation = *changes.borrow_and_update();
            recut(life, &self.faults, &mut held, &mut damage).await;
            hold(life, &self.faults, &mut held).await;
            if self.faults.dose(Fault::Refused).is_some() {
                listener = None;
                if let Some(door) = door.take() {
                    door.slam().await;
                }
            } else if door.is_none() {
                let bound = match listener.take() {
                    Some(bound) => Some(bound),
                    None => self.bind_again().await,
                };
                door = bound.map(|bound| self.open(bound, life));
            }
            self.faults.applied(generation);
            tokio::select! {
                () = self.stop.cancelled() => {
                    drop(held);
                    if let Some(door) = door {
                        door.close().await;
                    }
                    return End::Stopped;
                }
                Some(crash) = self.crashes.recv() => {
                    if let Some(door) = door {
                        door.slam().await;
                    }
                    return End::Crashed(crash);
                }
                // The sender is our own: it never goes away.
                _changed = changes.changed() => {}
            }
        }
    }

    fn open(&self, listener: TcpListener, life: &Arc<Life>) -> Door {
        let mcp = CancellationToken::new();
        let router = door::router(life, &self.faults, mcp.clone(), !self.address.ip().is_loopback());
        Door::open(listener, router, mcp)
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
async fn recut(life: &Life, faults: &Faults, held: &mut Vec<Box<dyn Connection>>, damage: &mut Option<String>) {
    let library = &life.retrieval.library;
    let wanted = library.cut_how();
    // A frozen index is cut once it thaws.
    if damage.as_ref() == Some(&wanted) || faults.dose(Fault::IndexFrozen).is_some() {
        return;
    }
    held.clear();
    let cutting = async {
        let _alone = library.write("recut", true).await?;
        library.recut(chrono::Utc::now()).await
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
async fn hold(life: &Life, faults: &Faults, held: &mut Vec<Box<dyn Connection>>) {
    let store = life.retrieval.library.store();
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
