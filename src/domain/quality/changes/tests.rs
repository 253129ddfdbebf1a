use super::*;
use crate::domain::pinned::PinnedScore;
use crate::domain::quality::ranking::Ranking;
use crate::domain::rules::QualityChecks;
use chrono::DateTime;

const PINNED: [&str; 4] = ["a", "b", "c", "d"];

fn pinned(score: f64, mad: f64, chars: Option<u32>) -> PinnedCanary {
    PinnedCanary {
        definition_hash: String::new(),
        lists: vec![PINNED.map(str::to_owned).to_vec()],
        top_score: Some(PinnedScore { median: score, mad }),
        results: (4, 4),
        chars,
        first_chars: chars,
        text_chars: None,
        repeats: false,
        sorted: true,
    }
}

fn look(sources: &str, score: Option<f64>, chars: Option<u32>) -> Look {
    Look {
        at: DateTime::UNIX_EPOCH,
        ranking: Ranking::of(sources.split_whitespace()),
        results: 4,
        is_text: false,
        top_score: score,
        chars,
        first_chars: chars,
        right_source: None,
        names: None,
    }
}

#[test]
fn lists_of_a_round_moved_or_did_not() {
    // So many canaries each with this list; how many moved.
    type Row<'r> = (&'r [(usize, &'r str)], Option<usize>, &'r str);
    let rows: [Row<'_>; 7] = [
        (&[(24, "a b c d")], None, "as they are pinned"),
        (&[(12, "w x y z"), (12, "a b c d")], Some(12), "half of them moved"),
        (&[(11, "w x y z"), (13, "a b c d")], None, "less than half"),
        (&[(24, "a b c x")], None, "a new source at the end moves nothing"),
        (&[(24, "x a y b z c")], Some(24), "others came in between: a larger corpus"),
        (&[(24, "d c b a")], Some(24), "the same in another order: something ranks otherwise"),
        (&[(24, "")], Some(24), "no list at all is another one"),
    ];
    let pinned = pinned(0.5, 0.0, None);
    for (lists, expected, sentence) in rows {
        let looks: Vec<Look> = lists.iter().flat_map(|(count, list)| vec![look(list, None, None); *count]).collect();
        let round: Vec<Compared<'_>> = looks.iter().map(|look| Compared { look, pinned: &pinned }).collect();
        let found = match lists_moved(&round, &QualityChecks::STANDARD.lists) {
            Judged::Other(moved) => Some(moved.moved),
            Judged::Same => None,
            Judged::Unknown => panic!("{sentence}: enough is known"),
        };
        assert_eq!(found, expected, "{sentence}");
        let few = lists_moved(&round[..ROUND_MIN - 1], &QualityChecks::STANDARD.lists);
        assert_eq!(few, Judged::Unknown, "{sentence}: ten canaries are too few");
    }
    let text = PinnedCanary { text_chars: Some((90, 110)), ..pinned };
    let looks: Vec<Look> = vec![look("text:other", None, None); 24];
    let round: Vec<Compared<'_>> = looks.iter().map(|look| Compared { look, pinned: &text }).collect();
    let moved = lists_moved(&round, &QualityChecks::STANDARD.lists);
    assert_eq!(moved, Judged::Unknown, "other texts are no lists that moved");
}

#[test]
fn first_scores_of_a_round_moved_or_did_not() {
    // So many canaries each with this first score, all pinned at .5 with this jitter.
    type Row<'r> = (&'r [(usize, f64)], f64, Option<(usize, usize)>, &'r str);
    let rows: [Row<'_>; 8] = [
        (&[(24, 0.5)], 0.0, None, "as they are pinned"),
        (&[(11, 0.25)], 0.0, Some((0, 11)), "eleven fell: 2 ÷ 2¹¹ is below .001"),
        (&[(10, 0.25), (1, 0.5)], 0.0, None, "ten of eleven are not enough"),
        (&[(24, 0.75)], 0.0, Some((24, 0)), "all rose"),
        (&[(12, 0.75), (12, 0.25)], 0.0, None, "as many rose as fell"),
        (&[(21, 0.75), (3, 0.25)], 0.0, Some((21, 3)), "three of 24 against the others"),
        (&[(24, 0.51)], 0.01, None, "within five times their jitter"),
        (&[(24, 0.5002)], 0.0, None, "no more than what rounding makes of it"),
    ];
    for (scores, jitter, expected, sentence) in rows {
        let pinned = pinned(0.5, jitter, None);
        let looks: Vec<Look> =
            scores.iter().flat_map(|(count, score)| vec![look("a", Some(*score), None); *count]).collect();
        let round: Vec<Compared<'_>> = looks.iter().map(|look| Compared { look, pinned: &pinned }).collect();
        let found = match scores_moved(&round, Some((0.0, 1.0))) {
            Judged::Other(moved) => Some((moved.up, moved.down)),
            Judged::Same => None,
            Judged::Unknown => panic!("{sentence}: enough is known"),
        };
        assert_eq!(found, expected, "{sentence}");
    }
    let rescaled = |now: f64| {
        let medians = (now, 0.5);
        ScoresMoved { up: 0, down: 24, p: 0.0, medians, scale: None, shared: None }.is_rescaled()
    };
    assert_eq!([0.3, 0.45, 0.55, 29.5].map(rescaled), [true, false, false, true], "drift is no other scale");
    let nothing = vec![look("a", None, None); 24];
    let pinned = pinned(0.5, 0.0, None);
    let round: Vec<Compared<'_>> = nothing.iter().map(|look| Compared { look, pinned: &pinned }).collect();
    assert_eq!(scores_moved(&round, None), Judged::Unknown, "a server without scores");
}

#[test]
fn scores_become_ranks_in_disguise_or_do_not() {
    // First scores as pinned and now, each canary's; how many share theirs now, and as pinned.
    type Row<'r> = (&'r [f64], &'r [f64], Option<(usize, usize)>, &'r str);
    let own: Vec<f64> = (0..12).map(|at| 0.3 + f64::from(at) / 64.0).collect();
    let ranks: Vec<f64> = (0..12).map(|at| if at % 3 == 0 { 0.5 } else { 0.25 }).collect();
    let drift: Vec<f64> =
        own.iter().enumerate().map(|(at, score)| score + if at % 2 == 0 { 0.002 } else { -0.002 }).collect();
    let mut few = own.clone();
    few[1] = few[0];
    let rows: [Row<'_>; 5] = [
        (&own, &ranks, Some((12, 0)), "two values for twelve questions"),
        (&ranks, &own, Some((0, 12)), "and back"),
        (&own, &drift, None, "a model's scores jitter"),
        (&ranks, &ranks, None, "ranks all along"),
        (&own, &few, None, "two that are equal by rounding"),
    ];
    for (before, now, expected, sentence) in rows {
        let pins: Vec<PinnedCanary> = before.iter().map(|score| pinned(*score, 0.0, None)).collect();
        let looks: Vec<Look> = now.iter().map(|score| look("a", Some(rounded(*score)), None)).collect();
        let round: Vec<_> = looks.iter().zip(&pins).map(|(look, pinned)| Compared { look, pinned }).collect();
        let shared = match scores_moved(&round, None) {
            Judged::Other(moved) => moved.shared,
            Judged::Same | Judged::Unknown => None,
        };
        assert_eq!(shared, expected, "{sentence}");
    }
}

#[test]
fn the_sign_test_gives_the_tables_values() {
    let rows = [(11, 0, 2.0 / 2_048.0), (10, 0, 2.0 / 1_024.0), (1, 1, 1.0), (9, 1, 22.0 / 1_024.0), (0, 0, 1.0)];
    for (up, down, p) in rows {
        assert!((sign_test(up, down) - p).abs() < 1e-12, "{up} and {down}: {}", sign_test(up, down));
        assert!((sign_test(down, up) - p).abs() < 1e-12, "{down} and {up}");
    }
}

#[test]
fn chunks_of_a_beat_have_another_length_or_do_not() {
    // Lengths of two answers, both pinned at 600 characters; the ratio where they differ.
    let rows = [
        ([Some(600), Some(500)], Some(Judged::Same), "as they are pinned"),
        ([Some(1_200), Some(300)], Some(Judged::Same), "twice and half are just within"),
        ([Some(200), Some(200)], Some(Judged::Other(1.0 / 3.0)), "a third"),
        ([Some(200), Some(600)], Some(Judged::Same), "half of the answers are not most"),
        ([Some(1_800), Some(1_800)], Some(Judged::Other(3.0)), "three times"),
        ([None, None], Some(Judged::Unknown), "no text came"),
    ];
    for (lengths, expected, sentence) in rows {
        let (looks, pinned) = (lengths.map(|chars| look("a", None, chars)), pinned(0.5, 0.0, Some(600)));
        let answers: Vec<Compared<'_>> = looks.iter().map(|look| Compared { look, pinned: &pinned }).collect();
        assert_eq!(Some(chunks_resized(&answers, &QualityChecks::STANDARD.chunks)), expected, "{sentence}");
    }
    let (look, pinned) = (look("a", None, Some(600)), pinned(0.5, 0.0, None));
    let answers = [Compared { look: &look, pinned: &pinned }];
    assert_eq!(chunks_resized(&answers, &QualityChecks::STANDARD.chunks), Judged::Unknown, "no length is pinned");
}

#[test]
fn chunks_are_cut_anew_or_a_source_was_edited() {
    let recut = |answers: &[(&str, u32, Option<u32>)]| {
        let of = |(sources, chars, first): &(&str, u32, Option<u32>)| {
            (look(sources, None, Some(*chars)), PinnedCanary { first_chars: *first, ..pinned(0.5, 0.0, Some(600)) })
        };
        let answers: Vec<(Look, PinnedCanary)> = answers.iter().map(of).collect();
        chunks_recut(&answers.iter().map(|(look, pinned)| Compared { look, pinned }).collect::<Vec<_>>())
    };
    let (as_pinned, other) = (("a b", 600, Some(600)), ("a b", 397, Some(600)));
    assert_eq!(recut(&[as_pinned, as_pinned]), Judged::Same, "as pinned");
    assert_eq!(recut(&[other, other]), Judged::Other(2), "both of another length");
    assert_eq!(recut(&[other, as_pinned]), Judged::Same, "one was edited");
    assert_eq!(recut(&[other]), Judged::Unknown, "one alone may be edited");
    assert_eq!(recut(&[other, ("b a", 397, Some(600))]), Judged::Unknown, "another source has another length");
    assert_eq!(recut(&[("a b", 397, None)]), Judged::Same, "nothing is pinned of it");
}

#[test]
fn a_check_says_what_it_lacks() {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use crate::domain::monitor::{Canary, CanaryKind};
    use crate::domain::pinned::{Pinned, Relation};
    use crate::domain::secret::{Address, Secret};

    let lacks = |canaries: usize, entry: Option<(usize, bool)>, off: bool| {
        let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
        monitor.canaries = (0..canaries)
            .map(|at| Canary {
                id: at.to_string(),
                query: String::new(),
                kind: CanaryKind::Mixed,
                expect: Vec::new(),
                within: 5,
                max_score: None,
                text: None,
                forbid: Vec::new(),
                also: Vec::new(),
                line: 1,
                definition_hash: String::new(),
            })
            .collect();
        monitor.pinned = entry.map(|(count, reached_index)| {
            Arc::new(Pinned {
                runs: 20,
                reached_index,
                relations: vec![Relation::SameTwice],
                canaries: (0..count).map(|at| (at.to_string(), pinned(0.5, 0.0, Some(9)))).collect::<BTreeMap<_, _>>(),
                ..Pinned::default()
            })
        });
        if off {
            monitor.rules.quality.checks.lists.rule.severity = None;
        }
        ChangeCheck::ALL.map(|check| check.lacks(&monitor))
    };
    let missing =
        |lacks: [Option<String>; ChangeCheck::COUNT]| lacks.map(|one| one.map(|said| said.contains("monitors.lock")));
    let lock = Some(true);
    // It takes no lock, and another monitor or another canary.
    let alone = Some(false);
    let rows = [
        (
            lacks(12, Some((12, true)), false),
            [None, None, alone, None, alone, None, None, None],
            "everything else is armed",
        ),
        (lacks(0, None, false), [Some(false); ChangeCheck::COUNT], "nobody asks anything"),
        (lacks(12, None, false), [None, lock, alone, lock, alone, lock, lock, lock], "nothing is pinned"),
        (lacks(12, Some((12, false)), false), [None, lock, alone, lock, alone, lock, lock, lock], "a cache was pinned"),
        (lacks(12, Some((10, true)), false), [None, None, alone, None, alone, None, lock, lock], "too few are pinned"),
        (lacks(12, Some((12, true)), true), [None, None, alone, None, alone, None, Some(false), None], "switched off"),
    ];
    for (lacks, expected, sentence) in rows {
        assert_eq!(missing(lacks), expected, "{sentence}");
    }
    let said = lacks(12, Some((10, true)), false)[ChangeCheck::Lists as usize].clone();
    assert_eq!(said.as_deref(), Some("needs 11 canaries with a list in monitors.lock, and has 10"));
    let mut monitor = Monitor::undeclared("m", Address { shown: String::new(), resolved: Secret::new("") });
    monitor.canaries = (0..12).map(|at| Canary::undeclared(&at.to_string(), "", CanaryKind::Mixed)).collect();
    let text = |chars| PinnedCanary { text_chars: chars, top_score: None, ..pinned(0.5, 0.0, Some(9)) };
    let named = PinnedCanary { lists: vec![vec!["text:ab".to_owned()]], ..text(None) };
    for (pin, sentence) in [(text(Some((9, 9))), "texts"), (named, "texts of a lock that knows no lengths of them")] {
        monitor.pinned = Some(Arc::new(Pinned {
            runs: 20,
            reached_index: true,
            relations: vec![Relation::SameTwice],
            canaries: (0..12).map(|at| (at.to_string(), pin.clone())).collect(),
            ..Pinned::default()
        }));
        let lacking = ChangeCheck::ALL.map(|check| check.lacks(&monitor).is_some());
        assert_eq!(
            lacking,
            [false, false, true, false, true, true, true, true],
            "{sentence}: neither pairs, replicas, chunks, lists nor scores"
        );
    }
}
