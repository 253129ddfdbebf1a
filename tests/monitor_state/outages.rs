//! A server that is down, locked or throttled: when it is told, and when not.

use serin::domain::classify::{LADDER, classify};
use serin::domain::outcome::{Evidence, Outcome, Verdict};
use serin::domain::signal::Signal;

use crate::{HANGS, LOCKED_OUT, REFUSED, SEARCH_LOCKED, Scene, THROTTLED, WELL, at, check, docs, well};

#[test]
fn a_ladder_that_ends_after_the_page_is_told_once() {
    // From which failed beat on the connectivity diagnosis is known, and what is told.
    let opened = "3 opened availability timeout";
    let rows: [(u32, &[&str], &str); 3] = [
        (2, &[opened], "known before the page, it is in the page"),
        (3, &[opened], "known with the page, too"),
        (5, &[opened, "5 looked closer at availability"], "later, it is told, and once"),
    ];
    for (known_from, told, sentence) in rows {
        let mut scene = Scene::new(docs());
        for nth in 1..=7 {
            scene.second += 60;
            let mut seen = well(at(scene.second));
            HANGS(&mut seen);
            let mut outcome = classify(&scene.monitor, &seen);
            if nth >= known_from {
                outcome.findings[0].evidence.push(Evidence::new(LADDER, "name ok".to_owned()));
            }
            scene.weigh(&seen, &outcome, 60);
        }
        assert_eq!(scene.told, told, "{sentence}");
        let open = scene.state.incident(Signal::Availability).unwrap();
        let diagnoses = open.evidence.iter().filter(|evidence| evidence.key == LADDER).count();
        assert_eq!((diagnoses, usize::try_from(open.sequence).unwrap()), (1, told.len()), "{sentence}");
    }
}

#[test]
fn an_outage_is_told_once_and_not_before_its_time() {
    check("two failures are no outage", docs(), &[(1, 60, WELL), (2, 60, REFUSED)], &[]);
    check(
        "three failures within 44 s are not told yet",
        docs(),
        &[(1, 60, WELL), (1, 60, HANGS), (1, 5, HANGS), (1, 5, HANGS), (1, 34, HANGS)],
        &[],
    );
    check(
        "the one at 45 s is",
        docs(),
        &[(1, 60, WELL), (1, 60, HANGS), (1, 5, HANGS), (1, 5, HANGS), (1, 35, HANGS)],
        &["5 opened availability timeout"],
    );
    check("45 s with two failures are not enough", docs(), &[(1, 60, WELL), (1, 60, HANGS), (1, 45, HANGS)], &[]);
    check("time unseen does not count", docs(), &[(1, 60, HANGS), (1, 0, HANGS), (3, 0, HANGS)], &[]);
    check("a blip never pages", docs(), &[(1, 60, HANGS), (1, 5, WELL), (1, 5, HANGS), (1, 60, WELL)], &[]);
    check(
        "a crash that is back in time is a restart and no page",
        docs(),
        &[(1, 60, WELL), (1, 60, REFUSED), (1, 5, REFUSED), (1, 5, REFUSED), (1, 34, WELL)],
        &["5 restarted, likely"],
    );
    check(
        "an outage ends after two good beats, and one good beat is not two",
        docs(),
        &[(4, 60, HANGS), (1, 60, WELL), (1, 60, HANGS), (2, 60, WELL)],
        &["3 opened availability timeout", "8 resolved availability recovered"],
    );
    check(
        "another cause is told after two readings",
        docs(),
        &[(3, 60, HANGS), (1, 60, REFUSED), (1, 60, HANGS), (2, 60, REFUSED)],
        &["3 opened availability timeout", "7 updated availability connection_refused"],
    );
    check(
        "causes that take turns are told every five minutes at most, and only what is so by then",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (2, 60, HANGS), (2, 60, REFUSED), (4, 60, HANGS)],
        &[
            "3 opened availability timeout",
            "5 updated availability connection_refused",
            "11 updated availability timeout",
        ],
    );
    check(
        "one that comes too soon is told when its time has come",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (6, 60, HANGS)],
        &[
            "3 opened availability timeout",
            "5 updated availability connection_refused",
            "10 updated availability timeout",
        ],
    );
    check(
        "and not at all where it is over by then",
        docs(),
        &[(3, 60, HANGS), (2, 60, REFUSED), (3, 60, HANGS), (9, 60, REFUSED)],
        &["3 opened availability timeout", "5 updated availability connection_refused"],
    );
}

#[test]
fn credentials_and_limits_are_no_outage() {
    check(
        "a refused credential is access",
        docs(),
        &[(3, 60, LOCKED_OUT), (2, 60, WELL)],
        &["3 opened access auth_rejected", "5 resolved access recovered"],
    );
    check(
        "a credential refused at the search is one cause and one incident",
        docs(),
        &[(1, 60, WELL), (8, 60, SEARCH_LOCKED)],
        &["4 opened access auth_rejected"],
    );
    check("429 is never availability", docs(), &[(6, 60, THROTTLED)], &["3 opened errors rate_limited"]);
    check(
        "429 proves nothing about credentials",
        docs(),
        &[(3, 60, LOCKED_OUT), (2, 60, THROTTLED)],
        &["3 opened access auth_rejected"],
    );
    check(
        "429 neither ends an outage nor opens anything beside it",
        docs(),
        &[(3, 60, HANGS), (5, 60, THROTTLED)],
        &["3 opened availability timeout"],
    );
}

#[test]
fn a_beat_that_was_ours_changes_nothing() {
    let mut scene = Scene::new(docs());
    scene.beats(&[(2, 60, HANGS)]);
    let before = scene.state.clone();
    let outcome = Outcome { verdict: Verdict::Unknown, findings: Vec::new(), asks: Vec::new() };
    scene.weigh(&well(at(600)), &outcome, 60);
    assert_eq!(scene.state, before, "unknown is neither good nor bad");
}
