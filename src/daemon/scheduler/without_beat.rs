//! What is looked at again without a beat: incidents under edited rules, those that silences, windows and parents hold, and
//! those of which something is told by time.

use std::collections::{HashMap, HashSet};

use chrono::{TimeDelta, Utc};

use crate::daemon::beat_task::PendingChange;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::scheduler::{Scheduler, Slot};
use crate::domain::depends_on::Parent;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;

/// Looks at a monitor after what it depends on is back: it is given a moment, and then enough looks to be told.
const LOOKS_AFTER_PARENT: [TimeDelta; 2] = [TimeDelta::seconds(15), TimeDelta::seconds(45)];
/// Where many depend on it, their looks are spread over so long.
const LOOKS_SPREAD_OVER: TimeDelta = TimeDelta::seconds(30);

/// The monitors of a fleet by what they depend on.
pub(super) fn children(fleet: &Fleet) -> HashMap<MonitorId, Vec<MonitorId>> {
    let mut children: HashMap<MonitorId, Vec<MonitorId>> = HashMap::new();
    for monitor in &fleet.monitors {
        for parent in &monitor.depends_on {
            if let Parent::Monitor(id) = parent {
                children.entry(MonitorId::new(id)).or_default().push(monitor.id.clone());
            }
        }
    }
    children
}

/// Who took what while nobody was there to tell others of it.
pub(super) fn untold(runtime: &MonitorRuntime) -> Vec<PendingChange> {
    let claimed = |(incident, actor)| PendingChange::Claimed { action: None, incident, actor };
    runtime.state.taken_untold().map(claimed).collect()
}

impl Slot {
    /// Whether anything of it is open, or may be: one that is away just now may bring an incident.
    fn may_have_open(&self) -> bool {
        self.runtime.as_ref().is_none_or(|runtime| runtime.state.incidents().next().is_some())
    }
}

impl Scheduler {
    /// What happened while Serin was down: what edited rules no longer warrant ends, and who took what is told, which was on
    /// disk before they were answered.
    pub(super) fn catch_up(&mut self) {
        // All is looked up before anything is sent: a runtime that is lent out has nothing to look at.
        let here = self.slots.iter().filter_map(|(id, slot)| Some((id, slot.runtime.as_ref()?)));
        let (mut untold, mut edited) = (Vec::new(), Vec::new());
        for (id, runtime) in here {
            untold.extend(self::untold(runtime).into_iter().map(|change| (id.clone(), change)));
            if runtime.edited_unseen && runtime.state.incidents().next().is_some() {
                edited.push(id.clone());
            }
        }
        for (id, change) in untold {
            self.send(&id, change);
        }
        for id in edited {
            self.send(&id, PendingChange::Reconsider);
        }
    }

    /// Something began or ended to be quiet: every monitor with an open incident is looked at.
    pub(super) fn tell_all(&mut self) {
        let open = self.slots.iter().filter(|(_, slot)| slot.may_have_open());
        let ids: Vec<MonitorId> = open.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.send(&id, PendingChange::Tell);
        }
    }

    /// A time has come at which something of a monitor is to be told.
    pub(super) fn tell_due(&mut self, id: &MonitorId) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.telling.1 = None;
        }
        self.send(id, PendingChange::Tell);
    }

    /// A monitor was looked at: plans when something of it is to be told without a beat, and has those looked at that depend
    /// on it.
    pub(super) fn look_around(&mut self, id: &MonitorId) {
        self.plan_telling(id);
        let now = Utc::now();
        let Some(slot) = self.slots.get_mut(id) else { return };
        let Some(runtime) = &slot.runtime else { return };
        let is_down = runtime.state.as_parent(&runtime.monitor, now).is_down;
        let is_back = std::mem::replace(&mut slot.was_down, is_down) && !is_down;
        self.wake_children(id, is_back);
    }

    /// What other machines watch went down, or is back: has those looked at that depend on it.
    pub(super) fn look_elsewhere(&mut self) {
        let now = Utc::now();
        let is_down = |id: &&MonitorId| {
            let standing = self.context.live.standing(id).filter(|standing| standing.followed().is_some());
            standing.and_then(|standing| standing.as_parent(now)).is_some_and(|parent| parent.is_down)
        };
        let down: HashSet<MonitorId> = self.children.keys().filter(is_down).cloned().collect();
        let before = std::mem::replace(&mut self.down_elsewhere, down);
        let turned: Vec<MonitorId> = before.symmetric_difference(&self.down_elsewhere).cloned().collect();
        for id in turned {
            // Of one that is watched here by now, its own looks say whether it is back.
            self.wake_children(&id, before.contains(&id) && !self.slots.contains_key(&id));
        }
    }

    /// Has those looked at that depend on a monitor; `is_back`: it was down until now.
    fn wake_children(&mut self, id: &MonitorId, is_back: bool) {
        let now = Utc::now();
        let Some(children) = self.children.get(id) else { return };
        let open = |id: &&MonitorId| self.slots.get(*id).is_some_and(Slot::may_have_open);
        let children: Vec<MonitorId> = children.iter().filter(open).cloned().collect();
        for (nth, child) in (0..).zip(children) {
            if is_back {
                // One after another: a server that has just come back is not to be asked by thousands at once.
                let apart = LOOKS_SPREAD_OVER * (nth % 30) / 30;
                self.suspect(&child, LOOKS_AFTER_PARENT.map(|after| now + after + apart).to_vec());
            }
            self.send(&child, PendingChange::Tell);
        }
    }

    /// Plans the next look at what is to be told of a monitor without a beat, where there is anything.
    fn plan_telling(&mut self, id: &MonitorId) {
        let now = Utc::now();
        let Some(slot) = self.slots.get_mut(id) else { return };
        let Some(runtime) = &slot.runtime else { return };
        let next = runtime.state.next_telling(&runtime.monitor, &self.fleet.routes, now);
        if next == slot.telling.1 {
            return;
        }
        self.plans += 1;
        slot.telling = (self.plans, next);
        if let Some(at) = next {
            self.dues.telling(id, self.plans, at, now);
        }
    }
}
