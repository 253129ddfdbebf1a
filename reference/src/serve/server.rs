//! The server as a value: options in, an address out, running until it is told to stop.
//!
//! One task watches over it: it opens the door, holds the pool when that is asked for, closes the
//! door and opens it again, and starts another life after a crash. The address stays the same over
//! all lives. Dropping `Running` stops nothing; the token given to `serve` does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::lab::admin;
use crate::lab::kinds::Fault;
use crate::lab::switches::Faults;
use crate::serve::door::Door;
use crate::serve::legacy;
use crate::serve::life::{Life, LifeError};
use crate::serve::options::Options;
use crate::serve::orders::{Database, Order, Orders};
use crate::store::contract::{Connection, Patience};
use crate::store::records::StoreError;

/// How often a taken port is tried again when the server comes back.
const BIND_PAUSE: Duration = Duration::from_millis(100);
/// Orders that may wait; each is answered before the next makes sense.
const ORDERS_MAX: usize = 4;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {why}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// What the operating system says.
        why: std::io::Error,
    },
    /// The admin endpoint must be on loopback.
    #[error("the admin endpoint breaks things on request: {0} is not on loopback")]
    AdminNotLocal(SocketAddr),
    /// A server others can reach needs a token.
    #[error("{0} can be reached by others: give a token, or listen on loopback")]
    TokenNeeded(SocketAddr),
    /// Its first life does not begin.
    #[error(transparent)]
    Life(#[from] LifeError),
}

/// A server that runs.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, also while it refuses.
    pub address: SocketAddr,
    /// Where its admin endpoint listens.
    pub admin: Option<SocketAddr>,
    faults: Faults,
    orders: Orders,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// The switchboard.
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// The URL a monitor is given.
    pub fn mcp_url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The URL a client of sessions is given.
    pub fn legacy_url(&self) -> String {
        self.url(legacy::PATH)
    }

    /// The URL of `/live`, `/ready` or `/health`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{}", self.address, path.trim_start_matches('/'))
    }

    /// Crashes: listener and connections are gone when this returns. After `down_for` another life
    /// begins at the same address, with a new instance id and nothing remembered but its index file.
    pub async fn crash(&self, down_for: Duration) {
        self.orders.crash(down_for).await;
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
    if !options.listen.ip().is_loopback() && options.bearer.is_none() {
        return Err(ServeError::TokenNeeded(options.listen));
    }
    if let Some(admin) = options.admin.filter(|admin| !admin.ip().is_loopback()) {
        return Err(ServeError::AdminNotLocal(admin));
    }
    let faults = Faults::default();
    for (fault, dose) in &options.faults {
        faults.on(*fault, *dose);
    }
    let listener = bind(options.listen).await?;
    let address = address_of(&listener, options.listen)?;
    let database = Arc::new(Database::at(options.database.clone()));
    let life = Life::begin(&options, &database.path, &faults).await?;
    let (sender, orders) = mpsc::channel(ORDERS_MAX);
    let senders = Orders { sender, database: Arc::clone(&database) };
    let admin = match options.admin {
        None => None,
        Some(wanted) => {
            let listener = bind(wanted).await?;
            let address = address_of(&listener, wanted)?;
            let desk = admin::Desk { faults: faults.clone(), orders: senders.clone(), may_exit: options.may_exit };
            tokio::spawn(admin::serve(listener, desk, stop.clone()));
            Some(address)
        }
    };
    let keeper = Keeper { options, address, database, faults: faults.clone(), orders, stop: stop.clone() };
    let task = tokio::spawn(keeper.keep(Arc::new(life), listener));
    faults.settled().await;
    Ok(Running { address, admin, faults, orders: senders, stop, task })
}

async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|why| ServeError::Bind { address, why })
}

fn address_of(listener: &TcpListener, wanted: SocketAddr) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|why| ServeError::Bind { address: wanted, why })
}

/// Watches over a server through all its lives.
struct Keeper {
    options: Options,
    address: SocketAddr,
    database: Arc<Database>,
    faults: Faults,
    orders: mpsc::Receiver<Order>,
    stop: CancellationToken,
}

enum End {
    Stopped,
    Crashed(Order),
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
            let End::Crashed(order) = end else { return };
            tracing::warn!(down_for = ?order.down_for, "crashed on request");
            // Whoever ordered it may have gone away.
            let _unheard = order.done.send(());
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(order.down_for) => {}
            }
            match Life::begin(&self.options, &self.database.path, &self.faults).await {
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
            recut(life, &mut held, &mut damage).await;
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
                door = bound.map(|bound| Door::open(bound, life, !self.address.ip().is_loopback()));
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
                Some(order) = self.orders.recv() => {
                    if let Some(door) = door {
                        door.slam().await;
                    }
                    return End::Crashed(order);
                }
                // The sender is our own: it never goes away.
                _changed = changes.changed() => {}
            }
        }
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
async fn recut(life: &Life, held: &mut Vec<Box<dyn Connection>>, damage: &mut Option<String>) {
    let library = &life.retrieval.library;
    let wanted = library.damage();
    // A frozen index is cut once it thaws.
    if damage.as_ref() == Some(&wanted) || life.faults.dose(Fault::IndexFrozen).is_some() {
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
