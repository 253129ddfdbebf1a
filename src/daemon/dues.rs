//! When beats are due: a heap over monotonic timers that are set anew from the wall clock beat by beat.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::domain::monitor::MonitorId;
use crate::domain::schedule::Rhythm;

/// A suspect beat that finds another under way, or no permit, is tried again after this.
const SUSPECT_PUT_OFF: Duration = Duration::from_secs(1);
/// The shortest pause before a look at what is to be told, so that no mistake makes us spin.
const TELLING_GAP: Duration = Duration::from_millis(100);
/// The two clocks may be apart by so much without one having been set.
const SKEW_MAX: chrono::TimeDelta = chrono::TimeDelta::seconds(1);

/// What is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DueKind {
    /// A beat in the monitor's rhythm.
    Scheduled,
    /// A look soon after a failure.
    Suspect,
    /// No beat: the time has come to tell something.
    Telling,
}

/// Something that is planned; `plan` says whether it still is, since nothing is ever taken out of the heap before its time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub at: Instant,
    pub wall: DateTime<Utc>,
    pub monitor: MonitorId,
    pub kind: DueKind,
    pub plan: u64,
}

/// Everything that is planned, the next first.
#[derive(Debug)]
pub(super) struct Dues {
    heap: BinaryHeap<Reverse<Due>>,
    /// Moves each beat a little, another way in each Serin.
    salt: u64,
}

impl Dues {
    /// Nothing planned, with room for so many monitors.
    pub(super) fn new(monitors: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(monitors * 2), salt: rand::random() }
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// The next of those that are due by then.
    pub(super) fn pop_until(&mut self, now: Instant) -> Option<Due> {
        self.next_at().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse(due)| due)
    }

    /// Plans the first scheduled beat after `from`.
    pub(super) fn scheduled(
        &mut self,
        id: &MonitorId,
        plan: u64,
        rhythm: &Rhythm,
        from: DateTime<Utc>,
        now: DateTime<Utc>,
    ) {
        let wall = rhythm.next_due(self.salt, from);
        let at = Instant::now() + (wall - now).to_std().unwrap_or_default();
        self.heap.push(Reverse(Due { at, wall, monitor: id.clone(), kind: DueKind::Scheduled, plan }));
    }

    /// Plans a scheduled beat at a moment that is not its rhythm's.
    pub(super) fn overdue(&mut self, id: &MonitorId, plan: u64, wall: DateTime<Utc>) {
        let at = Instant::now() + (wall - Utc::now()).to_std().unwrap_or_default();
        self.heap.push(Reverse(Due { at, wall, monitor: id.clone(), kind: DueKind::Scheduled, plan }));
    }

    /// Plans a suspect beat at a moment.
    pub(super) fn suspect(&mut self, id: &MonitorId, plan: u64, wall: DateTime<Utc>, now: DateTime<Utc>) {
        let at = Instant::now() + (wall - now).to_std().unwrap_or_default();
        self.heap.push(Reverse(Due { at, wall, monitor: id.clone(), kind: DueKind::Suspect, plan }));
    }

    /// Plans a suspect beat that could not start once more, in a moment.
    pub(super) fn put_off(&mut self, id: &MonitorId, plan: u64, wall: DateTime<Utc>) {
        let at = Instant::now() + SUSPECT_PUT_OFF;
        self.heap.push(Reverse(Due { at, wall, monitor: id.clone(), kind: DueKind::Suspect, plan }));
    }

    /// Plans a look at what is to be told, at a moment; one that is here already comes soon.
    pub(super) fn telling(&mut self, id: &MonitorId, plan: u64, wall: DateTime<Utc>, now: DateTime<Utc>) {
        let at = Instant::now() + (wall - now).to_std().unwrap_or_default().max(TELLING_GAP);
        self.heap.push(Reverse(Due { at, wall, monitor: id.clone(), kind: DueKind::Telling, plan }));
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Due> {
        self.heap.iter().map(|Reverse(due)| due)
    }
}

/// From when on the next beat is looked for, `late` being how late this one is by the clock that nobody sets.
///
/// The two clocks are read one after the other, and a busy machine may stop us between: a beat that starts by the
/// monotonic one before its time by the wall clock would be planned, and missed, once more. A wall clock that was set is
/// followed, but not at once: by it the next beat may be due while this one is under way, and would be missed.
pub(super) fn after(wall: DateTime<Utc>, now: DateTime<Utc>, late: Duration, every: Duration) -> DateTime<Utc> {
    let off = (now - wall) - chrono::TimeDelta::from_std(late).unwrap_or_default();
    if off.abs() >= SKEW_MAX { now + every / 2 } else { wall.max(now) }
}
