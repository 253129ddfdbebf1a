//! Where a signal stands between quiet and open, and what is still missing: for whoever asks why nothing opened.

use chrono::{DateTime, Utc};

use crate::domain::incident::Need;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::leaks::open_need;
use crate::domain::monitor_state::state::MonitorState;
use crate::domain::monitor_state::thresholds::{rule_of, thresholds};
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::signal::{HeldBy, Level, Phase, Signal};

/// One signal as it stood when a beat was weighed.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The figure against its limit.
    pub level: Level,
    /// The figure as a page shows it; empty where there is none.
    pub figure: String,
    /// Samples behind it.
    pub samples: u32,
    /// With what reason it would open, where the beat found it elevated.
    pub reason: Option<FailureReason>,
    /// Where it was between quiet and open.
    pub phase: Phase,
    /// Since when, UTC.
    pub since: DateTime<Utc>,
    /// What kept it from opening, where something did.
    pub held_by: Option<HeldBy>,
    /// How far it was from opening, such as `2 of 3 beats`; none where it was not on its way.
    pub progress: Option<String>,
    /// Whether it was seen often enough, and only the time was missing that it has to last.
    pub is_short_of_time: bool,
    /// Good beats in a row and how many end it, where it was about to end by them.
    pub clearing: Option<(u32, u32)>,
    /// How loud its rule is.
    pub severity: Severity,
    /// The line that declares the rule.
    pub line: u32,
}

impl MonitorState {
    /// One signal as it stands now.
    pub fn standing(&self, signal: Signal, monitor: &Monitor) -> Standing {
        let (state, reading) = (self.signal(signal), self.reading(signal));
        let need: Need = match signal {
            Signal::Access => open_need(self, monitor),
            _ => thresholds(monitor, signal).open,
        };
        let (severity, line) = rule_of(monitor, signal);
        Standing {
            level: reading.level,
            figure: reading.figure.clone().into_owned(),
            samples: reading.samples,
            reason: self.reasons[signal as usize],
            phase: state.phase,
            since: state.since,
            held_by: state.held_by,
            progress: self.pending(signal, monitor),
            is_short_of_time: state.phase == Phase::Pending && state.streak >= need.readings && !need.covered.is_zero(),
            clearing: self.clearing(signal, monitor),
            severity,
            line,
        }
    }
}
