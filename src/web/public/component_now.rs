//! How each component is just now, from what is in memory: the worst of its monitors, and how many of them are not well.
//!
//! What was not seen lately is not known, whatever it was when it was seen: a Serin that stands still claims nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::MonitorId;
use crate::domain::route::{Match, Subject, fits};
use crate::domain::signal::{Phase, Signal};
use crate::domain::status_page::Component;
use crate::live::glance::SignalGlance;
use crate::live::standing::Standing;
use crate::live::state::LiveState;
use crate::web::public::words::{PublicState, told};

/// What began this short before a window belongs to it: whoever works there began a little early.
const BEGINS_WITHIN: TimeDelta = TimeDelta::minutes(2);

/// One component as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentNow {
    pub state: PublicState,
    /// How many of its monitors are so, none where it works; and how many there are.
    pub affected: (usize, usize),
    /// Where it is not known: since when; none where it never was.
    pub unknown_since: Option<DateTime<Utc>>,
}

/// One monitor as it is to the public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MonitorNow {
    state: PublicState,
    seen_at: Option<DateTime<Utc>>,
}

/// The worst of a component's monitors.
pub(crate) fn component_now(
    component: &Component,
    live: &LiveState,
    windows: &[MaintenanceWindow],
    now: DateTime<Utc>,
) -> ComponentNow {
    let running: Vec<&MaintenanceWindow> = windows.iter().filter(|window| window.run_at(now).is_some()).collect();
    let of = |id: &MonitorId| monitor_now(live.standing(id), &running, now);
    joined(&component.monitors.iter().map(of).collect::<Vec<_>>())
}

fn joined(monitors: &[MonitorNow]) -> ComponentNow {
    let state = monitors.iter().map(|one| one.state).max().unwrap_or(PublicState::Unknown);
    let is_so = |one: &&MonitorNow| one.state == state && state != PublicState::Works;
    let affected = monitors.iter().filter(is_so).count();
    let unknown = monitors.iter().filter(|one| one.state == PublicState::Unknown);
    // None is before all others: what was never seen is not known since any moment.
    let unknown_since = unknown.map(|one| one.seen_at).min().flatten();
    ComponentNow { state, affected: (affected, monitors.len()), unknown_since }
}

fn monitor_now(standing: Option<Arc<dyn Standing>>, running: &[&MaintenanceWindow], now: DateTime<Utc>) -> MonitorNow {
    let never = MonitorNow { state: PublicState::Unknown, seen_at: None };
    let Some(standing) = standing else { return never };
    let (declared, seen_at) = (standing.declared(), standing.figures().seen_at);
    let is_stale = |at: DateTime<Utc>| (now - at).to_std().is_ok_and(|age| age > declared.stale_after);
    if seen_at.is_none_or(is_stale) {
        return MonitorNow { seen_at, ..never };
    }
    // Its first failures are not confirmed yet, and it was never seen well: that is no reason to say that it works.
    let is_pending =
        |signal: &SignalGlance<'_>| signal.signal == Signal::Availability && signal.phase == Phase::Pending;
    if standing.signals().iter().flatten().any(is_pending) && !standing.was_well() {
        return never;
    }
    let (id, labels) = (standing.id().as_str(), declared.labels);
    let open = standing.signals().into_iter().flatten().filter_map(|signal| Some((signal.signal, signal.incident?)));
    let state = open
        .filter_map(|(signal, incident)| {
            let (state, _) = told(signal, incident.reason, incident.severity)?;
            let (severity, reason) = (incident.severity, Some(incident.reason));
            let subject = Subject { severity, signal: Some(signal), reason, labels, monitor: id };
            let covering = running.iter().filter(|window| fits(&window.matches, subject));
            // A window covers nothing of what was there before it.
            let is_planned = covering.filter_map(|window| window.run_at(now)).any(|run| {
                let view = standing.view();
                let shown = view.signals.iter().find(|one| one.signal == signal);
                let opened_at = shown.and_then(|one| one.incident.as_ref()).map_or(now, |open| open.opened_at);
                run.from <= opened_at + BEGINS_WITHIN
            });
            Some(if is_planned { PublicState::Maintenance } else { state })
        })
        .chain(running.iter().any(|window| covers_all(window, id, labels)).then_some(PublicState::Maintenance))
        .max()
        .unwrap_or(PublicState::Works);
    MonitorNow { state, seen_at }
}

/// Whether a window is about all of a monitor: one of a signal, severity or reason is a matter of whoever runs it.
pub(crate) fn covers_all(window: &MaintenanceWindow, id: &str, labels: &BTreeMap<String, String>) -> bool {
    let Match { severity, signal, reason, .. } = &window.matches;
    severity.is_empty() && signal.is_empty() && reason.is_empty() && window.matches.may_fit(id, labels)
}

/// How everything is, in one sentence, and the state that it is about.
pub(crate) fn overall(components: &[(&str, PublicState)]) -> (PublicState, String) {
    /// Names in the sentence; more are counted.
    const NAMED_MAX: usize = 3;
    let worst = components.iter().map(|(_, state)| *state).max().unwrap_or(PublicState::Unknown);
    if worst == PublicState::Works {
        return (worst, "All systems work".to_owned());
    }
    let names: Vec<&str> = components.iter().filter(|(_, state)| *state == worst).map(|(name, _)| *name).collect();
    let is_other =
        |state: PublicState| !matches!(state, PublicState::Works | PublicState::Maintenance) && state != worst;
    let others = components.iter().filter(|(_, state)| is_other(*state)).count();
    let also = match others {
        0 => String::new(),
        1 => "; 1 other has trouble of another kind".to_owned(),
        n => format!("; {n} others have trouble of another kind"),
    };
    let said = match names[..] {
        _ if names.len() == components.len() && names.len() > 1 => match worst {
            PublicState::Unknown => "How systems are is not known just now".to_owned(),
            _ => format!("All systems {}", worst.of_several()),
        },
        [one] => format!("{one} {}", worst.of_one()),
        _ if names.len() > NAMED_MAX => format!("{} of {} {}", names.len(), components.len(), worst.of_several()),
        _ => {
            let (last, rest) = names.split_last().unwrap_or((&"", &[]));
            format!("{} and {last} {}", rest.join(", "), worst.of_several())
        }
    };
    (worst, format!("{said}{also}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts_and_what_was_not_seen_is_not_known() {
        use PublicState::{Down, Maintenance, Slow, Unknown, Works};
        let at = |hour: u32| Some(format!("2026-11-25T{hour:02}:00:00Z").parse().unwrap());
        // Each monitor and the hour it was seen; what they come to, how many are not well, and since when it is not known.
        type Row<'a> = (&'a [(PublicState, u32)], PublicState, usize, Option<u32>, &'a str);
        let rows: [Row<'_>; 6] = [
            (&[(Works, 9), (Works, 9)], Works, 0, None, "both work"),
            (&[(Works, 9), (Down, 9), (Works, 9)], Down, 1, None, "one of three is down"),
            (&[(Slow, 9), (Unknown, 7)], Slow, 1, Some(7), "what is known to be slow is said before what is not known"),
            (&[(Unknown, 8), (Unknown, 7)], Unknown, 2, Some(7), "not known whole since the first was not"),
            (&[(Works, 9), (Maintenance, 9)], Maintenance, 1, None, "planned"),
            (&[], Unknown, 0, None, "nothing behind it says nothing"),
        ];
        for (monitors, state, affected, since, sentence) in rows {
            let monitors: Vec<_> =
                monitors.iter().map(|(state, hour)| MonitorNow { state: *state, seen_at: at(*hour) }).collect();
            let expected =
                ComponentNow { state, affected: (affected, monitors.len()), unknown_since: since.and_then(at) };
            assert_eq!(joined(&monitors), expected, "{sentence}");
        }
        let never = [MonitorNow { state: Unknown, seen_at: at(9) }, MonitorNow { state: Unknown, seen_at: None }];
        assert_eq!(joined(&never).unknown_since, None, "never seen is older than any moment");
    }

    #[test]
    fn everything_in_one_sentence() {
        use PublicState::{Down, Maintenance, Slow, Unknown, Works, Wrong};
        let rows: [(&[(&str, PublicState)], &str); 9] = [
            (&[("Docs", Works), ("Legal", Works)], "All systems work"),
            (&[("Docs", Works), ("Legal", Wrong)], "Legal may answer wrongly"),
            (&[("Docs", Down), ("Legal", Down), ("Wiki", Works)], "Docs and Legal are down"),
            (&[("Docs", Down), ("Legal", Down)], "All systems are down"),
            (&[("Docs", Unknown), ("Legal", Unknown)], "How systems are is not known just now"),
            (&[("Docs", Down), ("Legal", Slow)], "Docs is down; 1 other has trouble of another kind"),
            (&[("Docs", Maintenance)], "Docs is in maintenance"),
            (&[("A", Slow), ("B", Slow), ("C", Slow), ("D", Slow), ("E", Works)], "4 of 5 are slow"),
            (&[("A", Slow), ("B", Slow), ("C", Slow), ("E", Works)], "A, B and C are slow"),
        ];
        for (components, expected) in rows {
            assert_eq!(overall(components).1, expected);
        }
    }
}
