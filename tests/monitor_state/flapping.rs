//! What opens again and again within the hour stays open until it is calm for long enough, and that is told once.

use std::time::Duration;

use serin::domain::fault::FaultKind;
use serin::domain::incident::Incident;
use serin::domain::monitor::Monitor;
use serin::domain::monitor_state::{Decision, MonitorState, TellPolicy};
use serin::domain::observation::Stage;
use serin::domain::paging::hold::HoldKind;
use serin::domain::paging::quiet::{Quiet, QuietBook};
use serin::domain::reason::Severity;
use serin::domain::route::{Escalation, Match, Route};
use serin::domain::rules::After;
use serin::domain::signal::{Level, Phase, Signal};

use crate::{EMPTY, HANGS, Look, OTHER_TOOLS, SATURATED, Scene, WELL, at, check, fails_at, heard, incident_of, with};

const RESET: Look = |seen| fails_at(seen, Stage::Connect, FaultKind::Reset);

/// One bad beat is an outage, and one good beat its end.
fn quick(monitor: &mut Monitor) {
    let rules = &mut monitor.rules;
    (rules.availability.after, rules.availability.recover_after) = (1, 1);
    rules.availability.page_after = Duration::ZERO;
    (rules.health.after, rules.health.recover_after) = (1, 1);
}

/// Three short outages, and the fourth, five minutes apart.
const FOUR: [(u32, u32, Look); 7] =
    [(1, 60, HANGS), (4, 60, WELL), (1, 60, HANGS), (4, 60, WELL), (1, 60, HANGS), (4, 60, WELL), (1, 60, HANGS)];
const TOLD_OF_FOUR: [&str; 7] = [
    "1 opened availability timeout",
    "2 resolved availability recovered",
    "6 opened availability timeout",
    "7 resolved availability recovered",
    "11 opened availability timeout",
    "12 resolved availability recovered",
    "16 opened availability timeout",
];

fn after_four(beats: &[(u32, u32, Look)], told: &[&str], sentence: &str) {
    let beats = [&FOUR, beats].concat();
    check(sentence, with(quick), &beats, &[&TOLD_OF_FOUR, told].concat());
}

#[test]
fn the_fourth_opening_stays_open_until_it_is_calm() {
    let flaps = "17 flaps availability";
    after_four(&[(15, 60, WELL)], &[flaps], "fourteen minutes of calm are not fifteen");
    after_four(&[(16, 60, WELL)], &[flaps, "32 resolved availability recovered"], "fifteen are");
    let bouts = [(3, 60, WELL), (1, 60, HANGS), (9, 60, WELL), (2, 60, HANGS), (16, 60, WELL)];
    after_four(&bouts, &[flaps, "47 resolved availability recovered"], "no bout between is told, and each begins anew");
    let lasting = [(4, 60, WELL), (30, 60, HANGS), (16, 60, WELL)];
    let told = [flaps, "36 updated availability timeout", "66 resolved availability recovered"];
    after_four(&lasting, &told, "what comes back to stay is told once more, though nothing else of it changed");
    let unseen: &[(u32, u32, Look)] = &[(5, 60, WELL), (3, 0, WELL), (11, 60, WELL)];
    after_four(unseen, &[flaps, "35 resolved availability recovered"], "time that was not seen is no calm");
    after_four(
        &[(2, 60, WELL), (1, 60, RESET), (4, 60, WELL), (2, 60, RESET), (1, 60, WELL)],
        &[flaps, "24 updated availability network_error"],
        "another cause is told as ever",
    );
    check(
        "twice the longest calm stretch is waited for",
        with(quick),
        &[(1, 60, HANGS), (13, 60, WELL), (1, 60, HANGS), (2, 60, WELL), (1, 60, HANGS), (2, 60, WELL), (1, 60, HANGS)]
            .into_iter()
            .chain([(27, 60, WELL)])
            .collect::<Vec<_>>(),
        &[
            "1 opened availability timeout",
            "2 resolved availability recovered",
            "15 opened availability timeout",
            "16 resolved availability recovered",
            "18 opened availability timeout",
            "19 resolved availability recovered",
            "21 opened availability timeout",
            "22 flaps availability",
            "48 resolved availability recovered",
        ],
    );
    let rarely: Vec<(u32, u32, Look)> = [(1, 60, HANGS), (19, 60, WELL)].into_iter().cycle().take(12).collect();
    let mut scene = Scene::new(with(quick));
    scene.beats(&rarely);
    assert_eq!(
        scene.told.iter().filter(|told| told.contains("resolved")).count(),
        6,
        "three an hour are none too many"
    );
}

#[test]
fn each_signal_that_beats_open_is_held_to_it() {
    let wrong = |monitor: &mut Monitor| {
        quick(monitor);
        monitor.rules.quality.after = After::Answers(1);
    };
    let tools = |severity: Severity| {
        move |monitor: &mut Monitor| {
            monitor.rules.contract.compatible = severity;
            monitor.rules.contract.wording = severity;
            monitor.rules.contract.breaking = severity;
        }
    };
    let rows: [(&str, Monitor, Look, bool); 4] = [
        ("what the server says of itself", with(quick), SATURATED, true),
        ("wrong answers", with(wrong), EMPTY, true),
        ("tools, where somebody has to see to them", with(tools(Severity::Page)), OTHER_TOOLS, true),
        ("notices of other tools come one by one", with(tools(Severity::Notice)), OTHER_TOOLS, false),
    ];
    for (sentence, monitor, look, expected) in rows {
        let mut scene = Scene::new(monitor);
        scene.beats(&[(2, 60, WELL)]);
        for _ in 0..5 {
            scene.beats(&[(3, 60, look), (4, 60, WELL)]);
        }
        let of = |word: &str| scene.told.iter().filter(|told| told.contains(word)).count();
        let counts = (of(" opened "), of(" resolved "), of(" flaps "));
        assert_eq!(counts, if expected { (4, 3, 1) } else { (5, 5, 0) }, "{sentence}: {:?}", scene.told);
    }
}

#[test]
fn what_flaps_says_so_and_how_far_its_calm_is() {
    let mut scene = Scene::new(with(quick));
    scene.beats(&FOUR);
    let opened = incident_of(scene.decided.last().unwrap()).unwrap().clone();
    let said = "opened 4 times in 60 min; stays open until calm for 15 min";
    assert_eq!(opened.course.flapping.map(|flapping| flapping.said()).as_deref(), Some(said), "from its opening on");
    assert_eq!(scene.state.calming(Signal::Availability), None, "it is not calm");
    scene.beats(&[(6, 60, WELL)]);
    assert_eq!(scene.state.calming(Signal::Availability).as_deref(), Some("calm for 5m of 15m"));
    assert_eq!(scene.state.clearing(Signal::Availability, &scene.monitor), None, "beats are not what it waits for");
    assert_eq!(scene.state.reading(Signal::Availability).level, Level::Calm);
    let open = scene.state.incident(Signal::Availability).unwrap();
    assert_eq!((open.id == opened.id, open.sequence), (true, 2), "one message more");
}

#[test]
fn what_flaps_and_is_calm_for_now_keeps_nothing_else_from_anybody() {
    after_four(
        &[(4, 60, WELL), (4, 60, EMPTY)],
        &["17 flaps availability", "23 opened quality empty_results"],
        "wrong answers open while it is calm, and are told",
    );
    after_four(
        &[(4, 60, WELL), (3, 60, EMPTY), (2, 60, HANGS), (2, 60, EMPTY), (4, 60, WELL)],
        &["17 flaps availability", "23 opened quality empty_results", "29 resolved quality recovered"],
        "and go on by themselves through the next bout",
    );
    let mut scene = Scene::new(with(quick));
    scene.beats(&FOUR);
    scene.beats(&[(1, 60, EMPTY), (1, 60, HANGS), (3, 60, EMPTY)]);
    assert!(scene.state.incident(Signal::Quality).is_some(), "{:?}", scene.told);
    assert!(!scene.state.as_parent(&scene.monitor, at(scene.second)).is_down, "who depends on it is not behind it");
}

/// What falls due by time just now.
fn due(scene: &mut Scene, minutes: i64) -> Vec<&'static str> {
    let escalate = vec![Escalation { after: Duration::from_secs(600), to: vec!["lead".to_owned()] }];
    let routes = [Route { remind: Some(Duration::from_secs(300)), escalate, ..heard(&[]) }];
    let (monitor, quiets) = (scene.monitor.clone(), scene.quiets.clone());
    let policy = TellPolicy { monitor: &monitor, routes: &routes, quiets: &quiets, parents: &[] };
    let due = scene.state.follow_up(policy, at(scene.second + minutes * 60));
    let slug = |decision: &Decision| match decision {
        Decision::FollowedUp { told, .. } => told.event.slug(),
        other => panic!("nothing else falls due: {other:?}"),
    };
    due.iter().map(slug).collect()
}

#[test]
fn who_does_not_take_it_is_followed_up_in_its_bouts_and_who_did_is_left_alone() {
    let mut scene = Scene::new(with(quick));
    scene.beats(&FOUR);
    scene.beats(&[(12, 60, WELL)]);
    assert_eq!(due(&mut scene, 0), [""; 0], "nobody is rung while it is calm");
    scene.beats(&[(1, 60, HANGS)]);
    assert_eq!(due(&mut scene, 0), ["incident.reminder", "incident.escalated"], "but in the next bout");

    let mut scene = Scene::new(with(quick));
    scene.beats(&FOUR);
    let id = scene.state.incident(Signal::Availability).unwrap().id.clone();
    assert!(scene.state.acknowledge(&id, "ada", at(scene.second)).is_some());
    let told = scene.told.len();
    for _ in 0..4 {
        scene.beats(&[(6, 60, WELL), (2, 60, HANGS)]);
        assert_eq!(due(&mut scene, 0), [""; 0]);
    }
    assert_eq!(scene.told[told..], ["17 flaps availability"], "its bouts ring nobody");
    let open = scene.state.incident(Signal::Availability).unwrap();
    assert_eq!((open.id == id, open.acknowledged.as_ref().map(|(by, _)| &**by)), (true, Some("ada")));
}

#[test]
fn in_a_silence_it_is_told_afterwards_that_it_flaps() {
    let mut scene = Scene::new(with(quick));
    scene.beats(&FOUR);
    let matches = Match { monitor: vec!["docs".to_owned()], ..Match::default() };
    let (by, from, until) = ("s1".to_owned(), at(scene.second), Some(at(scene.second + 270)));
    scene.quiets = QuietBook::of(vec![Quiet { kind: HoldKind::Silence, by, matches, from, until }]);
    let (monitor, routes, quiets) = (scene.monitor.clone(), [heard(&[])], scene.quiets.clone());
    let policy = TellPolicy { monitor: &monitor, routes: &routes, quiets: &quiets, parents: &[] };
    assert_eq!(scene.state.let_go(policy, at(scene.second)), []);
    scene.beats(&[(16, 60, WELL)]);
    let told = ["21 flaps availability", "32 resolved availability recovered"];
    assert_eq!(scene.told[TOLD_OF_FOUR.len()..], told);
}

#[test]
fn edits_end_what_they_no_longer_warrant_and_nothing_else() {
    let wrong = |monitor: &mut Monitor| monitor.rules.quality.after = After::Answers(1);
    let mut scene = Scene::new(with(wrong));
    for _ in 0..4 {
        scene.beats(&[(1, 60, EMPTY), (4, 60, WELL)]);
    }
    assert_eq!(scene.state.signal(Signal::Quality).phase, Phase::Clearing, "{:?}", scene.told);
    let same = scene.monitor.clone();
    assert_eq!(scene.state.clone().reconsider(&same, at(scene.second)), [], "what is calm ends in its own time");
    let without = with(|monitor| monitor.canaries.clear());
    let ended = |scene: &mut Scene, monitor: &Monitor| {
        let ended = scene.state.reconsider(monitor, at(scene.second));
        ended.iter().map(|one| one.resolve_cause.as_ref().unwrap().slug()).collect::<Vec<_>>()
    };
    assert_eq!(ended(&mut scene, &without), ["rule_changed"], "what nothing judges any more ends at once");
    scene.told.clear();
    scene.beats(&[(1, 60, EMPTY), (3, 60, WELL)]);
    assert_eq!(scene.told, ["21 opened quality empty_results", "23 resolved quality recovered"], "and counts anew");

    let mut scene = Scene::new(with(quick));
    scene.beats(&FOUR);
    scene.monitor.rules.availability.recover_after = 3;
    let edited = scene.monitor.clone();
    assert_eq!(ended(&mut scene, &edited), [""; 0]);
    scene.told.clear();
    scene.beats(&[(16, 60, WELL)]);
    assert_eq!(scene.told, ["19 flaps availability", "32 resolved availability recovered"], "an edit forgets nothing");
}

/// A state as another process puts it together from what is stored.
fn restarted(scene: &Scene, ended: &[Incident]) -> MonitorState {
    let mut state = MonitorState::new(at(scene.second));
    for incident in ended {
        state.restore_opening(incident);
    }
    let signal = Signal::Availability;
    if let Some(open) = scene.state.incident(signal) {
        state.restore_incident(open.clone(), scene.state.telling(signal).unwrap().clone());
        state.restore_opening(open);
    }
    state.restore_signal(signal, scene.state.signal(signal).clone());
    state
}

#[test]
fn another_process_goes_on_where_it_was_on_whatever_beat() {
    let bouts: Vec<(u32, u32, Look)> = FOUR
        .into_iter()
        .chain([(6, 60, WELL), (1, 60, HANGS), (16, 60, WELL), (1, 60, HANGS), (2, 60, WELL)])
        .collect();
    let mut whole = Scene::new(with(quick));
    whole.beats(&bouts);
    let beats: Vec<Look> = bouts.iter().flat_map(|(times, _, look)| vec![*look; *times as usize]).collect();
    for dies_after in 1..beats.len() {
        let mut scene = Scene::new(with(quick));
        for (beat, look) in (1..).zip(&beats) {
            scene.beat(60, look);
            if beat == dies_after {
                let resolved = scene.decided.iter().filter_map(|decision| match decision {
                    Decision::Resolved(incident) => Some(incident.clone()),
                    _ => None,
                });
                let ended: Vec<Incident> = resolved.collect();
                scene.state = restarted(&scene, &ended);
            }
        }
        assert_eq!(scene.told, whole.told, "after beat {dies_after}");
    }
    assert_eq!(whole.told.iter().filter(|told| told.contains("flaps")).count(), 2, "{:?}", whole.told);
}
