//! The monitors that the file in force declares, each with a place of its own.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use crate::daemon::batch_window;
use crate::daemon::beat_task::{CHANGE_GAP, PendingChange};
use crate::daemon::loop_context::LoopContext;
use crate::daemon::resume;
use crate::daemon::runtime::MonitorRuntime;
use crate::daemon::scheduler::without_beat::{children, untold};
use crate::daemon::scheduler::{Scheduler, Slot};
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::bunching;
use crate::domain::lease::Leases;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::schedule::Rhythm;
use crate::store::StoreError;

impl Scheduler {
    /// Brings runtimes into line with the fleet and the leases in force; unchanged monitors keep their rhythm.
    pub(super) fn match_fleet(&mut self) {
        let before = std::mem::replace(&mut self.fleet, Arc::clone(&self.context.fleet.borrow()));
        let is_new = !Arc::ptr_eq(&before, &self.fleet);
        let fleet = Arc::clone(&self.fleet);
        self.window = batch_window::width(bunching::rate(&fleet));
        self.gather();
        self.children = children(&fleet);
        let rhythms = bunching::rhythms(&fleet);
        let leases = Arc::clone(&self.context.leases.borrow());
        let held = std::mem::replace(&mut self.leases, Arc::clone(&leases));
        // Of what was watched elsewhere until now something may be open that no file declares any more; by another file, of
        // what was taken over by the one before.
        let gained = if is_new && *leases != Leases::whole() { Leases::clone(&leases) } else { leases.without(&held) };
        let mut coming = Vec::new();
        for monitor in &fleet.monitors {
            let rhythm = rhythms[&monitor.id];
            if self.slots.get(&monitor.id).is_some_and(|slot| !leases.have(slot.lease)) {
                self.let_go(&monitor.id);
            }
            if let Some(slot) = self.slots.get_mut(&monitor.id) {
                slot.declared = Arc::clone(monitor);
                slot.moved |= slot.rhythm != rhythm;
                slot.rhythm = rhythm;
                self.send(&monitor.id, PendingChange::Edit(Arc::clone(monitor)));
            } else if leases.of_monitor(&monitor.id).is_some() {
                coming.push(Arc::clone(monitor));
            }
        }
        self.look_up(coming);
        if gained.iter().next().is_some() {
            self.begin_look_up(Vec::new(), Some(gained));
        }
        let declared: HashSet<&MonitorId> = fleet.monitors.iter().map(|monitor| &monitor.id).collect();
        let gone: Vec<MonitorId> = self.slots.keys().filter(|id| !declared.contains(id)).cloned().collect();
        for id in gone {
            if self.slots.get(&id).is_some_and(|slot| !leases.have(slot.lease)) {
                // Whoever watches it by now ends what it has open.
                self.let_go(&id);
                self.context.live.remove(&id);
                continue;
            }
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
            self.begin_look_up(monitors, None);
        }
    }

    fn begin_look_up(&self, monitors: Vec<Arc<Monitor>>, gained: Option<Leases>) {
        let coming = Coming { monitors, leases: Arc::clone(&self.leases), gained };
        tokio::spawn(look_up(self.context.clone(), coming, self.arrived.clone()));
    }

    /// Takes up what was looked up, whatever became of the file meanwhile.
    pub(super) fn arrive(&mut self, runtimes: Vec<MonitorRuntime>) {
        let fleet = Arc::clone(&self.fleet);
        let rhythms = bunching::rhythms(&fleet);
        let declared: HashMap<&MonitorId, &Arc<Monitor>> = fleet.monitors.iter().map(|one| (&one.id, one)).collect();
        let mut again = Vec::new();
        for mut runtime in runtimes {
            self.take_along(&mut runtime);
            let (unseen, untold) = (runtime.edited_unseen, untold(&runtime));
            let (id, every, seen_at) = (runtime.monitor.id.clone(), runtime.monitor.every, runtime.history.seen_at());
            self.coming.remove(&id);
            if !self.leases.have(runtime.lease) {
                // It was read before it changed hands once more.
                let ours = declared.get(&id).filter(|_| self.leases.of_monitor(&id).is_some());
                again.extend(ours.map(|monitor| Arc::clone(monitor)));
                continue;
            }
            if self.slots.contains_key(&id) {
                // It came by another way meanwhile, and has gone on since.
                continue;
            }
            self.add(runtime, rhythms.get(&id).copied().unwrap_or_else(|| Rhythm::alone(&id, every)));
            if seen_at.is_some_and(|seen_at| (Utc::now() - seen_at).to_std().is_ok_and(|age| age > every)) {
                self.overdue(&id);
            }
            let declared = declared.get(&id).map(|declared| PendingChange::Edit(Arc::clone(declared)));
            self.send(&id, declared.unwrap_or(PendingChange::Remove));
            for change in untold.into_iter().chain(unseen.then_some(PendingChange::Reconsider)) {
                self.send(&id, change);
            }
        }
        // Together: a look for each would ask the database as much as one for all.
        self.look_up(again);
    }

    pub(super) fn add(&mut self, mut runtime: MonitorRuntime, rhythm: Rhythm) {
        let (id, now) = (runtime.monitor.id.clone(), Utc::now());
        self.context.live.put(runtime.view(now));
        let declared = Arc::clone(&runtime.monitor);
        let (lease, runtime) = (runtime.lease, Some(Box::new(runtime)));
        self.plans += 1;
        let slot = Slot {
            runtime,
            lease,
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

/// What is to be watched from now on.
struct Coming {
    monitors: Vec<Arc<Monitor>>,
    leases: Arc<Leases>,
    /// Of which monitors are ended that are declared no more: their incidents may be open still.
    gained: Option<Leases>,
}

impl Coming {
    async fn read(&self, context: &LoopContext, now: DateTime<Utc>) -> Result<Vec<MonitorRuntime>, StoreError> {
        let mut runtimes = match self.monitors.is_empty() {
            true => Vec::new(),
            false => resume::returned(&context.store, &self.monitors, &self.leases, now).await?,
        };
        if let Some(gained) = &self.gained {
            let fleet = Arc::clone(&context.fleet.borrow());
            runtimes.extend(resume::left_open(&context.store, &fleet, gained, now).await?);
        }
        Ok(runtimes)
    }

    /// As if nobody had ever looked at them.
    fn strangers(&self, now: DateTime<Utc>) -> Vec<MonitorRuntime> {
        self.monitors.iter().map(|monitor| MonitorRuntime::under(&self.leases, Arc::clone(monitor), now)).collect()
    }
}

/// Looks monitors up in the database, as often as it takes: one that was taken for a stranger would tell nobody of its outage.
async fn look_up(context: LoopContext, coming: Coming, arrived: mpsc::UnboundedSender<Vec<MonitorRuntime>>) {
    let monitors = &coming.monitors;
    let mut is_away = false;
    loop {
        let now = Utc::now();
        let read = AssertUnwindSafe(coming.read(&context, now)).catch_unwind().await;
        let read = read.unwrap_or_else(|_| {
            // Watched as strangers is better than not at all.
            context.alerts.raise(InternalAlert::LoopStopped, "looking new monitors up broke down", now);
            Ok(coming.strangers(now))
        });
        match read {
            // Nobody waits for them only when the scheduler itself is gone.
            Ok(runtimes) => return drop(arrived.send(runtimes)),
            Err(StoreError::Closed) => return,
            Err(error) => {
                context.note_write(Some(&error), now);
                if !std::mem::replace(&mut is_away, true) {
                    tracing::warn!(monitors = monitors.len(), %error, "what is known of new monitors cannot be read yet");
                }
                tokio::time::sleep(CHANGE_GAP).await;
            }
        }
    }
}
