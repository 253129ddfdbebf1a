//! What canaries find: judged over several beats, told as far as it reaches, and no longer claimed afterwards.

use std::time::Duration;

use serin::domain::answer::{Ask, Turn};
use serin::domain::incident::Incident;
use serin::domain::monitor::{Canary, CanaryKind, Monitor};
use serin::domain::monitor_state::{CanaryScore, Decision, MonitorState};
use serin::domain::paging::tell::Telling;
use serin::domain::reason::Severity;
use serin::domain::rules::After;
use serin::domain::signal::Signal;

use crate::{
    EMPTY, EMPTY_AND_SATURATED, HANGS, SATURATED, SAYS_WRONG, Scene, TOOL_ERRORS, WELL, WRONG, WRONG_AND_SAYS_SO,
    WRONG_AND_UNHEALTHY, answer, ask, at, canary, check, docs, incident_of, with,
};

#[test]
fn answers_are_judged_over_several_beats() {
    check("twice empty is not three times", docs(), &[(1, 60, WELL), (2, 60, EMPTY), (1, 60, WELL)], &[]);
    check(
        "three times is, and two right answers end it",
        docs(),
        &[(3, 60, EMPTY), (2, 60, WELL)],
        &["3 opened quality empty_results", "5 resolved quality recovered"],
    );
    check(
        "a cause that the server names beats the symptom",
        docs(),
        &[(3, 60, EMPTY_AND_SATURATED)],
        &["3 opened quality pool_saturated"],
    );
    check(
        "a search that does not answer says nothing of quality",
        docs(),
        &[(2, 60, EMPTY), (1, 60, HANGS), (1, 60, EMPTY)],
        &["4 opened quality empty_results"],
    );
    check(
        "failing searches are errors",
        docs(),
        &[(1, 60, WELL), (1, 60, TOOL_ERRORS)],
        &["2 opened errors elevated_error_rate"],
    );
    check(
        "errors that are open neither end nor come again while the server cannot be reached",
        docs(),
        &[(1, 60, TOOL_ERRORS), (9, 60, HANGS)],
        &["1 opened errors elevated_error_rate", "4 opened availability timeout"],
    );
}

#[test]
fn the_servers_own_word_opens_by_itself_only_where_nothing_carries_it() {
    check("three bad words open", docs(), &[(3, 60, SATURATED)], &["3 opened health pool_saturated"]);
    check(
        "a quality incident of the same cause stands under it and is not told",
        docs(),
        &[(3, 60, SATURATED), (3, 60, EMPTY_AND_SATURATED)],
        &["3 opened health pool_saturated", "6 quietly opened quality pool_saturated"],
    );
    check(
        "a page that a ticket would explain is told",
        with(|monitor| monitor.rules.health.severity = Severity::Ticket),
        &[(3, 60, SATURATED), (3, 60, EMPTY_AND_SATURATED)],
        &["3 opened health pool_saturated", "6 opened quality pool_saturated"],
    );
    check(
        "it is held while quality carries its cause, and opens by itself afterwards",
        docs(),
        &[(4, 60, EMPTY_AND_SATURATED), (2, 60, SATURATED), (1, 60, SATURATED)],
        &["3 opened quality pool_saturated", "6 resolved quality recovered", "6 opened health pool_saturated"],
    );
    check(
        "an old ticket about something else does not hide the server's alarm",
        docs(),
        &[(4, 60, WRONG), (3, 60, WRONG_AND_UNHEALTHY)],
        &["3 opened quality constant_response", "7 opened health unhealthy"],
    );
    check(
        "an unlisted word that came with the symptom is in its evidence already",
        docs(),
        &[(8, 60, WRONG_AND_UNHEALTHY)],
        &["3 opened quality constant_response"],
    );
}

#[test]
fn what_the_server_says_of_its_answers_is_what_canaries_see() {
    check("it is taken as said", docs(), &[(3, 60, SAYS_WRONG)], &["3 opened health wrong_results"]);
    check(
        "canaries that see what it means stand under it, and nobody is told twice",
        docs(),
        &[(3, 60, SAYS_WRONG), (3, 60, WRONG_AND_SAYS_SO)],
        &["3 opened health wrong_results", "6 quietly opened quality constant_response"],
    );
    check(
        "what canaries see is named by what they see, and told once",
        docs(),
        &[(8, 60, WRONG_AND_SAYS_SO)],
        &["3 opened quality constant_response"],
    );
}

/// As [`Scene`], told with words: what each canary, by its place, is heard to answer on each beat.
///
/// `e` nothing, `w` another source, `r` the right one, `-` not asked.
fn heard(scene: &mut Scene, beats: &[(u32, u32, &str)]) {
    for (times, after, answers) in beats {
        for _ in 0..*times {
            scene.beat(*after, |seen| {
                let asked = answers.chars().enumerate().filter(|(_, word)| *word != '-');
                let one = |(at, word): (usize, char)| {
                    let own = format!("z{at}.md");
                    let sources: &[&str] = match word {
                        'e' => &[],
                        'w' => &[&own],
                        _ => &["a.md"],
                    };
                    ask(&format!("c{at:02}"), answer(sources))
                };
                seen.asks = asked.map(one).collect();
            });
        }
    }
}

/// So many canaries, of which a beat asks one.
fn canaries(count: usize) -> Monitor {
    with(|monitor| {
        monitor.canaries = (0..count).map(|at| canary(&format!("c{at:02}"))).collect();
        monitor.search.per_beat = 1;
    })
}

/// What was told, each with its beat and its count, such as `3 opened: searches come back empty: 1 of 6 asked`.
fn sentences(scene: &Scene) -> Vec<String> {
    let count = |incident: &Incident| {
        let said = incident.summary.trim_start_matches("docs: ");
        said.split_once(" since ").map_or(said, |(count, _)| count).to_owned()
    };
    let beat = |second: i64| second / 60;
    let told = scene.decided.iter().zip(&scene.moments).filter_map(|(decision, second)| match decision {
        Decision::Opened { incident, .. } => Some(format!("{} opened: {}", beat(*second), count(incident))),
        Decision::Updated(incident) => Some(format!("{} updated: {}", beat(*second), count(incident))),
        Decision::Resolved(incident) => Some(format!("{} resolved: {}", beat(*second), count(incident))),
        _ => None,
    });
    told.collect()
}

fn check_heard(sentence: &str, count: usize, beats: &[(u32, u32, &str)], told: &[&str]) {
    let mut scene = Scene::new(canaries(count));
    heard(&mut scene, beats);
    assert_eq!(sentences(&scene), told, "{sentence}");
}

#[test]
fn an_update_tells_how_far_it_reaches_and_nothing_that_is_over() {
    check_heard(
        "what all answer is told with the page",
        5,
        &[(1, 60, "e----"), (1, 60, "eee--"), (1, 60, "ee-ee")],
        &["3 opened: every search comes back empty: 5 of 5 asked"],
    );
    check_heard(
        "what was not asked does not count",
        5,
        &[(1, 60, "rrrrr"), (1, 60, "e----"), (1, 60, "ee---"), (1, 60, "ee---")],
        &["4 opened: searches come back empty: 2 of 2 asked"],
    );
    check_heard(
        "some, half and all, each once it was seen twice, and five minutes apart",
        6,
        &[(3, 60, "errrrr"), (2, 60, "eeerrr"), (9, 60, "eeeeee")],
        &[
            "3 opened: searches come back empty: 1 of 6 asked",
            "5 updated: searches come back empty: 3 of 6 asked",
            "10 updated: every search comes back empty: 6 of 6 asked",
        ],
    );
    check_heard(
        "within a third or a half nothing is news",
        6,
        &[(3, 60, "errrrr"), (9, 60, "eerrrr")],
        &["3 opened: searches come back empty: 1 of 6 asked"],
    );
    check_heard(
        "a canary that is wrong once crosses nothing",
        6,
        &[(3, 60, "eerrrr"), (1, 60, "eeerrr"), (9, 60, "eerrrr")],
        &["3 opened: searches come back empty: 2 of 6 asked"],
    );
    check_heard(
        "what is back to what was told when its time has come is not told",
        6,
        &[(3, 60, "errrrr"), (2, 60, "eeerrr"), (3, 60, "eeeeee"), (9, 60, "eeerrr")],
        &["3 opened: searches come back empty: 1 of 6 asked", "5 updated: searches come back empty: 3 of 6 asked"],
    );
    check_heard(
        "less is news too",
        6,
        &[(3, 60, "eeeeee"), (3, 60, "errrrr")],
        &["3 opened: every search comes back empty: 6 of 6 asked", "5 updated: searches come back empty: 1 of 6 asked"],
    );
}

#[test]
fn after_recovery_nothing_is_claimed() {
    let (all, gone) = ("eeeeeeeeeeeeewww", "3 opened: searches come back empty: 13 of 16 asked");
    check_heard(
        "three that were not asked again are not said to be wrong",
        16,
        &[(3, 60, all), (2, 60, "rrrrrrrr--------"), (6, 60, "--------rrrrr---"), (2, 60, "-------------rrr")],
        &[gone, "13 resolved: searches came back empty: 13 of 16 asked"],
    );
    check_heard(
        "three that are asked again and still wrong are",
        16,
        &[(3, 60, all), (2, 60, "rrrrrrrr--------"), (2, 60, "--------rrrrrwww")],
        &[gone, "7 updated: searches lost their source: 3 of 16 asked"],
    );
    let mut scene = Scene::new(canaries(16));
    heard(&mut scene, &[(3, 60, all), (2, 60, "rrrrrrrr--------")]);
    let open = scene.state.incident(Signal::Quality).unwrap();
    assert!(open.summary.contains("answers turn right: 8 of 16 asked since "), "{}", open.summary);
    assert!(open.summary.contains(", 8 to be asked again"), "{}", open.summary);
    let (unheard, share) = scene.state.wants_hearing(&scene.monitor);
    assert_eq!((unheard.len(), share), (8, 8), "and they are asked at once");
}

#[test]
fn what_an_incident_was_at_its_worst_is_what_its_end_tells() {
    let mut scene = Scene::new(canaries(4));
    heard(&mut scene, &[(3, 60, "err-"), (8, 60, "eeee"), (8, 60, "eerr"), (2, 60, "rrrr")]);
    let ended = scene.decided.iter().rev().filter_map(incident_of).next().unwrap();
    let value = |key: &str| ended.evidence.iter().find(|one| one.key == key).map(|one| one.value.as_str());
    assert!(ended.summary.starts_with("docs: every search came back empty: 4 of 4 asked since "), "{ended:#?}");
    assert_eq!((value("asked"), value("wrong"), value("not_asked")), (Some("4"), Some("4"), Some("0")));
    assert!(value("canary.c03").is_some_and(|said| said.starts_with("empty_results: ")), "{ended:#?}");
}

/// Another process takes over: what the store keeps is there, what it does not is not.
fn restarted(scene: &mut Scene) {
    let before = std::mem::replace(&mut scene.state, MonitorState::new(at(scene.second + 1)));
    for signal in Signal::ALL {
        scene.state.restore_signal(signal, before.signal(signal).clone());
    }
    for incident in before.incidents() {
        let known = before.telling(incident.signal).unwrap();
        scene.state.restore_incident(incident.clone(), Telling::remembered(known.told, known.holds.clone()));
    }
    scene.state.canaries = before.canaries;
}

#[test]
fn a_change_that_waits_is_told_by_the_next_process_too() {
    let mut scene = Scene::new(canaries(6));
    heard(&mut scene, &[(3, 60, "errrrr"), (2, 60, "eeerrr"), (2, 60, "eeeeee")]);
    restarted(&mut scene);
    let (unheard, _) = scene.state.wants_hearing(&scene.monitor);
    assert_eq!(unheard.len(), 6, "what was wrong before is asked once more");
    heard(&mut scene, &[(8, 60, "eeeeee")]);
    assert_eq!(
        sentences(&scene),
        [
            "3 opened: searches come back empty: 1 of 6 asked",
            "5 updated: searches come back empty: 3 of 6 asked",
            "10 updated: every search comes back empty: 6 of 6 asked",
        ],
        "once, and not before its time"
    );
    restarted(&mut scene);
    heard(&mut scene, &[(1, 60, "-----e"), (9, 60, "eeeeee")]);
    assert_eq!(sentences(&scene).len(), 3, "what was told is not told again");
}

#[test]
fn a_fault_in_doubt_wants_everybody_heard_before_the_page() {
    /// Beats, who is wanted, how many of them by the next beat, a sentence.
    type Row<'a> = (&'a [(u32, u32, &'a str)], &'a str, usize, &'a str);
    let wants = |beats: &[(u32, u32, &str)]| {
        let mut scene = Scene::new(canaries(5));
        heard(&mut scene, beats);
        let (unheard, share) = scene.state.wants_hearing(&scene.monitor);
        (unheard.join(" "), share)
    };
    let rows: [Row<'_>; 8] = [
        (&[(3, 60, "rrrrr")], "", 0, "nobody, where nothing is in doubt"),
        (&[(1, 60, "rrrrr"), (1, 60, "e----")], "c01 c02 c03 c04", 2, "two beats are left for four"),
        (&[(1, 60, "e----"), (1, 60, "e-r--")], "c01 c03 c04", 3, "one is left for three"),
        (&[(1, 60, "e----"), (1, 60, "eerrr")], "", 0, "all were heard"),
        (&[(1, 60, "e----"), (1, 60, "r----")], "", 0, "it was a blip"),
        (&[(3, 60, "e----")], "c01 c02 c03 c04", 4, "the page went out without them, and still"),
        (&[(3, 60, "errrr"), (1, 60, "e----")], "", 0, "nothing changes, and the round will come by"),
        (&[(3, 60, "errrr"), (1, 60, "ee-e-")], "c02 c04", 2, "a change is about to be told"),
    ];
    for (beats, unheard, share, sentence) in rows {
        assert_eq!(wants(beats), (unheard.to_owned(), share), "{sentence}");
    }
}

#[test]
fn a_clock_that_is_set_back_hides_no_page() {
    let mut scene = Scene::new(canaries(3));
    heard(&mut scene, &[(2, 60, "e--")]);
    scene.second -= 3_600;
    heard(&mut scene, &[(1, 60, "ee-")]);
    scene.second -= 3_600;
    heard(&mut scene, &[(3, 60, "eee")]);
    let said: Vec<String> = sentences(&scene).iter().map(|one| one.split_once(' ').unwrap().1.to_owned()).collect();
    assert_eq!(said, ["opened: searches come back empty: 2 of 2 asked"], "and nothing is claimed that was not asked");
    let open = scene.state.incident(Signal::Quality).unwrap();
    assert!(open.summary.contains("every search comes back empty: 3 of 3 asked"), "{}", open.summary);
}

#[test]
fn while_something_is_in_doubt_only_what_was_heard_of_it_counts() {
    let mut monitor = with(|monitor| monitor.rules.quality.after = After::Answers(3));
    monitor.canaries.push(Canary { kind: CanaryKind::Negative, ..canary("nothing") });
    let mut scene = Scene::new(monitor);
    let mut beat = |asked: &[&str], sources: &[&str]| {
        scene.beat(60, |seen| {
            seen.asks = asked.iter().map(|id| ask(id, answer(sources))).collect();
            let unasked = Ask { turn: Turn::NotAsked, elapsed: Duration::ZERO, result: None, ..ask("b", answer(&[])) };
            seen.asks.extend(Some(unasked).filter(|_| !asked.contains(&"b")));
        });
        let CanaryScore { right, asked, not_asked, since } = scene.state.canary_score(&scene.monitor.canaries);
        let kinds = scene.state.canary_watch(&scene.monitor).kinds;
        let of_kinds = kinds.iter().map(|kind| kind.score).fold((0, 0, 0), |sum, score| {
            assert_eq!(score.since, since, "each kind counts from where all do");
            (sum.0 + score.right, sum.1 + score.asked, sum.2 + score.not_asked)
        });
        assert_eq!((of_kinds, kinds.len()), ((right, asked, not_asked), 2), "kinds add up to the whole");
        assert_eq!(scene.state.canaries.get("b").map(|known| known.elapsed), Some(Duration::from_millis(20)));
        (right, asked, not_asked, since.is_some(), scene.state.is_in_doubt())
    };
    assert_eq!(beat(&["a", "b"], &["a.md"]), (2, 2, 2, false, false), "all that answered, and nothing is in doubt");
    assert_eq!(beat(&["c", "nothing"], &[]), (0, 1, 2, true, true), "a question about nothing is no sign of health");
    assert_eq!(beat(&["a", "c"], &["a.md"]), (4, 4, 0, false, false), "right again: what was answered last counts");
    assert_eq!(beat(&["a", "c"], &[]), (0, 2, 1, true, true), "of four only two were heard since");
    beat(&["a", "c"], &[]);
    assert_eq!(beat(&["a", "c"], &[]), (0, 2, 1, true, false), "told: no doubt any more");
}
