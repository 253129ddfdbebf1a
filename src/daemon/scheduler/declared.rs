//! The monitors that the file in force declares, each with a place of its own.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::Utc;

use crate::daemon::batch_window;
use crate::daemon::beat_task::PendingChange;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::scheduler::without_beat::children;
use crate::daemon::scheduler::{Scheduler, Slot};
use crate::domain::bunching;
use crate::domain::monitor::MonitorId;
use crate::domain::schedule::Rhythm;

impl Scheduler {
    /// Brings runtimes into line with the fleet in force; unchanged monitors keep their rhythm.
    pub(super) fn match_fleet(&mut self) {
        self.fleet = Arc::clone(&self.context.fleet.borrow());
        let fleet = Arc::clone(&self.fleet);
        self.window = batch_window::width(bunching::rate(&fleet));
        self.gather();
        self.children = children(&fleet);
        let rhythms = bunching::rhythms(&fleet);
        for monitor in &fleet.monitors {
            let rhythm = rhythms[&monitor.id];
            if let Some(slot) = self.slots.get_mut(&monitor.id) {
                slot.declared = Arc::clone(monitor);
                slot.moved |= slot.rhythm != rhythm;
                slot.rhythm = rhythm;
                self.send(&monitor.id, PendingChange::Edit(Arc::clone(monitor)));
            } else {
                self.add(MonitorRuntime::new(Arc::clone(monitor), Utc::now()), rhythm);
            }
        }
        let declared: HashSet<&MonitorId> = fleet.monitors.iter().map(|monitor| &monitor.id).collect();
        let gone: Vec<MonitorId> = self.slots.keys().filter(|id| !declared.contains(id)).cloned().collect();
        for id in gone {
            if let Some(slot) = self.slots.get_mut(&id) {
                self.plans += 1;
                (slot.plan, slot.suspects, slot.telling) = (self.plans, self.plans, (self.plans, None));
            }
            self.send(&id, PendingChange::Remove);
        }
    }

    pub(super) fn add(&mut self, mut runtime: MonitorRuntime, rhythm: Rhythm) {
        let (id, now) = (runtime.monitor.id.clone(), Utc::now());
        self.context.live.put(runtime.view(now));
        let declared = Arc::clone(&runtime.monitor);
        let runtime = Some(Box::new(runtime));
        self.plans += 1;
        let slot = Slot {
            runtime,
            declared,
            rhythm,
            moved: false,
            plan: self.plans,
            suspects: self.plans,
            telling: (self.plans, None),
            was_down: false,
            changes: Vec::new(),
        };
        self.slots.insert(id.clone(), slot);
        self.plan(&id, now, now);
        self.look_around(&id);
    }
}
