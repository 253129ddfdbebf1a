//! Publishes how the monitors that are watched here stand, so that other machines can show them: those that changed, once a
//! second, and all of them at first and where it has lost track.
//!
//! What is decided is on disk by then. Where this machine ends before it is published, whoever takes its shards over publishes
//! all of them anew.

use std::collections::HashSet;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::domain::monitor::MonitorId;
use crate::domain::shard::Shards;
use crate::live::published::SlimStanding;
use crate::live::state::LiveChange;

/// Others know within this, and a commit's time, what changed.
const EVERY: Duration = Duration::from_secs(1);
/// The name under which the loop reports its turns.
const NAME: &str = "publish";

/// What is to be published.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unpublished {
    /// Nobody knows what others know.
    All,
    /// What changed since.
    Some(HashSet<MonitorId>),
}

/// Publishes the monitors of these shards, until shutdown.
pub(crate) async fn run(context: LoopContext, shards: Shards, shutdown: CancellationToken) {
    let mut changes = context.live.changes();
    let mut unpublished = Unpublished::All;
    while !shutdown.is_cancelled() {
        context.live.metrics().turn(NAME, Utc::now());
        if publish(&context, &shards, &unpublished).await {
            unpublished = Unpublished::Some(HashSet::new());
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = gather(&mut changes, &shards, &mut unpublished) => {}
        }
    }
}

/// Notes what changes, for as long as others can wait for it.
async fn gather(changes: &mut Receiver<LiveChange>, shards: &Shards, unpublished: &mut Unpublished) {
    let until = Instant::now() + EVERY;
    loop {
        let change = tokio::time::timeout_at(until, changes.recv()).await;
        match (change, &mut *unpublished) {
            (Err(_), _) => return,
            (Ok(Ok(LiveChange::Monitor(id))), Unpublished::Some(some)) if shards.hold_monitor(&id) => {
                some.insert(id);
            }
            (Ok(Err(RecvError::Lagged(_))), _) => *unpublished = Unpublished::All,
            (Ok(Err(RecvError::Closed)), _) => return tokio::time::sleep_until(until).await,
            (Ok(Ok(_)), _) => {}
        }
    }
}

/// Whether others can know of it now.
pub(super) async fn publish(context: &LoopContext, shards: &Shards, unpublished: &Unpublished) -> bool {
    let (standings, whole) = match unpublished {
        Unpublished::All => {
            let ours = context.live.all().into_iter().filter(|one| shards.hold_monitor(one.id()));
            (ours.map(|one| SlimStanding::of(&*one)).collect(), Some(*shards))
        }
        Unpublished::Some(some) => {
            // What was removed since stays until all are published: who follows goes by the file.
            let known = some.iter().filter_map(|id| context.live.standing(id));
            (known.map(|one| SlimStanding::of(&*one)).collect::<Vec<_>>(), None)
        }
    };
    if standings.is_empty() && whole.is_none() {
        return true;
    }
    match context.store.publish_standings(standings, whole).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "how monitors stand could not be published; it is tried again");
            false
        }
    }
}
