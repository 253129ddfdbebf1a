//! What is silenced or in maintenance opens, counts and is told to nobody, and is told when that is over.

use serin::domain::monitor::Monitor;
use serin::domain::monitor_state::{Decision, TellPolicy};
use serin::domain::paging::hold::HoldKind;
use serin::domain::paging::quiet::{Quiet, QuietBook};
use serin::domain::route::{Match, Route};
use serin::domain::signal::Signal;

use crate::{EMPTY, EMPTY_AND_SATURATED, HANGS, Look, Scene, WELL, at, docs, incident_of};

/// A silence of `docs` over these seconds.
fn silence(by: &str, from: i64, until: Option<i64>) -> Quiet {
    let matches = Match { monitor: vec!["docs".to_owned()], ..Match::default() };
    Quiet { kind: HoldKind::Silence, by: by.to_owned(), matches, from: at(from), until: until.map(at) }
}

/// A scene in which this is quiet.
fn hushed(monitor: Monitor, quiets: Vec<Quiet>) -> Scene {
    let mut scene = Scene::new(monitor);
    scene.quiets = QuietBook::of(quiets);
    scene
}

/// What is told without a beat, so many seconds in.
fn let_go(scene: &mut Scene, second: i64) -> Vec<String> {
    let routes = [Route { to: vec!["oncall".to_owned()], ..Route::default() }];
    let monitor = scene.monitor.clone();
    let policy = TellPolicy { monitor: &monitor, routes: &routes, quiets: &scene.quiets, parents: &[] };
    let decisions = scene.state.let_go(policy, at(second));
    let told = decisions.iter().map(|decision| match decision {
        Decision::Told { incident, held } => {
            let held = held.as_ref().unwrap();
            format!("{} held by {} {}", incident.reason.slug(), held.kind.slug(), held.by)
        }
        other => panic!("only what is told late is told without a beat: {other:?}"),
    });
    told.collect()
}

const SILENT: &[(u32, u32, Look)] = &[(2, 60, WELL), (6, 60, HANGS)];

#[test]
fn what_opens_in_a_silence_is_told_when_that_is_over_and_still_open() {
    let mut scene = hushed(docs(), vec![silence("s1", 0, Some(1_000))]);
    scene.beats(SILENT);
    assert_eq!(scene.told, ["5 quietly opened availability timeout"], "it opens when it does");
    let incident = scene.state.incident(Signal::Availability).unwrap().clone();
    assert_eq!(let_go(&mut scene, 999), [""; 0], "held until then");
    assert_eq!(let_go(&mut scene, 1_000), ["timeout held by silence s1"], "without another beat");
    assert_eq!(let_go(&mut scene, 1_001), [""; 0], "once");
    let open = scene.state.incident(Signal::Availability).unwrap();
    assert_eq!((&open.id, open.opened_at), (&incident.id, incident.opened_at), "with its true opening");
    scene.second = 1_001;
    scene.beats(&[(3, 60, WELL)]);
    assert!(scene.told.last().unwrap().ends_with("resolved availability recovered"), "{:?}", scene.told);
}

#[test]
fn a_beat_after_it_tells_as_well_and_what_ended_inside_is_on_record_only() {
    let mut scene = hushed(docs(), vec![silence("s1", 0, Some(560))]);
    scene.beats(&[(2, 60, WELL), (9, 60, HANGS)]);
    assert_eq!(
        scene.told,
        ["5 quietly opened availability timeout", "10 told availability timeout, held back by s1"],
        "the first beat after it"
    );
    let mut scene = hushed(docs(), vec![silence("s1", 0, Some(900))]);
    scene.beats(&[(2, 60, WELL), (4, 60, HANGS), (4, 60, WELL)]);
    assert_eq!(let_go(&mut scene, 900), [""; 0]);
    assert_eq!(scene.told, ["5 quietly opened availability timeout", "8 resolved availability recovered"]);
    let held: Vec<_> = scene.state.holds().collect();
    assert_eq!(held, [] as [&serin::domain::paging::hold::TellingHold; 0], "nothing is left of it");
}

#[test]
fn what_was_told_before_keeps_its_changes_and_has_its_end_told() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (8, 60, EMPTY)]);
    let opened = scene.told.clone();
    assert!(opened.len() == 1 && opened[0].contains(" opened quality empty_results"), "{opened:?}");
    scene.quiets = QuietBook::of(vec![silence("s1", 0, None)]);
    scene.beats(&[(10, 60, EMPTY_AND_SATURATED)]);
    assert_eq!(scene.told, opened, "no change is told while it is silenced");
    scene.quiets = QuietBook::default();
    let now = scene.second + 1;
    assert_eq!(let_go(&mut scene, now), [""; 0], "its opening was told");
    scene.beats(&[(2, 60, EMPTY_AND_SATURATED)]);
    let updated = scene.told.iter().filter(|told| told.contains("updated quality pool_saturated")).count();
    assert_eq!(updated, 1, "its change is told after it: {:?}", scene.told);
    scene.quiets = QuietBook::of(vec![silence("s2", 0, None)]);
    scene.beats(&[(40, 60, WELL)]);
    assert!(scene.told.iter().any(|told| told.contains("resolved quality")), "and its end at once: {:?}", scene.told);
}

#[test]
fn several_silences_hold_until_the_last_is_over_and_a_cause_still_counts() {
    let quiets = vec![
        silence("s1", 0, Some(1_000)),
        silence("s2", 500, Some(1_200)),
        Quiet { kind: HoldKind::Window, by: "monitors.yaml:9".to_owned(), ..silence("w", 1_150, Some(1_300)) },
    ];
    let mut scene = hushed(docs(), quiets);
    scene.beats(SILENT);
    for second in [1_000, 1_149, 1_150, 1_200, 1_299] {
        assert_eq!(let_go(&mut scene, second), [""; 0], "{second}");
    }
    let held: Vec<_> = scene.state.holds().map(|hold| (hold.by.clone(), hold.ended_at.is_some())).collect();
    let expected = [("s1", true), ("s2", true), ("monitors.yaml:9", false)];
    assert_eq!(held, expected.map(|(by, ended)| (by.to_owned(), ended)));
    assert_eq!(let_go(&mut scene, 1_300), ["timeout held by window monitors.yaml:9"]);
}

#[test]
fn a_silence_that_is_moved_or_ended_early_is_followed() {
    let mut scene = hushed(docs(), vec![silence("s1", 0, Some(1_000))]);
    scene.beats(SILENT);
    scene.quiets = QuietBook::of(vec![silence("s1", 0, Some(2_000))]);
    assert_eq!(let_go(&mut scene, 700), [""; 0]);
    assert_eq!(let_go(&mut scene, 1_500), [""; 0], "it lasts longer now");
    scene.quiets = QuietBook::default();
    assert_eq!(let_go(&mut scene, 1_501), ["timeout held by silence s1"], "ended early");
    let told = scene.decided.iter().filter_map(incident_of).count();
    assert_eq!(told, 1, "and nothing else was said: {:?}", scene.told);
}

#[test]
fn what_is_about_to_end_is_left_to_the_next_beat() {
    let mut scene = hushed(docs(), vec![silence("s1", 0, Some(600))]);
    scene.beats(&[(2, 60, WELL), (6, 60, HANGS), (1, 60, WELL)]);
    assert_eq!(let_go(&mut scene, 600), [""; 0], "one good beat of two");
    scene.second = 600;
    scene.beats(&[(1, 60, WELL)]);
    assert_eq!(scene.told[1..], ["10 resolved availability recovered"], "over: nobody was told");
    let mut scene = hushed(docs(), vec![silence("s1", 0, Some(600))]);
    scene.beats(&[(2, 60, WELL), (6, 60, HANGS), (1, 60, WELL)]);
    assert_eq!(let_go(&mut scene, 600), [""; 0]);
    scene.second = 600;
    scene.beats(&[(1, 60, HANGS)]);
    assert_eq!(scene.told[1..], ["10 told availability timeout, held back by s1"], "it went on");
}
