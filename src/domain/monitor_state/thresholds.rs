//! How long each signal takes to open and to close, and which line of the file says so (DESIGN §4).

use std::time::Duration;

use crate::domain::incident::{Need, Thresholds};
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::leaks::open_need;
use crate::domain::monitor_state::state::MonitorState;
use crate::domain::reason::Severity;
use crate::domain::recent_beats::RecentBeats;
use crate::domain::rules::StreakRule;
use crate::domain::signal::{Phase, Signal, SignalState};
use crate::domain::wording::as_written;

/// Looks at a contract or a date before it counts.
pub(super) const SECOND_LOOK: u32 = 2;

impl MonitorState {
    /// Good beats in a row and how many it takes, while an incident that ends by counting them is clearing.
    pub fn clearing(&self, signal: Signal, monitor: &Monitor) -> Option<(u32, u32)> {
        let (state, need) = (self.signal(signal), self.limits(signal, monitor).close);
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
        let beats = match counted_of(monitor, signal) {
            Some(of) => format!("{} of {} bad beats, of the last {of}", state.streak, need.readings),
            None => format!("{} of {} beats", state.streak, need.readings),
        };
        let said = match need.covered {
            Duration::ZERO => beats,
            _ if state.streak < need.readings => beats,
            needed => format!("for {} of {}", as_written(far(state.covered.length())), as_written(needed)),
        };
        (state.phase == Phase::Pending).then_some(said)
    }
}

/// How long each signal takes to open and to close (DESIGN §4).
pub(super) fn thresholds(monitor: &Monitor, signal: Signal) -> Thresholds {
    let rules = &monitor.rules;
    let streak = |rule: &StreakRule| Thresholds {
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

/// The rule of a signal that opens by bad beats alone.
const fn streak_of(monitor: &Monitor, signal: Signal) -> Option<&StreakRule> {
    match signal {
        Signal::Availability => Some(&monitor.rules.availability),
        Signal::Access => Some(&monitor.rules.access),
        Signal::Health => Some(&monitor.rules.health),
        _ => None,
    }
}

/// Among how many of the latest beats bad ones are counted, where they need not come in a row.
pub(super) fn counted_of(monitor: &Monitor, signal: Signal) -> Option<u32> {
    streak_of(monitor, signal)?.of
}

impl MonitorState {
    /// Bad beats so far, with this one, as a figure says them: `2 in a row`, or `2 of the last 5`.
    pub(super) fn bad_beats_said(&self, signal: Signal, monitor: &Monitor) -> String {
        match counted_of(monitor, signal) {
            None => format!("{} in a row", self.signal(signal).streak + 1),
            Some(of) => {
                let mut recent = self.recent.get(&signal).cloned().unwrap_or_default();
                recent.take(true, Duration::ZERO, of);
                format!("{} of the last {of}", recent.bad())
            }
        }
    }

    /// Beats of a pending signal count on under an edited rule, as far as that one counts them.
    pub(super) fn recount(&mut self, monitor: &Monitor) {
        for signal in [Signal::Availability, Signal::Access, Signal::Health] {
            let state = &mut self.signals[signal as usize];
            match (counted_of(monitor, signal), self.recent.get(&signal)) {
                (Some(_), None) if state.phase == Phase::Pending => {
                    let row = RecentBeats::of_row(state.streak, state.covered.length());
                    self.recent.insert(signal, row);
                }
                (None, Some(recent)) => {
                    match recent.row() {
                        0 => *state = SignalState::quiet(state.since),
                        row => state.streak = row,
                    }
                    self.recent.remove(&signal);
                }
                _ => {}
            }
        }
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
