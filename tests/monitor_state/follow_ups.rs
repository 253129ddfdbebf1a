//! What is told by time while nobody took an incident, and who has it.

use std::time::Duration;

use serin::domain::monitor_state::{Decision, TellPolicy};
use serin::domain::paging::hold::HoldKind;
use serin::domain::paging::notification::Event;
use serin::domain::paging::quiet::{Quiet, QuietBook};
use serin::domain::reason::Severity;
use serin::domain::route::{Escalation, Match, Route};
use serin::domain::signal::Signal;

use crate::{EMPTY, HANGS, Scene, WELL, at, docs, heard};

fn routes() -> [Route; 1] {
    let step =
        |minutes: u64, to: &str| Escalation { after: Duration::from_secs(minutes * 60), to: vec![to.to_owned()] };
    let escalate = vec![step(10, "lead"), step(30, "boss")];
    [Route { remind: Some(Duration::from_secs(900)), escalate, ..heard(&[]) }]
}

/// What is told by time at a second, and when to look again, as minutes since the opening at 300 s.
fn follow_up(scene: &mut Scene, second: i64) -> (Vec<String>, Option<i64>) {
    let (monitor, routes, quiets) = (scene.monitor.clone(), routes(), scene.quiets.clone());
    let policy = TellPolicy { monitor: &monitor, routes: &routes, quiets: &quiets, parents: &[] };
    let mut decisions = scene.state.let_go(policy, at(second));
    decisions.extend(scene.state.follow_up(policy, at(second)));
    let told = decisions.iter().map(|decision| match decision {
        Decision::FollowedUp { incident, told } => {
            format!("{} {} {}", told.event.slug().trim_start_matches("incident."), told.to.join("+"), incident.sequence)
        }
        Decision::Told { .. } => "opened".to_owned(),
        other => panic!("nothing else is told without a beat: {other:?}"),
    });
    let told = told.collect();
    let next = scene.state.next_telling(&monitor, &routes, at(second));
    (told, next.map(|next| (next - at(300)).num_minutes()))
}

fn none() -> Vec<String> {
    Vec::new()
}

fn said(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Down and told at 300 s.
fn told() -> Scene {
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, WELL), (3, 60, HANGS)]);
    assert_eq!(scene.told, ["5 opened availability timeout"]);
    scene
}

#[test]
fn who_does_not_take_it_is_reminded_and_others_are_told() {
    let mut scene = told();
    assert_eq!(follow_up(&mut scene, 301), (none(), Some(10)), "the first step is next");
    assert_eq!(follow_up(&mut scene, 899), (none(), Some(10)));
    assert_eq!(follow_up(&mut scene, 900), (said(&["escalated lead 2"]), Some(15)));
    assert_eq!(follow_up(&mut scene, 901), (none(), Some(15)), "once");
    assert_eq!(follow_up(&mut scene, 1_200), (said(&["reminder oncall 3"]), Some(30)));
    scene.second = 1_200;
    scene.beats(&[(2, 60, HANGS)]);
    assert_eq!(follow_up(&mut scene, 2_100), (said(&["escalated boss 4"]), Some(45)), "beats change nothing of it");
    scene.second = 2_100;
    scene.beats(&[(1, 60, WELL)]);
    assert_eq!(follow_up(&mut scene, 9_000), (none(), None), "what is calm again is left to the next beat");
    scene.beats(&[(1, 60, HANGS)]);
    assert_eq!(follow_up(&mut scene, 9_000).0, ["reminder oncall 5"], "one for all that came meanwhile");
}

#[test]
fn who_took_it_is_left_alone_until_they_give_it_back_or_it_gets_worse() {
    let mut scene = told();
    let id = scene.state.incident(Signal::Availability).unwrap().id.clone();
    let taken = scene.state.acknowledge(&id, "ada", at(400)).unwrap();
    assert_eq!(taken.sequence, 2);
    assert_eq!(follow_up(&mut scene, 9_000), (none(), None));
    let (given, event) = scene.state.give_back(&id, at(9_000)).unwrap();
    assert_eq!((given.acknowledged, given.sequence, event), (None, 3, Some(Event::IncidentUpdated)));
    assert_eq!(scene.state.give_back(&id, at(9_001)), None, "once");
    assert_eq!(follow_up(&mut scene, 9_599).0, none(), "from then on it is counted anew");
    assert_eq!(follow_up(&mut scene, 9_600).0, ["escalated lead 4"]);
}

#[test]
fn what_gets_worse_than_what_somebody_took_is_nobodys() {
    let mut monitor = docs();
    monitor.rules.quality.severity = Severity::Ticket;
    let mut scene = Scene::new(monitor);
    scene.beats(&[(2, 60, WELL), (6, 60, EMPTY)]);
    let incident = scene.state.incident(Signal::Quality).unwrap().clone();
    scene.state.acknowledge(&incident.id, "ada", at(scene.second)).unwrap();
    scene.beats(&[(2, 60, EMPTY)]);
    assert!(scene.state.incident(Signal::Quality).unwrap().acknowledged.is_some(), "more of the same is still theirs");
    scene.monitor.rules.quality.severity = Severity::Page;
    scene.beats(&[(4, 60, EMPTY)]);
    assert!(scene.told.last().unwrap().contains("updated quality"), "{:?}", scene.told);
    let worse = scene.state.incident(Signal::Quality).unwrap();
    assert_eq!((worse.severity, &worse.acknowledged), (Severity::Page, &None), "who took a ticket has taken no page");
    assert!(worse.course.unclaimed.is_some(), "and it is followed up");
}

#[test]
fn nothing_follows_while_people_want_to_hear_nothing() {
    let mut scene = told();
    let matches = Match { monitor: vec!["docs".to_owned()], ..Match::default() };
    let by = "s1".to_owned();
    let quiet = Quiet { kind: HoldKind::Silence, by, matches, from: at(301), until: Some(at(2_000)) };
    scene.quiets = QuietBook::of(vec![quiet]);
    assert_eq!(follow_up(&mut scene, 1_500), (none(), None), "silenced");
    assert_eq!(
        follow_up(&mut scene, 2_000).0,
        ["reminder oncall 2", "escalated lead 3"],
        "what was due by then is told when that is over"
    );
}

#[test]
fn what_was_held_is_followed_up_from_when_it_was_told() {
    let mut scene = Scene::new(docs());
    let matches = Match { monitor: vec!["docs".to_owned()], ..Match::default() };
    let by = "s1".to_owned();
    let quiet = Quiet { kind: HoldKind::Silence, by, matches, from: at(0), until: Some(at(5_000)) };
    scene.quiets = QuietBook::of(vec![quiet]);
    scene.beats(&[(2, 60, WELL), (3, 60, HANGS)]);
    assert_eq!(follow_up(&mut scene, 4_000), (none(), None));
    assert_eq!(follow_up(&mut scene, 5_000).0, ["opened"]);
    assert_eq!(follow_up(&mut scene, 5_599).0, none());
    assert_eq!(follow_up(&mut scene, 5_600).0, ["escalated lead 2"]);
}
