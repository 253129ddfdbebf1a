//! Caches of a server: what they answer says nothing of the index, and what they answer wrongly is told as theirs.

use std::time::Duration;

use serin::domain::answer::{CacheWord, Variant};
use serin::domain::monitor_state::Decision;
use serin::domain::observation::Observation;
use serin::domain::paging::tell::Telling;
use serin::domain::reason::Severity;
use serin::domain::search::FreshWay;

use crate::{Look, Scene, answers, asked_back, at, check, docs, incident_of, quick_latency, slow, with};

/// A sentence, beats as [`check`] takes them, and what is told.
type Row<'r> = (&'r str, &'r [(u32, u32, Look)], &'r [&'r str]);

/// Asked past the caches of a server that knows a way.
const FRESH: Look = |seen| ask_all(seen, Variant::Fresh);
const FRESH_WRONG: Look = |seen| {
    answers(seen, &["z.md"]);
    ask_all(seen, Variant::Fresh);
};
const FRESH_SLOW: Look = |seen| {
    slow(seen);
    ask_all(seen, Variant::Fresh);
};
/// Asked plainly, of the same server: a cache may have answered.
const PLAIN: Look = |seen| ask_all(seen, Variant::Plain);
const PLAIN_SLOW: Look = |seen| {
    slow(seen);
    ask_all(seen, Variant::Plain);
};
/// Wrong from the cache, right past it.
const CACHE_WRONG: Look = |seen| {
    let mut past = seen.asks.clone();
    past.iter_mut().for_each(|ask| ask.variant = Variant::Fresh);
    answers(seen, &["z.md"]);
    PLAIN(seen);
    seen.asks.extend(past);
};
/// A server that knows no way past its cache, and says that the cache answered.
const CACHED: Look = |seen| hit(seen);
const CACHED_WRONG: Look = |seen| {
    answers(seen, &["z.md"]);
    hit(seen);
};
const CACHED_SLOW: Look = |seen| {
    slow(seen);
    hit(seen);
};

fn ask_all(seen: &mut Observation, variant: Variant) {
    seen.tools.as_mut().unwrap().fresh = Some(FreshWay::Known("cache", r#""bypass""#));
    seen.asks.iter_mut().for_each(|ask| ask.variant = variant);
}

fn hit(seen: &mut Observation) {
    for ask in &mut seen.asks {
        ask.result.as_mut().unwrap().as_mut().unwrap().cache = CacheWord::Hit;
    }
}

#[test]
fn a_cache_hides_no_broken_index_and_no_index_a_broken_cache() {
    let rows: [Row<'_>; 6] = [
        (
            "what the cache still knows ends nothing",
            &[(3, 60, FRESH_WRONG), (9, 60, PLAIN)],
            &["3 opened quality constant_response"],
        ),
        (
            "what the index knows again does",
            &[(3, 60, FRESH_WRONG), (9, 60, PLAIN), (2, 60, FRESH)],
            &["3 opened quality constant_response", "14 resolved quality recovered"],
        ),
        (
            "a cache that is wrong is told as that, and the index does not end it",
            &[(3, 60, CACHE_WRONG), (9, 60, FRESH)],
            &["3 opened quality cache_stale"],
        ),
        (
            "but a cache that is right again",
            &[(3, 60, CACHE_WRONG), (2, 60, PLAIN)],
            &["3 opened quality cache_stale", "5 resolved quality recovered"],
        ),
        (
            "where the index turns wrong too, it is the cause",
            &[(3, 60, CACHE_WRONG), (10, 60, FRESH_WRONG)],
            &["3 opened quality cache_stale", "5 updated quality constant_response"],
        ),
        (
            "a wrong answer pages, whoever gave it",
            &[(3, 60, CACHED_WRONG), (2, 60, CACHED)],
            &["3 opened quality constant_response", "5 resolved quality recovered"],
        ),
    ];
    for (sentence, beats, told) in rows {
        check(sentence, docs(), beats, told);
    }
}

#[test]
fn a_monitor_that_sees_caches_alone_says_so() {
    let hour = (60, 60, CACHED);
    let asked_back: Look = |seen| {
        CACHED(seen);
        asked_back(seen, Some(3));
    };
    let rows: [Row<'_>; 5] = [
        ("not yet an hour", &[hour], &[]),
        (
            "a sentence out of an answer reached the index",
            &[(30, 60, CACHED), (1, 60, asked_back), (40, 60, CACHED)],
            &[],
        ),
        (
            "an hour, until the index answers once",
            &[hour, (9, 60, CACHED), (1, 60, FRESH)],
            &["61 opened quality index_unseen", "70 resolved quality recovered"],
        ),
        (
            "plain questions may end in a cache where a way past it is known",
            &[(61, 60, PLAIN)],
            &["61 opened quality index_unseen"],
        ),
        (
            "what is wrong comes before what is not seen",
            &[hour, (2, 60, CACHED), (4, 60, CACHED_WRONG)],
            &["61 opened quality index_unseen", "66 updated quality constant_response"],
        ),
    ];
    for (sentence, beats, told) in rows {
        check(sentence, docs(), beats, told);
    }
    let mut scene = Scene::new(docs());
    scene.beats(&[hour, (2, 60, CACHED)]);
    let incident = scene.decided.iter().find_map(incident_of).unwrap().clone();
    assert_eq!(incident.severity, Severity::Ticket, "nobody is woken: nothing is known to be wrong");
    assert!(
        incident.summary.contains("no search reaches the index since") && incident.summary.contains("183 answers"),
        "{}",
        incident.summary
    );
    assert!(scene.state.clone().reconsider(&scene.monitor, at(scene.second)).is_empty(), "an edit does not end it");
    let mut resumed = Scene { second: scene.second, ..Scene::new(docs()) };
    resumed.state.restore_incident(incident, Telling::remembered(true, Vec::new()));
    resumed.beats(&[(3, 60, CACHED), (1, 60, FRESH)]);
    assert_eq!(resumed.told, ["4 resolved quality recovered"], "a restart neither ends it nor tells it anew");
    let refreshed =
        resumed.decided.iter().find_map(|one| if let Decision::Refreshed(one) = one { Some(one) } else { None });
    assert!(refreshed.is_some_and(|one| one.summary.contains("186 answers")), "{refreshed:?}");
}

#[test]
fn latency_is_that_of_the_index() {
    let monitor = || with(quick_latency);
    let rows: [Row<'_>; 3] = [
        ("slow past caches", &[(4, 60, FRESH_SLOW)], &["3 opened latency latency_elevated"]),
        ("a cache is neither slow", &[(9, 60, CACHED_SLOW), (9, 60, PLAIN_SLOW)], &[]),
        ("nor fast", &[(4, 60, FRESH_SLOW), (4, 10, PLAIN), (4, 10, CACHED)], &["3 opened latency latency_elevated"]),
    ];
    for (sentence, beats, told) in rows {
        check(sentence, monitor(), beats, told);
    }
    let mut scene = Scene::new(monitor());
    scene.beats(&[(2, 60, CACHED), (1, 60, FRESH)]);
    let now = scene.state.latency.reading(&scene.monitor.rules.latency);
    assert_eq!(now.samples, 3, "only the last beat's answers came from the index: {now:?}");
    assert!(scene.monitor.rules.latency.window > Duration::from_secs(180));
}
