//! One cause, one page: what an incident explains is not told while it is open, and told where it outlasts it.

use std::time::Duration;

use serin::domain::fault::FaultKind;
use serin::domain::monitor::Monitor;
use serin::domain::monitor_state::{Decision, MonitorState};
use serin::domain::paging::tell::Telling;
use serin::domain::reason::Severity;
use serin::domain::signal::Signal;

use crate::{
    HANGS, LOCKED_OUT, Look, SATURATED, Scene, TOOL_ERRORS, WELL, at, check, docs, fail_asks, says, tools, with,
};

/// The declared search no longer fits the tool, and every call fails.
const BROKEN: Look = |seen| {
    let mut list = tools("v2");
    list.invalid_call = Some("`query` is gone".to_owned());
    seen.tools = Some(list);
    fail_asks(seen, FaultKind::ToolError);
};
const UNREACHABLE_STORE: Look = |seen| seen.health = vec![says(false, Some("vector_store_unreachable"), None)];

#[test]
fn a_schema_that_breaks_the_calls_is_one_page() {
    let opened = ["3 quietly opened errors elevated_error_rate", "4 opened contract schema_drift"];
    check("calls fail at once, the schema is looked at twice", docs(), &[(2, 60, WELL), (9, 60, BROKEN)], &opened);
    check(
        "what ends with its cause was told to nobody",
        docs(),
        &[(2, 60, WELL), (4, 60, BROKEN), (34, 60, WELL)],
        &[&opened[..], &["8 resolved contract recovered", "37 resolved errors recovered"]].concat(),
    );
    check(
        "what outlasts it is told after two looks of its own",
        docs(),
        &[(2, 60, WELL), (4, 60, BROKEN), (6, 60, TOOL_ERRORS)],
        &[&opened[..], &["8 resolved contract recovered", "10 told errors elevated_error_rate, held back by i2"]]
            .concat(),
    );
    check(
        "and only looks that show it count",
        docs(),
        &[(2, 60, WELL), (4, 60, BROKEN), (4, 60, WELL), (1, 60, TOOL_ERRORS), (3, 60, WELL), (1, 60, TOOL_ERRORS)],
        &[&opened[..], &["8 resolved contract recovered", "15 told errors elevated_error_rate, held back by i2"]]
            .concat(),
    );
    check(
        "a cause that was none is waited for no longer than its second look",
        docs(),
        &[(2, 60, WELL), (1, 60, BROKEN), (1, 60, TOOL_ERRORS)],
        &["3 quietly opened errors elevated_error_rate", "4 told errors elevated_error_rate"],
    );
    check(
        "what is over by then is not told",
        docs(),
        &[(2, 60, WELL), (1, 60, BROKEN), (33, 60, WELL)],
        &["3 quietly opened errors elevated_error_rate", "34 resolved errors recovered"],
    );
    check(
        "nobody waits an hour for a second look",
        with(|monitor| monitor.every = Duration::from_secs(3_600)),
        &[(2, 3_600, WELL), (2, 3_600, BROKEN)],
        &["3 opened errors elevated_error_rate", "4 opened contract schema_drift"],
    );
    check(
        "a ticket hides no page",
        with(|monitor| monitor.rules.contract.breaking = Severity::Ticket),
        &[(2, 60, WELL), (3, 60, BROKEN)],
        &["3 opened errors elevated_error_rate", "4 opened contract schema_drift"],
    );
    check(
        "what was told before its cause was known has its end told",
        docs(),
        &[(1, 60, TOOL_ERRORS), (3, 60, LOCKED_OUT), (34, 60, WELL)],
        &[
            "1 opened errors elevated_error_rate",
            "4 opened access auth_rejected",
            "6 resolved access recovered",
            "32 resolved errors recovered",
        ],
    );
}

#[test]
fn while_a_server_is_down_nothing_more_is_told_of_what_was_open() {
    let before = ["3 opened health pool_saturated", "6 opened availability timeout"];
    check(
        "another cause that is seen between is told after the outage, where it is still so",
        docs(),
        &[
            (3, 60, SATURATED),
            (3, 60, HANGS),
            (1, 60, UNREACHABLE_STORE),
            (1, 60, HANGS),
            (1, 60, UNREACHABLE_STORE),
            (1, 60, HANGS),
            (3, 60, UNREACHABLE_STORE),
        ],
        &[&before[..], &["12 resolved availability recovered", "12 updated health vector_store_unreachable"]].concat(),
    );
    check(
        "and not where it is not",
        docs(),
        &[
            (3, 60, SATURATED),
            (3, 60, HANGS),
            (1, 60, UNREACHABLE_STORE),
            (1, 60, HANGS),
            (1, 60, UNREACHABLE_STORE),
            (1, 60, HANGS),
            (9, 60, SATURATED),
        ],
        &[&before[..], &["12 resolved availability recovered"]].concat(),
    );
}

/// A scene in which errors are open and told to nobody, since the schema explains them.
fn explained(monitor: Monitor) -> Scene {
    let mut scene = Scene::new(monitor);
    scene.beats(&[(2, 60, WELL), (4, 60, BROKEN)]);
    scene.told.clear();
    scene
}

/// Another process takes over, with what the store keeps of telling.
fn restarted(scene: &mut Scene) {
    let before = std::mem::replace(&mut scene.state, MonitorState::new(at(scene.second + 1)));
    for signal in Signal::ALL {
        scene.state.restore_signal(signal, before.signal(signal).clone());
    }
    for incident in before.incidents() {
        let known = before.telling(incident.signal).unwrap();
        scene.state.restore_incident(incident.clone(), Telling::remembered(known.told, known.holds.clone()));
    }
    (scene.state.tools, scene.state.errors) = (before.tools, before.errors);
}

#[test]
fn a_hold_says_what_it_is_by_and_from_when_to_when() {
    let mut scene = explained(docs());
    let telling = scene.state.telling(Signal::Errors).unwrap().clone();
    let errors = scene.state.incident(Signal::Errors).unwrap().id.clone();
    let held: Vec<_> =
        telling.holds.iter().map(|hold| (&*hold.incident, &*hold.by, hold.since, hold.ended_at)).collect();
    assert_eq!(held, [(&*errors, "i2", at(240), None)], "since it was told of what explains it");
    assert!(!telling.told);
    scene.beats(&[(5, 60, TOOL_ERRORS)]);
    let told = scene.decided.iter().find_map(|decision| match decision {
        Decision::Told { incident, held } => Some((incident.opened_at, held.clone().unwrap())),
        _ => None,
    });
    let (opened_at, held) = told.unwrap();
    assert_eq!(opened_at, at(180), "it opened when it did");
    assert_eq!((held.since, held.ended_at), (at(240), Some(at(480))), "and was held until its cause was over");
    let open = scene.state.incident(Signal::Errors).unwrap();
    assert!(open.summary.contains("24 of 30"), "and is told as it was then: {}", open.summary);
}

#[test]
fn a_restart_neither_forgets_a_hold_nor_tells_twice() {
    let mut scene = explained(docs());
    restarted(&mut scene);
    scene.beats(&[(2, 60, BROKEN)]);
    assert_eq!(scene.told, [""; 0], "held on");
    scene.beats(&[(2, 60, TOOL_ERRORS)]);
    assert_eq!(scene.told, ["10 resolved contract recovered"]);
    restarted(&mut scene);
    scene.beats(&[(2, 60, TOOL_ERRORS)]);
    assert_eq!(scene.told[1..], ["12 told errors elevated_error_rate, held back by i2"], "after two looks of its own");
    restarted(&mut scene);
    scene.beats(&[(4, 60, TOOL_ERRORS)]);
    assert_eq!(scene.told.len(), 2, "and once: {:?}", scene.told);
}

#[test]
fn who_takes_what_is_held_keeps_it_and_it_is_told_all_the_same() {
    let mut scene = explained(docs());
    let errors = scene.state.incident(Signal::Errors).unwrap().id.clone();
    let taken = scene.state.acknowledge(&errors, "ada", at(scene.second)).unwrap();
    assert_eq!(taken.sequence, 1, "there is no message to come after");
    scene.beats(&[(5, 60, TOOL_ERRORS)]);
    let told = scene.decided.iter().find_map(|decision| match decision {
        Decision::Told { incident, .. } => Some(incident),
        _ => None,
    });
    assert_eq!(told.unwrap().acknowledged.as_ref().map(|(who, _)| &**who), Some("ada"));
}

#[test]
fn an_edit_or_a_removal_ends_cause_and_symptom_alike() {
    let mut scene = explained(docs());
    let ended: Vec<_> = scene.state.remove(at(scene.second)).into_iter().map(|one| one.signal).collect();
    assert_eq!(ended, [Signal::Errors, Signal::Contract]);
    let mut scene = explained(docs());
    let lenient = with(|monitor| monitor.rules.errors.share = 2.0);
    let ended: Vec<_> = scene.state.reconsider(&lenient, at(scene.second)).into_iter().map(|one| one.signal).collect();
    assert_eq!(ended, [Signal::Errors], "what an edit no longer warrants ends, held or not");
}

#[test]
fn what_no_route_brings_to_anybody_explains_nothing() {
    let mut scene = Scene::new(docs());
    scene.heard = vec![Signal::Errors];
    scene.beats(&[(2, 60, WELL), (4, 60, BROKEN)]);
    assert_eq!(
        scene.told,
        [
            "3 quietly opened errors elevated_error_rate",
            "4 quietly opened contract schema_drift",
            "4 told errors elevated_error_rate"
        ],
        "nobody would hear of either"
    );
}
