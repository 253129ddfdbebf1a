//! A replica beside its original: told by the replica alone, once three rounds of both differ, and never in the place of
//! what is wrong with one of them.

use std::sync::Arc;
use std::time::Duration;

use serin::domain::answer::{Answer, CacheWord, Hit};
use serin::domain::monitor::{Likeness, Monitor, MonitorId, Original};
use serin::domain::observation::Observation;
use serin::domain::reason::Severity;
use serin::domain::rules::{FreshnessRule, ShrinksRule};
use serin::domain::signal::Signal;
use serin::domain::sources::SourcesSeen;

use crate::{Look, STALE, Scene, TOOL_ERRORS, ask, at, canary, incident_of, with};

const COUNT: usize = 12;

fn id(nth: usize) -> String {
    format!("c{nth:02}")
}

/// One of the two: twelve canaries, all asked on each beat, and a date that its sources may have.
fn watched(count: usize, likeness: Likeness) -> Monitor {
    with(|monitor| {
        monitor.canaries = (0..count).map(|nth| canary(&id(nth))).collect();
        monitor.search.per_beat = 12;
        monitor.health.clear();
        monitor.likeness = likeness.clone();
        let older_than = Duration::from_secs(3_600);
        let (shrinks, severity) = (ShrinksRule::STANDARD, Severity::Ticket);
        monitor.rules.freshness = Some(FreshnessRule { older_than, shrinks, severity, line: 1 });
    })
}

fn replica(count: usize) -> Monitor {
    let shared = (0..count).map(|nth| (id(nth), id(nth))).collect();
    let original = Original { id: MonitorId::new("docs"), shared, round: Duration::from_secs(60) };
    Monitor { id: MonitorId::new("docs-b"), ..watched(count, Likeness::ReplicaOf(Arc::new(original))) }
}

/// Answers of all canaries: the expected source first, then these.
fn answers(seen: &mut Observation, count: usize, others: &[&str]) {
    let hits = std::iter::once("a.md").chain(others.iter().copied()).enumerate().map(|(at, source)| Hit {
        source: source.to_owned(),
        score: Some(0.5 / (at + 1) as f64),
        chars: 600,
        excerpt: format!("{source} {at}"),
    });
    let answer = Answer { hits: hits.collect(), ..Answer::default() };
    seen.health.clear();
    seen.asks = (0..count).map(|nth| ask(&id(nth), Ok(answer.clone()))).collect();
}

/// What one of both shows: `.` as ever, `m` lists that moved, `w` wrong answers, `e` errors, `s` sources that are old and
/// lists that moved, `c` answers of a cache, `-` no beat at all.
fn look(look: char, count: usize) -> Option<impl Fn(&mut Observation)> {
    (look != '-').then_some(move |seen: &mut Observation| {
        let moved: &[&str] =
            if matches!(look, 'm' | 's') { &["x.md", "y.md", "z.md"] } else { &["b.md", "c.md", "d.md"] };
        answers(seen, count, moved);
        let shown: Look = match look {
            'e' => TOOL_ERRORS,
            's' => STALE,
            _ => |seen| {
                let last_indexed_at = Some(seen.started_at);
                seen.sources = Some(SourcesSeen { count: 1, last_indexed_at, ..SourcesSeen::default() });
            },
        };
        shown(seen);
        for answer in seen.asks.iter_mut().filter_map(|ask| ask.result.as_mut()?.as_mut().ok()) {
            match look {
                'w' => answer.hits.iter_mut().for_each(|hit| hit.source.insert(0, 'n')),
                'c' => answer.cache = CacheWord::Hit,
                _ => {}
            }
        }
    })
}

/// Time goes by until a moment, with a beat or without.
fn show(scene: &mut Scene, shown: char, due: i64, count: usize) {
    match look(shown, count) {
        Some(show) => scene.beat(u32::try_from(due - scene.second).unwrap(), show),
        None => scene.second = due,
    }
}

/// Both, beat by beat: the original half a minute before the replica.
struct Pair {
    original: Scene,
    replica: Scene,
    count: usize,
}

impl Pair {
    fn of(count: usize) -> Self {
        Self { original: Scene::new(watched(count, Likeness::Original)), replica: Scene::new(replica(count)), count }
    }

    fn beats(&mut self, original: &str, replica: &str) -> &mut Self {
        assert_eq!(original.len(), replica.len());
        for (there, here) in original.chars().zip(replica.chars()) {
            let start = self.replica.second.max(self.original.second);
            show(&mut self.original, there, start + 30, self.count);
            self.replica.original = Some(self.original.state.clone());
            show(&mut self.replica, here, start + 60, self.count);
        }
        self
    }
}

#[test]
fn a_replica_tells_where_three_rounds_of_both_differ() {
    // With its first beat the first round begins.
    let apart = "4 opened quality replica_divergence";
    let rows: [(&str, usize, &str, &str, &[&str]); 13] = [
        ("they agree", COUNT, "......", "......", &[]),
        ("this one answers otherwise", COUNT, "....", "mmmm", &[apart]),
        ("the other one does", COUNT, "mmmm", "....", &[apart]),
        ("both moved, to the same", COUNT, "mmmm", "mmmm", &[]),
        ("both are indexed anew, first this one and then the other", COUNT, "...mmmm", ".mmmmmm", &[]),
        ("they agree again", COUNT, ".....", "mmmm.", &[apart, "5 resolved quality recovered"]),
        ("ten canaries are too few", 10, ".....", "mmmmm", &[]),
        ("the other is not looked at any more: what it said is old", COUNT, "..------", "..mmmmmm", &[]),
        ("its calls fail", COUNT, "eeeeee", "mmmmmm", &[]),
        ("its cache answers, which says nothing of its index", COUNT, "cccccc", "mmmmmm", &[]),
        ("it is wrong, which it tells itself", COUNT, "wwwwww", "......", &[]),
        ("its sources are old, which it tells itself", COUNT, "ssssss", "......", &[]),
        ("this one is wrong, and tells that", COUNT, "....", ".www", &["4 opened quality constant_response"]),
    ];
    for (sentence, count, original, replica, told) in rows {
        let mut pair = Pair::of(count);
        pair.beats(original, replica);
        assert_eq!(pair.replica.told, told, "{sentence}");
        let there = pair.original.told.iter().any(|said| said.contains("replica_divergence"));
        assert!(!there, "{sentence}: only the replica tells");
    }
}

#[test]
fn it_says_what_both_bring_and_that_it_is_a_ticket() {
    let mut pair = Pair::of(COUNT);
    pair.beats("....", "mmmm");
    let told = pair.replica.decided.iter().find_map(incident_of).unwrap();
    assert_eq!(told.severity, Severity::Ticket);
    assert_eq!(told.summary, "docs-b: lists of 12 of 12 canaries are not those of 'docs', whose replica it is");
    let value = |key: &str| told.evidence.iter().find(|one| one.key == key).map(|one| one.value.as_str());
    assert_eq!((value("replica_of"), value("lists_apart")), (Some("docs"), Some("12 of 12")), "{told:#?}");
    assert_eq!(value("apart.c00"), Some("first here a.md, x.md, y.md; first at 'docs' a.md, b.md, c.md"), "{told:#?}");
}

#[test]
fn what_is_wrong_with_one_of_both_is_told_once() {
    let mut pair = Pair::of(COUNT);
    pair.beats("......", "ssssss");
    let told = &pair.replica.told;
    let quality = told.iter().any(|said| said.contains("opened quality") && !said.contains("quietly"));
    assert!(!quality && told.iter().any(|said| said.contains("opened freshness source_stale")), "{told:?}");
    let quiet = pair.replica.state.telling(Signal::Quality).is_some_and(|telling| !telling.told);
    assert!(quiet, "it is open, and under the other one: {told:?}");

    let mut harmed = Pair::of(COUNT);
    harmed.beats(".......", "mmmmwww");
    assert_eq!(harmed.replica.told[0], "4 opened quality replica_divergence");
    assert!(
        harmed.replica.told[1].starts_with("7 updated quality "),
        "harm takes its place: {:?}",
        harmed.replica.told
    );
}

#[test]
fn what_moved_against_its_lock_explains_it_where_that_is_as_loud() {
    let rows: [(&str, Severity, &[&str]); 2] = [
        ("as loud", Severity::Ticket, &["2 opened quality ranking_changed"]),
        (
            "a notice hides no ticket",
            Severity::Notice,
            &["2 opened quality ranking_changed", "5 updated quality replica_divergence"],
        ),
    ];
    for (sentence, loud, told) in rows {
        let mut pair = Pair::of(COUNT);
        pair.replica.monitor.pinned = Some(Arc::new(crate::changes::lock("one")));
        pair.replica.monitor.rules.quality.checks.lists.rule.severity = Some(loud);
        pair.beats("......", "mmmmmm");
        assert_eq!(pair.replica.told, told, "{sentence}");
    }
}

#[test]
fn it_stands_over_a_restart_and_ends_with_the_key() {
    let mut pair = Pair::of(COUNT);
    pair.beats("....", "mmmm");
    crate::changes::restarted(&mut pair.replica);
    pair.beats("---", "mmm");
    assert_eq!(pair.replica.told.len(), 1, "silence ends nothing: {:?}", pair.replica.told);
    pair.replica.monitor.likeness = Likeness::Alone;
    let scene = &mut pair.replica;
    let ended = scene.state.reconsider(&scene.monitor, at(scene.second));
    assert_eq!(ended.len(), 1, "an edit that takes the key away ends it");
}
