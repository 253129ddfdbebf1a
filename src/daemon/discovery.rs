//! The loop of lists: reads each source of `discover:` when it is due, and writes what is watched because of it into its file,
//! which the loop of the file then reads as any other.
//!
//! - What a list cannot say is no end of anything: while it cannot be read, or says nonsense, the last good one counts.
//! - The file is the memory. A start goes on with it, whether the list can be read or not.
//! - A list is hostile: bounded, its texts are texts, and each of its servers passes `hosts` and the guard of private networks.

mod at_most;
mod reading;
mod registry;
mod sd_list;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::describe::listed_file;
use crate::config::read::bytes::{FILE_BYTES_MAX, read_bytes};
use crate::config::read::discovered;
use crate::daemon::discovery::reading::{Reader, Reading};
use crate::daemon::discovery::registry::Servers;
use crate::daemon::loop_context::LoopContext;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::discovery::Source;
use crate::domain::discovery::listing::Listing;
use crate::domain::discovery::target::Target;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::live::banner::Banner;
use crate::live::listings::{Ids, ListingChange, ListingView, Listings};
use crate::live::state::{LiveChange, RollUp, Standing};
use crate::net::document::Documents;

/// The longest it does not look whether something is due.
const TURN_MAX: Duration = Duration::from_secs(10);
/// A list that cannot be read for this long is trouble of ours; restarts and deployments of what serves it are shorter.
const TROUBLE_AFTER: TimeDelta = TimeDelta::minutes(15);
/// Whoever lists a server means it to work within a day.
const NEVER_WORKED_AFTER: TimeDelta = TimeDelta::hours(24);
/// Refusals that are shown; the rest is counted.
const REFUSED_SHOWN: usize = 20;
/// Ids named in one alert.
const NAMED_MAX: usize = 10;
/// The kind of the banner that a list raises.
const LISTS: &str = "lists";
/// The name under which the loop reports its turns.
const NAME: &str = "discovery";

/// The loop.
#[derive(Debug)]
pub(crate) struct Discovery {
    pub context: LoopContext,
    /// The folder of monitors.yaml.
    pub folder: PathBuf,
    pub documents: Documents,
    pub listings: Arc<Listings>,
    /// Has the file looked at, since one of its own changed.
    pub look: Arc<Notify>,
}

/// What is known of one source.
#[derive(Debug)]
struct Known {
    source: Source,
    listing: Listing,
    view: ListingView,
    due: Instant,
    /// The task that reads it now.
    reading: Option<AbortHandle>,
    /// What a registry said before.
    servers: Servers,
    /// When it was last read well, or first tried.
    good_at: DateTime<Utc>,
    /// The text on disk.
    written: Arc<str>,
}

impl Known {
    /// Gives up what is being read: it is no longer what the file asks for.
    fn stop_reading(&mut self) {
        if let Some(reading) = self.reading.take() {
            reading.abort();
        }
        self.servers = Servers::default();
    }
}

impl Discovery {
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let mut fleets = self.context.fleet.clone();
        let mut all: BTreeMap<String, Known> = BTreeMap::new();
        let mut readings: JoinSet<Reading> = JoinSet::new();
        while !shutdown.is_cancelled() {
            self.context.live.metrics().turn(NAME, Utc::now());
            let fleet = fleets.borrow_and_update().clone();
            self.declared(&fleet, &mut all).await;
            for (id, seen) in self.listings.accepted() {
                let Some(known) = all.get_mut(&id) else { continue };
                let gone = known.listing.accept(&seen, Utc::now().timestamp());
                tracing::info!(source = id, gone, "what the list names no longer is let go");
            }
            for id in self.listings.asked() {
                all.entry(id).and_modify(|known| known.due = Instant::now());
            }
            let now = Instant::now();
            for known in all.values_mut().filter(|known| known.due <= now && known.reading.is_none()) {
                let servers = std::mem::take(&mut known.servers);
                let reader = Reader { documents: self.documents.clone(), folder: self.folder.clone() };
                known.reading = Some(readings.spawn(reader.read(known.source.clone(), servers)));
            }
            for known in all.values_mut().filter(|known| !known.written.is_empty()) {
                self.keep(&fleet, known).await;
            }
            self.tell(&all);
            let idle = all.values().filter(|known| known.reading.is_none());
            let next = idle.map(|known| known.due).min().unwrap_or(now + TURN_MAX);
            tokio::select! {
                () = shutdown.cancelled() => {}
                Ok(()) = fleets.changed() => {}
                () = self.listings.wake.notified() => {}
                Some(read) = readings.join_next_with_id() => self.took(&fleet, &mut all, read).await,
                () = tokio::time::sleep_until(next.min(now + TURN_MAX)) => {}
            }
        }
    }

    /// Takes what a task has read, unless the source was altered or taken away meanwhile.
    async fn took(
        &self,
        fleet: &Fleet,
        all: &mut BTreeMap<String, Known>,
        read: Result<(tokio::task::Id, Reading), JoinError>,
    ) {
        let id = read.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let by_it = |known: &&mut Known| known.reading.as_ref().is_some_and(|reading| reading.id() == id);
        let Some(known) = all.values_mut().find(by_it) else { return };
        known.reading = None;
        known.due = Instant::now() + known.source.every;
        let listed = match read {
            Ok((_, reading)) => {
                known.servers = reading.servers;
                reading.listed
            }
            Err(error) => Err(format!("reading it broke down: {error}")),
        };
        self.take(fleet, known, listed).await;
    }

    /// Takes up what the file declares now, with what its files hold, and forgets what it declares no longer.
    async fn declared(&self, fleet: &Fleet, all: &mut BTreeMap<String, Known>) {
        let sources = &fleet.discovery.sources;
        all.retain(|id, known| {
            let is_declared = sources.iter().any(|source| source.id == *id);
            if !is_declared {
                known.stop_reading();
            }
            is_declared
        });
        self.listings.keep(|id| sources.iter().any(|source| source.id == id));
        for source in sources {
            match all.get_mut(&source.id) {
                Some(known) if known.source == *source => {}
                Some(known) => {
                    known.stop_reading();
                    (known.source, known.due) = (source.clone(), Instant::now());
                }
                None => {
                    let path = self.path(fleet, source);
                    let kept = tokio::task::spawn_blocking(move || read_bytes(&path, FILE_BYTES_MAX).ok()).await;
                    let written = String::from_utf8(kept.ok().flatten().unwrap_or_default()).unwrap_or_default();
                    let listing = Listing::kept(listed_file::read(&written).unwrap_or_default());
                    let (source, view, due) = (source.clone(), ListingView::default(), Instant::now());
                    let (reading, servers, written) = (None, Servers::default(), written.into());
                    let known = Known { source, listing, view, due, reading, servers, good_at: Utc::now(), written };
                    all.insert(known.source.id.clone(), known);
                }
            }
        }
    }

    /// Takes what a list comes to, and writes what is watched then.
    async fn take(&self, fleet: &Fleet, known: &mut Known, listed: Result<(Vec<Target>, Vec<String>), String>) {
        let source = &known.source;
        let now = Utc::now();
        let before = known.listing.targets.clone();
        known.view.unread = match listed {
            Ok((targets, refused)) => {
                (known.view.refused_count, known.view.refused) =
                    (refused.len(), refused.into_iter().take(REFUSED_SHOWN).collect());
                (known.view.read_at, known.good_at) = (Some(now), now);
                known
                    .listing
                    .take(targets, now.timestamp(), source.gone_after, |id, gone| self.may_go(fleet, id, gone));
                None
            }
            Err(why) => {
                tracing::warn!(source = source.id, why, "the list cannot be read; the last good one counts");
                Some(why)
            }
        };
        let text = listed_file::written(&source.id, known.listing.targets.values());
        if *text != *known.written {
            tracing::info!(source = source.id, watched = known.listing.targets.len(), "the list changed");
            known.written = text.into();
        }
        self.keep(fleet, known).await;
        known.view.never_worked = self.never_worked(known, TimeDelta::zero(), now);
        let Known { view, listing, .. } = known;
        view.changed(change(&before, &listing.targets, now));
        view.watched = listing.targets.len();
        let gone = listing.targets.values().filter(|target| target.gone_since.is_some());
        view.gone = gone.map(|target| target.id.clone()).collect();
        view.held = listing.held.iter().flat_map(|held| held.missing.iter().cloned()).collect();
        view.held_since = listing.held.as_ref().and_then(|held| DateTime::from_timestamp(held.since, 0));
        self.show(known);
    }

    /// Has pages and API say how it stands.
    fn show(&self, known: &Known) {
        if self.listings.put(&known.source.id, known.view.clone()) {
            self.context.live.tell(LiveChange::Fleet);
        }
    }

    /// Has the list on disk as it counts, whatever became of it there, and the file looked at where it was not.
    async fn keep(&self, fleet: &Fleet, known: &mut Known) {
        let (path, text) = (self.path(fleet, &known.source), Arc::clone(&known.written));
        let kept = tokio::task::spawn_blocking(move || {
            let is_there = std::fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes());
            if is_there { Ok(false) } else { put(&path, &text).map(|()| true) }
        });
        let folder = self.folder.join(&fleet.discovery.folder);
        let unkept = match kept.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(is_new) => {
                if is_new {
                    self.look.notify_one();
                }
                None
            }
            Err(error) => Some(format!(
                "its list cannot be kept in {}: {error}; what was kept of it last is watched until it can; \
                 `discover: {{ folder: … }}` names another folder",
                folder.display()
            )),
        };
        if known.view.unkept != unkept {
            known.view.unkept = unkept;
            self.show(known);
        }
    }

    /// Whether a monitor was seen well since it is gone from the list, unix seconds. What never worked did not die.
    fn may_go(&self, fleet: &Fleet, id: &str, gone_since: i64) -> bool {
        let id = MonitorId::new(id);
        // A start knows nothing yet of what it will watch.
        let Some(standing) = self.context.live.standing(&id) else { return fleet.monitor(&id).is_none() };
        let is_well = standing.roll_up() == RollUp::Up
            && standing.figures().seen_at.is_some_and(|seen_at| seen_at.timestamp() > gone_since);
        is_well || !has_worked(&*standing)
    }

    /// What is watched for so long and never worked.
    fn never_worked(&self, known: &Known, for_so_long: TimeDelta, now: DateTime<Utc>) -> Vec<String> {
        let is_so = |id: &&String| {
            let standing = self.context.live.standing(&MonitorId::new(id));
            standing
                .is_some_and(|standing| !has_worked(&*standing) && now - standing.view().day.first_seen >= for_so_long)
        };
        known.listing.targets.keys().filter(is_so).cloned().collect()
    }

    fn path(&self, fleet: &Fleet, source: &Source) -> PathBuf {
        discovered::path(&self.folder, &fleet.discovery.folder, &source.id)
    }

    /// Raises what is trouble of ours, and gives the all-clear.
    fn tell(&self, all: &BTreeMap<String, Known>) {
        let now = Utc::now();
        let held: Vec<String> = all.values().filter_map(|known| held_line(&known.source.id, &known.view)).collect();
        // What cannot be kept is trouble at once: a start would know nothing of it.
        let failing = all.values().filter(|known| now - known.good_at >= TROUBLE_AFTER || known.view.unkept.is_some());
        let failing: Vec<String> =
            failing.filter_map(|known| Some(format!("{}: {}", known.source.id, known.view.trouble()?))).collect();
        if held.is_empty() && failing.is_empty() {
            self.context.live.lower(LISTS);
        } else {
            let text = [held.as_slice(), &failing].concat().join("\n");
            self.context.live.raise(Banner { kind: LISTS, text, since: now });
        }
        let untried = all.values().filter_map(|known| {
            let ids = self.never_worked(known, NEVER_WORKED_AFTER, now);
            named(&ids).map(|ids| format!("{} lists {ids}", known.source.id))
        });
        let untried: Vec<String> = untried.collect();
        let troubles = [
            (InternalAlert::ListHeld, held),
            (InternalAlert::ListUnread, failing),
            (InternalAlert::NeverWorked, untried),
        ];
        for (kind, lines) in troubles {
            if lines.is_empty() {
                self.context.alerts.clear(kind, now);
            } else {
                self.context.alerts.raise(kind, &lines.join("; "), now);
            }
        }
    }
}

/// What a reading changed of what is watched.
fn change(before: &BTreeMap<String, Target>, after: &BTreeMap<String, Target>, at: DateTime<Utc>) -> ListingChange {
    let is_gone = |targets: &BTreeMap<String, Target>, id: &String| {
        targets.get(id).is_some_and(|target| target.gone_since.is_some())
    };
    ListingChange {
        at,
        came: Ids::of(after.keys().filter(|id| !before.contains_key(*id))),
        went: Ids::of(before.keys().filter(|id| !after.contains_key(*id))),
        stays: Ids::of(after.keys().filter(|id| is_gone(after, id) && !is_gone(before, id))),
    }
}

fn held_line(source: &str, view: &ListingView) -> Option<String> {
    named(&view.held).map(|ids| format!("{source} lists {} fewer than before: {ids} are watched on", view.held.len()))
}

/// The first of some ids, and how many more; none where there is none.
fn named(ids: &[String]) -> Option<String> {
    let more = ids.len().saturating_sub(NAMED_MAX);
    let first = ids[..ids.len() - more].join(", ");
    (!ids.is_empty()).then(|| if more == 0 { first } else { format!("{first} and {more} more") })
}

fn has_worked(standing: &dyn Standing) -> bool {
    standing.state().is_some_and(|(_, state)| state.has_worked())
}

/// Writes a file in one step: whoever reads it sees all of it or what was before.
fn put(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)?;
    let beside = path.with_extension("yaml.new");
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}
