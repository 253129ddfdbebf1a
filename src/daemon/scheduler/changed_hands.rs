//! Monitors that another machine watches from now on, and those that it watched until now.

use std::time::Duration;

use chrono::Utc;

use crate::daemon::beat_task::BeatReturn;
use crate::daemon::loop_context::LoopContext;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::scheduler::Scheduler;
use crate::domain::monitor::MonitorId;
use crate::domain::rate_limit::Hold;

/// Beats that nobody made while a shard changed hands are made within this: not all at once.
const OVERDUE_WITHIN: Duration = Duration::from_secs(10);

impl Scheduler {
    /// Watches a monitor no longer, of which another machine decides. What is under way is written by nobody.
    pub(super) fn let_go(&mut self, id: &MonitorId) {
        let Some(slot) = self.slots.remove(id) else { return };
        if slot.was_down {
            // Whoever depends on it is woken once it is back there.
            self.down_elsewhere.insert(id.clone());
        }
        if self.wanted.remove(id) && self.wanted.is_empty() {
            self.gather();
        }
        if let Some(runtime) = slot.runtime {
            tokio::spawn(leave(self.context.clone(), runtime, true));
        }
    }

    /// What whoever watched a monitor until now said of it, and no row has: that its server wants to be left alone.
    pub(super) fn take_along(&self, runtime: &mut MonitorRuntime) {
        let standing = self.context.live.standing(&runtime.monitor.id);
        let hold = standing.as_ref().and_then(|standing| standing.followed()?.published.hold);
        if let Some(Hold::Quiet { until, asked }) = hold {
            (runtime.spending.quiet.until, runtime.spending.quiet.asked) = (Some(until), asked);
        }
    }

    /// Whether what comes back was lent from the slot that is there.
    pub(super) fn is_of_slot(&self, back: &BeatReturn) -> bool {
        self.slots.get(&back.monitor).is_some_and(|slot| slot.lease == back.lease)
    }

    /// What comes back is watched elsewhere, or was meanwhile.
    pub(super) fn let_return_go(&self, back: BeatReturn) {
        if let Some(runtime) = back.runtime {
            // Of one that is watched here again the session is its successor's.
            let is_elsewhere = !self.slots.contains_key(&back.monitor);
            match self.fleet.monitor(&back.monitor) {
                // It may have shown what it saw when that was no longer its to say.
                Some(_) => self.context.live.mark_stale(),
                None => self.context.live.remove(&back.monitor),
            }
            tokio::spawn(leave(self.context.clone(), runtime, is_elsewhere));
        }
    }

    /// A beat is made soon that nobody made when it was due.
    pub(super) fn overdue(&mut self, id: &MonitorId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        // The one after it is not to fall due while it is under way.
        slot.moved = true;
        self.plans += 1;
        slot.plan = self.plans;
        let wall = Utc::now() + OVERDUE_WITHIN.mul_f64(rand::random());
        self.dues.overdue(id, slot.plan, wall);
    }
}

/// Ends what was begun for a monitor here, and its session where nobody here has use for it.
async fn leave(context: LoopContext, mut runtime: Box<MonitorRuntime>, with_session: bool) {
    if let Some(diagnosing) = runtime.doubt.diagnosing.take() {
        diagnosing.end().await;
    }
    if with_session {
        context.prober.release(&runtime.monitor, &runtime.profile).await;
    }
    context.uplink.note_egress(&context.alerts, &runtime.monitor.id, None, Utc::now());
}
