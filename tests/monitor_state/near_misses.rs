//! Two questions that look alike: a cache that gives both one list is told, an index that does is not.

use std::sync::Arc;

use serin::domain::answer::Variant;
use serin::domain::monitor::Monitor;
use serin::domain::near_miss::NearMiss;
use serin::domain::observation::Observation;
use serin::domain::pinned::PinnedCanary;
use serin::domain::reason::Severity;
use serin::domain::search::FreshWay;
use serin::domain::signal::Signal;

use crate::changes::{lock, restarted};
use crate::{Scene, answer, ask, at, incident_of, with};

/// Canaries of which the first two are a pair, all right with the source that both share.
fn paired() -> Monitor {
    with(|monitor| {
        monitor.near_misses = vec![NearMiss { canary: "a".to_owned(), other: "b".to_owned() }];
    })
}

const OWN: [[&str; 3]; 2] = [["a.md", "on.md", "x.md"], ["off.md", "a.md", "y.md"]];

/// A server whose caches can be passed: `.` the index alone is asked; the pair plainly as well, with two lists `t`, or both
/// with the first one's `m`; `M` the same where the index gives both one list, `1` where only one of both is asked plainly,
/// `w` where another canary is wrong, `e` where nothing is found.
fn past_caches(seen: &mut Observation, look: char) {
    seen.tools.as_mut().unwrap().fresh = Some(FreshWay::Known("cache", r#""bypass""#));
    let index = |nth: usize| if look == 'M' { OWN[0] } else { OWN[nth] };
    seen.asks = vec![ask("a", answer(&index(0))), ask("b", answer(&index(1))), ask("c", answer(&["a.md"]))];
    if look == 'w' {
        seen.asks[1].result = Some(answer(&["z.md"]));
    }
    seen.asks.iter_mut().for_each(|ask| ask.variant = Variant::Fresh);
    let cached = |nth: usize| match look {
        't' => OWN[nth].to_vec(),
        'e' => Vec::new(),
        _ => OWN[0].to_vec(),
    };
    match look {
        '.' => {}
        '1' => seen.asks.push(ask("a", answer(&cached(0)))),
        _ => seen.asks.extend([ask("a", answer(&cached(0))), ask("b", answer(&cached(1)))]),
    }
}

#[test]
fn one_list_for_both_is_told_where_three_of_five_looks_saw_it() {
    let told = "4 opened quality cache_false_hit";
    let rows: [(&str, &str, &[&str]); 9] = [
        ("three looks", ".mmm", &[told]),
        ("two are chance", ".mmttttt", &[]),
        ("three of five, as where one cache of several does it", ".mtmtm", &["6 opened quality cache_false_hit"]),
        ("three of seven are not", ".mttmttm", &[]),
        ("beats that did not ask both say nothing", ".m..1m.m", &["8 opened quality cache_false_hit"]),
        ("an index that gives both one list means it", ".MMMMM", &[]),
        ("what is wrong is told as harm", ".www", &["4 opened quality wrong_results"]),
        ("it is over once most looks bring two lists", ".mmmtttt", &[told, "8 resolved quality recovered"]),
        ("and not before", ".mmmtt", &[told]),
    ];
    for (sentence, looks, told) in rows {
        let mut scene = Scene::new(paired());
        looks.chars().for_each(|look| scene.beat(60, |seen| past_caches(seen, look)));
        assert_eq!(scene.told, told, "{sentence}");
    }
    let mut scene = Scene::new(paired());
    ".mmm".chars().for_each(|look| scene.beat(60, |seen| past_caches(seen, look)));
    let incident = scene.decided.iter().find_map(incident_of).unwrap().clone();
    assert_eq!(incident.severity, Severity::Ticket, "no canary lost its source");
    let value = |key: &str| incident.evidence.iter().find(|one| one.key == key).map(|one| one.value.as_str());
    assert_eq!((value("pair"), value("mixed_up")), (Some("a b"), Some("in 3 of the last 5 looks")));
    assert!(incident.summary.contains("'a' and 'b'"), "{}", incident.summary);
    restarted(&mut scene);
    "mm".chars().for_each(|look| scene.beat(60, |seen| past_caches(seen, look)));
    assert_eq!(scene.told.len(), 1, "a restart tells it no second time, and is no recovery: {:?}", scene.told);
    scene.monitor.near_misses.clear();
    let ended = scene.state.reconsider(&scene.monitor, at(scene.second));
    assert_eq!(ended.len(), 1, "a pair that is none any more ends it");
    assert!(scene.state.incident(Signal::Quality).is_none());
}

#[test]
fn without_a_way_past_caches_the_lock_says_which_list_belongs_to_whom() {
    let pinned = |nth: usize| {
        let list = OWN[nth].map(str::to_owned).to_vec();
        let definition_hash = ["a", "b"][nth].to_owned();
        (
            definition_hash.clone(),
            PinnedCanary { definition_hash, lists: vec![list], results: (3, 3), ..PinnedCanary::default() },
        )
    };
    let with_lock = || {
        let mut monitor = paired();
        let mut lock = lock("one");
        lock.canaries = [pinned(0), pinned(1)].into();
        monitor.pinned = Some(Arc::new(lock));
        monitor
    };
    type Row<'r> = (&'r str, Monitor, [&'r [&'r str]; 2], &'r [&'r str]);
    let rows: [Row<'_>; 4] = [
        ("the one's list for both", with_lock(), [&OWN[0], &OWN[0]], &["3 opened quality cache_false_hit"]),
        ("a list of its own each", with_lock(), [&OWN[0], &OWN[1]], &[]),
        (
            "one list that was pinned of neither",
            with_lock(),
            [&["a.md", "n.md", "m.md"], &["a.md", "n.md", "m.md"]],
            &[],
        ),
        ("without a lock nobody knows", paired(), [&OWN[0], &OWN[0]], &[]),
    ];
    for (sentence, monitor, lists, told) in rows {
        let mut scene = Scene::new(monitor);
        for _ in 0..4 {
            scene.beat(60, |seen| {
                seen.asks = vec![ask("a", answer(lists[0])), ask("b", answer(lists[1]))];
            });
        }
        assert_eq!(scene.told, told, "{sentence}");
    }
}
