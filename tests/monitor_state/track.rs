//! What canaries show over many answers: how many wrong ones in a row are an incident, and hit rates that fall.

use serin::domain::monitor::{CanaryKind, Monitor};
use serin::domain::monitor_state::Decision;
use serin::domain::paging::tell::Telling;
use serin::domain::reason::Severity;
use serin::domain::rules::After;

use crate::{EMPTY, Look, Scene, WELL, WRONG, answer, asked_back, at, docs, incident_of, with};

/// One canary's answer is wrong.
const WRONG_A: Look = |seen| seen.asks[0].result = Some(answer(&["z.md"]));

/// Beats of wrong answers until an incident opens, and what its evidence says of that number.
fn waits(scene: &mut Scene) -> (usize, String, Severity) {
    let told = scene.told.len();
    let beats = (1..=20).find(|_| {
        scene.beat(60, EMPTY);
        scene.told.len() > told
    });
    let opened = scene.decided.iter().filter_map(incident_of).next_back().unwrap();
    let after = opened.evidence.iter().find(|one| one.key == "after").unwrap().value.clone();
    (beats.unwrap(), after, opened.severity)
}

#[test]
fn a_server_that_blips_is_waited_for_longer_and_the_page_says_why() {
    let written = || with(|monitor| monitor.rules.quality.after = After::Answers(3));
    type Row<'r> = (&'r str, Monitor, &'r [(u32, u32, Look)], usize, &'r str, Severity);
    let rows: [Row<'_>; 5] = [
        ("one that never blipped", docs(), &[(400, 60, WELL)], 3, "3 (this server never blipped)", Severity::Page),
        (
            "one blip in a day",
            docs(),
            &[(1_400, 60, WELL), (1, 60, WRONG_A), (40, 60, WELL)],
            5,
            "5 (this server blips in less than 0.1 % of answers)",
            Severity::Page,
        ),
        (
            "the file's number wins",
            written(),
            &[(1_400, 60, WELL), (1, 60, WRONG_A), (40, 60, WELL)],
            3,
            "3 (as the file has it)",
            Severity::Page,
        ),
        (
            "what was told is an incident and no blip",
            docs(),
            &[(400, 60, WELL), (3, 60, EMPTY), (40, 60, WELL)],
            3,
            "3 (this server never blipped)",
            Severity::Page,
        ),
        ("one that nobody knows yet", docs(), &[], 3, "3 (this server never blipped)", Severity::Page),
    ];
    for (sentence, monitor, before, expected, after, severity) in rows {
        let mut scene = Scene::new(monitor);
        scene.beats(before);
        assert_eq!(waits(&mut scene), (expected, after.to_owned(), severity), "{sentence}");
    }
    let mut noisy = Scene::new(docs());
    for (run, times) in [(2, 12), (5, 60)] {
        for _ in 0..times {
            noisy.beats(&[(run, 60, WRONG_A), (2, 60, WELL)]);
        }
    }
    assert_eq!(noisy.told, [""; 0], "none of it was told");
    let (beats, after, severity) = waits(&mut noisy);
    assert_eq!((beats, severity), (8, Severity::Ticket), "one that blips too often wakes nobody");
    assert!(after.starts_with("8, as a ticket (this server blips in "), "{after}");
}

/// Patient enough for no single canary to be confirmed.
fn patient() -> Scene {
    Scene::new(with(|monitor| monitor.rules.quality.after = After::Answers(8)))
}

/// So often four wrong answers and a right one.
fn falls(scene: &mut Scene, times: u32) {
    for _ in 0..times {
        scene.beats(&[(4, 60, WRONG), (1, 60, WELL)]);
    }
}

#[test]
fn a_hit_rate_that_falls_is_a_ticket_until_it_is_back() {
    let mut scene = patient();
    scene.beats(&[(60, 60, WELL)]);
    falls(&mut scene, 10);
    assert_eq!(scene.told, [""; 0], "nothing is told below 200 answers");
    let mut scene = patient();
    scene.beats(&[(70, 60, WELL)]);
    falls(&mut scene, 10);
    let opened = scene.decided.iter().find_map(incident_of).unwrap().clone();
    assert_eq!((scene.told.len(), opened.severity), (1, Severity::Ticket), "{:?}", scene.told);
    assert!(scene.told[0].ends_with(" opened quality retrieval_regression"), "{:?}", scene.told);
    assert!(opened.summary.starts_with("docs: meaning canaries are answered rightly less often: "), "{opened:?}");
    assert_eq!(opened.evidence[0].key, "hit_rate.meaning", "{opened:?}");

    // After a restart: from what is kept of it.
    let mut resumed = patient();
    resumed.state.restore_incident(opened.clone(), Telling::remembered(true, Vec::new()));
    resumed.state.restore_track_record(scene.state.track_record().clone(), &scene.monitor);
    resumed.beats(&[(5, 60, WELL)]);
    assert_eq!(resumed.told, [""; 0], "what fell before a restart is neither over nor told again");
    for scene in [&mut scene, &mut resumed] {
        scene.beats(&[(80, 60, WELL)]);
        assert!(scene.told.last().unwrap().ends_with("resolved quality recovered"), "{:?}", scene.told);
    }
}

#[test]
fn sentences_that_no_longer_find_their_sources_are_a_ticket_of_their_own() {
    let found: Look = |seen| asked_back(seen, Some(1));
    let lost: Look = |seen| asked_back(seen, None);
    let mut scene = Scene::new(with(|monitor| monitor.search.harvest = true));
    scene.beats(&[(150, 60, found), (40, 60, lost)]);
    assert_eq!(scene.told, [""; 0], "nothing is told below 200 answers, of which some were wrong");
    let mut scene = Scene::new(with(|monitor| monitor.search.harvest = true));
    scene.beats(&[(200, 60, found), (30, 60, lost)]);
    let opened = scene.decided.iter().find_map(incident_of).unwrap().clone();
    assert_eq!((scene.told.len(), opened.severity), (1, Severity::Ticket), "{:?}", scene.told);
    let begins = "docs: sentences out of its own answers bring their sources back less often: ";
    assert!(opened.summary.starts_with(begins), "{}", opened.summary);
    assert_eq!(opened.evidence[0].key, "hit_rate.harvested", "{opened:?}");
    let kinds = scene.state.canary_watch(&scene.monitor).kinds;
    assert_eq!(kinds.last().map(|kind| (kind.kind, kind.score.asked)), Some((CanaryKind::Harvested, 200)));

    let mut edited = scene.monitor.clone();
    edited.search.harvest = false;
    assert_eq!(scene.state.clone().reconsider(&edited, at(scene.second)).len(), 1, "nobody asks them any more");
    scene.beats(&[(80, 60, found)]);
    assert!(scene.told.last().unwrap().ends_with("resolved quality recovered"), "{:?}", scene.told);
}

#[test]
fn harm_is_told_in_the_place_of_a_fall() {
    let mut scene = patient();
    scene.beats(&[(70, 60, WELL)]);
    falls(&mut scene, 10);
    scene.beats(&[(12, 60, EMPTY)]);
    let harm = scene.decided.iter().rev().find_map(|decision| match decision {
        Decision::Updated(incident) => Some((incident.reason.slug(), incident.severity)),
        _ => None,
    });
    assert_eq!(harm, Some(("empty_results", Severity::Page)), "{:?}", scene.told);
}

#[test]
fn blips_are_no_fall_and_other_canaries_a_new_beginning() {
    let mut scene = patient();
    scene.beats(&[(70, 60, WELL)]);
    for _ in 0..40 {
        scene.beats(&[(2, 60, WRONG), (1, 60, WELL)]);
    }
    assert_eq!(scene.told, [""; 0], "what is right by the third look was right");
    falls(&mut scene, 10);
    assert_eq!(scene.told.len(), 1, "{:?}", scene.told);
    let mut edited = scene.monitor.clone();
    edited.canaries[0].definition_hash = "another".to_owned();
    let ended = scene.state.reconsider(&edited, at(scene.second));
    assert_eq!(ended.len(), 1, "the rate of other canaries is not known to have fallen");
}
