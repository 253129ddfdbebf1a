//! What the scheduler hands a monitor's runtime to: one beat, or one change that somebody asked for; and how it comes back.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::FutureExt;
use tokio::sync::mpsc;

use crate::daemon::accept_baseline;
use crate::daemon::changes;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::permits::Permit;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::watch::{self, BeatResult};
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::lease::Lease;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::observation::BeatKind;
use crate::store::StoreError;
use crate::store::values::change_set::ChangeSet;

/// Pause before a change that the store refused is tried again.
pub(super) const CHANGE_GAP: Duration = Duration::from_secs(1);

/// Something other than a beat that needs the runtime.
#[derive(Debug, Clone)]
pub(super) enum PendingChange {
    Edit(Arc<Monitor>),
    /// The same declaration, weighed anew: the file may have changed while Serin was down.
    Reconsider,
    /// The file no longer declares it: its incidents end.
    Remove,
    /// Somebody took an incident, or gave it back: its row says which.
    Claimed {
        /// What is done by it; none: a start found that nobody was told of it.
        action: Option<String>,
        incident: String,
        actor: String,
    },
    Accept {
        action: String,
        hash: String,
        actor: String,
    },
    /// Somebody wants a look now.
    Recheck,
    /// Something may be due to be told without a beat: what is quiet has changed, or a parent, or a time has come.
    Tell,
}

impl PendingChange {
    /// The id of what a person asked for, where it is done by this.
    pub(super) fn action(&self) -> Option<&str> {
        match self {
            Self::Claimed { action, .. } => action.as_deref(),
            Self::Accept { action, .. } => Some(action),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct BeatReturn {
    pub(super) monitor: MonitorId,
    /// Under which it was lent.
    pub(super) lease: Lease,
    /// None: the monitor is gone.
    pub(super) runtime: Option<Box<MonitorRuntime>>,
    pub(super) after: BeatResult,
}

pub(super) async fn run_beat(
    context: LoopContext,
    runtime: Box<MonitorRuntime>,
    kind: BeatKind,
    wall: DateTime<Utc>,
    permit: Permit,
    back: mpsc::UnboundedSender<BeatReturn>,
) {
    let mut runtime = runtime;
    // A runtime that did not come back would be a monitor that nobody watches and nobody misses.
    let beat = AssertUnwindSafe(watch::beat(&context, &mut runtime, kind, wall, permit)).catch_unwind().await;
    let after = beat.unwrap_or_else(|_| {
        let (now, monitor) = (Utc::now(), runtime.monitor.id.clone());
        context.alerts.raise(InternalAlert::LoopStopped, &format!("a beat of monitor '{monitor}' broke down"), now);
        runtime.trouble = Some("the last beat broke down inside Serin; its log says where".into());
        context.live.put(runtime.view(now));
        BeatResult { broke_down: true, ..BeatResult::default() }
    });
    // Nobody waits for it only when the scheduler itself is gone.
    let (monitor, lease) = (runtime.monitor.id.clone(), runtime.lease);
    drop(back.send(BeatReturn { monitor, lease, runtime: Some(runtime), after }));
}

/// Does what has to be done until the store takes it: a resolve that was decided is never dropped.
pub(super) async fn apply_change(
    context: LoopContext,
    runtime: Box<MonitorRuntime>,
    change: PendingChange,
    back: mpsc::UnboundedSender<BeatReturn>,
) {
    let mut runtime = runtime;
    let (monitor, lease) = (runtime.monitor.id.clone(), runtime.lease);
    let done = AssertUnwindSafe(until_taken(&context, &mut runtime, &change)).catch_unwind().await;
    let broke_down = done.is_err();
    // Whoever watches it by now ends what it has open; here it is let go of.
    let is_taken = done.is_ok_and(|is_taken| is_taken);
    if broke_down {
        context.alerts.raise(
            InternalAlert::LoopStopped,
            &format!("a change of monitor '{monitor}' broke down"),
            Utc::now(),
        );
    }
    // One whose removal broke down stays, with what it has open, until the next match of the fleet.
    let runtime = (!is_taken || !matches!(change, PendingChange::Remove)).then_some(runtime);
    drop(back.send(BeatReturn { monitor, lease, runtime, after: BeatResult { broke_down, ..BeatResult::default() } }));
}

/// Notes that what somebody asked for is over, also where there was nothing to do.
async fn over(
    context: &LoopContext,
    (action, lease): (Option<&str>, Lease),
    done: Result<bool, StoreError>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    match (done?, action) {
        (false, Some(action)) => context.store.commit(ChangeSet::applied(lease, action, now)).await,
        _ => Ok(()),
    }
}

/// Whether the store took it: false where another machine watches the monitor by now, or Serin ends.
pub(super) async fn until_taken(context: &LoopContext, runtime: &mut MonitorRuntime, change: &PendingChange) -> bool {
    let lease = runtime.lease;
    let mut is_away = false;
    loop {
        let now = Utc::now();
        let done = match change {
            PendingChange::Edit(declared) => changes::edit(context, runtime, Arc::clone(declared), now).await,
            PendingChange::Reconsider => {
                let declared = Arc::clone(&runtime.monitor);
                changes::edit(context, runtime, declared, now).await
            }
            PendingChange::Remove => changes::remove(context, runtime, now).await,
            PendingChange::Claimed { action, incident, actor } => {
                let claimed = changes::claimed(context, runtime, (incident, actor), action.as_deref(), now).await;
                over(context, (action.as_deref(), lease), claimed, now).await
            }
            // It waits until it is handed on again: what is to be accepted has to be seen once more.
            PendingChange::Accept { .. } if runtime.listings.last.is_none() => Ok(()),
            PendingChange::Accept { action, hash, actor } => {
                let accepted = accept_baseline::accept(context, runtime, (hash, actor), action, now).await;
                over(context, (Some(action), lease), accepted, now).await
            }
            PendingChange::Tell => changes::tell(context, runtime, now).await,
            PendingChange::Recheck => Ok(()),
        };
        match done {
            Ok(()) => return true,
            Err(StoreError::Closed | StoreError::LeaseLost) => return false,
            Err(error) => {
                context.note_write(Some(&error), now);
                if !std::mem::replace(&mut is_away, true) {
                    tracing::warn!(monitor = %runtime.monitor.id, %error, "a change cannot be remembered yet; it is tried again");
                }
                tokio::time::sleep(CHANGE_GAP).await;
            }
        }
    }
}
