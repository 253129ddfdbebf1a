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

/// Follows the monitors of all other shards than these, until shutdown.
pub(crate) async fn run(mut context: LoopContext, watched: Shards, shutdown: CancellationToken) {
    let fleet = context.fleet.borrow_and_update().clone();
    let mut following = Following::new(&fleet, watched);
    while !shutdown.is_cancelled() {
        context.live.metrics().turn(NAME, Utc::now());
        if let Err(error) = following.look(&context.store, &context.live).await {
            tracing::warn!(%error, "how other machines' monitors stand could not be read; it is tried again");
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(EVERY) => {}
            changed = context.fleet.changed() => {
                let fleet = context.fleet.borrow_and_update().clone();
                following.declare(&fleet, &context.live);
                if changed.is_err() {
                    shutdown.cancelled().await;
                }
            }
        }
    }
}

/// How far it has followed.
#[derive(Debug)]
struct Following {
    watched: Shards,
    /// What is declared here and watched elsewhere.
    declared: HashMap<MonitorId, Arc<Monitor>>,
    seen: SeenVersions,
}

impl Following {
    fn new(fleet: &Fleet, watched: Shards) -> Self {
        let elsewhere = fleet.monitors.iter().filter(|monitor| !watched.hold_monitor(&monitor.id));
        let declared = elsewhere.map(|monitor| (monitor.id.clone(), Arc::clone(monitor))).collect();
        Self { watched, declared, seen: SeenVersions::default() }
    }

    /// Another file is in force: what it no longer has is gone, and all others are read by what it says.
    fn declare(&mut self, fleet: &Fleet, live: &LiveState) {
        let before = std::mem::replace(self, Self::new(fleet, self.watched));
        before.declared.keys().filter(|id| !self.declared.contains_key(*id)).for_each(|id| live.remove(id));
    }

    /// Shows what was published since the last look.
    async fn look(&mut self, store: &Store, live: &LiveState) -> Result<(), StoreError> {
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
            let runtimes = resume::returned(&self.0, &monitors, now).await;
            let runtimes = runtimes.inspect_err(|error| tracing::warn!(%error, "a page could not read the database"));
            let drawn = |mut runtime: MonitorRuntime| (runtime.monitor.id.clone(), runtime.view(now).view());
            let mut kept: HashMap<MonitorId, MonitorView> = runtimes.ok()?.into_iter().map(drawn).collect();
            let over = |one: &Followed| kept.remove(one.id()).map_or_else(|| one.view(), |kept| one.over(kept));
            Some(followed.iter().map(over).collect())
        })
    }
}

#[cfg(test)]
mod tests;
