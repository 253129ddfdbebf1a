//! The states that a list of monitors is narrowed by: the roll-ups, and beside them what a roll-up would hide. A slow
//! server and one that answers wrongly are both `degraded`; who looks for one of them finds it as fast as one that is down.

use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::signal::{Phase, Signal};
use crate::live::standing::Standing;
use crate::web::draw::glyph;

/// Every word, as it stands in addresses.
pub(crate) const STATES: [&str; 10] =
    ["down", "no-access", "degraded", "slow", "wrong", "recovering", "waiting", "unknown", "up", "maintenance"];

/// Whether a monitor is in a state of [`STATES`].
pub(crate) fn has_state(one: &dyn Standing, in_maintenance: bool, state: &str) -> bool {
    match state {
        "slow" => is_open(one, Signal::Latency),
        "wrong" => is_open(one, Signal::Quality),
        "maintenance" => in_maintenance,
        state => glyph::of_roll_up(one.roll_up()).name == state,
    }
}

fn is_open(one: &dyn Standing, signal: Signal) -> bool {
    // Whoever has something open fails: of most of a fleet the signals are not drawn to be counted.
    one.roll_up().is_failing()
        && one.signals().into_iter().flatten().any(|own| own.signal == signal && own.phase == Phase::Open)
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
