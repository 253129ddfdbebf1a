//! The program as a value: bind, know the address, run until shutdown. The only place that spawns loops.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use chrono::Utc;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::checker::Unset;
use crate::config::{self, source};
use crate::daemon::courier::Courier;
use crate::daemon::hands::Hands;
use crate::daemon::reload::{self, Reload};
use crate::daemon::scheduler::Scheduler;
use crate::daemon::{gauge, heartbeat, janitor, resume};
use crate::deliver::channel::Sender;
use crate::deliver::internal::InternalAlerts;
use crate::deliver::trouble::Trouble;
use crate::domain::schedule::Command;
use crate::probe::Prober;
use crate::store::board::{Banner, Board};
use crate::store::{OpenError, Store, restore};
use crate::web::router::router;
use crate::web::state::{self, WebState};

/// People's wishes waiting for the scheduler.
const COMMANDS_MAX: usize = 64;
/// A loop that broke down is started again only by a new process; this is how long the others get to end.
const ENDING_MAX: Duration = Duration::from_secs(60);
/// Files kept for the database, the pages, the log and receivers, beside those that probes use.
const FILES_KEPT: u64 = 256;
/// The approved baseline, in git beside the configuration (DESIGN §2).
const LOCK_FILE: &str = "monitors.lock";
/// Probes in flight at once at most: each may hold a connection, its buffers and a TLS session.
const PERMITS_MAX: usize = 4096;

/// How a variable is looked up; the demo and tests bring their own.
pub type Environment = reload::Environment;

/// How a file's `log` comes into force.
pub type Logging = reload::Logging;

/// What a Serin is started with.
#[derive(Clone)]
pub struct Options {
    /// monitors.yaml.
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

/// A Serin that runs.
#[derive(Debug)]
pub struct Running {
    /// Where its pages are.
    pub address: SocketAddr,
    /// How many monitors it started with.
    pub monitors: usize,
    /// What pages show, and Serin's own counters.
    pub board: Arc<Board>,
    tasks: JoinSet<&'static str>,
    alerts: InternalAlerts,
    store: Store,
    shutdown: CancellationToken,
}

/// Opens, binds, resumes and starts every loop.
///
/// # Errors
/// Where the file has faults, the address is taken, or the database cannot be opened; each names the mend.
pub async fn start(options: Options, shutdown: CancellationToken) -> anyhow::Result<Running> {
    let source = source::read(&options.config)?;
    let loaded = config::load(&source, &*options.env, Unset::Refuse).map_err(|faults| anyhow::anyhow!("{faults}"))?;
    (options.logging)(&loaded.settings.log);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let listen = loaded.settings.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| {
        format!("cannot listen on {listen}: is another Serin running? `serin.listen` in {} moves it", source.name)
    })?;
    let address = listener.local_addr()?;
    let (store, aside) = open(&loaded.settings.database, options.set_aside_damaged).await?;
    let fleet = Arc::new(loaded.fleet);
    let seats = resume::seats(&store, &fleet, &String::from_utf8_lossy(&source.bytes), Utc::now()).await?;
    let (fleet_in_force, fleets) = watch::channel(Arc::clone(&fleet));
    let hands = Hands {
        store: store.clone(),
        prober: Arc::new(Prober::new(fleet.monitors.len().max(256))),
        board: Arc::new(Board::default()),
        alerts: InternalAlerts::new(),
        fleet: fleets.clone(),
        uplink: Arc::default(),
        ailing: Arc::new(AtomicBool::new(false)),
    };
    if let Some(aside) = aside {
        tell_of_lost_history(&hands, &aside);
    }
    let sender = Arc::new(Sender::new()?);
    let (commands, wishes) = mpsc::channel::<Command>(COMMANDS_MAX);
    hands.board.pulse().file_in_force(reload::note(&fleet, Utc::now()));
    let mut web = WebState::new(
        Arc::clone(&hands.board),
        store.clone(),
        state::Settings {
            listen: address,
            token: loaded.settings.token.clone(),
            lock: options.config.with_file_name(LOCK_FILE),
        },
        fleets.clone(),
        commands,
        shutdown.clone(),
    );
    web.alerts = hands.alerts.clone();
    let courier = Courier { store: store.clone(), sender: Arc::clone(&sender), fleet: fleets.clone() };
    let reload = Reload {
        hands: hands.clone(),
        path: options.config,
        env: options.env,
        settings: loaded.settings,
        logging: options.logging,
        fleet: fleet_in_force,
        look: options.look,
    };
    let scheduler = Scheduler::new(hands.clone(), seats, permits());
    let mut tasks = JoinSet::new();
    // The courier outlives the scheduler, so that what the last beats decided still goes out.
    let courier_stop = CancellationToken::new();
    let scheduler_over = courier_stop.clone();
    let stop = shutdown.clone();
    let prober = Arc::clone(&hands.prober);
    tasks.spawn(async move {
        scheduler.run(wishes, stop).await;
        scheduler_over.cancel();
        prober.release_all().await;
        "scheduler"
    });
    tasks.spawn(named("courier", courier.run(courier_stop.clone())));
    tasks.spawn(named("reload", reload.run(shutdown.clone())));
    tasks.spawn(named("gauge", gauge::run(hands.clone(), shutdown.clone())));
    tasks.spawn(named("janitor", janitor::run(hands.clone(), shutdown.clone())));
    tasks.spawn(named("heartbeat", heartbeat::run(hands.clone(), Arc::clone(&sender), shutdown.clone())));
    tasks.spawn(named("alerts", hands.alerts.clone().run(sender, fleets, courier_stop)));
    tasks.spawn(named("web", serve(listener, web, shutdown.clone())));
    let board = Arc::clone(&hands.board);
    Ok(Running { address, monitors: fleet.monitors.len(), board, tasks, alerts: hands.alerts, store, shutdown })
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
            self.alerts.raise(Trouble::LoopStopped, &what, Utc::now());
            broken = Some(what);
            self.shutdown.cancel();
        }
        let rest = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(ENDING_MAX, rest).await.is_err() {
            tracing::warn!("something in flight did not end in time; what was decided is in the database");
        }
        self.store.close().await;
        broken.map_or(Ok(()), |what| Err(anyhow::anyhow!(what)))
    }
}

/// Opens the database; where it is damaged and may be put aside, a new one, with the place of the damaged one.
async fn open(database: &Path, set_aside_damaged: bool) -> Result<(Store, Option<PathBuf>), OpenError> {
    match Store::open(database).await {
        Err(OpenError::Damaged { what, .. }) if set_aside_damaged => {
            tracing::error!("{} is damaged ({what})", database.display());
            let aside = restore::set_aside(database, Utc::now())?;
            Ok((Store::open(database).await?, Some(aside)))
        }
        opened => opened.map(|store| (store, None)),
    }
}

/// Whoever relies on the past has to know that it is gone.
fn tell_of_lost_history(hands: &Hands, aside: &Path) {
    let now = Utc::now();
    let text = format!(
        "The database was damaged and is kept as {}; this one began anew. `serin restore` puts a backup in its place.",
        aside.display()
    );
    hands.alerts.raise(Trouble::HistoryLost, &text, now);
    hands.board.raise(Banner { kind: "history", text, since: now });
}

async fn named(name: &'static str, run: impl Future<Output = ()>) -> &'static str {
    run.await;
    name
}

async fn serve(listener: TcpListener, web: WebState, shutdown: CancellationToken) {
    let service = router(web).into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, service).with_graceful_shutdown(shutdown.cancelled_owned()).await;
    if let Err(error) = served {
        tracing::error!(%error, "the pages stopped");
    }
}

/// Probes that may be in flight at once: what the file limit allows, each with a health connection beside it.
fn permits() -> usize {
    let limit = file_limit().unwrap_or(1024);
    let permits = usize::try_from(limit.saturating_sub(FILES_KEPT) / 2).unwrap_or(PERMITS_MAX);
    let permits = permits.clamp(16, PERMITS_MAX);
    tracing::info!(permits, files = limit, "probes that may be in flight at once");
    permits
}

/// The soft limit on open files, as the system tells it.
fn file_limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}
