//! What ends an incident beside recovery: accepted tools, edited rules, a monitor that is removed, somebody who takes it.

use std::sync::Arc;
use std::time::Duration;

use serin::domain::incident::ResolveCause;
use serin::domain::monitor::Monitor;
use serin::domain::observation::ToolsSeen;
use serin::domain::pinned::Pinned;
use serin::domain::signal::{Phase, Signal};
use serin::domain::tools::KnownCalls;

use crate::{EMPTY, HANGS, LOCKED_OUT, OTHER_TOOLS, REFUSED, SLOW, Scene, WELL, at, docs, quick_latency, tools, with};

#[test]
fn accepting_ends_what_is_about_the_change() {
    let seen = tools("v2");
    let accept = |scene: &mut Scene, seen: &ToolsSeen| scene.state.accept(seen, "kim", at(scene.second));
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (2, 60, OTHER_TOOLS)]);
    let ended = accept(&mut scene, &seen).and_then(|incident| incident.resolve_cause);
    assert_eq!(ended, Some(ResolveCause::Accepted));
    scene.told.clear();
    scene.beats(&[(3, 60, OTHER_TOOLS)]);
    assert_eq!(scene.told, [""; 0], "and it stays quiet");

    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (1, 60, OTHER_TOOLS)]);
    assert_eq!(accept(&mut scene, &seen), None, "nothing is open yet");
    assert_eq!(scene.state.signal(Signal::Contract).phase, Phase::Quiet, "and nothing is about to");

    let mut broken = seen;
    broken.calls = KnownCalls { known: 3, broken: 1, why: Vec::new() };
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (2, 60, OTHER_TOOLS)]);
    assert_eq!(accept(&mut scene, &broken), None, "a call that breaks is no matter of taste");
    assert!(scene.state.incident(Signal::Contract).is_some());
}

#[test]
fn a_lock_moves_what_is_accepted() {
    let seen = tools("v2");
    let pinned = Pinned {
        hash: "h".to_owned(),
        place: ("monitors.lock".to_owned(), 3),
        runs: 20,
        reached_index: true,
        tools: Some(Arc::clone(&seen.listing)),
        ..Pinned::default()
    };
    let locked = with(|monitor| monitor.pinned = Some(Arc::new(pinned.clone())));
    let drifted = || {
        let mut scene = Scene::new(docs());
        scene.beats(&[(2, 60, WELL), (2, 60, OTHER_TOOLS)]);
        assert!(scene.state.incident(Signal::Contract).is_some() && scene.state.is_behind_lock(&locked));
        scene
    };
    let mut scene = drifted();
    let ended = scene.state.take_lock(&locked, Some(&seen), at(scene.second));
    assert_eq!(ended.and_then(|incident| incident.resolve_cause), Some(ResolveCause::Accepted), "it has these tools");
    assert!(!scene.state.is_behind_lock(&locked), "and is taken once");
    assert_eq!(scene.state.tools.baseline.as_ref().unwrap().accepted_by, "monitors.lock");

    let mut scene = drifted();
    assert_eq!(scene.state.take_lock(&locked, None, at(scene.second)), None, "of what was not seen nothing ends");
    assert!(scene.state.incident(Signal::Contract).is_some());
    scene.told.clear();
    scene.beats(&[(3, 60, OTHER_TOOLS)]);
    assert_eq!(scene.told.len(), 1, "it does once they are seen: {:?}", scene.told);
    assert!(scene.told[0].contains("accepted"), "{:?}", scene.told);

    let mut scene = Scene::new(locked);
    assert_eq!(scene.state.take_lock(&scene.monitor.clone(), None, at(0)), None);
    scene.beats(&[(2, 60, WELL)]);
    assert!(scene.state.incident(Signal::Contract).is_some(), "a server that was never like the lock is told at once");
}

#[test]
fn edits_and_removal_end_what_they_no_longer_warrant() {
    let ended = |scene: &mut Scene, monitor: &Monitor| -> Vec<String> {
        let ended = scene.state.reconsider(monitor, at(scene.second));
        ended
            .iter()
            .map(|one| format!("{} {}", one.signal.slug(), one.resolve_cause.as_ref().unwrap().slug()))
            .collect()
    };
    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(3, 60, SLOW)]);
    let same = scene.monitor.clone();
    assert_eq!(ended(&mut scene, &same), [""; 0], "the same rules end nothing");
    let lenient = with(|monitor| {
        quick_latency(monitor);
        monitor.rules.latency.p95 = Duration::from_secs(5);
    });
    assert_eq!(ended(&mut scene, &lenient), ["latency rule_changed"], "a limit above the figure does");
    assert_eq!(scene.state.signal(Signal::Latency).phase, Phase::Quiet);

    let mut scene = Scene::new(with(quick_latency));
    scene.beats(&[(3, 60, SLOW), (6, 60, WELL)]);
    assert_eq!(scene.state.signal(Signal::Latency).phase, Phase::Clearing);
    assert_eq!(ended(&mut scene, &same), [""; 0], "what was clearing anyway is not ended by an edit");

    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, EMPTY)]);
    let without = with(|monitor| monitor.canaries.clear());
    assert_eq!(ended(&mut scene, &without), ["quality rule_changed"], "canaries that are gone judge nothing");

    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, LOCKED_OUT), (3, 60, HANGS)]);
    let removed = scene.state.remove(at(scene.second));
    let causes: Vec<_> = removed.iter().map(|one| one.resolve_cause.clone()).collect();
    assert_eq!(causes, [Some(ResolveCause::MonitorRemoved), Some(ResolveCause::MonitorRemoved)]);
    assert_eq!(scene.state.incidents().count(), 0);
}

#[test]
fn an_incident_is_taken_once() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(3, 60, HANGS)]);
    let taken = scene.state.acknowledge("i1", "ada", at(200)).unwrap();
    assert_eq!((taken.acknowledged.unwrap().0.as_str(), taken.sequence), ("ada", 2));
    assert_eq!(scene.state.acknowledge("i1", "bob", at(201)), None, "the first to take it has it");
    assert_eq!(scene.state.acknowledge("i9", "bob", at(201)), None, "nobody takes what is not open");
    scene.beats(&[(2, 60, REFUSED)]);
    let updated = scene.state.incident(Signal::Availability).unwrap();
    assert_eq!(updated.sequence, 3, "what comes after is told after it");
    assert_eq!(updated.acknowledged.as_ref().unwrap().0, "ada", "and it stays taken");
}
