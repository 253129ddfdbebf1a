//! The file, whenever it changes: a valid one comes into force, a bad one changes nothing and says so.
//!
//! The loop compares content of the file and of all that it includes, so a symlink that is swapped, an editor that writes
//! in two steps and a file that comes or goes under a glob are all seen; only what a file system says to be untouched is not
//! read each time. SIGHUP makes it look at once. Several files cannot be read at one moment: what differs from the last look
//! is read a second time and only judged where both readings agree.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::config::Loaded;
use crate::config::ProcessSettings;
use crate::config::check::checker::Unset;
use crate::config::check::logging::Log;
use crate::config::read::bytes::ReadError;
use crate::config::read::source::{ConfigSource, SourceReader};
use crate::daemon::kept_lists;
use crate::daemon::loop_context::LoopContext;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::fleet::{Fleet, Provenance};
use crate::domain::fleet_files::FileWord;
use crate::domain::fleet_files::FleetFileKind;
use crate::live::banner::Banner;
use crate::live::listings::Listings;
use crate::live::process_metrics::FileNote;
use crate::live::state::LiveChange;

/// The file is looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The kind of the banner that a bad file raises.
const CONFIG: &str = "config";
/// What is read, in words.
const FILE: &str = "monitors.yaml and what it names";
/// The name under which the loop reports its turns.
const NAME: &str = "reload";

/// How a variable is looked up; the demo and tests bring their own.
pub(crate) type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Puts a file's `log` in force, at start and with every reload.
pub(crate) type Logging = Arc<dyn Fn(&Log) + Send + Sync>;

pub(crate) struct Reload {
    pub context: LoopContext,
    pub path: PathBuf,
    /// How a variable is looked up.
    pub env: Environment,
    /// The settings that are in force until the next start, all but what is logged.
    pub settings: ProcessSettings,
    /// Where what is logged is put.
    pub logging: Logging,
    /// Where the fleet in force is put.
    pub fleet: watch::Sender<Arc<Fleet>>,
    /// Somebody wants the file looked at now.
    pub look: Arc<Notify>,
    /// Whether the file is put in force once more, though it did not change: this machine has worked with it for a while, or
    /// no other one has the one that was.
    pub anew: Arc<AtomicBool>,
    /// What is kept of lists.
    pub listings: Arc<Listings>,
}

/// The sources of which something is watched, that are declared still, and whose kept list was not read, or is another than
/// was kept: somebody's hand in it, or what lay in another folder, says nothing of what is listed.
fn lost_lists(before: &Fleet, after: &Loaded, (source, listings): (&ConfigSource, &Listings)) -> Vec<String> {
    let mut lost = kept_lists::unread(after);
    let read = source.included.iter().filter(|file| file.kind == FleetFileKind::Discovered);
    let others = read.filter_map(|file| Some((file.path.file_stem()?.to_str()?, &file.bytes)));
    lost.extend(others.filter(|(id, bytes)| !listings.is_kept(id, bytes)).map(|(id, _)| id.to_owned()));
    if !lost.is_empty() {
        let listed = before.monitors.iter().filter_map(|monitor| monitor.discovered.as_ref());
        let watched: HashSet<&str> = listed.map(|discovered| discovered.source.as_str()).collect();
        lost.retain(|source| watched.contains(&**source));
    }
    lost
}

/// The content that was judged last.
#[derive(Debug)]
struct Judged {
    hash: String,
    /// What was warned of in the last good one.
    warnings: HashSet<String>,
    /// The lists of which the file was missed since.
    lost_lists: Vec<String>,
    /// This machine has worked with it for a while.
    is_proven: bool,
}

impl std::fmt::Debug for Reload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reload").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Reload {
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let mut judged = Judged {
            hash: self.fleet.borrow().provenance.hash.clone(),
            warnings: HashSet::new(),
            lost_lists: Vec::new(),
            is_proven: false,
        };
        let mut reader = SourceReader::new(&self.path);
        while !shutdown.is_cancelled() {
            let now = Utc::now();
            self.context.live.metrics().turn(NAME, now);
            if self.anew.swap(false, Ordering::Relaxed) {
                judged.hash.clear();
                judged.is_proven = true;
                reader.forget();
            }
            reader = self.turn(reader, &mut judged, now).await;
            tokio::select! {
                () = shutdown.cancelled() => {}
                // Somebody says that there is something: no word of the file system counts.
                () = self.look.notified() => reader.forget(),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Looks once.
    async fn turn(&self, reader: SourceReader, judged: &mut Judged, now: DateTime<Utc>) -> SourceReader {
        let (env, last) = (Arc::clone(&self.env), judged.hash.clone());
        let read = tokio::task::spawn_blocking(move || look(reader, &*env, &last));
        let (reader, looked) = match read.await {
            Ok((reader, looked)) => (reader, looked),
            Err(error) => {
                tracing::error!(%error, "reading the file broke down; it is read again");
                (SourceReader::new(&self.path), Looked::Same)
            }
        };
        match looked {
            Looked::Same => {}
            Looked::Starved => self.context.alerts.raise_out_of_files(FILE, now),
            // A secret's file or a folder could not be opened: what was read is not what is there. The next look may be.
            Looked::Valid(..) | Looked::Faulty { .. } if self.context.alerts.out_of_files(FILE, now) => {}
            Looked::Valid(source, loaded) => {
                let lost = lost_lists(&self.fleet.borrow(), &loaded, (&source, &self.listings));
                if !lost.is_empty() {
                    self.find_again(&loaded, &lost, judged, now).await;
                    return reader;
                }
                let warnings = loaded.warnings.clone();
                if self.accept(&source, *loaded, judged.is_proven, now).await {
                    // A list brings a new file all day: what was said of the last one is not said again.
                    for warning in warnings.iter().filter(|warning| !judged.warnings.contains(*warning)) {
                        tracing::warn!("{warning}");
                    }
                    *judged = Judged {
                        hash: source.hash,
                        warnings: warnings.into_iter().collect(),
                        lost_lists: Vec::new(),
                        is_proven: false,
                    };
                }
            }
            Looked::Faulty { hash, why } => {
                judged.hash = hash;
                self.refuse(&why, now);
            }
        }
        reader
    }

    /// What these lists named is watched on until their files are there again. Whoever keeps lists sees to that; where the file
    /// names another folder, they are copied there.
    async fn find_again(&self, loaded: &Loaded, lost: &[String], judged: &mut Judged, now: DateTime<Utc>) {
        if judged.lost_lists != lost {
            tracing::warn!(
                "the kept list of {} is gone, cannot be read or was altered; the fleet stays until it is there",
                lost.join(", ")
            );
            judged.lost_lists = lost.to_vec();
        }
        let folders = (self.fleet.borrow().discovery.folder.clone(), loaded.fleet.discovery.folder.clone());
        if folders.0 == folders.1 {
            return;
        }
        let (folder, sources) = (self.path.parent().unwrap_or(Path::new("")).to_owned(), lost.to_vec());
        let to = folders.1.clone();
        let copied = tokio::task::spawn_blocking(move || {
            let copy = |source: &String| kept_lists::moved(&folder, source, (&folders.0, &folders.1));
            sources.iter().try_for_each(copy)
        });
        if let Err(error) = copied.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            if judged.hash.is_empty() {
                return;
            }
            // Neither this file nor the one in force: whichever is there next is judged anew.
            judged.hash.clear();
            self.refuse(&format!("the lists of {} cannot be kept in {to}: {error}", lost.join(", ")), now);
        }
    }

    /// Puts a valid file in force; false where the store does not take it, so that it is tried again.
    async fn accept(&self, source: &ConfigSource, loaded: Loaded, is_proven: bool, now: DateTime<Utc>) -> bool {
        // A list that another machine read is no word of who edits the file: an older one stays out of force.
        let is_edited = loaded.fleet.provenance.declared != self.fleet.borrow().provenance.declared;
        let word = match (is_edited, is_proven) {
            (true, _) => FileWord::Change,
            (false, true) => FileWord::Proven,
            (false, false) => FileWord::Start,
        };
        let noted = self.context.store.config_loaded(&loaded.fleet, (&source.files(), word), now).await;
        self.context.note_write(noted.as_ref().err(), now);
        let Ok(is_in_force) = noted else { return false };
        (self.logging)(&loaded.settings.log);
        if (ProcessSettings { log: self.settings.log.clone(), ..loaded.settings.clone() }) != self.settings {
            tracing::warn!("listen, trusted_proxies, database or token changed; they take effect with the next start");
        }
        self.warn_of_removed_receivers(&loaded.fleet).await;
        let monitors = loaded.fleet.monitors.len();
        self.context.live.metrics().file_in_force(note(&loaded.fleet, now));
        self.fleet.send_replace(Arc::new(loaded.fleet));
        self.context.live.lower(CONFIG);
        self.context.alerts.clear(InternalAlert::ConfigRejected, now);
        self.context.live.tell(LiveChange::Fleet);
        let (files, commit) = (1 + source.included.len(), source.commit.as_deref().unwrap_or("none"));
        let said =
            if is_in_force { "the new file is in force" } else { "another file is in force than this machine has" };
        tracing::info!(monitors, files, commit, "{said}");
        true
    }

    /// A receiver that was told of an open incident and is gone gets its resolve through the fallback.
    async fn warn_of_removed_receivers(&self, fleet: &Fleet) {
        let Ok(open) = self.context.store.open_incidents().await else { return };
        for incident in open {
            let Ok(told) = self.context.store.told(&incident.id).await else { continue };
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
        self.context.alerts.raise(InternalAlert::ConfigRejected, first, now);
        self.context.live.metrics().file_refused(why, now);
        self.context.live.raise(Banner { kind: CONFIG, text: why.to_owned(), since: now });
    }
}

enum Looked {
    /// What was judged last, or something that is still being written.
    Same,
    /// We had no file left to read it with.
    Starved,
    /// Something new that is right.
    Valid(Box<ConfigSource>, Box<Loaded>),
    /// Something new that is not.
    Faulty {
        /// What stands for its content.
        hash: String,
        why: String,
    },
}

/// Reads the files, and judges them where they are not those judged last. Blocks.
fn look(mut reader: SourceReader, env: &(dyn Fn(&str) -> Option<String> + Sync), last: &str) -> (SourceReader, Looked) {
    let hash = |read: &Result<ConfigSource, ReadError>| match read {
        Ok(source) => source.hash.clone(),
        Err(error) => format!("unreadable: {error}"),
    };
    if reader.still_gives(last) {
        return (reader, Looked::Same);
    }
    let read = reader.read();
    if let Err(error) = &read
        && error.is_out_of_files()
    {
        return (reader, Looked::Starved);
    }
    let found = hash(&read);
    if found == last || hash(&reader.read()) != found {
        return (reader, Looked::Same);
    }
    let looked = match read {
        Err(error) => Looked::Faulty { hash: found, why: error.to_string() },
        Ok(mut source) => {
            source.find_commit();
            match config::load_afresh(&source, env, Unset::Refuse) {
                Ok(loaded) => Looked::Valid(Box::new(source), Box::new(loaded)),
                Err(faults) => Looked::Faulty { hash: found, why: faults.to_string() },
            }
        }
    };
    (reader, looked)
}

/// What is kept of a file that came into force.
pub(crate) fn note(fleet: &Fleet, now: DateTime<Utc>) -> FileNote {
    let Provenance { file, hash, commit, .. } = fleet.provenance.clone();
    FileNote { file, hash, commit, since: now, refused: None }
}
