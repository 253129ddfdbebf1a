//! What a monitor depends on: while that is down nobody is told of it, and of what it does not outlast it they are.

use serin::domain::monitor_state::{Decision, TellPolicy};
use serin::domain::paging::parent::ParentStand;
use serin::domain::signal::Signal;

use crate::{EMPTY, HANGS, Scene, WELL, at, docs, heard};

const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

fn parent(is_down: bool, is_in_doubt: bool, seen: Option<i64>) -> ParentStand {
    ParentStand { name: "db".to_owned(), is_down, is_in_doubt, seen_at: seen.map(at), verdict_within: 60 * SECOND }
}

fn down() -> ParentStand {
    parent(true, false, Some(0))
}

/// Up, and looked at as late as can be.
fn up() -> ParentStand {
    parent(false, false, Some(1_000_000))
}

fn doubted() -> ParentStand {
    parent(false, true, Some(1_000_000))
}

/// What is told without a beat, so many seconds in, and what held it.
fn told(scene: &mut Scene, second: i64) -> Vec<String> {
    let (monitor, routes, quiets, parents) =
        (scene.monitor.clone(), [heard(&[])], scene.quiets.clone(), scene.parents.clone());
    let policy = TellPolicy { monitor: &monitor, routes: &routes, quiets: &quiets, parents: &parents };
    let said = |decision: &Decision| match decision {
        Decision::Told { incident, held } => {
            format!("{} held by {}", incident.reason.slug(), held.as_ref().map_or("", |hold| &hold.by))
        }
        other => panic!("only what is told late is told without a beat: {other:?}"),
    };
    scene.state.let_go(policy, at(second)).iter().map(said).collect()
}

/// `docs`, which depends on something that stands so; down since its fifth beat.
fn fails(parent: ParentStand) -> Scene {
    let mut scene = Scene::new(docs());
    scene.parents = vec![parent];
    scene.beats(&[(2, 60, WELL), (3, 60, HANGS)]);
    scene
}

#[test]
fn while_what_it_depends_on_is_down_nobody_is_told() {
    let mut scene = fails(down());
    assert_eq!(scene.told, ["5 quietly opened availability timeout"], "it opens when it does");
    scene.beats(&[(9, 60, HANGS)]);
    assert_eq!(told(&mut scene, 900), [""; 0]);
    scene.parents = vec![up()];
    scene.beats(&[(1, 60, HANGS)]);
    assert_eq!(scene.told.len(), 1, "as soon as that is back it is given a moment");
    scene.beats(&[(2, 60, WELL)]);
    assert_eq!(scene.told.last().unwrap(), "17 resolved availability recovered", "what went with it is on record only");
}

#[test]
fn what_does_not_recover_with_it_is_told() {
    let mut scene = fails(down());
    scene.parents = vec![up()];
    scene.beats(&[(1, 60, HANGS)]);
    assert_eq!(told(&mut scene, 301), [""; 0], "not without a look");
    scene.beats(&[(2, 60, HANGS)]);
    assert_eq!(scene.told[1..], ["8 told availability timeout, held back by db"], "two looks after it");
}

#[test]
fn a_verdict_that_is_near_is_waited_for_and_no_longer() {
    // Opened at 300 s.
    let mut scene = fails(doubted());
    assert_eq!(scene.told, ["5 quietly opened availability timeout"]);
    assert_eq!(
        scene.state.next_telling(&scene.monitor, &[], at(300)),
        Some(at(360)),
        "when it is looked at without a beat"
    );
    assert_eq!(told(&mut scene, 359), [""; 0]);
    assert_eq!(told(&mut scene, 360), ["timeout held by db"], "after a minute it is told, whatever the parent does");
    assert_eq!(scene.state.next_telling(&scene.monitor, &[], at(360)), None);

    let mut scene = fails(doubted());
    scene.parents = vec![up()];
    assert_eq!(told(&mut scene, 310), ["timeout held by db"], "it is not the parent: at once");

    let mut scene = fails(doubted());
    scene.parents = vec![down()];
    assert_eq!(told(&mut scene, 310), [""; 0], "it is the parent");
    assert_eq!(told(&mut scene, 2_000), [""; 0], "for as long as that is down");
    assert_eq!(scene.state.next_telling(&scene.monitor, &[], at(310)), None);

    let mut scene = fails(parent(false, false, Some(100)));
    assert_eq!(told(&mut scene, 310), [""; 0], "one that was not looked at since may be why");
    scene.parents = vec![parent(false, false, Some(305))];
    assert_eq!(told(&mut scene, 311), ["timeout held by db"], "and is not");
}

#[test]
fn every_signal_waits_and_what_is_told_has_no_news_meanwhile() {
    let mut scene = Scene::new(docs());
    scene.parents = vec![down()];
    scene.beats(&[(2, 60, WELL), (6, 60, EMPTY)]);
    assert!(scene.told.iter().all(|told| told.contains("quietly")), "{:?}", scene.told);
    assert!(scene.state.incident(Signal::Quality).is_some());

    let mut scene = fails(up());
    assert_eq!(scene.told, ["5 opened availability timeout"], "nothing holds it");
    scene.parents = vec![down()];
    scene.beats(&[(1, 60, HANGS), (2, 60, WELL)]);
    assert_eq!(scene.told.last().unwrap(), "8 resolved availability recovered", "what was told has its end told");
}

#[test]
fn who_was_told_to_nobody_holds_nobody_back() {
    let mut scene = Scene::new(docs());
    scene.heard = vec![Signal::Latency];
    scene.beats(&[(2, 60, WELL), (3, 60, HANGS)]);
    let stand = scene.state.as_parent(&scene.monitor, at(300));
    assert!(!stand.is_down && stand.is_in_doubt, "no route tells of it: {stand:?}");
    let mut scene = fails(up());
    assert!(scene.state.as_parent(&scene.monitor, at(300)).is_down);
    scene.beats(&[(1, 60, WELL)]);
    assert!(!scene.state.as_parent(&scene.monitor, at(360)).is_down, "one that answers again is back");
}
