//! The program as a value: bind, know the address, run until shutdown. The only place that spawns loops, which makes it long.

mod beat_threads;
mod open_files;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use chrono::{DateTime, Utc};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::app::beat_threads::BeatThreads;
pub use crate::app::open_files::raised_file_limit;
use crate::app::open_files::shares;
use crate::config;
use crate::config::check::checker::Unset;
use crate::config::describe::lock;
use crate::config::read::source::{self, ConfigSource};
use crate::daemon::actions;
use crate::daemon::delivery_worker::DeliveryWorker;
use crate::daemon::discovery::Discovery;
use crate::daemon::firing_alerts::FiringAlerts;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::permits::Shares;
use crate::daemon::reload::{self, Reload};
use crate::daemon::scheduler::Scheduler;
use crate::daemon::sharing::Sharing;
use crate::daemon::startup::{Start, Started, Waiting};
use crate::daemon::{drills, follow, heartbeat, janitor, kept_lists, publish, queue_metrics, quiet_loop};
use crate::deliver::channel::ChannelSender;
use crate::deliver::internal::InternalAlerts;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::action::{Action, WAITING_MAX};
use crate::domain::bunching;
use crate::domain::fleet::Retention;
use crate::domain::shard::Shards;
use crate::live::banner::Banner;
use crate::live::quiets::Quiets;
use crate::live::state::LiveState;
use crate::net::document::Documents;
use crate::probe::prober::Prober;
use crate::store::Store;
use crate::store::StoreError;
use crate::web::connections::Limits;
use crate::web::key_ring::KeyRing;
use crate::web::serve::{answer_by, serve};
use crate::web::starting;
use crate::web::state::{self, WebState};

/// How long what is in flight gets to end. Whoever stops us kills us after a while (`docker stop` after ten seconds), and
/// a try at a receiver that hangs takes as long; what is cut off here is sent again after the next start.
const ENDING_MAX: Duration = Duration::from_secs(6);
/// Keys that other machines made are known within this.
const KEYS_READ_EVERY: Duration = Duration::from_secs(5);
/// How a variable is looked up; the demo and tests bring their own.
pub type Environment = reload::Environment;

/// How a file's `log` comes into force.
pub type Logging = reload::Logging;

/// What a Serin is started with.
#[derive(Clone)]
pub struct Options {
    /// The file that declares the fleet; its folder holds the lock of accepted tools.
    pub config: PathBuf,
    /// How a variable is looked up.
    pub env: Environment,
    /// Looks at the file at once when told (SIGHUP).
    pub look: Arc<Notify>,
    /// Whether a damaged database is put aside and a new one begun; else it keeps Serin from starting.
    pub set_aside_damaged: bool,
    /// Puts the file's `log` in force.
    pub logging: Logging,
}

impl Options {
    /// The usual: nobody asks for a look, a damaged database keeps it from starting, and logs are as they are.
    pub fn new(config: PathBuf, env: Environment) -> Self {
        let look = Arc::new(Notify::new());
        Self { config, env, look, set_aside_damaged: false, logging: Arc::new(|_| {}) }
    }
}

/// The loops of one process; [`Running::ended`] waits for them.
#[derive(Debug)]
pub struct Running {
    /// The address bound, with the real port where 0 was asked for.
    pub address: SocketAddr,
    /// How many monitors it started with.
    pub monitors: usize,
    /// Whether its file shows something to everybody, at `/status`.
    pub has_status_page: bool,
    /// What pages show, and Serin's own counters.
    pub live: Arc<LiveState>,
    tasks: JoinSet<&'static str>,
    alerts: InternalAlerts,
    store: Store,
    shutdown: CancellationToken,
}

/// Binds, opens, resumes and starts every loop. While the database cannot be opened for a reason that may pass, it waits,
/// and says so.
///
/// # Errors
/// Where the file has faults, the address is taken, the database can never be opened, each with the mend; or where it was
/// told to stop meanwhile.
pub async fn start(options: Options, shutdown: CancellationToken) -> anyhow::Result<Running> {
    let (mut source, mut loaded) = configuration(&options)?;
    let (address, listener) = listening(loaded.settings.listen, &source.name).await?;
    let (fleet_in_force, fleets) = watch::channel(Arc::new(loaded.fleet.clone()));
    let is_shared = loaded.settings.database.as_ref().is_some_and(|database| database.file().is_none());
    let (name, started_at) = (node_name(address.port()), Utc::now());
    let alerts = if is_shared { InternalAlerts::of_machine(&name) } else { InternalAlerts::new() };
    let (live, sender) = (Arc::new(LiveState::default()), Arc::new(ChannelSender::new()?));
    let Shares { probes, pages, streams } = shares(&live);
    let limits = Limits {
        connections: pages,
        streams,
        trusted_proxies: loaded.settings.trusted_proxies.clone(),
        ..Limits::default()
    };
    let mut tasks = JoinSet::new();
    // The delivery worker outlives the scheduler, so that what the last beats decided still goes out.
    let worker_stop = CancellationToken::new();
    tasks.spawn(named("alerts", alerts.clone().run(Arc::clone(&sender), fleets.clone(), worker_stop.clone())));
    let waiting = Waiting { alerts: &alerts, live: &live, shutdown: &shutdown };
    let over = answer_meanwhile(waiting, &listener, limits.clone());
    let (fleet, begun) = loop {
        let put_back = kept_lists::put_back(&options.config, &loaded, waiting).await?;
        if put_back == Some(true) {
            (source, loaded) = configuration(&options)?;
        }
        let fleet = Arc::new(loaded.fleet.clone());
        fleet_in_force.send_replace(Arc::clone(&fleet));
        let wanted = Start {
            database: loaded.settings.database.as_ref().context("the database's address refers to what is not set")?,
            set_aside_damaged: options.set_aside_damaged,
            fleet: &fleet,
            name: &name,
            started_at,
            files: &source.files(),
        };
        match if put_back.is_some() { wanted.begin(waiting).await? } else { None } {
            // Files and lists went on meanwhile: by the old ones, incidents would end that go on.
            Some(Started { store, stood_by: true, .. }) => {
                store.close().await;
                (source, loaded) = configuration(&options)?;
            }
            begun => break (fleet, begun),
        }
    };
    drop(over);
    let Some(Started { store, runtimes, leases, aside, .. }) = begun else {
        worker_stop.cancel();
        tasks.join_all().await;
        anyhow::bail!("it was told to stop while it waited for the database");
    };
    let (leases_in_force, leases) = watch::channel(Arc::new(leases));
    let quiets = Arc::new(Quiets::default());
    let silences = quiet_loop::begin(&quiets, &store, &fleet, Utc::now()).await.context("silences cannot be read")?;
    let context = LoopContext {
        store: store.clone(),
        prober: Arc::new(Prober::new(fleet.monitors.len().max(256))),
        live,
        alerts,
        fleet: fleets.clone(),
        leases: leases.clone(),
        uplink: Arc::default(),
        quiets,
        parents: Arc::default(),
        ailing: Arc::new(AtomicBool::new(false)),
        affected: Arc::default(),
    };
    if let Some(aside) = aside {
        tell_of_lost_history(&context, &aside);
    }
    let (owner, actions) = mpsc::channel(WAITING_MAX);
    context.live.metrics().file_in_force(reload::note(&fleet, Utc::now()));
    let mut web = WebState::new(
        Arc::clone(&context.live),
        store.clone(),
        state::Settings { listen: address, token: loaded.settings.token.clone(), lock_entry: lock::with_tools },
        fleets.clone(),
        shutdown.clone(),
    );
    web.followed = Arc::new(follow::StoredViews(store.clone()));
    web.alerts = context.alerts.clone();
    web.quiets = Arc::clone(&context.quiets);
    web.keys.put(store.live_keys(Utc::now()).await.context("the keys of the API cannot be read")?);
    let links = web.keyed(store.link_key().await.context("the key of links cannot be read")?);
    web.config = Arc::from(options.config.as_path());
    let listings = Arc::clone(&web.listings);
    let (of_worker, of_firing) = (Arc::clone(&sender), Arc::clone(&sender));
    let worker = DeliveryWorker {
        store: store.clone(),
        sender: of_worker,
        fleet: fleets.clone(),
        leases: leases.clone(),
        links,
    };
    let firing = FiringAlerts { store: store.clone(), sender: of_firing, fleet: fleets.clone(), leases };
    let anew = Arc::new(AtomicBool::new(false));
    let reload = Reload {
        context: context.clone(),
        anew: Arc::clone(&anew),
        path: options.config,
        env: options.env,
        settings: loaded.settings,
        logging: options.logging,
        fleet: fleet_in_force,
        look: options.look,
        listings: Arc::clone(&listings),
    };
    let look = Arc::clone(&reload.look);
    let discovery = Discovery {
        context: context.clone(),
        folder: reload.path.parent().unwrap_or(Path::new("")).to_owned(),
        documents: Documents::new().context("no HTTP client can be made")?,
        listings: Arc::clone(&listings),
        look: Arc::clone(&reload.look),
    };
    let scheduler = Scheduler::new(context.clone(), runtimes, probes);
    let beats = beats(scheduler, Arc::clone(&context.prober), actions, shutdown.clone(), worker_stop.clone());
    let threads = BeatThreads::new(bunching::rate(&fleet))?;
    tasks.spawn(named("scheduler", async move { threads.run(beats).await }));
    tasks.spawn(named("actions", actions::run(context.clone(), (owner, listings), shutdown.clone())));
    tasks.spawn(named("courier", worker.run(worker_stop)));
    tasks.spawn(named("firing", firing.run(shutdown.clone())));
    tasks.spawn(named("reload", reload.run(shutdown.clone())));
    tasks.spawn(named("discovery", discovery.run(shutdown.clone())));
    tasks.spawn(named("quiet", quiet_loop::run(context.clone(), silences, shutdown.clone())));
    tasks.spawn(named("drills", drills::run(context.clone(), shutdown.clone())));
    tasks.spawn(named("gauge", queue_metrics::run(context.clone(), shutdown.clone())));
    tasks.spawn(named("janitor", janitor::run(context.clone(), shutdown.clone())));
    if is_shared {
        let sharing = Sharing { context: context.clone(), leases: leases_in_force, name, started_at, anew, look };
        tasks.spawn(named("sharing", sharing.run(shutdown.clone())));
        tasks.spawn(named("publish", publish::run(context.clone(), shutdown.clone())));
        tasks.spawn(named("follow", follow::run(follow::begin(&context).await, context.clone(), shutdown.clone())));
        tasks.spawn(named("keys", follow_keys(store.clone(), Arc::clone(&web.keys), shutdown.clone())));
    }
    tasks.spawn(named("heartbeat", heartbeat::run(context.clone(), sender, shutdown.clone())));
    tasks.spawn(named("web", serve(listener, web, limits, shutdown.clone())));
    let live = Arc::clone(&context.live);
    Ok(Running {
        address,
        monitors: fleet.monitors.len(),
        has_status_page: fleet.status_page.is_some(),
        live,
        tasks,
        alerts: context.alerts,
        store,
        shutdown,
    })
}

/// The file, read and free of faults; its log settings are in force and its warnings told.
fn configuration(options: &Options) -> anyhow::Result<(ConfigSource, config::Loaded)> {
    let source = source::read(&options.config)?;
    let load = |source: &ConfigSource| config::load_afresh(source, &*options.env, Unset::Refuse);
    let (source, loaded) = match load(&source) {
        Ok(loaded) => (source, loaded),
        Err(faults) => {
            // What is pinned wrongly must not keep anybody from being watched; the first look at the files raises it.
            let bare = source.without_locks();
            let loaded = load(&bare).map_err(|_| faults.clone())?;
            tracing::error!("monitors.lock has faults; nothing counts as pinned until it is mended\n{faults}");
            (bare, loaded)
        }
    };
    (options.logging)(&loaded.settings.log);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    Ok((source, loaded))
}

/// Binds, and says which address it came to be; `file` is named where that fails.
async fn listening(listen: SocketAddr, file: &str) -> anyhow::Result<(SocketAddr, Arc<TcpListener>)> {
    let listener = TcpListener::bind(listen).await.with_context(|| {
        format!("cannot listen on {listen}: is another Serin running? `serin.listen` in {file} moves it")
    })?;
    Ok((listener.local_addr()?, Arc::new(listener)))
}

/// Has the keys of the API that other machines made open this one too, and those that they ended open nothing.
async fn follow_keys(store: Store, keys: Arc<KeyRing>, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        if let Ok(live) = store.live_keys(Utc::now()).await {
            keys.put(live);
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(KEYS_READ_EVERY) => {}
        }
    }
}

/// Every beat until `stop`; `over` is cancelled once the last one is decided.
async fn beats(
    scheduler: Scheduler,
    prober: Arc<Prober>,
    actions: mpsc::Receiver<Action>,
    stop: CancellationToken,
    over: CancellationToken,
) {
    scheduler.run(actions, stop).await;
    over.cancel();
    // Their pipes belong to these threads.
    prober.release_all().await;
}

impl Running {
    /// Waits until shutdown, and then until everything in flight is over and written.
    ///
    /// # Errors
    /// Where a loop ended that should never end: the process should be started again by whoever watches it.
    pub async fn ended(mut self) -> anyhow::Result<()> {
        let mut broken = None;
        while let Some(end) = self.tasks.join_next().await {
            if self.shutdown.is_cancelled() {
                break;
            }
            let what = end.map_or_else(|error| error.to_string(), |name| format!("the {name} loop ended"));
            tracing::error!("{what}; shutting down, so that whoever watches this process starts it again");
            self.alerts.raise(InternalAlert::LoopStopped, &what, Utc::now());
            broken = Some(what);
            self.shutdown.cancel();
        }
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(ENDING_MAX, rest).await.is_err() {
            tracing::warn!(
                "something did not end in time; what was decided is in the database, and is sent after the next start"
            );
            self.tasks.shutdown().await;
        }
        self.store.close().await;
        broken.map_or(Ok(()), |what| Err(anyhow::anyhow!(what)))
    }
}

/// Answers that Serin has not begun, until what this gives is dropped.
fn answer_meanwhile(waiting: Waiting<'_>, listener: &Arc<TcpListener>, limits: Limits) -> DropGuard {
    let over = waiting.shutdown.child_token();
    let router = starting::router(Arc::clone(waiting.live));
    tokio::spawn(answer_by(router, Arc::clone(listener), waiting.alerts.clone(), limits, over.clone()));
    over.drop_guard()
}

/// Whoever relies on the past has to know that it is gone.
fn tell_of_lost_history(context: &LoopContext, aside: &Path) {
    let now = Utc::now();
    let text = format!(
        "The database was damaged and is kept as {}; this one began anew. `serin restore` puts a backup in its place.",
        aside.display()
    );
    context.alerts.raise(InternalAlert::HistoryLost, &text, now);
    context.live.raise(Banner { kind: "history", text, since: now });
}

/// The name by which other machines show this one: several may listen at ports of one machine.
fn node_name(port: u16) -> String {
    format!("{}:{port}", rustix::system::uname().nodename().to_string_lossy())
}

async fn named(name: &'static str, run: impl Future<Output = ()>) -> &'static str {
    run.await;
    name
}

/// Lets the janitor work until it has nothing to do, as at a moment that may have passed: the bench ages a database by it.
///
/// # Errors
/// Where the store does not answer.
pub async fn maintain(store: &Store, now: DateTime<Utc>) -> Result<(), StoreError> {
    let mut plan = janitor::JanitorPlan::default();
    while janitor::turn(store, &mut plan, (&Shards::ALL, Retention::default()), now).await? {}
    Ok(())
}
