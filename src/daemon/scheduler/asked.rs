//! What people ask of a monitor.

use chrono::Utc;

use crate::daemon::beat_task::PendingChange;
use crate::daemon::scheduler::{Scheduler, Slot};
use crate::domain::action::{Action, Asked};
use crate::store::values::change_set::ChangeSet;

impl Scheduler {
    /// Has done what somebody asks for; false where nothing is to be waited for: no file declares that monitor, or a look is
    /// about to begin.
    pub(super) fn act(&mut self, action: Action) -> bool {
        let Action { id, monitor, actor, asked, at: _ } = action;
        let change = match asked {
            Asked::Recheck => PendingChange::Recheck,
            Asked::Accept { hash } => PendingChange::Accept { action: id, hash, actor },
            Asked::Claimed { incident, .. } => PendingChange::Claimed { action: Some(id), incident, actor },
            // Never handed here: whoever reads lists has it.
            Asked::ReadList { .. } | Asked::LetGo { .. } => return true,
        };
        if !self.slots.contains_key(&monitor) {
            // One that comes, or that another machine watches: it is handed on again, here or there.
            return self.fleet.monitor(&monitor).is_some();
        }
        let waits = !matches!(change, PendingChange::Recheck);
        let saw_nothing = |slot: &Slot| slot.runtime.as_ref().is_some_and(|runtime| runtime.listings.last.is_none());
        if matches!(change, PendingChange::Accept { .. }) && self.slots.get(&monitor).is_some_and(saw_nothing) {
            // Asked for before a start: what was accepted then has to be seen once more.
            self.send(&monitor, PendingChange::Recheck);
        }
        self.send(&monitor, change);
        waits
    }

    /// Takes what somebody asks for.
    pub(super) fn take_action(&mut self, action: Action) {
        let (id, lease) = (action.id.clone(), self.leases.of_monitor(&action.monitor));
        if self.act(action) {
            return;
        }
        // Another machine watches it by now, and does it.
        let Some(lease) = lease else { return };
        let context = self.context.clone();
        tokio::spawn(async move {
            let now = Utc::now();
            let applied = context.store.commit(ChangeSet::applied(lease, &id, now)).await;
            context.note_write(applied.as_ref().err(), now);
        });
    }
}
