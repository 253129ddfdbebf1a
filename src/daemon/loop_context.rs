//! What the loops work with, and how they tell of our own trouble with the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chrono::{DateTime, Utc};
use tokio::sync::watch;

use crate::daemon::parents::ParentAddresses;
use crate::daemon::uplink::Uplink;
use crate::deliver::internal::InternalAlerts;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::fleet::Fleet;
use crate::domain::lease::Leases;
use crate::domain::wording::counted;
use crate::live::banner::Banner;
use crate::live::quiets::Quiets;
use crate::live::state::LiveState;
use crate::probe::prober::Prober;
use crate::store::Store;
use crate::store::StoreError;

/// The kind of the banner that database trouble raises.
const DATABASE: &str = "database";

/// Everything a loop needs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LoopContext {
    pub store: Store,
    pub prober: Arc<Prober>,
    pub live: Arc<LiveState>,
    pub alerts: InternalAlerts,
    /// Changes with each reload of the file.
    pub fleet: watch::Receiver<Arc<Fleet>>,
    /// Which part of it is watched here; changes where several machines share it.
    pub leases: watch::Receiver<Arc<Leases>>,
    /// Our own connection to the network.
    pub uplink: Arc<Uplink>,
    /// What is quiet: silences and maintenance windows.
    pub quiets: Arc<Quiets>,
    /// What addresses that monitors depend on said last.
    pub parents: Arc<ParentAddresses>,
    /// Whether the last write failed.
    pub ailing: Arc<AtomicBool>,
    /// How many monitors were watched here when writes began to fail.
    pub affected: Arc<AtomicUsize>,
}

impl LoopContext {
    /// The same, where what only whoever watches some shards may do is done under these leases.
    pub(crate) fn under(&self, leases: &Arc<Leases>) -> Self {
        Self { store: self.store.under(Arc::clone(leases)), ..self.clone() }
    }

    /// Takes note of how a write went: raises the one alert and the banner, or gives the all-clear.
    pub fn note_write(&self, error: Option<&StoreError>, now: DateTime<Utc>) {
        match error {
            // The record alone is refused: somebody else decides it.
            Some(StoreError::Closed | StoreError::LeaseLost) => {}
            Some(error) => {
                if !self.ailing.swap(true, Ordering::Relaxed) {
                    self.affected.store(self.live.watched(), Ordering::Relaxed);
                }
                let affected = self.affected.load(Ordering::Relaxed);
                let out_of_files = matches!(error, StoreError::Io(_) | StoreError::Other(_))
                    && self.alerts.out_of_files("the database", now);
                // One stretch is one alert, though a full disk may show as several errors in turn.
                let told = self
                    .alerts
                    .open()
                    .into_iter()
                    .map(|(kind, _)| kind)
                    .find(|kind| InternalAlert::OF_WRITING.contains(kind));
                let trouble = told.unwrap_or(trouble(error));
                if told.is_some() || !out_of_files {
                    // Nobody else will say how much of the fleet it is about.
                    let of = counted(affected, "monitor is", "monitors are");
                    self.alerts.raise(trouble, &format!("{error}; {of} not judged until this is over"), now);
                }
                let why = if out_of_files { "no file is left to open".to_owned() } else { error.to_string() };
                if !self.live.banners().iter().any(|banner| banner.kind == DATABASE) {
                    let text = format!(
                        "Serin cannot remember what it sees: {why}. Pages show the last known state; no monitor is judged until this is over."
                    );
                    self.live.raise(Banner { kind: DATABASE, text, since: now });
                }
            }
            None if self.ailing.swap(false, Ordering::Relaxed) => {
                for trouble in InternalAlert::OF_WRITING {
                    self.alerts.clear(trouble, now);
                }
                self.live.lower(DATABASE);
            }
            None => {}
        }
    }
}

/// What it is that keeps us from writing.
pub(crate) fn trouble(error: &StoreError) -> InternalAlert {
    match error {
        StoreError::Full => InternalAlert::DiskFull,
        StoreError::Locked => InternalAlert::DatabaseLocked,
        _ => InternalAlert::DatabaseBroken,
    }
}

#[cfg(test)]
impl LoopContext {
    /// Over a new database in a folder, with nothing under way.
    pub(crate) async fn idle(folder: &std::path::Path, fleet: Fleet) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        Self {
            store: Store::open(&folder.join("serin.db")).await.unwrap(),
            prober: Arc::new(Prober::new(1)),
            live: Arc::new(LiveState::default()),
            alerts: InternalAlerts::new(),
            fleet: watch::channel(Arc::new(fleet)).1,
            leases: watch::channel(Arc::new(Leases::whole())).1,
            uplink: Arc::default(),
            quiets: Arc::default(),
            parents: Arc::default(),
            ailing: Arc::new(AtomicBool::new(false)),
            affected: Arc::default(),
        }
    }
}
