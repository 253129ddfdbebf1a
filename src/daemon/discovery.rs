//! The loop of lists: reads each source of `discover:` when it is due, and writes what is watched because of it into its file,
//! which the loop of the file then reads as any other.
//!
//! - What a list cannot say is no end of anything: while it cannot be read, or says nonsense, the last good one counts.
//! - The file is the memory. A start goes on with it, whether the list can be read or not.
//! - A list is hostile: bounded, its texts are texts, and each of its servers passes `hosts` and the guard of private networks.

mod sd_list;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use serin_outbound::guard::{Refusal, allowed};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::{Host, Url};

use crate::config::describe::listed_file;
use crate::config::read::bytes::{FILE_BYTES_MAX, read_bytes};
use crate::config::read::{discovered, glob};
use crate::daemon::loop_context::LoopContext;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::discovery::listing::Listing;
use crate::domain::discovery::relabel::Labels;
use crate::domain::discovery::target::{Target, target};
use crate::domain::discovery::{From, Source};
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::live::listings::{ListingView, Listings};
use crate::live::state::{RollUp, Standing};
use crate::net::document::Documents;

/// The longest it does not look whether something is due.
const TURN_MAX: Duration = Duration::from_secs(10);
/// A list that cannot be read for this long is trouble of ours; restarts and deployments of what serves it are shorter.
const TROUBLE_AFTER: TimeDelta = TimeDelta::minutes(15);
/// Whoever lists a server means it to work within a day.
const NEVER_WORKED_AFTER: TimeDelta = TimeDelta::hours(24);
/// Files of one source.
const FILES_MAX: usize = 1_000;
/// Refusals that are shown; the rest is counted.
const REFUSED_SHOWN: usize = 20;
/// Ids named in one alert.
const NAMED_MAX: usize = 10;
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
    /// When it was last read well, or first tried.
    good_at: DateTime<Utc>,
    /// The text on disk.
    written: String,
}

impl Discovery {
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let mut fleets = self.context.fleet.clone();
        let mut all: BTreeMap<String, Known> = BTreeMap::new();
        while !shutdown.is_cancelled() {
            self.context.live.metrics().turn(NAME, Utc::now());
            let fleet = fleets.borrow_and_update().clone();
            self.declared(&fleet, &mut all).await;
            let accepted = self.listings.accepted();
            for known in all.values_mut() {
                let is_due = known.due <= Instant::now();
                if accepted.contains(&known.source.id) {
                    let gone = known.listing.accept(Utc::now().timestamp());
                    tracing::info!(source = known.source.id, gone, "what the list names no longer is let go");
                }
                if is_due || accepted.contains(&known.source.id) {
                    self.turn(&fleet, known).await;
                }
            }
            self.tell(&all);
            let next = all.values().map(|known| known.due).min().unwrap_or_else(|| Instant::now() + TURN_MAX);
            tokio::select! {
                () = shutdown.cancelled() => {}
                Ok(()) = fleets.changed() => {}
                () = self.listings.wake.notified() => {}
                () = tokio::time::sleep_until(next.min(Instant::now() + TURN_MAX)) => {}
            }
        }
    }

    /// Takes up what the file declares now, with what its files hold, and forgets what it declares no longer.
    async fn declared(&self, fleet: &Fleet, all: &mut BTreeMap<String, Known>) {
        let sources = &fleet.discovery.sources;
        all.retain(|id, _| sources.iter().any(|source| source.id == *id));
        self.listings.keep(|id| sources.iter().any(|source| source.id == id));
        for source in sources {
            match all.get_mut(&source.id) {
                Some(known) if known.source == *source => {}
                Some(known) => (known.source, known.due) = (source.clone(), Instant::now()),
                None => {
                    let path = self.path(fleet, source);
                    let kept = tokio::task::spawn_blocking(move || read_bytes(&path, FILE_BYTES_MAX).ok()).await;
                    let written = String::from_utf8(kept.ok().flatten().unwrap_or_default()).unwrap_or_default();
                    let listing = Listing::kept(listed_file::read(&written).unwrap_or_default());
                    let (source, view, due) = (source.clone(), ListingView::default(), Instant::now());
                    let known = Known { source, listing, view, due, good_at: Utc::now(), written };
                    all.insert(known.source.id.clone(), known);
                }
            }
        }
    }

    /// Reads one list and writes what it comes to.
    async fn turn(&self, fleet: &Fleet, known: &mut Known) {
        let source = &known.source;
        known.due = Instant::now() + source.every;
        let listed = self.read(source).await;
        let now = Utc::now();
        known.view.trouble = match listed {
            Ok(listed) => {
                let (targets, refused) = targets(source, listed);
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
        if text != known.written {
            let path = self.path(fleet, source);
            let writing = text.clone();
            match tokio::task::spawn_blocking(move || put(&path, &writing)).await {
                Ok(Ok(())) => {
                    known.written = text;
                    tracing::info!(source = source.id, watched = known.listing.targets.len(), "the list changed");
                    self.look.notify_one();
                }
                Ok(Err(error)) => {
                    let folder = self.folder.join(&fleet.discovery.folder);
                    known.view.trouble = Some(format!("its list cannot be kept in {}: {error}", folder.display()));
                }
                Err(error) => known.view.trouble = Some(format!("its list cannot be kept: {error}")),
            }
        }
        let Known { view, listing, .. } = known;
        view.watched = listing.targets.len();
        let gone = listing.targets.values().filter(|target| target.gone_since.is_some());
        view.gone = gone.map(|target| target.id.clone()).collect();
        view.held = listing.held.iter().flat_map(|held| held.missing.iter().cloned()).collect();
        view.held_since = listing.held.as_ref().and_then(|held| DateTime::from_timestamp(held.since, 0));
        self.listings.put(&known.source.id, known.view.clone());
    }

    async fn read(&self, source: &Source) -> Result<Vec<Labels>, String> {
        match &source.from {
            From::HttpSd { url, bearer } => {
                let bearer = bearer.as_ref().map(|bearer| bearer.expose());
                let bytes = self.documents.fetch(url.resolved.expose(), bearer, sd_list::LIST_BYTES_MAX).await?;
                blocking(move || sd_list::parsed(&bytes)).await
            }
            From::FileSd(globs) => {
                let (folder, globs) = (self.folder.clone(), globs.clone());
                blocking(move || of_files(&folder, &globs)).await
            }
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

    /// What is listed for a day and never worked.
    fn never_worked<'k>(&self, known: &'k Known, now: DateTime<Utc>) -> Vec<&'k str> {
        let is_so = |id: &&str| {
            let standing = self.context.live.standing(&MonitorId::new(id));
            standing.is_some_and(|standing| {
                !has_worked(&*standing) && now - standing.view().day.first_seen >= NEVER_WORKED_AFTER
            })
        };
        known.listing.targets.keys().map(String::as_str).filter(is_so).collect()
    }

    fn path(&self, fleet: &Fleet, source: &Source) -> PathBuf {
        discovered::path(&self.folder, &fleet.discovery.folder, &source.id)
    }

    /// Raises what is trouble of ours, and gives the all-clear.
    fn tell(&self, all: &BTreeMap<String, Known>) {
        let now = Utc::now();
        let held: Vec<String> = all.values().filter_map(|known| held_line(&known.source.id, &known.view)).collect();
        let failing = all.values().filter(|known| now - known.good_at >= TROUBLE_AFTER || is_unkept(&known.view));
        let failing: Vec<String> = failing
            .filter_map(|known| Some(format!("{}: {}", known.source.id, known.view.trouble.as_ref()?)))
            .collect();
        let untried = all.values().filter_map(|known| {
            let ids = self.never_worked(known, now);
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

/// What cannot be kept is trouble at once: a start would know nothing of it.
fn is_unkept(view: &ListingView) -> bool {
    view.trouble.as_ref().is_some_and(|why| why.starts_with("its list cannot be kept"))
}

fn held_line(source: &str, view: &ListingView) -> Option<String> {
    let held: Vec<&str> = view.held.iter().map(String::as_str).collect();
    named(&held).map(|ids| format!("{source} lists {} fewer than before: {ids} are watched on", held.len()))
}

/// The first of some ids, and how many more; none where there is none.
fn named(ids: &[&str]) -> Option<String> {
    let more = ids.len().saturating_sub(NAMED_MAX);
    let first = ids[..ids.len() - more].join(", ");
    (!ids.is_empty()).then(|| if more == 0 { first } else { format!("{first} and {more} more") })
}

fn has_worked(standing: &dyn Standing) -> bool {
    standing.state().is_some_and(|(_, state)| state.has_worked())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(format!("reading it broke down: {error}")))
}

/// The monitors that a list comes to, each id once, and what of it cannot be one.
fn targets(source: &Source, listed: Vec<Labels>) -> (Vec<Target>, Vec<String>) {
    let (mut found, mut refused, mut ids) = (Vec::new(), Vec::new(), BTreeSet::new());
    let allow: Vec<IpNet> = source.allow_private.iter().filter_map(|network| network.0.parse().ok()).collect();
    for (nth, labels) in listed.into_iter().enumerate() {
        match target(source, labels).and_then(|target| target.map(|target| reachable(target, &allow)).transpose()) {
            Ok(Some(target)) if ids.insert(target.id.clone()) => found.push(target),
            // Lists name one server in several groups: it is one.
            Ok(_) => {}
            Err(why) => refused.push(format!("target {}: {why}", nth + 1)),
        }
    }
    (found, refused)
}

/// A server, unless its address is written out and lies where the source may not reach. What a name leads to is known when it
/// is connected to, and judged then.
fn reachable(target: Target, allow: &[IpNet]) -> Result<Target, String> {
    let url = Url::parse(&target.url).map_err(|error| error.to_string())?;
    let written = match url.host() {
        Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        _ => None,
    };
    let refused = |Refusal { ip, why }| {
        format!("{ip} is a {why} address; list its network under `allow_private` of the source if it is meant")
    };
    written.map_or(Ok(()), |ip| allowed(ip, allow).map_err(refused)).map(|()| target)
}

/// What all files of a source list together. One that cannot be read makes the whole list unread: its servers are not gone.
fn of_files(folder: &Path, globs: &[String]) -> Result<Vec<Labels>, String> {
    let mut all = Vec::new();
    let mut paths = BTreeSet::new();
    for pattern in globs {
        paths.extend(glob::files(folder, pattern)?);
    }
    if paths.len() > FILES_MAX {
        return Err(format!("its globs stand for more than {FILES_MAX} files"));
    }
    let mut left = sd_list::LIST_BYTES_MAX as u64;
    for path in paths {
        let bytes = read_bytes(&path, left).map_err(|error| error.to_string())?;
        left -= bytes.len() as u64;
        let listed = sd_list::parsed(&bytes).map_err(|why| format!("{}: {why}", path.display()))?;
        all.extend(listed);
    }
    Ok(all)
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
