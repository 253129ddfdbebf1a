//! Which relation a beat looks at.

use std::sync::Arc;

use crate::domain::answer::{Turn, Variant};
use crate::domain::monitor::{Canary, CanaryKind, Monitor};
use crate::domain::monitor_state::{CanaryRound, MonitorState};
use crate::domain::near_miss::NearMiss;
use crate::domain::pinned::{Pinned, Relation};
use crate::domain::secret::{Address, Secret};

fn monitor(relations: Vec<Relation>) -> Monitor {
    let mut monitor = Monitor::undeclared("docs", Address { shown: String::new(), resolved: Secret::new("") });
    let canary = |nth: usize| Canary::undeclared(&format!("c{nth}"), "how", CanaryKind::Mixed);
    monitor.canaries = (0..4).map(canary).collect();
    monitor.search.per_beat = 1;
    monitor.pinned = Some(Arc::new(Pinned {
        hash: "one".to_owned(),
        runs: 20,
        reached_index: true,
        relations,
        ..Pinned::default()
    }));
    monitor
}

/// What the beats that are due ask beside their canary, a letter each: `t` it twice, `f` for fewer, `r` respelled, `-` nothing.
fn asked(monitor: &Monitor, spare: usize) -> String {
    let state = MonitorState::new(chrono::DateTime::UNIX_EPOCH);
    let one = |turn: usize| {
        let round = CanaryRound { turn, ..CanaryRound::begin(monitor) };
        let asks = state.asks(monitor, &round, true, &|| spare);
        let is_twice = asks.asks.iter().filter(|ask| ask.turn == Turn::ReAsk).count() == 1;
        assert!(asks.altered.is_none_or(|ask| ask.variant == Variant::Fresh && ask.canary == asks.asks[0].canary));
        match asks.altered.map(|ask| ask.turn) {
            Some(Turn::Fewer) => 'f',
            Some(Turn::Respelled) => 'r',
            _ if is_twice => 't',
            _ => '-',
        }
    };
    (0..30).map(one).collect()
}

#[test]
fn the_pinned_relations_take_turns_and_one_beat_of_five() {
    use Relation as R;
    let rows = [
        (
            vec![R::SameTwice, R::Prefix, R::CaseAndBlanks, R::Nonce],
            9,
            "----t----f----r----t----f----r",
            "each in turn",
        ),
        (vec![R::SameTwice, R::CaseAndBlanks], 9, "----t----r----t----r----t----r", "those that are pinned"),
        (vec![R::SameTwice], 9, "----t----t----t----t----t----t", "the one that was always asked"),
        (vec![R::Prefix, R::CaseAndBlanks], 9, "------------------------------", "of several lists none is the list"),
        (vec![R::SameTwice, R::Prefix], 0, "------------------------------", "the day's calls are spent"),
    ];
    for (relations, spare, expected, sentence) in rows {
        let found = asked(&monitor(relations), spare);
        assert_eq!(found, expected, "{sentence}");
    }
    let mut off = monitor(vec![R::SameTwice, R::Prefix]);
    off.rules.quality.checks.relations.severity = None;
    assert_eq!(asked(&off, 9), "-".repeat(30), "switched off in the file");
}

#[test]
fn a_pair_is_asked_plainly_now_and_then() {
    let mut monitor = monitor(Vec::new());
    monitor.near_misses = vec![NearMiss { canary: "c1".to_owned(), other: "c2".to_owned() }];
    let state = MonitorState::new(chrono::DateTime::UNIX_EPOCH);
    let plainly = |knows_way: bool, spare: usize| -> Vec<Vec<usize>> {
        let one = |turn: usize| {
            let round = CanaryRound { turn, ..CanaryRound::begin(&monitor) };
            let asks = state.asks(&monitor, &round, knows_way, &|| spare).asks;
            let beside = asks.iter().filter(|ask| ask.turn == Turn::ReAsk && ask.variant == Variant::Plain);
            beside.map(|ask| ask.canary).collect::<Vec<_>>()
        };
        (0..20).map(one).collect()
    };
    let of = |beats: &[(usize, &[usize])]| -> Vec<Vec<usize>> {
        (0..20)
            .map(|beat| beats.iter().find(|(at, _)| *at == beat).map_or(Vec::new(), |(_, asked)| asked.to_vec()))
            .collect()
    };
    assert_eq!(plainly(true, 9), of(&[(2, &[1, 2]), (12, &[1, 2])]), "both, in one beat of ten");
    assert_eq!(plainly(false, 9), of(&[(2, &[1]), (12, &[1, 2])]), "what is asked plainly anyhow is asked once");
    assert_eq!(plainly(true, 1), of(&[]), "the day's calls are spent");
}
