//! The last known state of every monitor, in memory: what pages show even while the database is away.
//!
//! `daemon` says after each beat how a monitor stands, `web` reads it. What stands is replaced whole, and drawn as
//! a view only when somebody asks: beats are many, and readers few. Only the strip is shared and edited in place, and so may
//! show a beat a moment before all else does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, broadcast};

use crate::domain::monitor::MonitorId;
use crate::domain::paging::common_cause::Failing;
use crate::live::banner::Banner;
use crate::live::nodes::Nodes;
use crate::live::process_metrics::ProcessMetrics;
use crate::live::standing::Standing;

/// The kind of the banner that says what keeps Serin from starting.
pub const STARTING: &str = "starting";
/// Changes a slow reader may lag behind before it is told to look again.
const CHANGES_MAX: usize = 1024;

/// Something that an open page may want to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveChange {
    /// This monitor's view was replaced.
    Monitor(MonitorId),
    /// An incident opened, changed or ended.
    Incident(String),
    /// Banners or the fleet itself changed.
    Fleet,
}

/// The last known state of everything.
#[derive(Debug)]
pub struct LiveState {
    standings: RwLock<HashMap<MonitorId, Arc<dyn Standing>>>,
    banners: RwLock<Vec<Banner>>,
    metrics: ProcessMetrics,
    changes: broadcast::Sender<LiveChange>,
    nodes: Nodes,
    /// Counts what is more than another beat of the same.
    news: AtomicU64,
    /// What is watched here and was not published since it changed; none where nobody publishes.
    unpublished: Mutex<Option<HashSet<MonitorId>>>,
    /// Which monitors are down or about to be, to know many that go down together.
    failing: Mutex<Failing>,
    /// One that another machine watches went down, or is back.
    turned_elsewhere: Notify,
    /// What another machine published may be hidden behind what was seen here last.
    stale: AtomicBool,
}

impl Default for LiveState {
    fn default() -> Self {
        Self {
            standings: RwLock::default(),
            banners: RwLock::default(),
            metrics: ProcessMetrics::default(),
            nodes: Nodes::default(),
            unpublished: Mutex::default(),
            failing: Mutex::default(),
            turned_elsewhere: Notify::new(),
            stale: AtomicBool::new(false),
            news: AtomicU64::new(0),
            changes: broadcast::channel(CHANGES_MAX).0,
        }
    }
}

impl LiveState {
    /// Says how one monitor stands now, and tells open pages.
    pub fn put(&self, standing: impl Standing + 'static) {
        let id = standing.id().clone();
        self.note_failing(&standing);
        let is_followed = standing.followed().is_some();
        let is_down = is_followed && is_down(&standing);
        let standing: Arc<dyn Standing> = Arc::new(standing);
        // What stood before is let go of behind the lock.
        let roll_up = standing.roll_up();
        let before = self.standings.write().insert(id.clone(), standing);
        // Behind it: whoever publishes it finds what stands now.
        if let Some(unpublished) = self.unpublished.lock().as_mut().filter(|_| !is_followed) {
            unpublished.insert(id.clone());
        }
        if is_followed && before.as_ref().is_some_and(|before| self::is_down(&**before)) != is_down {
            self.turned_elsewhere.notify_one();
        }
        if before.is_none_or(|before| before.roll_up() != roll_up) {
            self.news.fetch_add(1, Ordering::Release);
        }
        self.tell(LiveChange::Monitor(id));
    }

    /// Forgets a monitor that was removed from the file.
    pub fn remove(&self, id: &MonitorId) {
        self.standings.write().remove(id);
        self.failing.lock().is_well(id);
        self.tell(LiveChange::Fleet);
    }

    /// Waits until a monitor that another machine watches goes down for those that depend on it, or is back. For one who waits.
    pub async fn turned_elsewhere(&self) {
        self.turned_elsewhere.notified().await;
    }

    /// What stands of some monitor was seen here while another machine took it over, which may have published it before.
    pub fn mark_stale(&self) {
        self.stale.store(true, Ordering::Release);
    }

    /// Whether that has happened since it was last asked.
    pub fn take_stale(&self) -> bool {
        self.stale.swap(false, Ordering::AcqRel)
    }

    /// From now on takes note of what is to be published, which is everything at first; or of nothing any more.
    pub fn publishes(&self, publishes: bool) {
        let ids = publishes.then(|| self.standings.read().keys().cloned().collect());
        *self.unpublished.lock() = ids;
    }

    /// The machines that share the fleet.
    pub const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// What is to be published, once.
    pub fn take_unpublished(&self) -> HashSet<MonitorId> {
        self.unpublished.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// It could not be published after all.
    pub fn put_back_unpublished(&self, ids: HashSet<MonitorId>) {
        if let Some(unpublished) = self.unpublished.lock().as_mut() {
            unpublished.extend(ids);
        }
    }

    fn note_failing(&self, standing: &impl Standing) {
        let mut failing = self.failing.lock();
        match standing.fails_since() {
            None => failing.is_well(standing.id()),
            Some(since) => failing.fails(standing.id(), &standing.host(), since),
        }
    }

    /// Whether a monitor that is down is one of many, of a fleet of `declared`; `share` is in 0..=1.
    pub fn is_common(&self, monitor: &MonitorId, share: f64, declared: usize, now: DateTime<Utc>) -> bool {
        self.failing.lock().is_common(monitor, share, declared, now)
    }

    /// How many monitors are watched here.
    pub fn watched(&self) -> usize {
        self.standings.read().values().filter(|standing| standing.followed().is_none()).count()
    }

    /// How one monitor stands, undrawn; none where it is not declared.
    pub fn standing(&self, id: &MonitorId) -> Option<Arc<dyn Standing>> {
        self.standings.read().get(id).cloned()
    }

    /// All monitors, the worst first, then by id.
    pub fn all(&self) -> Vec<Arc<dyn Standing>> {
        let standings: Vec<_> = self.standings.read().values().cloned().collect();
        let mut ranked: Vec<_> = standings.iter().map(|one| (one.roll_up(), one.id(), one)).collect();
        ranked.sort_unstable_by_key(|(roll_up, id, _)| (*roll_up, *id));
        ranked.into_iter().map(|(.., one)| Arc::clone(one)).collect()
    }

    /// The monitor that an incident is open on.
    pub fn holder(&self, incident: &str) -> Option<Arc<dyn Standing>> {
        let holds = |standing: &&Arc<dyn Standing>| {
            let mut open = standing.signals().into_iter().flatten().filter_map(|signal| signal.incident);
            standing.roll_up().is_failing() && open.any(|open| open.id == incident)
        };
        self.standings.read().values().find(holds).cloned()
    }

    /// Sets or replaces the banner of a kind.
    pub fn raise(&self, banner: Banner) {
        let mut banners = self.banners.write();
        if banners.iter().any(|other| (other.kind, &other.text) == (banner.kind, &banner.text)) {
            return;
        }
        banners.retain(|other| other.kind != banner.kind);
        banners.push(banner);
        drop(banners);
        self.tell(LiveChange::Fleet);
    }

    /// Takes a banner away; true where there was one.
    pub fn lower(&self, kind: &str) -> bool {
        let mut banners = self.banners.write();
        let before = banners.len();
        banners.retain(|banner| banner.kind != kind);
        let lowered = banners.len() < before;
        drop(banners);
        if lowered {
            self.tell(LiveChange::Fleet);
        }
        lowered
    }

    /// The banners, in the order raised.
    pub fn banners(&self) -> Vec<Banner> {
        self.banners.read().clone()
    }

    /// How Serin itself is doing.
    pub const fn metrics(&self) -> &ProcessMetrics {
        &self.metrics
    }

    /// Changes from now on. A reader that lags gets `Lagged` and looks at everything again.
    pub fn changes(&self) -> broadcast::Receiver<LiveChange> {
        self.changes.subscribe()
    }

    /// Another number whenever something is more than another beat of the same: an incident, a state, the fleet.
    pub fn news(&self) -> u64 {
        self.news.load(Ordering::Acquire)
    }

    /// Tells open pages that something changed; nobody listening is no error.
    pub fn tell(&self, change: LiveChange) {
        if !matches!(change, LiveChange::Monitor(_)) {
            self.news.fetch_add(1, Ordering::Release);
        }
        drop(self.changes.send(change));
    }
}

/// Whether those that depend on it are to take it for down.
fn is_down(standing: &dyn Standing) -> bool {
    standing.as_parent(Utc::now()).is_some_and(|parent| parent.is_down)
}
