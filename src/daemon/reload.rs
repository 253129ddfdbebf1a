//! The file, whenever it changes: a valid one comes into force, a bad one changes nothing and says so.
//!
//! The loop compares content, not times, so a symlink that is swapped and an editor that writes in
//! two steps are both seen; SIGHUP makes it look at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::config::checker::Unset;
use crate::config::logging::Log;
use crate::config::source::{self, Source};
use crate::config::{self, Loaded, Settings};
use crate::daemon::hands::Hands;
use crate::deliver::trouble::Trouble;
use crate::domain::fleet::{Fleet, Provenance};
use crate::store::board::{Banner, Change};
use crate::store::pulse::FileNote;

/// The file is looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The kind of the banner that a bad file raises.
const CONFIG: &str = "config";
/// The name under which the loop shows its pulse.
const NAME: &str = "reload";

/// How a variable is looked up; the demo and tests bring their own.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Puts a file's `log` in force, at start and with every reload.
pub type Logging = Arc<dyn Fn(&Log) + Send + Sync>;

/// The loop.
pub struct Reload {
    /// What it works with.
    pub hands: Hands,
    /// The file.
    pub path: PathBuf,
    /// How a variable is looked up.
    pub env: Environment,
    /// The settings that are in force until the next start, all but what is logged.
    pub settings: Settings,
    /// Where what is logged is put.
    pub logging: Logging,
    /// Where the fleet in force is put.
    pub fleet: watch::Sender<Arc<Fleet>>,
    /// Somebody wants the file looked at now.
    pub look: Arc<Notify>,
}

impl std::fmt::Debug for Reload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reload").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Reload {
    /// Runs until shutdown.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut judged = self.fleet.borrow().provenance.hash.clone();
        while !shutdown.is_cancelled() {
            let now = Utc::now();
            self.hands.board.pulse().turn(NAME, now);
            self.turn(&mut judged, now).await;
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = self.look.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Looks once; `judged` is the hash of the content that was judged last.
    async fn turn(&self, judged: &mut String, now: DateTime<Utc>) {
        let (path, env, last) = (self.path.clone(), Arc::clone(&self.env), judged.clone());
        let read = tokio::task::spawn_blocking(move || match source::read(&path) {
            Ok(source) if source.hash == last => None,
            Ok(source) => {
                let loaded = config::load(&source, &*env, Unset::Refuse).map_err(|faults| faults.to_string());
                Some((source.hash.clone(), loaded.map(|loaded| (source, loaded))))
            }
            Err(error) => Some((format!("unreadable: {error}"), Err(error.to_string()))),
        });
        match read.await {
            Ok(Some((hash, _))) if hash == *judged => {}
            Ok(Some((hash, Ok((source, loaded))))) => {
                if self.accept(&source, loaded, now).await {
                    *judged = hash;
                }
            }
            Ok(Some((hash, Err(why)))) => {
                *judged = hash;
                self.refuse(&why, now);
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "reading the file broke down; it is read again"),
        }
    }

    /// Puts a valid file in force; false where the store does not take it, so that it is tried again.
    async fn accept(&self, source: &Source, loaded: Loaded, now: DateTime<Utc>) -> bool {
        let text = String::from_utf8_lossy(&source.bytes);
        let noted = self.hands.store.config_loaded(&loaded.fleet, &text, now).await;
        self.hands.stored(noted.as_ref().err(), now);
        if noted.is_err() {
            return false;
        }
        (self.logging)(&loaded.settings.log);
        if (Settings { log: self.settings.log.clone(), ..loaded.settings.clone() }) != self.settings {
            tracing::warn!("listen, database or token changed; they take effect with the next start");
        }
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        self.warn_of_removed_receivers(&loaded.fleet).await;
        let monitors = loaded.fleet.monitors.len();
        self.hands.board.pulse().file_in_force(note(&loaded.fleet, now));
        self.fleet.send_replace(Arc::new(loaded.fleet));
        self.hands.board.lower(CONFIG);
        self.hands.alerts.clear(Trouble::ConfigRejected, now);
        self.hands.board.tell(Change::Fleet);
        tracing::info!(monitors, commit = source.commit.as_deref().unwrap_or("none"), "the new file is in force");
        true
    }

    /// A receiver that was told of an open incident and is gone gets its resolve through the fallback.
    async fn warn_of_removed_receivers(&self, fleet: &Fleet) {
        let Ok(open) = self.hands.store.open_incidents().await else { return };
        for incident in open {
            let Ok(told) = self.hands.store.told(&incident.id).await else { continue };
            for addressee in told.iter().filter(|told| fleet.receiver(&told.receiver).is_none()) {
                let fallback = addressee.fallback.as_deref().filter(|name| fleet.receiver(name).is_some());
                tracing::warn!(
                    receiver = addressee.receiver,
                    incident = incident.id,
                    fallback = fallback.unwrap_or("those of `internal`"),
                    "a receiver that was told of an open incident is gone from the file; its fallback gets the resolve"
                );
            }
        }
    }

    fn refuse(&self, why: &str, now: DateTime<Utc>) {
        tracing::error!("the file has faults; the last good one stays in force\n{why}");
        let first = why.lines().find(|line| !line.trim().is_empty()).unwrap_or("it cannot be read");
        self.hands.alerts.raise(Trouble::ConfigRejected, first, now);
        self.hands.board.pulse().file_refused(why, now);
        self.hands.board.raise(Banner { kind: CONFIG, text: why.to_owned(), since: now });
    }
}

/// What is kept of a file that came into force.
pub fn note(fleet: &Fleet, now: DateTime<Utc>) -> FileNote {
    let Provenance { file, hash, commit } = fleet.provenance.clone();
    FileNote { file, hash, commit, since: now, refused: None }
}
