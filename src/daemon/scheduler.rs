//! Who is due, and who works on it: one task over a heap, a task a beat, a permit a probe.
//!
//! - A monitor's beats depend on its id and the wall clock alone, so they never drift, and a restart
//!   or an edit elsewhere moves nobody. Timers are monotonic and set anew from the wall clock beat
//!   by beat, so a stepped clock moves the next beat at most.
//! - Never two beats of a monitor in flight: its runtime is handed to the beat and comes back with it.
//!   A beat that falls due meanwhile is counted as missed, never queued.
//! - We may die anywhere: what a beat decided is in the store, the rest is decided again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::batch_window;
use crate::daemon::beat_task::{BeatReturn, PendingChange, apply_change, run_beat};
use crate::daemon::connectivity::ConnectivityTask;
use crate::daemon::dues::{Due, DueKind, Dues, after};
use crate::daemon::loop_context::LoopContext;
use crate::daemon::permits::Permits;
use crate::daemon::runtime::MonitorRuntime;
use crate::domain::action::Action;
use crate::domain::bunching;
use crate::domain::fleet::Fleet;
use crate::domain::lease::{Lease, Leases};
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::observation::BeatKind;
use crate::domain::schedule::Rhythm;
use crate::store::values::change_set::BeatSeen;

/// The loop looks up at least this often, to report its turn.
const TURN_MAX: Duration = Duration::from_secs(20);
/// Beats that start in a row. The next row starts once these wait for the network: the last of a hundred would be timed
/// while the others still work.
const ROW: usize = 16;
/// Beats that come back together are taken in at one turn; as many as share a commit.
const RETURNS_MAX: usize = 512;
/// The name under which the loop reports its turns.
const NAME: &str = "scheduler";

#[derive(Debug)]
pub(crate) struct Scheduler {
    context: LoopContext,
    permits: Permits,
    slots: HashMap<MonitorId, Slot>,
    dues: Dues,
    returns: mpsc::UnboundedReceiver<BeatReturn>,
    /// Bounded by the number of runtimes: each is lent once.
    back: mpsc::UnboundedSender<BeatReturn>,
    /// Monitors that came, as they stand in the database; bounded as runtimes are.
    arrivals: mpsc::UnboundedReceiver<Vec<MonitorRuntime>>,
    arrived: mpsc::UnboundedSender<Vec<MonitorRuntime>>,
    /// Which part of the fleet is watched here.
    leases: Arc<Leases>,
    /// Those that are looked up.
    coming: HashSet<MonitorId>,
    fleet: Arc<Fleet>,
    /// When permits last ran out.
    crowded_at: Option<Instant>,
    /// When a beat last broke down.
    broke_down_at: Option<Instant>,
    /// When Serin last stood still in the middle of one.
    stood_still_at: Option<Instant>,
    /// How long due beats gather before they start together.
    window: Duration,
    /// The last plan's number; none is given twice, or dues of a removed monitor would be those of its successor.
    plans: u64,
    /// Monitors for whose runtime somebody waits; while there are any, no beat waits for others to share its commit.
    wanted: HashSet<MonitorId>,
    /// Monitors by what they depend on.
    children: HashMap<MonitorId, Vec<MonitorId>>,
    /// What of that is watched by other machines, and down.
    down_elsewhere: HashSet<MonitorId>,
}

/// A monitor's place: at home, or lent to the beat or change under way.
#[derive(Debug)]
struct Slot {
    runtime: Option<Box<MonitorRuntime>>,
    /// Under which it is watched.
    lease: Lease,
    /// What is declared, also while the runtime is away.
    declared: Arc<Monitor>,
    rhythm: Rhythm,
    /// Its rhythm has changed since its next beat was planned.
    moved: bool,
    /// Changes with every plan, so that dues of an older one are passed over.
    plan: u64,
    suspects: u64,
    /// The same for when the next thing is to be told without a beat, and that moment.
    telling: (u64, Option<DateTime<Utc>>),
    /// Whether it was down for those that depend on it, when it was last looked at.
    was_down: bool,
    /// What waits for the runtime to come back.
    changes: Vec<PendingChange>,
}

impl Scheduler {
    /// A scheduler over these monitors, with so many probes in flight at once.
    pub(crate) fn new(context: LoopContext, runtimes: Vec<MonitorRuntime>, permits: usize) -> Self {
        let (back, returns) = mpsc::unbounded_channel();
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let fleet = Arc::clone(&context.fleet.borrow());
        let leases = Arc::clone(&context.leases.borrow());
        let mut scheduler = Self {
            context,
            leases,
            permits: Permits::new(permits),
            slots: HashMap::with_capacity(runtimes.len()),
            dues: Dues::new(runtimes.len()),
            returns,
            back,
            arrivals,
            arrived,
            coming: HashSet::new(),
            fleet,
            crowded_at: None,
            broke_down_at: None,
            stood_still_at: None,
            window: batch_window::width(0.0),
            plans: 0,
            wanted: HashSet::new(),
            children: HashMap::new(),
            down_elsewhere: HashSet::new(),
        };
        let rhythms = bunching::rhythms(&scheduler.fleet);
        for runtime in runtimes {
            let alone = || Rhythm::alone(&runtime.monitor.id, runtime.monitor.every);
            let rhythm = rhythms.get(&runtime.monitor.id).copied().unwrap_or_else(alone);
            scheduler.add(runtime, rhythm);
        }
        scheduler
    }

    /// Runs until shutdown; then beats in flight are brought to their end.
    pub(crate) async fn run(mut self, mut actions: mpsc::Receiver<Action>, shutdown: CancellationToken) {
        let (mut fleets, mut quiets) = (self.context.fleet.clone(), self.context.quiets.changes());
        let mut leases = self.context.leases.clone();
        let live = Arc::clone(&self.context.live);
        self.match_fleet();
        self.catch_up();
        self.tell_all();
        let mut backs = Vec::with_capacity(RETURNS_MAX);
        loop {
            let now = Utc::now();
            self.context.live.metrics().turn(NAME, now);
            self.start_due().await;
            self.measure_load(now);
            // What falls due within a tick starts together.
            let wake = self.dues.next_at().map_or_else(|| Instant::now() + TURN_MAX, |at| at + self.window);
            tokio::select! {
                () = shutdown.cancelled() => break,
                1.. = self.returns.recv_many(&mut backs, RETURNS_MAX) => backs.drain(..).for_each(|back| self.take_back(back)),
                Some(runtimes) = self.arrivals.recv() => self.arrive(runtimes),
                Some(action) = actions.recv() => self.take_action(action),
                Ok(()) = fleets.changed() => {
                    self.match_fleet();
                    // Other routes and parents: others to tell, at other times.
                    self.tell_all();
                }
                Ok(()) = leases.changed() => self.match_fleet(),
                Ok(()) = quiets.changed() => self.tell_all(),
                () = live.turned_elsewhere() => self.look_elsewhere(),
                () = tokio::time::sleep_until(wake.min(Instant::now() + TURN_MAX)) => {}
            }
        }
        self.context.store.gather_for(Duration::ZERO);
        self.context.store.hurry();
        while self.slots.values().any(|slot| slot.runtime.is_none()) {
            let Some(back) = self.returns.recv().await else { break };
            self.finish(back);
        }
        // What they opened they close.
        let runtimes = self.slots.values_mut().filter_map(|slot| slot.runtime.as_mut());
        let diagnoses = runtimes.filter_map(|runtime| runtime.doubt.diagnosing.take()).map(ConnectivityTask::end);
        futures_util::future::join_all(diagnoses).await;
    }

    /// Starts everything that is due, and plans the next beat of each.
    async fn start_due(&mut self) {
        let started = Instant::now();
        let mut row = 0;
        while let Some(due) = self.dues.pop_until(started) {
            let Some(slot) = self.slots.get(&due.monitor) else { continue };
            let current = match due.kind {
                DueKind::Scheduled => slot.plan,
                DueKind::Suspect => slot.suspects,
                DueKind::Telling => slot.telling.0,
            };
            if current != due.plan {
                continue;
            }
            if row == ROW {
                tokio::task::yield_now().await;
                row = 0;
            }
            row += 1;
            match due.kind {
                DueKind::Scheduled => {
                    self.plan_next(&due);
                    self.start(&due.monitor, BeatKind::Scheduled, due.wall);
                }
                DueKind::Suspect => self.start(&due.monitor, BeatKind::Suspect, due.wall),
                DueKind::Telling => self.tell_due(&due.monitor),
            }
        }
    }

    /// Plans the beat after one that starts now.
    fn plan_next(&mut self, due: &Due) {
        let Some(slot) = self.slots.get_mut(&due.monitor) else { return };
        // Read anew for each: the turn began some rows ago.
        let (now, late) = (Utc::now(), due.at.elapsed());
        self.context.live.metrics().started_late(late);
        let mut from = after(due.wall, now, late, slot.declared.every);
        if std::mem::take(&mut slot.moved) {
            // By its new rhythm the next one may be due while this one is under way, and would be missed.
            from += slot.declared.every / 2;
        }
        self.plan(&due.monitor, from, now);
    }

    fn start(&mut self, id: &MonitorId, kind: BeatKind, wall: DateTime<Utc>) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let Some(mut runtime) = slot.runtime.take() else {
            match kind {
                BeatKind::Scheduled => {
                    let watched = (Arc::clone(&slot.declared), slot.lease);
                    self.unmade(watched, wall, BeatSeen::Missed);
                }
                // The one under way may have started too early to be the last word, so this one waits.
                BeatKind::Suspect => self.again(id, wall),
                _ => {}
            }
            return;
        };
        let now = Utc::now();
        if let Some(hold) = runtime.spending.hold(&runtime.monitor, kind, now) {
            self.context.live.put(runtime.view(now));
            slot.runtime = Some(runtime);
            return self.hold(id, kind, wall, hold);
        }
        let Some(permit) = self.permits.start() else {
            self.context.live.put(runtime.view(now));
            slot.runtime = Some(runtime);
            return self.skip_without_permit(id, kind, wall);
        };
        tokio::spawn(run_beat(self.context.clone(), runtime, kind, wall, permit, self.back.clone()));
    }

    fn take_back(&mut self, back: BeatReturn) {
        if !self.is_of_slot(&back) {
            return self.finish(back);
        }
        let (id, suspects, given_up) = (back.monitor.clone(), back.after.suspects.clone(), back.after.given_up);
        if back.after.broke_down {
            self.broke_down_at = Some(Instant::now());
        }
        if back.after.stood_still {
            self.stood_still_at = Some(Instant::now());
        }
        self.finish(back);
        if let Some((kind, wall)) = given_up {
            self.skip_without_permit(&id, kind, wall);
        }
        if let Some(suspects) = suspects {
            self.suspect(&id, suspects);
        }
        if self.wanted.remove(&id) && self.wanted.is_empty() {
            self.gather();
        }
        self.look_around(&id);
        self.next_change(&id);
    }

    fn finish(&mut self, back: BeatReturn) {
        if !self.is_of_slot(&back) {
            // Another machine watches it, or watched it meanwhile.
            return self.let_return_go(back);
        }
        match (back.runtime, self.slots.get_mut(&back.monitor)) {
            (Some(runtime), Some(slot)) => slot.runtime = Some(runtime),
            (None, Some(slot)) if slot.changes.is_empty() => drop(self.slots.remove(&back.monitor)),
            // Removed and declared again while it was being removed: it returns.
            (None, Some(_)) => {
                self.slots.remove(&back.monitor);
                self.look_up(self.fleet.monitor(&back.monitor).into_iter().map(Arc::clone).collect());
            }
            (_, None) => {}
        }
    }

    /// Plans the first scheduled beat after `from`.
    fn plan(&mut self, id: &MonitorId, from: DateTime<Utc>, now: DateTime<Utc>) {
        if let Some(slot) = self.slots.get(id) {
            self.dues.scheduled(id, slot.plan, &slot.rhythm, from, now);
        }
    }

    /// Plans suspect beats in the place of those planned before.
    fn suspect(&mut self, id: &MonitorId, walls: Vec<DateTime<Utc>>) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        self.plans += 1;
        slot.suspects = self.plans;
        let now = Utc::now();
        for wall in walls {
            self.dues.suspect(id, slot.suspects, wall, now);
        }
    }

    fn send(&mut self, id: &MonitorId, change: PendingChange) {
        if let Some(slot) = self.slots.get_mut(id) {
            // However often somebody asks while one is under way, one more look answers them all.
            let same = |waiting: &PendingChange| match &change {
                PendingChange::Recheck => matches!(waiting, PendingChange::Recheck),
                PendingChange::Tell => matches!(waiting, PendingChange::Tell),
                change => change.action().is_some() && change.action() == waiting.action(),
            };
            if slot.changes.iter().any(same) {
                return;
            }
            slot.changes.push(change);
            if slot.runtime.is_none() && self.wanted.insert(id.clone()) {
                self.gather();
            }
            self.next_change(id);
        }
    }

    /// Has beats that decided nothing wait for others to share their commit, unless somebody waits for one of them.
    fn gather(&self) {
        let is_wanted = !self.wanted.is_empty();
        self.context.store.gather_for(if is_wanted { Duration::ZERO } else { batch_window::company(&self.fleet) });
        if is_wanted {
            self.context.store.hurry();
        }
    }

    /// Starts the first waiting change where the runtime is there.
    fn next_change(&mut self, id: &MonitorId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        while let Some(mut runtime) = slot.runtime.take() {
            if slot.changes.is_empty() {
                // Each slot had a change once, at the start, and most have no other for days.
                slot.changes = Vec::new();
                slot.runtime = Some(runtime);
                return;
            }
            match slot.changes.remove(0) {
                PendingChange::Recheck => {
                    slot.runtime = Some(runtime);
                    return self.start(id, BeatKind::Recheck, Utc::now());
                }
                // Moved within the file: nothing to weigh, nothing to remember.
                PendingChange::Edit(monitor) if !runtime.is_changed_by(&monitor) => {
                    runtime.declare(monitor);
                    slot.runtime = Some(runtime);
                }
                change => {
                    let replan =
                        matches!(&change, PendingChange::Edit(monitor) if monitor.every != runtime.monitor.every);
                    if replan {
                        self.plans += 1;
                        slot.plan = self.plans;
                        slot.moved = false;
                    }
                    tokio::spawn(apply_change(self.context.clone(), runtime, change, self.back.clone()));
                    if replan {
                        let now = Utc::now();
                        self.plan(id, now, now);
                    }
                    return;
                }
            }
        }
    }
}

mod asked;
mod changed_hands;
mod declared;
mod unmade;
mod without_beat;

#[cfg(test)]
mod tests;
