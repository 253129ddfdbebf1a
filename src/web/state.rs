//! What every handler gets: handles onto the rest of Serin, nothing of its own but who is signed in.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::deliver::ack_link::AckLinks;
use crate::deliver::internal::InternalAlerts;
use crate::deliver::public_marks::PublicMarks;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::secret::Secret;
use crate::domain::tools::Listing;
use crate::live::listings::Listings;
use crate::live::monitor_view::MonitorView;
use crate::live::published::{Followed, FollowedViews, NoneFollowed};
use crate::live::quiets::Quiets;
use crate::live::standing::Standing;
use crate::live::state::LiveState;
use crate::store::Store;
use crate::store::StoreError;
use crate::web::gathered::Gathering;
use crate::web::kept_cells::KeptCells;
use crate::web::key_ring::KeyRing;
use crate::web::oidc::Oidc;
use crate::web::passwords::Passwords;
use crate::web::refusals::Refusals;
use crate::web::sessions::Sessions;
use crate::web::shared_pages::{SharedPages, Stamp};

/// Event streams open at once where nobody counted the files.
const STREAMS_ASSUMED: usize = 256;
/// A page waits this long for one answer of the database, then shows what memory has.
pub const STORE_WAIT_MAX: Duration = Duration::from_secs(2);

/// The entry of a monitor's lock with these tools in place of those that it holds, as it is to be committed; none where
/// nothing is pinned of it, or these cannot be.
pub type LockEntry = fn(&Monitor, &Arc<Listing>) -> Option<String>;

/// What the web needs to know of `serin:`; the public address is read from the fleet, which reloads.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address that was bound, with its real port.
    pub listen: SocketAddr,
    /// The token for the API and for signing in; where nobody signs in by name either, everybody on loopback may look.
    pub token: Option<Secret>,
    /// Writes a monitor's entry of its lock, with other tools in it.
    pub lock_entry: LockEntry,
}

/// Handles for handlers; cheap to clone.
#[derive(Debug, Clone)]
pub struct WebState {
    /// The last known state of everything.
    pub live: Arc<LiveState>,
    /// What the database has of monitors that other machines watch.
    pub followed: Arc<dyn FollowedViews>,
    /// What pages read of the past; while it is away they go on from `live`.
    pub store: Store,
    /// What does not change while the process lives.
    pub settings: Arc<Settings>,
    /// Changes with each reload of the file.
    pub fleet: watch::Receiver<Arc<Fleet>>,
    /// Cancelled when Serin stops; event streams end then.
    pub shutdown: CancellationToken,
    /// Who is signed in, and who failed to.
    pub sessions: Arc<Sessions>,
    /// Permits for event streams.
    pub streams: Arc<Semaphore>,
    /// Serin's own trouble; without the loop's handle there is none.
    pub alerts: InternalAlerts,
    /// Links of messages; without their key none is good.
    pub links: Option<Arc<AckLinks>>,
    /// What makes badges and public ids.
    pub marks: PublicMarks,
    /// What is quiet; without the loop's handle nothing is.
    pub quiets: Arc<Quiets>,
    /// How the lists of `discover:` stand; without the loop's handle there is none.
    pub listings: Arc<Listings>,
    /// The keys of the API that are live.
    pub keys: Arc<KeyRing>,
    /// What was refused to whom of late.
    pub refusals: Arc<Refusals>,
    /// The file that declares the fleet; those of the past are read as if they lay beside it.
    pub config: Arc<Path>,
    /// Whose turn it is to have the past weighed again.
    pub why_turn: Arc<Semaphore>,
    /// Days and hours that are over, kept for the bars of lists.
    pub cells: Arc<KeptCells>,
    /// What changed, gathered for open pages.
    pub(crate) gathering: Arc<Gathering>,
    /// Pages that many have open at once.
    pub(crate) shared: Arc<SharedPages>,
    /// Since when the pages are served.
    pub started_at: DateTime<Utc>,
    /// Whose turn it is to have a password compared.
    pub passwords: Arc<Passwords>,
    /// Who signs in by a provider.
    pub oidc: Arc<Oidc>,
    /// Whether somebody signed in by name when Serin started: what is served to others then is not opened by a reload.
    signs_in_since_start: bool,
}

impl WebState {
    /// A state with nobody signed in.
    pub fn new(
        live: Arc<LiveState>,
        store: Store,
        settings: Settings,
        fleet: watch::Receiver<Arc<Fleet>>,
        shutdown: CancellationToken,
    ) -> Self {
        let signs_in_since_start = fleet.borrow().sign_in.is_declared();
        Self {
            live,
            followed: Arc::new(NoneFollowed),
            store,
            settings: Arc::new(settings),
            fleet,
            shutdown,
            sessions: Arc::default(),
            streams: Arc::new(Semaphore::new(STREAMS_ASSUMED)),
            alerts: InternalAlerts::new(),
            links: None,
            // Until it is told the one of the database, a key that nobody knows.
            marks: PublicMarks::new(rand::random()),
            quiets: Arc::default(),
            listings: Arc::default(),
            keys: Arc::default(),
            refusals: Arc::default(),
            config: Arc::from(Path::new("monitors.yaml")),
            why_turn: Arc::new(Semaphore::new(1)),
            cells: Arc::default(),
            gathering: Arc::default(),
            shared: Arc::default(),
            started_at: Utc::now(),
            passwords: Arc::default(),
            oidc: Arc::default(),
            signs_in_since_start,
        }
    }

    /// The machine that watches a monitor; none where one watches all of them.
    pub(crate) fn watched_by(&self, monitor: &MonitorId) -> Option<String> {
        let nodes = self.live.nodes().now();
        let standing = self.live.standing(monitor).filter(|_| nodes.are_several())?;
        let node = standing.followed().map_or(&*nodes.own, |followed| &followed.published.node);
        let living = nodes.nodes.iter().find(|known| known.id == *node && !known.is_gone);
        Some(living.map_or("nobody yet", |known| &known.name).to_owned())
    }

    /// Monitors as their pages show them, in the same order; what the database does not answer in time is left out.
    pub(crate) async fn views(&self, standings: &[impl Borrow<Arc<dyn Standing>>]) -> Vec<MonitorView> {
        let standings: Vec<&Arc<dyn Standing>> = standings.iter().map(Borrow::borrow).collect();
        let followed: Vec<Followed> = standings.iter().filter_map(|one| one.followed()).cloned().collect();
        let kept = match followed.is_empty() {
            true => None,
            false => tokio::time::timeout(STORE_WAIT_MAX, self.followed.views(&followed)).await.ok().flatten(),
        };
        let mut kept = kept.into_iter().flatten();
        let view = |one: &&Arc<dyn Standing>| one.followed().and_then(|_| kept.next()).unwrap_or_else(|| one.view());
        standings.iter().map(view).collect()
    }

    /// A monitor as its page shows it; none where it is not declared.
    pub(crate) async fn view(&self, id: &MonitorId) -> Option<MonitorView> {
        self.views(&[self.live.standing(id)?]).await.pop()
    }

    /// What open pages were told so far, and what there was of news; none while no page is open.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        Some(Stamp(self.gathering.told()?, self.live.news()))
    }

    /// Whether nobody sees the fleet without signing in.
    pub(crate) fn has_to_sign_in(&self) -> bool {
        self.settings.token.is_some() || self.signs_in_since_start || self.fleet_now().sign_in.is_declared()
    }

    /// Makes and knows links, badges and public ids by the key that the database holds.
    pub fn keyed(&mut self, key: [u8; 32]) -> Arc<AckLinks> {
        let links = Arc::new(AckLinks::new(key));
        self.links = Some(Arc::clone(&links));
        self.marks = PublicMarks::new(key);
        links
    }

    /// The fleet in force; a reload does not change the one in hand.
    pub fn fleet_now(&self) -> Arc<Fleet> {
        self.fleet.borrow().clone()
    }

    /// Until when maintenance windows keep the outages of monitors quiet, UTC; those that none does are not in it.
    pub(crate) fn in_maintenance<'a>(
        &self,
        of: impl Iterator<Item = &'a MonitorId>,
    ) -> HashMap<MonitorId, DateTime<Utc>> {
        let (quiets, now) = (self.quiets.book(), Utc::now());
        if quiets.is_empty() {
            return HashMap::new();
        }
        let asked: HashSet<&MonitorId> = of.collect();
        let fleet = self.fleet_now();
        let monitors = fleet.monitors.iter().filter(|monitor| asked.contains(&monitor.id));
        monitors.filter_map(|one| Some((one.id.clone(), quiets.maintenance_until(one, now)?))).collect()
    }

    /// Waits for an answer of the database, at most [`STORE_WAIT_MAX`].
    pub async fn ask<T>(&self, question: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, Away> {
        match tokio::time::timeout(STORE_WAIT_MAX, question).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::warn!(%error, "a page could not read the database");
                Err(Away)
            }
            Err(_) => {
                tracing::warn!("a page waited too long for the database");
                Err(Away)
            }
        }
    }
}

/// The database did not answer; the page shows what memory has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away;
