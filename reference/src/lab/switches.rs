//! The switchboard: what is broken now, for everybody who has to know.
//!
//! Most faults act the moment they are asked for. Some do not, the held pool, the closed listener, the
//! chunks that are cut again: whoever watches over the server applies them, and `settled` waits for that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::lab::kinds::{Dose, Fault};

/// How long it may take to cut a large index again.
const SETTLED_WITHIN: Duration = Duration::from_mins(2);

/// The switchboard. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Board>);

#[derive(Debug)]
struct Board {
    on: Mutex<BTreeMap<Fault, Broken>>,
    wanted: watch::Sender<u64>,
    applied: watch::Sender<u64>,
}

/// A fault that is on.
#[derive(Debug)]
struct Broken {
    dose: Dose,
    since: Instant,
    /// Calls it could have struck since the last start. Each fault counts its own, so that whatever else is on
    /// or was on, the same ones are struck.
    calls: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(Board { on: Mutex::default(), wanted: watch::Sender::new(0), applied: watch::Sender::new(0) }))
    }
}

impl Faults {
    /// Breaks something, or changes its dose.
    pub fn on(&self, fault: Fault, dose: Dose) {
        let mut board = self.board();
        // Another dose of what is on already does not begin it anew.
        board.entry(fault).or_insert_with(|| Broken { dose, since: Instant::now(), calls: 0 }).dose = dose;
        drop(board);
        self.0.wanted.send_modify(|generation| *generation += 1);
    }

    /// Mends it.
    pub fn off(&self, fault: Fault) {
        self.board().remove(&fault);
        self.0.wanted.send_modify(|generation| *generation += 1);
    }

    /// Mends everything.
    pub fn all_off(&self) {
        self.board().clear();
        self.0.wanted.send_modify(|generation| *generation += 1);
    }

    /// The dose of a fault that is on, whether or not it strikes this time.
    pub fn dose(&self, fault: Fault) -> Option<Dose> {
        self.board().get(&fault).map(|broken| broken.dose)
    }

    /// The dose of a fault, and for how long it has been on.
    pub fn dose_since(&self, fault: Fault) -> Option<(Dose, Duration)> {
        self.board().get(&fault).map(|broken| (broken.dose, broken.since.elapsed()))
    }

    /// The dose of a fault that strikes this call; each asking is a call of its own.
    pub fn activated(&self, fault: Fault) -> Option<Dose> {
        let mut board = self.board();
        let broken = board.get_mut(&fault)?;
        let call = broken.calls;
        broken.calls += 1;
        broken.dose.applies_to(call).then_some(broken.dose)
    }

    /// What is broken now.
    pub fn active(&self) -> Vec<(Fault, Dose)> {
        self.board().iter().map(|(fault, broken)| (*fault, broken.dose)).collect()
    }

    /// Waits until pool, listener and chunks are as the switches say, at most two minutes.
    pub async fn settled(&self) {
        let wanted = *self.0.wanted.borrow();
        let mut applied = self.0.applied.subscribe();
        let settled = applied.wait_for(|generation| *generation >= wanted);
        // A server that has stopped applies nothing any more: its switches are as settled as they get.
        let _ended = tokio::time::timeout(SETTLED_WITHIN, settled).await;
    }

    /// Sets one fault to what `fault::read` or `fault::parse` understood.
    pub fn set(&self, fault: Fault, dose: Option<Dose>) {
        match dose {
            Some(dose) => self.on(fault, dose),
            None => self.off(fault),
        }
    }

    /// What the admin endpoint shows.
    pub fn report(&self) -> Value {
        let active: BTreeMap<&str, Dose> =
            self.active().into_iter().map(|(fault, dose)| (fault.name(), dose)).collect();
        json!({ "active": active, "known": Fault::ALL.iter().map(|fault| fault.facts()).collect::<Vec<_>>() })
    }

    /// Tells whoever applies faults to pool and listener that something changed.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.wanted.subscribe()
    }

    /// Counts calls anew, as a server begins: it is struck as the one before was.
    pub(crate) fn restarted(&self) {
        self.board().values_mut().for_each(|broken| broken.calls = 0);
    }

    /// Says that pool and listener are as they were wanted at a generation.
    pub(crate) fn applied(&self, generation: u64) {
        self.0.applied.send_replace(generation);
    }

    fn board(&self) -> MutexGuard<'_, BTreeMap<Fault, Broken>> {
        self.0.on.lock()
    }
}
