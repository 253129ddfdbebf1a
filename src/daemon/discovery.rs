//! The loop of lists: reads each source of `discover:` when it is due, and writes what is watched because of it into its file,
//! which the loop of the file then reads as any other.
//!
//! - What a list cannot say is no end of anything: while it cannot be read, or says nonsense, the last good one counts.
//! - The file is the memory, and the database has its text: a start goes on with that, whether the list can be read or not.
//! - A list is hostile: bounded, its texts are texts, and each of its servers passes `hosts` and the guard of private networks.

mod asked;
mod at_most;
mod following;
mod in_force;
mod known;
mod reading;
mod registry;
mod sd_list;
mod telling;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::describe::listed_file;
use crate::config::read::bytes::read_bytes;
use crate::config::read::discovered::{self, LISTS_BYTES_MAX};
use crate::daemon::discovery::in_force::InForce;
use crate::daemon::discovery::known::Known;
use crate::daemon::discovery::reading::{Reader, Reading};
use crate::daemon::kept_lists::put;
use crate::daemon::loop_context::LoopContext;
use crate::domain::action::Action;
use crate::domain::discovery::listing::{Named, Seen, TARGETS_MAX};
use crate::domain::discovery::target::Refused;
use crate::domain::discovery::{LeftOut, Source};
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::live::listings::{ListingChange, Listings};
use crate::live::monitor_view::RollUp;
use crate::live::state::LiveChange;
use crate::net::document::Documents;

/// The longest it does not look whether something is due.
const TURN_MAX: Duration = Duration::from_secs(10);
/// The name under which the loop reports its turns.
const NAME: &str = "discovery";

/// The loop.
#[derive(Debug, Clone)]
pub(crate) struct Discovery {
    pub context: LoopContext,
    /// The folder of monitors.yaml.
    pub folder: PathBuf,
    pub documents: Documents,
    pub listings: Arc<Listings>,
    /// Has the file looked at, since one of its own changed.
    pub look: Arc<Notify>,
}

impl Discovery {
    /// Reads lists, until shutdown.
    async fn read_on(self, shutdown: &CancellationToken) {
        let mut fleets = self.context.fleet.clone();
        let mut all: BTreeMap<String, Known> = BTreeMap::new();
        let mut readings: JoinSet<Reading> = JoinSet::new();
        let mut done: Vec<Action> = Vec::new();
        let mut force = InForce::of(&fleets.borrow());
        self.forget_undeclared(&force.fleet).await;
        while !shutdown.is_cancelled() {
            self.context.live.metrics().turn(NAME, Utc::now());
            let fleet = fleets.borrow_and_update().clone();
            if !Arc::ptr_eq(&fleet, &force.fleet) {
                force = InForce::of(&fleet);
            }
            let gone = self.declared(&fleet, &mut all).await;
            // What is handed on once more was done already.
            for action in self.listings.asked().into_iter().filter(|action| !done.contains(action)).collect::<Vec<_>>()
            {
                asked::act(&action, &mut all);
                done.push(action);
            }
            let now = Instant::now();
            for known in all.values_mut().filter(|known| known.due <= now && known.reading.is_none()) {
                let servers = std::mem::take(&mut known.servers);
                let reader = Reader { documents: self.documents.clone(), folder: self.folder.clone() };
                known.reading = Some(readings.spawn(reader.read(known.source.clone(), servers)));
            }
            for known in all.values_mut() {
                self.keep(&fleet, known).await;
                self.look_at_force(&force, known);
            }
            for known in gone {
                self.forget(&known.source.id, known.path, &known.written).await;
            }
            asked::note(&self.context, &mut done, &all).await;
            self.tell(&all);
            let idle = all.values().filter(|known| known.reading.is_none());
            let next = idle.map(|known| known.due).min().unwrap_or(now + TURN_MAX);
            tokio::select! {
                () = shutdown.cancelled() => {}
                Ok(()) = fleets.changed() => {}
                () = self.listings.wake.notified() => {}
                Some(read) = readings.join_next_with_id() => self.took(&force, &mut all, read).await,
                () = tokio::time::sleep_until(next.min(now + TURN_MAX)) => {}
            }
        }
    }

    /// Takes what a task has read, unless the source was altered or taken away meanwhile.
    async fn took(
        &self,
        force: &InForce,
        all: &mut BTreeMap<String, Known>,
        read: Result<(tokio::task::Id, Reading), JoinError>,
    ) {
        let id = read.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let by_it = |known: &&mut Known| known.reading.as_ref().is_some_and(|reading| reading.id() == id);
        let written: usize = all.values().map(|known| known.written.len()).sum();
        let Some(known) = all.values_mut().find(by_it) else { return };
        let room = usize::try_from(LISTS_BYTES_MAX).unwrap_or(usize::MAX).saturating_sub(written - known.written.len());
        known.reading = None;
        let wait = if std::mem::take(&mut known.is_asked_again) { Duration::ZERO } else { known.source.every };
        known.due = Instant::now() + wait;
        let listed = match read {
            Ok((_, reading)) => {
                known.servers = reading.servers;
                reading.listed
            }
            Err(error) => Err(format!("reading it broke down: {error}")),
        };
        self.take(force, known, listed, room).await;
    }

    /// Takes up what the file declares now, with what its files hold; what it declares no longer.
    async fn declared(&self, fleet: &Fleet, all: &mut BTreeMap<String, Known>) -> Vec<Known> {
        let sources = &fleet.discovery.sources;
        let is_gone = |id: &String, _: &mut Known| !sources.iter().any(|source| source.id == *id);
        let mut gone: Vec<Known> = all.extract_if(.., is_gone).map(|(_, known)| known).collect();
        gone.iter_mut().for_each(Known::stop_reading);
        let mut heirs_of = BTreeSet::new();
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
                    let from = path.clone();
                    let kept = tokio::task::spawn_blocking(move || read_bytes(&from, LISTS_BYTES_MAX).ok()).await;
                    let kept = String::from_utf8(kept.ok().flatten().unwrap_or_default()).unwrap_or_default();
                    let mut known = Known::kept(source.clone(), path, kept);
                    let is_same =
                        |known: &&Known| source.is_renamed(&known.source) && !heirs_of.contains(&known.source.id);
                    if let Some(before) = gone.iter().find(is_same) {
                        known.inherit(before);
                        heirs_of.insert(before.source.id.clone());
                    }
                    all.insert(source.id.clone(), known);
                }
            }
        }
        gone
    }

    /// Takes what a list comes to, and writes what is watched then, in so many bytes at most.
    async fn take(
        &self,
        force: &InForce,
        known: &mut Known,
        listed: Result<(Named, Vec<Refused>), String>,
        room: usize,
    ) {
        let now = Utc::now();
        let taken = match listed {
            Ok(listed) => self.taken(&force.fleet, known, listed, (now, room)).await,
            Err(why) => Err(why),
        };
        let before = std::mem::replace(&mut known.view.unread, taken.err());
        if let Some(why) = known.view.unread.as_deref().filter(|why| before.as_deref() != Some(*why)) {
            tracing::warn!(source = known.source.id, why, "the list cannot be read; what is known of it counts on");
        }
        known.view.tried_at = Some(now);
        known.view.never_worked = self.never_worked(known, TimeDelta::zero(), now);
        self.keep(&force.fleet, known).await;
        self.look_at_force(force, known);
    }

    /// What is watched once a list is taken; nothing changes where what it comes to cannot be kept.
    async fn taken(
        &self,
        fleet: &Fleet,
        known: &mut Known,
        (named, refused): (Named, Vec<Refused>),
        (now, room): (DateTime<Utc>, usize),
    ) -> Result<(), String> {
        let mut listing = known.listing.clone();
        let left_out = fleet.discovery.left_out.get(&known.source.id);
        let is_left_out = |id: &str| left_out.is_some_and(|left_out| left_out.ids.contains(id));
        // What the file leaves out is nobody's loss.
        let seen = |id: &str, since| if is_left_out(id) { Seen::Never } else { self.seen(id, since) };
        let surplus = listing.take(named, now.timestamp(), known.source.gone_after, seen);
        let text = listed_file::written(&known.source.id, listing.targets.values());
        if *text != *known.written {
            if text.len() > room {
                let most = LISTS_BYTES_MAX / 1024 / 1024;
                return Err(format!(
                    "what it names comes to {} MiB, and all lists together may be {most}: `relabel` drops labels",
                    text.len() / 1024 / 1024
                ));
            }
            // What is written here is read with what people wrote: nothing gets there that cannot be.
            let (count, copy) = (listing.targets.len(), text.clone());
            let read = tokio::task::spawn_blocking(move || listed_file::read(&copy).map(|targets| targets.len()));
            if read.await.ok().flatten() != Some(count) {
                return Err("what it names cannot be written down".to_owned());
            }
            tracing::info!(source = known.source.id, listed = count, "the list changed");
            known.written = text.into();
        }
        known.view.changed(ListingChange::between(&known.listing.targets, &listing.targets, now));
        known.listing = listing;
        known.refused = LeftOut::default();
        // What was taken before the file left it out is counted with what the file leaves out.
        let more = || Refused::from(format!("{surplus} servers more than the {TARGETS_MAX} that a list may bring"));
        let refused = refused.into_iter().filter(|one| !one.id.as_deref().is_some_and(is_left_out));
        refused.chain((surplus > 0).then(more)).for_each(|one| known.refused.add(None, one.why));
        (known.view.read_at, known.good_at) = (Some(now), now);
        Ok(())
    }

    /// Looks at what of a list is in force: the file has the last word, be it on hosts, ids or room.
    fn look_at_force(&self, force: &InForce, known: &mut Known) {
        let (watched, gone) =
            force.lists.get(&known.source.id).map(|list| (list.count, list.gone.clone())).unwrap_or_default();
        let nothing = LeftOut::default();
        let left_out = force.fleet.discovery.left_out.get(&known.source.id).unwrap_or(&nothing);
        let view = &mut known.view;
        (view.watched, view.gone, view.left_out) = (watched, gone, left_out.count);
        view.refused = left_out.named.iter().chain(&known.refused.named).take(LeftOut::NAMED_MAX).cloned().collect();
        view.refused_count = left_out.count + known.refused.count;
        view.is_empty = known.listing.targets.is_empty();
        // What the file leaves out is not watched on.
        let held = known.listing.held.as_ref();
        let missing = held.iter().flat_map(|held| held.missing.iter());
        view.held = missing.filter(|id| !left_out.ids.contains(*id)).cloned().collect();
        let since = held.filter(|_| !view.held.is_empty()).map(|held| held.since);
        view.held_since = since.and_then(|since| DateTime::from_timestamp(since, 0));
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
        if known.written.is_empty() {
            return;
        }
        known.path = self.path(fleet, &known.source);
        let (path, text) = (known.path.clone(), Arc::clone(&known.written));
        self.listings.will_keep(&known.source.id, &known.written);
        let kept = tokio::task::spawn_blocking(move || {
            let is_there = read_bytes(&path, LISTS_BYTES_MAX).is_ok_and(|bytes| bytes == text.as_bytes());
            if is_there { Ok(false) } else { put(&path, &text).map(|()| true) }
        });
        let folder = self.folder.join(&fleet.discovery.folder);
        let unkept = match kept.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(is_new) => {
                known.is_kept = true;
                self.listings.keeps(&known.source.id, &known.written);
                self.store(known).await;
                if is_new {
                    self.look.notify_one();
                }
                None
            }
            Err(error) => Some(format!(
                "its list cannot be kept in {}: {error}; {} is watched until it can; `discover: {{ folder: … }}` names \
                 another folder",
                folder.display(),
                if known.is_kept { "what was kept of it last" } else { "none of it" }
            )),
        };
        if known.view.unkept != unkept {
            known.view.unkept = unkept;
            self.show(known);
        }
    }

    /// Has nothing kept of sources that were taken out of the file while no Serin ran.
    async fn forget_undeclared(&self, fleet: &Fleet) {
        let kept = self.context.store.kept_lists().await.unwrap_or_default();
        for (source, text) in kept.iter().filter(|(id, _)| !fleet.discovery.sources.iter().any(|one| one.id == *id)) {
            self.forget(source, discovered::path(&self.folder, &fleet.discovery.folder, source), text).await;
        }
    }

    /// Has nothing kept of a source that is declared no more: where it is again, what was listed once is no news. Its file is
    /// removed where it is ours.
    async fn forget(&self, source: &str, path: PathBuf, text: &str) {
        let text = text.to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            let is_ours = read_bytes(&path, LISTS_BYTES_MAX).is_ok_and(|bytes| bytes == text.as_bytes());
            if is_ours { std::fs::remove_file(path) } else { Ok(()) }
        });
        if let Err(error) = removed.await.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            tracing::warn!(source, %error, "the kept list of a source that is declared no more cannot be removed");
        }
        let now = Utc::now();
        let forgotten = self.context.store.keep_list(source, None, now).await;
        self.context.note_write(forgotten.as_ref().err(), now);
    }

    /// Has the list in the database as it counts: a start believes that one.
    async fn store(&self, known: &mut Known) {
        if known.stored.as_ref() == Some(&known.written) {
            return;
        }
        let now = Utc::now();
        let stored = self.context.store.keep_list(&known.source.id, Some(Arc::clone(&known.written)), now).await;
        self.context.note_write(stored.as_ref().err(), now);
        if stored.is_ok() {
            known.stored = Some(Arc::clone(&known.written));
        }
    }

    /// How a monitor stands that is gone from a list since then, unix seconds.
    fn seen(&self, id: &str, gone_since: i64) -> Seen {
        // Nothing is known yet of what was not watched yet.
        let standing = self.context.live.standing(&MonitorId::new(id));
        let Some(standing) = standing.filter(|standing| !standing.is_unheard_of()) else { return Seen::Failing };
        let is_well = || {
            standing.roll_up() == RollUp::Up
                && standing.figures().seen_at.is_some_and(|seen_at| seen_at.timestamp() > gone_since)
        };
        match () {
            () if !standing.has_worked() => Seen::Never,
            () if is_well() => Seen::Well,
            () => Seen::Failing,
        }
    }

    /// What is watched for so long and never worked.
    fn never_worked(&self, known: &Known, for_so_long: TimeDelta, now: DateTime<Utc>) -> Vec<String> {
        let is_so = |id: &&String| {
            let standing = self.context.live.standing(&MonitorId::new(id));
            let standing = standing.filter(|standing| !standing.is_unheard_of());
            standing.is_some_and(|standing| !standing.has_worked() && now - standing.first_seen() >= for_so_long)
        };
        known.listing.targets.keys().filter(is_so).cloned().collect()
    }

    fn path(&self, fleet: &Fleet, source: &Source) -> PathBuf {
        discovered::path(&self.folder, &fleet.discovery.folder, &source.id)
    }
}
