//! Forbidden sources: told after two answers of one canary in a row, and over when it was asked again and saw none.

use chrono::TimeDelta;
use serin::domain::incident::Incident;
use serin::domain::monitor::Monitor;
use serin::domain::monitor_state::Decision;
use serin::domain::observation::Observation;
use serin::domain::reason::Severity;
use serin::domain::signal::{Phase, Signal};
use serin::domain::source_pattern::SourcePattern;

use crate::{HANGS, LOCKED_OUT, Look, Scene, WELL, WRONG, answer, at, check, incident_of, with};

pub(crate) const LEAK_A: Look = |seen| leak(seen, "a");
const LEAK_B: Look = |seen| leak(seen, "b");
/// The one canary that may see everything.
const ONLY_C: Look = |seen| seen.asks.retain(|ask| ask.canary == "c");
pub(crate) const WITHOUT_A: Look = |seen| seen.asks.retain(|ask| ask.canary != "a");
const LEAK_AND_NOTHING_ELSE: Look = |seen| {
    WRONG(seen);
    only(seen, "a", &["tenants/b/plan.md"]);
};
const EXPIRING: Look = |seen| seen.certificate_until = Some(seen.started_at + TimeDelta::days(5));
const EXPIRING_AND_LEAK_A: Look = |seen| {
    EXPIRING(seen);
    LEAK_A(seen);
};
const EXPIRING_AND_ONLY_C: Look = |seen| {
    EXPIRING(seen);
    ONLY_C(seen);
};
const TWICE_IN_ONE_BEAT: Look = |seen| {
    LEAK_A(seen);
    seen.asks.push(seen.asks[0].clone());
};

fn only(seen: &mut Observation, canary: &str, sources: &[&str]) {
    for ask in seen.asks.iter_mut().filter(|ask| ask.canary == canary) {
        ask.result = Some(answer(sources));
    }
}

/// The right answer is there, and behind it what this caller must never see.
fn leak(seen: &mut Observation, canary: &str) {
    only(seen, canary, &["a.md", "corpus/tenants/b/plan.md#page=2"]);
}

/// Two canaries of three must never see what is another tenant's.
pub(crate) fn tenant() -> Monitor {
    with(|monitor| {
        for canary in &mut monitor.canaries[..2] {
            canary.forbid = vec![SourcePattern::new("tenants/b/**").unwrap()];
        }
    })
}

#[test]
fn a_leak_is_told_when_one_canary_saw_it_twice_in_a_row() {
    check("once is not twice", tenant(), &[(1, 60, LEAK_A), (1, 60, WELL), (1, 60, LEAK_A)], &[]);
    check(
        "twice is, and two answers without it end it",
        tenant(),
        &[(1, 60, WELL), (3, 60, LEAK_A), (2, 60, WELL)],
        &["3 opened access tenant_leak", "6 resolved access recovered"],
    );
    check("asked twice in one beat is one look", tenant(), &[(1, 60, TWICE_IN_ONE_BEAT), (1, 60, WELL)], &[]);
    check(
        "two canaries once each are not one twice",
        tenant(),
        &[(1, 60, LEAK_A), (1, 60, LEAK_B), (1, 60, WELL)],
        &[],
    );
    check(
        "until one of them sees it again",
        tenant(),
        &[(1, 60, LEAK_A), (2, 60, LEAK_B)],
        &["3 opened access tenant_leak"],
    );
    check("a canary that forbids nothing sees what it sees", tenant(), &[(5, 60, |seen| leak(seen, "c"))], &[]);
}

#[test]
fn a_beat_that_did_not_ask_again_says_nothing_of_a_leak() {
    check(
        "between two leaks",
        tenant(),
        &[(1, 60, LEAK_A), (3, 60, ONLY_C), (1, 60, WITHOUT_A), (1, 60, LEAK_A)],
        &["6 opened access tenant_leak"],
    );
    check(
        "nor does one that reached nobody",
        tenant(),
        &[(1, 60, LEAK_A), (1, 60, HANGS), (1, 60, LEAK_A)],
        &["3 opened access tenant_leak"],
    );
    check(
        "while it is open",
        tenant(),
        &[(2, 60, LEAK_A), (9, 60, WITHOUT_A), (1, 60, WELL), (9, 60, ONLY_C), (1, 60, WELL)],
        &["2 opened access tenant_leak", "22 resolved access recovered"],
    );
    check(
        "and what ends some day does not take its place",
        tenant(),
        &[(1, 300, EXPIRING), (2, 300, EXPIRING_AND_LEAK_A), (4, 300, EXPIRING_AND_ONLY_C), (2, 300, EXPIRING)],
        &[
            "1 opened access certificate_expiring",
            "3 updated access tenant_leak",
            "9 updated access certificate_expiring",
        ],
    );
}

#[test]
fn what_else_is_found_stays_as_it_is() {
    check(
        "a refusal lends a leak no beat",
        tenant(),
        &[(2, 60, LOCKED_OUT), (1, 60, LEAK_A), (1, 60, LEAK_A)],
        &["4 opened access tenant_leak"],
    );
    check(
        "a refusal is told in its place",
        tenant(),
        &[(2, 60, LEAK_A), (2, 60, LOCKED_OUT), (2, 60, WELL)],
        &["2 opened access tenant_leak", "4 updated access auth_rejected", "6 resolved access recovered"],
    );
    check(
        "an answer that leaks and is wrong is both",
        tenant(),
        &[(3, 60, LEAK_AND_NOTHING_ELSE)],
        &["2 opened access tenant_leak", "3 opened quality wrong_results"],
    );
    let mut scene = Scene::new(tenant());
    scene.beats(&[(1, 60, LEAK_A)]);
    let score = scene.state.canary_score(&scene.monitor.canaries);
    assert_eq!((score.right, score.asked, score.since), (3, 3, None), "what is right beside a leak is right");
    assert!(!scene.state.is_in_doubt(), "and not in doubt");
}

#[test]
fn who_leaked_is_asked_again_first() {
    let mut scene = Scene::new(tenant());
    let wrong_and_leak: Look = |seen| {
        WRONG(seen);
        leak(seen, "b");
    };
    for (look, expected, sentence) in [
        (LEAK_B, vec!["b"], "a leak"),
        (wrong_and_leak, vec!["b", "a", "c"], "before what is wrong"),
        (WELL, vec!["b"], "until it was answered without one twice"),
        (WELL, vec![], "and then no more"),
    ] {
        scene.beat(60, look);
        let asked: Vec<&str> = scene.state.wants_asking().into_iter().map(|(id, _)| id).collect();
        assert_eq!(asked, expected, "{sentence}");
    }
}

#[test]
fn the_evidence_names_canary_source_and_pattern() {
    let mut scene = Scene::new(with(|monitor| {
        *monitor = tenant();
        monitor.rules.access.severity = Severity::Ticket;
    }));
    scene.beat(60, LEAK_A);
    assert_eq!(scene.state.pending(Signal::Access, &scene.monitor).as_deref(), Some("1 of 2 beats"));
    scene.beat(60, LEAK_A);
    let opened: Vec<&Incident> = scene.decided.iter().filter_map(incident_of).collect();
    let [incident] = &opened[..] else { panic!("one is opened: {opened:?}") };
    let said = "got corpus/tenants/b/plan.md#page=2, which tenants/b/** forbids";
    assert_eq!(incident.summary, format!("docs: canary a {said}"));
    assert_eq!((&*incident.evidence[0].key, &*incident.evidence[0].value), ("canary.a", said));
    assert_eq!((incident.severity, &*incident.stage), (Severity::Page, "search"), "whatever a refusal is worth");
}

#[test]
fn an_edit_that_forgets_who_leaked_ends_it() {
    let mut scene = Scene::new(tenant());
    scene.beats(&[(2, 60, LEAK_A)]);
    let mut same = tenant();
    same.name = "Docs".to_owned();
    assert_eq!(scene.state.reconsider(&same, at(200)), [], "another name changes nothing");
    let mut edited = tenant();
    edited.canaries.remove(0);
    let ended = scene.state.reconsider(&edited, at(201));
    let why = ended.first().and_then(|incident| incident.resolve_cause.as_ref()).map(|why| why.slug());
    assert_eq!((ended.len(), why), (1, Some("rule_changed")));
    assert_eq!(scene.state.signal(Signal::Access).phase, Phase::Quiet);
    assert!(matches!(scene.decided.last(), Some(Decision::Opened { .. })));
}
