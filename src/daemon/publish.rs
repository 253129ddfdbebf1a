//! Publishes how the monitors that are watched here stand, so that other machines can show them: those that changed, once a
//! second, while there are other machines.
//!
//! All of them are published where the first other machine is there, and after each connection that broke: what was published
//! last may be lost with a server. What is decided is on disk by then. Where this machine ends before it is published, whoever
//! takes its shards over publishes all of them.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::live::published::SlimStanding;
use crate::store::StoreError;

/// Others know within this, and a commit's time, what changed.
const EVERY: Duration = Duration::from_secs(1);
/// The name under which the loop reports its turns.
const NAME: &str = "publish";

/// Publishes what changes, until shutdown.
pub(crate) async fn run(context: LoopContext, shutdown: CancellationToken) {
    let mut before = (false, context.store.reconnects());
    let mut is_away = false;
    while !shutdown.is_cancelled() {
        context.live.metrics().turn(NAME, Utc::now());
        let are_several = context.live.nodes().now().are_several();
        let now = (are_several, context.store.reconnects());
        if std::mem::replace(&mut before, now) != now {
            context.live.publishes(are_several);
        }
        let leases = Arc::clone(&context.leases.borrow());
        let published = publish(&context.under(&leases)).await;
        let was_away = std::mem::replace(&mut is_away, published.is_err());
        if let (Err(error), false) = (published, was_away) {
            tracing::warn!(%error, "how monitors stand cannot be published; it is tried again");
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

/// Publishes what changed since it was last published. What was removed meanwhile is forgotten with the file that had it.
pub(super) async fn publish(context: &LoopContext) -> Result<(), StoreError> {
    let ids = context.live.take_unpublished();
    // What was watched here then may be followed by now.
    let ours = ids.iter().filter_map(|id| context.live.standing(id)).filter(|one| one.followed().is_none());
    let standings: Vec<_> = ours.collect();
    if standings.is_empty() {
        return Ok(());
    }
    let standings = standings.iter().map(|one| SlimStanding::of(&**one)).collect();
    match context.store.publish_standings(standings).await {
        // Whoever has them by now publishes them.
        Ok(()) | Err(StoreError::LeaseLost) => Ok(()),
        Err(error) => {
            context.live.put_back_unpublished(ids);
            Err(error)
        }
    }
}
