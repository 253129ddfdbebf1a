//! Beats that are not made: no place was left, one is under way, or the server is to be spared.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::daemon::loop_context::LoopContext;
use crate::daemon::scheduler::Scheduler;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::lease::Lease;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::observation::BeatKind;
use crate::domain::rate_limit::Hold;
use crate::store::values::change_set::{BeatRow, BeatSeen, ChangeSet};

/// Our own trouble has to be gone for so long before it counts as over.
const CALM_AFTER: Duration = Duration::from_secs(120);
/// What is told where no place is left for a probe.
const CROWDED: &str = "all probe permits are taken; beats are skipped";

/// Noting a missed beat waits for the store so long and no longer: while it stands still, every beat
/// is missed, and what waits would grow without end.
const MISS_MAX: Duration = Duration::from_secs(30);

impl Scheduler {
    /// The all-clear, once permits have sufficed and beats have held for a while.
    pub(super) fn measure_load(&mut self, now: DateTime<Utc>) {
        let over = |at: &mut Option<Instant>| at.take_if(|at| at.elapsed() > CALM_AFTER).is_some();
        if over(&mut self.crowded_at) {
            self.context.alerts.clear(InternalAlert::LoopLate, now);
        }
        if over(&mut self.broke_down_at) {
            self.context.alerts.clear(InternalAlert::LoopStopped, now);
        }
        if over(&mut self.stood_still_at) {
            self.context.alerts.clear(InternalAlert::StoodStill, now);
        }
    }

    /// A beat for which there was no place, or no longer one: nothing is lost but a scheduled one.
    pub(super) fn skip_without_permit(&mut self, id: &MonitorId, kind: BeatKind, wall: DateTime<Utc>) {
        let Some(slot) = self.slots.get(id) else { return };
        let (watched, now) = ((Arc::clone(&slot.declared), slot.lease), Utc::now());
        self.crowded_at = Some(Instant::now());
        self.context.alerts.raise(InternalAlert::LoopLate, CROWDED, now);
        match kind {
            BeatKind::Scheduled => self.unmade(watched, wall, BeatSeen::Missed),
            BeatKind::Suspect => self.again(id, wall),
            _ => {}
        }
    }

    /// A beat that is not made for the server's sake. Where the rhythm is only wider there is nothing to note.
    pub(super) fn hold(&mut self, id: &MonitorId, kind: BeatKind, wall: DateTime<Utc>, hold: Hold) {
        let Some(slot) = self.slots.get(id) else { return };
        match (kind, hold) {
            (BeatKind::Suspect, Hold::Quiet { until, .. }) => {
                self.dues.suspect(id, slot.suspects, until, Utc::now());
            }
            (BeatKind::Scheduled, Hold::Quiet { .. } | Hold::Spent { .. }) => {
                self.unmade((Arc::clone(&slot.declared), slot.lease), wall, BeatSeen::Held);
            }
            _ => {}
        }
    }

    /// Notes a scheduled beat that did not take place, and why.
    pub(super) fn unmade(&self, watched: (Arc<Monitor>, Lease), wall: DateTime<Utc>, why: BeatSeen) {
        let hash = self.fleet.provenance.hash.clone();
        tokio::spawn(miss(self.context.clone(), watched, wall, hash, why));
    }

    /// Puts a suspect beat that could not start off for a moment; a newer plan or a good beat drops it.
    pub(super) fn again(&mut self, id: &MonitorId, wall: DateTime<Utc>) {
        if let Some(slot) = self.slots.get(id) {
            self.dues.put_off(id, slot.suspects, wall);
        }
    }
}

/// Notes a due beat that did not take place, and why; where even that fails, the hour's coverage says it.
async fn miss(
    context: LoopContext,
    (monitor, lease): (Arc<Monitor>, Lease),
    scheduled_at: DateTime<Utc>,
    config_hash: String,
    why: BeatSeen,
) {
    if why == BeatSeen::Missed {
        context.live.metrics().miss(1);
    }
    let lock_hash = monitor.pinned.as_ref().map(|pinned| pinned.hash.as_str().into());
    let in_maintenance = context.quiets.book().maintenance_until(&monitor, scheduled_at).is_some();
    let row =
        BeatRow { lock_hash, in_maintenance, ..BeatRow::unmade(monitor.id.clone(), scheduled_at, why, config_hash) };
    let noted = context.store.commit(ChangeSet { beat: Some(row), ..ChangeSet::under(lease) });
    match tokio::time::timeout(MISS_MAX, noted).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(monitor = %monitor.id, %error, "a missed beat could not be noted"),
        Err(_) => tracing::debug!(monitor = %monitor.id, "a missed beat could not be noted in time"),
    }
}
