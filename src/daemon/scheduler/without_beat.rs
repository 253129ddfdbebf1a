//! What is looked at again without a beat: incidents under edited rules, and those that silences and windows keep quiet.

use crate::daemon::beat_task::PendingChange;
use crate::daemon::scheduler::{Scheduler, Slot};
use crate::domain::monitor::MonitorId;

impl Scheduler {
    /// What edited rules no longer warrant ends, also where the file was edited while Serin was down.
    pub(super) fn reconsider(&mut self) {
        let edited = |slot: &Slot| {
            let runtime = slot.runtime.as_ref();
            runtime.is_some_and(|runtime| runtime.edited_unseen && runtime.state.incidents().next().is_some())
        };
        let ids: Vec<MonitorId> =
            self.slots.iter().filter(|(_, slot)| edited(slot)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.send(&id, PendingChange::Reconsider);
        }
    }

    /// Something began or ended to be quiet: every monitor with an open incident is looked at, and each that is away just
    /// now, since it may bring one.
    pub(super) fn let_go(&mut self) {
        let has_open =
            |slot: &Slot| slot.runtime.as_ref().is_none_or(|runtime| runtime.state.incidents().next().is_some());
        let ids: Vec<MonitorId> =
            self.slots.iter().filter(|(_, slot)| has_open(slot)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.send(&id, PendingChange::LetGo);
        }
    }
}
