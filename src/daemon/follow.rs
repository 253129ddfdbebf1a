//! Follows how the monitors stand that other machines watch, so that pages here show the whole fleet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::daemon::resume;
use crate::daemon::runtime::MonitorRuntime;
use crate::domain::fleet::Fleet;
use crate::domain::lease::Leases;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::shard::Shards;
use crate::live::monitor_view::MonitorView;
use crate::live::published::{Followed, FollowedViews, SlimStanding};
use crate::live::standing::Standing as _;
use crate::live::state::{LiveChange, LiveState};
use crate::store::read::standings::SeenVersions;
use crate::store::{Store, StoreError};

/// It looks this often.
const EVERY: Duration = Duration::from_secs(1);
/// The name under which the loop reports its turns.
const NAME: &str = "follow";

/// Shows what other machines have published by now, before anybody asks for a page.
pub(crate) async fn begin(context: &LoopContext) -> Following {
    let fleet = context.fleet.borrow().clone();
    let mut following = Following::new(&fleet, context.leases.borrow().shards());
    following.unknown(&context.live);
    if let Err(error) = following.look(&context.store, &context.live).await {
        tracing::warn!(%error, "how other machines' monitors stand could not be read yet");
    }
    following
}

/// Follows on, until shutdown.
pub(crate) async fn run(mut following: Following, mut context: LoopContext, shutdown: CancellationToken) {
    // None yet: it is declared anew by whatever is in force when this begins.
    let mut fleet: Arc<Fleet> = Arc::default();
    let mut is_away = false;
    while !shutdown.is_cancelled() {
        context.live.metrics().turn(NAME, Utc::now());
        let (declared, watched) = (context.fleet.borrow().clone(), context.leases.borrow().shards());
        if !Arc::ptr_eq(&declared, &fleet) || watched != following.watched {
            fleet = declared;
            following.declare(&fleet, watched, &context.live);
        }
        if context.live.nodes().now().are_several() {
            // What was asked for at other machines wakes nobody here.
            context.quiets.look();
            context.store.action_asked().notify_one();
            context.store.outbox_changed().notify_one();
        }
        let looked = following.look(&context.store, &context.live).await;
        let was_away = std::mem::replace(&mut is_away, looked.is_err());
        if let (Err(error), false) = (looked, was_away) {
            tracing::warn!(%error, "how other machines' monitors stand cannot be read; it is tried again");
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(EVERY) => {}
            Ok(()) = context.fleet.changed() => {}
            Ok(()) = context.leases.changed() => {}
        }
    }
}

/// How far it has followed.
#[derive(Debug)]
pub(crate) struct Following {
    watched: Shards,
    /// What is declared here and watched elsewhere.
    declared: HashMap<MonitorId, Arc<Monitor>>,
    seen: SeenVersions,
    /// How often the connection that writes had been made anew by then.
    reconnects: u64,
}

impl Following {
    fn new(fleet: &Fleet, watched: Shards) -> Self {
        let elsewhere = fleet.monitors.iter().filter(|monitor| !watched.hold_monitor(&monitor.id));
        let declared = elsewhere.map(|monitor| (monitor.id.clone(), Arc::clone(monitor))).collect();
        Self { watched, declared, seen: SeenVersions::default(), reconnects: 0 }
    }

    /// Another file is in force, or others watch something else: what no file has is gone, and all that is watched elsewhere is
    /// read anew by what the file says. What is watched here by now shows whoever watches it.
    fn declare(&mut self, fleet: &Fleet, watched: Shards, live: &LiveState) {
        let before = std::mem::replace(self, Self::new(fleet, watched));
        let gone = before.declared.keys().filter(|id| !self.declared.contains_key(*id) && !watched.hold_monitor(id));
        gone.for_each(|id| live.remove(id));
        self.unknown(live);
    }

    /// Of what nobody has published yet it is shown that nothing is known.
    fn unknown(&self, live: &LiveState) {
        let now = Utc::now();
        for monitor in self.declared.values().filter(|monitor| live.standing(&monitor.id).is_none()) {
            let published = SlimStanding::unknown(monitor.id.clone(), now);
            live.put(Followed { monitor: Arc::clone(monitor), published });
        }
    }

    /// Shows what was published since the last look.
    async fn look(&mut self, store: &Store, live: &LiveState) -> Result<(), StoreError> {
        if self.declared.is_empty() {
            return Ok(());
        }
        let reconnects = store.reconnects();
        // Where a server lost what was read of it, its versions are given out again, for something else.
        let may_be_lost = std::mem::replace(&mut self.reconnects, reconnects) != reconnects;
        if live.take_stale() || may_be_lost {
            self.seen = SeenVersions::default();
        }
        let (found, seen) = store.standings_since(self.seen.clone()).await?;
        for published in found {
            // One that our file does not have yet is found once it does.
            if let Some(monitor) = self.declared.get(&published.id) {
                show(live, Followed { monitor: Arc::clone(monitor), published });
            }
        }
        self.seen = seen;
        Ok(())
    }
}

/// Puts one in the place of what is known of it, and tells open pages of the incidents that came, changed or went.
fn show(live: &LiveState, followed: Followed) {
    let before = live.standing(followed.id()).and_then(|one| one.followed().map(|one| one.published.clone()));
    let changed = changed_incidents(before.as_ref(), &followed.published);
    live.put(followed);
    changed.into_iter().for_each(|incident| live.tell(LiveChange::Incident(incident)));
}

fn changed_incidents(before: Option<&SlimStanding>, now: &SlimStanding) -> HashSet<String> {
    let open = |one: &SlimStanding| -> HashMap<String, _> {
        let incidents = one.signals.iter().filter_map(|signal| signal.incident.clone());
        incidents.map(|open| (open.id.clone(), open)).collect()
    };
    let (before, now) = (before.map(open).unwrap_or_default(), open(now));
    let all = before.keys().chain(now.keys());
    all.filter(|id| before.get(*id) != now.get(*id)).cloned().collect()
}

/// What pages show of monitors that another machine watches: how they stand as it was published, and the rest of it as a start
/// would find it.
#[derive(Debug)]
pub(crate) struct StoredViews(pub(crate) Store);

impl FollowedViews for StoredViews {
    fn views<'a>(&'a self, followed: &'a [Followed]) -> BoxFuture<'a, Option<Vec<MonitorView>>> {
        Box::pin(async move {
            let (monitors, now) = (followed.iter().map(|one| Arc::clone(&one.monitor)), Utc::now());
            let monitors: Vec<Arc<Monitor>> = monitors.collect();
            let runtimes = resume::returned(&self.0, &monitors, &Leases::none(), now).await;
            let runtimes = runtimes.inspect_err(|error| tracing::warn!(%error, "a page could not read the database"));
            let drawn = |mut runtime: MonitorRuntime| {
                let accepted = runtime.state.tools.baseline.clone();
                (runtime.monitor.id.clone(), (runtime.view(now).view(), accepted))
            };
            let mut kept: HashMap<MonitorId, _> = runtimes.ok()?.into_iter().map(drawn).collect();
            let seen = followed.iter().filter_map(|one| Some(&*one.published.tools.as_ref()?.hash));
            let lists = self.0.lists_of_tools(&seen.collect()).await;
            let lists =
                lists.inspect_err(|error| tracing::warn!(%error, "a page could not read lists of tools")).ok()?;
            let over = |one: &Followed| {
                let Some((view, accepted)) = kept.remove(one.id()) else { return one.view() };
                let slim = one.published.tools.clone();
                let tools = slim.and_then(|slim| lists.get(&slim.hash).map(|list| slim.view(list, accepted)));
                one.over(MonitorView { tools, ..view })
            };
            Some(followed.iter().map(over).collect())
        })
    }
}

#[cfg(test)]
mod tests;
