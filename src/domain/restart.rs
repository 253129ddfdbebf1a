//! Whether the server was restarted: certain, likely, or not to be told (DESIGN §4).

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::observation::{HealthSeen, Observation};
use crate::domain::outcome::Evidence;

/// Instance ids remembered: replicas behind one address take turns, and that is no restart.
const INSTANCES_MAX: usize = 16;
/// A session that is gone tells of a restart once in so long: replicas that share no sessions lose one with each beat.
const SESSION_LOSS_TOLD: Duration = Duration::from_secs(3600);
/// A start that moves by less than this is the rounding of an uptime, not a restart.
const START_SLACK: Duration = Duration::from_secs(5);

/// By what a restart is recognised on the next beat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestartMarks {
    /// Instance ids seen, the latest last.
    pub instances: Vec<String>,
    /// The version last reported.
    pub version: Option<String>,
    /// The latest start of the process, as it said.
    pub process_started_at: Option<DateTime<Utc>>,
    /// When we last saw a restart.
    pub restarted_at: Option<DateTime<Utc>>,
}

/// A server that was started anew, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// Whether the server's own marks prove it.
    pub certain: bool,
    /// Whether it hands out sessions, which ended with the old process.
    pub sessions: bool,
    pub evidence: Vec<Evidence>,
}

/// Compares what a beat reports with what was remembered, and remembers it.
///
/// `was_refused`: the beats just before found nobody listening. A time-out proves nothing.
pub(crate) fn recognise(
    marks: &mut RestartMarks,
    seen: &Observation,
    was_refused: bool,
    now: DateTime<Utc>,
) -> Option<Restart> {
    let first = marks.instances.is_empty() && marks.version.is_none() && marks.process_started_at.is_none();
    let mut evidence = Vec::new();
    for health in &seen.health {
        compare(marks, health, &mut evidence);
    }
    let reported = seen.server.as_ref().map(|server| server.version.clone()).filter(|version| !version.is_empty());
    if let Some(version) = reported {
        let old = marks.version.replace(version.clone());
        if let Some(old) = old.filter(|old| *old != version) {
            evidence.push(Evidence::new("version", format!("{old} before, {version} now")));
        }
    }
    let certain = !first && !evidence.is_empty();
    let told_lately = |at: DateTime<Utc>| (now - at).to_std().is_ok_and(|age| age < SESSION_LOSS_TOLD);
    let forgot_us = seen.session_lost && !marks.restarted_at.is_some_and(told_lately);
    let likely = (was_refused || forgot_us) && seen.fault_before_search().is_none();
    if !certain && !likely {
        return None;
    }
    if likely && was_refused {
        evidence.push(Evidence::new("before", "connections were refused"));
    }
    if likely && forgot_us {
        evidence.push(Evidence::new("session", "the kept session was no longer known"));
    }
    marks.restarted_at = Some(now);
    // A server of the modern era, or one without sessions, has none that could have been lost.
    let sessions = seen.session_lost || seen.footprint.sessions_opened > 0;
    Some(Restart { certain, sessions, evidence })
}

fn compare(marks: &mut RestartMarks, health: &HealthSeen, evidence: &mut Vec<Evidence>) {
    if let Some(instance) = health.instance.as_ref().filter(|instance| !marks.instances.contains(instance)) {
        if let Some(last) = marks.instances.last() {
            evidence.push(Evidence::new("instance", format!("{last} before, {instance} now")));
        }
        if marks.instances.len() == INSTANCES_MAX {
            marks.instances.remove(0);
        }
        marks.instances.push(instance.clone());
    }
    if let Some(started) = health.process_started_at {
        let slack = chrono::Duration::from_std(START_SLACK).unwrap_or_default();
        if let Some(last) = marks.process_started_at.filter(|last| started > *last + slack) {
            evidence.push(Evidence::new("process_started_at", format!("{last} before, {started} now")));
        }
        // Replicas report different starts; the latest is what a later one has to beat.
        marks.process_started_at = Some(marks.process_started_at.map_or(started, |last| last.max(started)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::{Fault, FaultKind};
    use crate::domain::monitor::MonitorId;
    use crate::domain::observation::{BeatKind, Footprint, Phases, ServerIdentity, Stage, Step};

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    /// What a beat reports: instance, start of the process, version.
    fn seen(instance: Option<&str>, started: Option<i64>, version: Option<&str>) -> Observation {
        let health = HealthSeen {
            address: String::new(),
            status: Some(200),
            ok: true,
            reason: None,
            cache_warm: None,
            instance: instance.map(str::to_owned),
            process_started_at: started.map(at),
            version: None,
            fault: None,
        };
        Observation {
            server: version.map(|version| ServerIdentity { version: version.to_owned(), ..ServerIdentity::default() }),
            health: vec![health],
            ..Observation::blank(MonitorId::new("docs"), BeatKind::Scheduled, at(0), at(0))
        }
    }

    fn hanging() -> Observation {
        let fault = Some(Fault { kind: FaultKind::Silent, detail: String::new() });
        let (label, phases, notes) = (String::new(), Phases::default(), Vec::new());
        let step = Step {
            stage: Stage::Connect,
            label,
            elapsed: Duration::ZERO,
            phases,
            fresh_connection: true,
            fault,
            notes,
        };
        Observation { steps: vec![step], ..seen(None, None, None) }
    }

    #[test]
    fn a_restart_ends_sessions_only_where_there_are_some() {
        let opened = Footprint { sessions_opened: 1, ..Footprint::default() };
        let rows = [
            (seen(None, None, None), false, "a server without sessions"),
            (Observation { footprint: opened, ..seen(None, None, None) }, true, "one that gave us a session"),
            (Observation { session_lost: true, ..seen(None, None, None) }, true, "one that knows ours no longer"),
        ];
        for (beat, expected, sentence) in rows {
            let restart = recognise(&mut RestartMarks::default(), &beat, true, at(60)).expect("refused, then back");
            assert_eq!(restart.sessions, expected, "{sentence}");
        }
    }

    #[test]
    fn a_restart_is_certain_likely_or_not_to_be_told() {
        let (certain, likely) = (Some(true), Some(false));
        let a = || seen(Some("a"), None, None);
        let b = || seen(Some("b"), None, None);
        let started = |second| seen(None, Some(second), None);
        let rows: Vec<(Vec<Observation>, bool, Option<bool>, &str)> = vec![
            (vec![], false, None, "the first look compares with nothing"),
            (vec![a(), a()], false, None, "the same instance"),
            (vec![a(), b()], false, certain, "another instance"),
            (vec![a(), b(), a()], false, None, "replicas that take turns are known by then"),
            (vec![started(0), started(5)], false, None, "five seconds are the rounding of an uptime"),
            (vec![started(0), started(6)], false, certain, "a later start"),
            (vec![started(100), started(0), started(100)], false, None, "replicas with starts of their own"),
            (vec![seen(None, None, Some("1")), seen(None, None, Some("2"))], false, certain, "another version"),
            (vec![seen(None, None, Some("1")), a()], false, None, "a mark that is new proves nothing"),
            (vec![seen(None, None, None)], true, likely, "refused, then back"),
            (vec![a(), b()], true, certain, "refused, then back as another"),
            (vec![hanging()], true, None, "refused, then hanging is not back"),
            (vec![a(), Observation { session_lost: true, ..a() }], false, likely, "a session that it knows no longer"),
            (
                vec![a(), Observation { session_lost: true, ..a() }, Observation { session_lost: true, ..a() }],
                false,
                None,
                "replicas that share no sessions lose one after the other",
            ),
            (vec![Observation { session_lost: true, ..hanging() }], false, None, "and hanging is not back"),
        ];
        for (beats, refused, expected, sentence) in rows {
            let mut marks = RestartMarks::default();
            let mut last = None;
            for (number, beat) in beats.iter().enumerate() {
                let is_last = number + 1 == beats.len();
                last = recognise(&mut marks, beat, refused && is_last, at(60));
            }
            assert_eq!(last.map(|restart| restart.certain), expected, "{sentence}");
        }
    }
}
