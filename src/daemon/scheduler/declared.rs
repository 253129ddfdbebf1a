//! The monitors that the file in force declares, each with a place of its own.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chrono::Utc;
use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use crate::daemon::batch_window;
use crate::daemon::beat_task::{CHANGE_GAP, PendingChange};
use crate::daemon::loop_context::LoopContext;
use crate::daemon::resume;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::scheduler::without_beat::children;
use crate::daemon::scheduler::{Scheduler, Slot};
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::bunching;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::schedule::Rhythm;
use crate::store::StoreError;

impl Scheduler {
    /// Brings runtimes into line with the fleet in force; unchanged monitors keep their rhythm.
    pub(super) fn match_fleet(&mut self) {
        self.fleet = Arc::clone(&self.context.fleet.borrow());
        let fleet = Arc::clone(&self.fleet);
        self.window = batch_window::width(bunching::rate(&fleet));
        self.gather();
        self.children = children(&fleet);
        let rhythms = bunching::rhythms(&fleet);
        let mut coming = Vec::new();
        for monitor in &fleet.monitors {
            let rhythm = rhythms[&monitor.id];
            if let Some(slot) = self.slots.get_mut(&monitor.id) {
                slot.declared = Arc::clone(monitor);
                slot.moved |= slot.rhythm != rhythm;
                slot.rhythm = rhythm;
                self.send(&monitor.id, PendingChange::Edit(Arc::clone(monitor)));
            } else {
                coming.push(Arc::clone(monitor));
            }
        }
        self.look_up(coming);
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

    /// Has monitors that came put back as they stood when they were last declared, if they ever were.
    pub(super) fn look_up(&mut self, mut monitors: Vec<Arc<Monitor>>) {
        monitors.retain(|monitor| self.coming.insert(monitor.id.clone()));
        if !monitors.is_empty() {
            tokio::spawn(look_up(self.context.clone(), monitors, self.arrived.clone()));
        }
    }

    /// Takes up what was looked up, whatever became of the file meanwhile.
    pub(super) fn arrive(&mut self, runtimes: Vec<MonitorRuntime>) {
        let fleet = Arc::clone(&self.fleet);
        let rhythms = bunching::rhythms(&fleet);
        let declared: HashMap<&MonitorId, &Arc<Monitor>> = fleet.monitors.iter().map(|one| (&one.id, one)).collect();
        for runtime in runtimes {
            let (id, every) = (runtime.monitor.id.clone(), runtime.monitor.every);
            self.coming.remove(&id);
            self.add(runtime, rhythms.get(&id).copied().unwrap_or_else(|| Rhythm::alone(&id, every)));
            let declared = declared.get(&id).map(|declared| PendingChange::Edit(Arc::clone(declared)));
            self.send(&id, declared.unwrap_or(PendingChange::Remove));
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

/// Looks monitors up in the database, as often as it takes: one that was taken for a stranger would tell nobody of its outage.
async fn look_up(
    context: LoopContext,
    monitors: Vec<Arc<Monitor>>,
    arrived: mpsc::UnboundedSender<Vec<MonitorRuntime>>,
) {
    loop {
        let now = Utc::now();
        let read = AssertUnwindSafe(resume::returned(&context.store, &monitors, now)).catch_unwind().await;
        let read = read.unwrap_or_else(|_| {
            // Watched as strangers is better than not at all.
            context.alerts.raise(InternalAlert::LoopStopped, "looking new monitors up broke down", now);
            Ok(monitors.iter().map(|monitor| MonitorRuntime::new(Arc::clone(monitor), now)).collect())
        });
        match read {
            // Nobody waits for them only when the scheduler itself is gone.
            Ok(runtimes) => return drop(arrived.send(runtimes)),
            Err(StoreError::Closed) => return,
            Err(error) => {
                context.note_write(Some(&error), now);
                tracing::warn!(monitors = monitors.len(), %error, "what is known of new monitors cannot be read yet");
                tokio::time::sleep(CHANGE_GAP).await;
            }
        }
    }
}
