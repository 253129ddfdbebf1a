//! One probe of one server, and what holds of each.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serin::domain::answer::Turn;
use serin::domain::classify::classify;
use serin::domain::fault::FaultKind;
use serin::domain::monitor::{Canary, Monitor};
use serin::domain::observation::{Observation, Stage};
use serin::probe::assignment::Assignment;
use serin::probe::prober::Prober;

use crate::common::monitors::{self, address, canary};
use crate::fault_server::{FaultServer, Script};

/// What a probe has for an answer that comes: a machine that does much else may stand still for seconds.
const PATIENT: Duration = Duration::from_secs(20);
/// And where none comes, which is waited for.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);
pub(crate) const BUDGET: Duration = Duration::from_secs(12);

pub(crate) fn monitor(url: &str, canaries: usize) -> Monitor {
    let canary = |nth: usize| Canary { query: "what is \"one\"?".to_owned(), ..canary(&format!("c{nth}")) };
    let mut monitor = Monitor::undeclared("m", address(url));
    monitor.search.arguments = BTreeMap::from([("top_k".to_owned(), "5".to_owned())]);
    monitor.search.per_beat = 2;
    monitor.canaries = (0..canaries).map(canary).collect();
    (monitor.timeout, monitor.probe_budget) = (PATIENT, PATIENT * 3);
    monitor
}

/// The same with as little time as a row is to take that waits for it.
pub(crate) fn impatient(monitor: Monitor) -> Monitor {
    Monitor { timeout: TIMEOUT, probe_budget: BUDGET, ..monitor }
}

/// Of this server, with little time where it leaves something without an answer.
pub(crate) fn monitor_of(server: &FaultServer, canaries: usize) -> Monitor {
    let monitor = monitor(&format!("http://{}/mcp", server.address), canaries);
    if server.holds { impatient(monitor) } else { monitor }
}

pub(crate) fn now() -> DateTime<Utc> {
    "2026-11-21T09:00:00Z".parse().expect("a moment")
}

pub(crate) fn assignment(monitor: Monitor) -> Assignment {
    monitors::assignment(monitor, now())
}

/// What a probe saw, with its transcript, whatever came of it.
pub(crate) async fn probe(monitor: Monitor) -> Observation {
    recorded(&Prober::new(8), &assignment(monitor)).await
}

pub(crate) async fn recorded(prober: &Prober, assignment: &Assignment) -> Observation {
    let (mut seen, _, transcript) = prober.record(assignment).await;
    let outcome = classify(&assignment.monitor, &seen);
    seen.transcript = transcript.map(|transcript| transcript.written(assignment, &seen, &outcome));
    seen
}

pub(crate) fn first_fault(seen: &Observation) -> Option<(Stage, FaultKind)> {
    seen.steps.iter().find_map(|step| step.fault.as_ref().map(|fault| (step.stage, fault.kind)))
}

/// One row: what this server does is this fault, at this stage; the budget holds and no session stays open.
pub(crate) async fn check(sentence: &str, script: Script, expected: Option<(Stage, FaultKind)>) -> Observation {
    let server = FaultServer::start(script, None).await;
    let monitor = monitor_of(&server, 1);
    let seen = probe(monitor.clone()).await;
    assert_eq!(first_fault(&seen), expected, "{sentence}: {seen:#?}");
    common(sentence, &monitor, &seen);
    let deletes = server.seen().asked.iter().filter(|asked| *asked == "DELETE").count();
    assert_eq!(deletes, seen.footprint.sessions_opened as usize, "{sentence}: every session is closed once");
    seen
}

/// The budget holds.
pub(crate) fn within_budget(sentence: &str, monitor: &Monitor, seen: &Observation) {
    let most = monitor.probe_budget + Duration::from_secs(3);
    assert!(seen.elapsed < most, "{sentence}: the budget holds, {:?}", seen.elapsed);
}

pub(crate) fn common(sentence: &str, monitor: &Monitor, seen: &Observation) {
    within_budget(sentence, monitor, seen);
    assert_eq!(seen.asks.len(), 1, "{sentence}: the canary is accounted for");
    for fault in seen.steps.iter().filter_map(|step| step.fault.as_ref()) {
        assert!(fault.detail.chars().count() <= 301, "{sentence}: evidence is bounded");
        assert!(!fault.detail.chars().any(char::is_control), "{sentence}: evidence is one line: {:?}", fault.detail);
    }
    if seen.fault_before_search().is_some() {
        assert!(seen.asks.iter().all(|ask| ask.turn == Turn::NotAsked && ask.result.is_none()), "{sentence}");
    }
}
