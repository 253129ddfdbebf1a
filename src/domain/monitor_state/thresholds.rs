//! How long each signal takes to open and to close, and which line of the file says so (DESIGN §4).

use std::time::Duration;

use crate::domain::incident::{Need, Thresholds};
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::leaks::open_need;
use crate::domain::monitor_state::state::MonitorState;
use crate::domain::reason::Severity;
use crate::domain::signal::{Phase, Signal};
use crate::domain::wording::as_written;

/// Looks at a contract or a date before it counts.
pub(super) const SECOND_LOOK: u32 = 2;

impl MonitorState {
    /// Good beats in a row and how many it takes, while an incident that ends by counting them is clearing.
    pub fn clearing(&self, signal: Signal, monitor: &Monitor) -> Option<(u32, u32)> {
        let (state, need) = (self.signal(signal), thresholds(monitor, signal).close);
        (state.phase == Phase::Clearing && need.covered.is_zero()).then_some((state.streak, need.readings))
    }

    /// How far a pending signal is from opening, such as `for 2m of 20m` or `1 of 3 beats`.
    pub fn pending(&self, signal: Signal, monitor: &Monitor) -> Option<String> {
        let need = match signal {
            Signal::Access => open_need(self, monitor),
            _ => thresholds(monitor, signal).open,
        };
        let state = self.signal(signal);
        let far = |covered: Duration| {
            Duration::from_secs(match covered.as_secs() {
                seconds @ 0..120 => seconds,
                seconds => seconds - seconds % 60,
            })
        };
        let said = match need.covered {
            Duration::ZERO => format!("{} of {} beats", state.streak, need.readings),
            _ if state.streak < need.readings => format!("{} of {} beats", state.streak, need.readings),
            needed => format!("for {} of {}", as_written(far(state.covered.length())), as_written(needed)),
        };
        (state.phase == Phase::Pending).then_some(said)
    }
}

/// How long each signal takes to open and to close (DESIGN §4).
pub(super) fn thresholds(monitor: &Monitor, signal: Signal) -> Thresholds {
    let rules = &monitor.rules;
    let streak = |rule: &crate::domain::rules::StreakRule| Thresholds {
        open: Need { readings: rule.after, covered: rule.page_after },
        close: Need::readings(rule.recover_after),
    };
    match signal {
        Signal::Availability => streak(&rules.availability),
        Signal::Access => streak(&rules.access),
        Signal::Health => streak(&rules.health),
        Signal::Latency => {
            Thresholds { open: Need::covered(rules.latency.sustained), close: Need::covered(rules.latency.sustained) }
        }
        // The window and the canaries' own streaks are the patience of these two.
        Signal::Errors | Signal::Quality => Thresholds { open: Need::readings(1), close: Need::readings(1) },
        Signal::Contract => Thresholds { open: Need::readings(SECOND_LOOK), close: Need::readings(SECOND_LOOK) },
        Signal::Freshness => Thresholds { open: Need::readings(SECOND_LOOK), close: Need::readings(1) },
    }
}

pub(super) fn rule_of(monitor: &Monitor, signal: Signal) -> (Severity, u32) {
    let rules = &monitor.rules;
    match signal {
        Signal::Availability => (rules.availability.severity, rules.availability.line),
        Signal::Access => (rules.access.severity, rules.access.line),
        Signal::Errors => (rules.errors.severity, rules.errors.line),
        Signal::Latency => (rules.latency.severity, rules.latency.line),
        Signal::Contract => (rules.contract.breaking, rules.contract.line),
        Signal::Quality => (rules.quality.severity, rules.quality.line),
        Signal::Health => (rules.health.severity, rules.health.line),
        Signal::Freshness => {
            rules.freshness.as_ref().map_or((Severity::Ticket, monitor.line), |rule| (rule.severity, rule.line))
        }
    }
}
