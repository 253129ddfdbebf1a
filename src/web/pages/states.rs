//! The states that a list of monitors is narrowed by: the roll-ups, and beside them what a roll-up would hide. A slow
//! server and one that answers wrongly are both `degraded`; who looks for one of them finds it as fast as one that is down.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::signal::{Phase, Signal};
use crate::live::standing::Standing;
use crate::web::draw::glyph;

/// Every word, as it stands in addresses.
pub(crate) const STATES: [&str; 10] =
    ["down", "no-access", "degraded", "slow", "wrong", "recovering", "waiting", "unknown", "up", "maintenance"];

/// Those of [`STATES`] that a monitor is in.
fn states_of(one: &dyn Standing, in_maintenance: bool) -> impl Iterator<Item = &'static str> {
    let roll_up = one.roll_up();
    // Whoever has something open fails: of most of a fleet the signals are not drawn to be counted.
    let signals = roll_up.is_failing().then(|| one.signals());
    let is_open = |signal: Signal| {
        let mut signals = signals.iter().flatten().flatten();
        signals.any(|own| own.signal == signal && own.phase == Phase::Open)
    };
    let own = Some(glyph::of_roll_up(roll_up).name);
    let [slow, wrong] =
        [(Signal::Latency, "slow"), (Signal::Quality, "wrong")].map(|(signal, state)| is_open(signal).then_some(state));
    [own, slow, wrong, in_maintenance.then_some("maintenance")].into_iter().flatten()
}

/// Whether a monitor is in a state of [`STATES`].
pub(crate) fn has_state(one: &dyn Standing, in_maintenance: bool, state: &str) -> bool {
    states_of(one, in_maintenance).any(|own| own == state)
}

/// How many monitors are in each state, by one look at each of them: a large fleet is long to walk through.
pub(crate) fn counted(these: &[Arc<dyn Standing>], windows: &RunningWindows<'_>) -> HashMap<&'static str, usize> {
    let mut counts = HashMap::new();
    for state in these.iter().flat_map(|one| states_of(&**one, windows.of(&**one).is_some())) {
        *counts.entry(state).or_default() += 1;
    }
    counts
}

/// The maintenance windows that run just now and keep outages quiet, as `maintenance_until` of the API has it.
#[derive(Debug, Default)]
pub(crate) struct RunningWindows<'f>(pub Vec<&'f MaintenanceWindow>);

impl<'f> RunningWindows<'f> {
    /// The window that a monitor is in; none where it is in none.
    pub(crate) fn of(&self, one: &dyn Standing) -> Option<&'f MaintenanceWindow> {
        let fits = |window: &&&MaintenanceWindow| window.matches.may_fit(one.id().as_str(), one.declared().labels);
        self.0.iter().find(fits).copied()
    }
}
