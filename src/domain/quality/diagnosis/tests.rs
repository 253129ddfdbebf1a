use super::*;
use crate::domain::answer::Variant;
use crate::domain::monitor::CanaryKind;
use crate::domain::pinned::{PinnedCanary, PinnedScore};
use crate::domain::quality::confirmation::AnsweredBy;
use crate::domain::quality::ranking::Ranking;
use crate::domain::wanted::{ExpectedText, Wanted};
use chrono::{DateTime, TimeDelta, Utc};

const UNPINNED: Known<'_> = Known {
    pinned: None,
    is_inconsistent: false,
    is_steady: false,
    lists: crate::domain::rules::QualityChecks::STANDARD.lists,
    unlisted: &[],
    missing: None,
};

#[test]
fn many_canaries_have_one_cause() {
    use FailureReason as R;
    // Each canary: its kind, why it is wrong (none: right), and the list it got.
    let (mixed, meaning) = (CanaryKind::Mixed, CanaryKind::Meaning);
    let rows = [
        (vec![(mixed, None, 1)], None, "all right"),
        (vec![(mixed, Some(R::EmptyResults), 0), (mixed, None, 1)], Some(R::EmptyResults), "one is enough"),
        (
            vec![
                (mixed, Some(R::WrongResults), 1),
                (mixed, Some(R::EmptyResults), 0),
                (mixed, Some(R::WrongResults), 2),
            ],
            Some(R::WrongResults),
            "the most frequent cause",
        ),
        (
            vec![(mixed, Some(R::WrongResults), 7), (meaning, Some(R::WrongResults), 7)],
            Some(R::WrongResults),
            "one list twice may be chance",
        ),
        (
            vec![
                (mixed, Some(R::WrongResults), 7),
                (meaning, Some(R::WrongResults), 7),
                (mixed, Some(R::WrongResults), 7),
            ],
            Some(R::ConstantResponse),
            "one list for three questions is none",
        ),
        (
            vec![
                (mixed, Some(R::EmptyResults), 0),
                (mixed, Some(R::EmptyResults), 0),
                (mixed, Some(R::EmptyResults), 0),
            ],
            Some(R::EmptyResults),
            "nothing three times is no constant list",
        ),
    ];
    for (canaries, reason, sentence) in rows {
        let (declared, state) = live(&canaries);
        let found = diagnose(&declared, UNPINNED, &state, horizon());
        assert_eq!(found.as_ref().map(|one| one.reason), reason, "{sentence}");
    }
    let (declared, state) = live(&[(meaning, Some(R::WrongResults), 1), (meaning, None, 2), (mixed, None, 3)]);
    let said = diagnose(&declared, UNPINNED, &state, horizon()).unwrap();
    let kinds = said.evidence.iter().find(|one| one.key == "canaries").unwrap();
    assert_eq!(kinds.value, "1 of 2 meaning, 0 of 1 mixed", "each kind is counted");
}

#[test]
fn a_cache_is_named_where_the_index_answers_rightly() {
    use FailureReason as R;
    // Each canary: c its cached answer is wrong and the index right, C nobody asked the index yet, i the index is
    // wrong, r right; and the list it got.
    type Row<'r> = (&'r [(char, u64)], R, &'r str);
    let rows: [Row<'_>; 6] = [
        (&[('c', 9), ('r', 2)], R::CacheStale, "what it kept for too long"),
        (&[('c', 9), ('C', 8)], R::CacheStale, "one that was asked both ways is enough"),
        (&[('c', 2), ('r', 2)], R::CacheFalseHit, "what it kept for another question"),
        (&[('C', 9), ('r', 2)], R::WrongResults, "nobody knows yet who is wrong"),
        (&[('c', 9), ('i', 8)], R::WrongResults, "the index is wrong too"),
        (&[('i', 9), ('r', 2)], R::WrongResults, "the index alone"),
    ];
    let mixed = CanaryKind::Mixed;
    let both = rows.into_iter().flat_map(|row| [(row, false), (row, true)]);
    for ((canaries, expected, sentence), by_text) in both {
        let lists: Vec<_> = canaries.iter().map(|(_, list)| (mixed, None, *list)).collect();
        let (mut declared, mut state) = live(&lists);
        for ((word, list), canary) in canaries.iter().zip(&mut declared).filter(|((word, _), _)| *word != 'r') {
            if by_text {
                let words = vec![Wanted::Words(canary.id.clone())];
                canary.text = Some(Box::new(ExpectedText { contains: words, not_contains: Vec::new() }));
            } else {
                canary.expect = vec![canary.id.clone()];
            }
            let known = state.get_or_insert_with(&canary.id, || CanaryState::new("", fault_at()));
            let wrong = AskVerdict::Wrong { reason: R::WrongResults, rank: None, seen: "z.md".to_owned() };
            known.hear(&wrong, AnsweredBy { variant: Variant::Plain, index: *word == 'i' }, 1, fault_at());
            known.list = Some(*list);
            if *word == 'c' {
                let past = AnsweredBy { variant: Variant::Fresh, index: true };
                known.hear(&AskVerdict::Right { rank: Some(1) }, past, 1, fault_at());
            }
        }
        assert_eq!(diagnose(&declared, UNPINNED, &state, horizon()).unwrap().reason, expected, "{sentence}");
    }
}

#[test]
fn sources_are_gone_where_their_list_is_shorter() {
    use CanaryKind::{Keyword, Meaning};
    use FailureReason as R;
    let gone = Some(SourcesMissing { now: 381, known: 412, is_pinned: false });
    // Each canary's kind, and why it is wrong; what the list of sources says; what is told.
    type Row<'r> = (&'r [(CanaryKind, Option<R>)], Option<SourcesMissing>, R, &'r str);
    let rows: [Row<'_>; 4] = [
        (
            &[(Meaning, Some(R::WrongResults)), (Meaning, None), (Keyword, None)],
            None,
            R::WrongResults,
            "one lost source",
        ),
        (&[(Meaning, Some(R::WrongResults)), (Meaning, None), (Keyword, None)], gone, R::CorpusTruncated, "it is why"),
        (
            &[(Meaning, Some(R::WrongResults)), (Meaning, Some(R::WrongResults)), (Keyword, None)],
            gone,
            R::VectorArmDown,
            "a kind that is lost as a whole says more",
        ),
        (&[(Meaning, Some(R::ThresholdBroken)), (Keyword, None)], gone, R::ThresholdBroken, "nothing lost a source"),
    ];
    for (canaries, missing, expected, sentence) in rows {
        let canaries: Vec<_> = (0..).zip(canaries).map(|(list, (kind, wrong))| (*kind, *wrong, list)).collect();
        let (declared, state) = live(&canaries);
        let found = diagnose(&declared, Known { missing, ..UNPINNED }, &state, horizon()).unwrap();
        assert_eq!(found.reason, expected, "{sentence}");
        let is_counted = found.evidence.iter().any(|one| one.key == "sources" && one.value == "381");
        assert_eq!(is_counted, expected == R::CorpusTruncated, "{sentence}: {:?}", found.evidence);
    }
}

#[test]
fn a_source_that_slid_is_no_source_that_is_gone() {
    // The rank at which each wrong canary still brings its source, of so many that were asked; whether that is a slide.
    type Row<'r> = (&'r [Option<u32>], usize, bool, &'r str);
    let rows: [Row<'_>; 4] = [
        (&[Some(6)], 4, true, "one of four comes lower"),
        (&[None], 4, false, "it does not come at all"),
        (&[Some(6), Some(7)], 4, false, "half of them are more than a few"),
        (&[Some(6), None], 20, false, "one of two is gone"),
    ];
    for (ranks, asked, expected, sentence) in rows {
        let wrong = |at| ranks.get(at).map(|_| FailureReason::WrongResults);
        let canaries: Vec<_> = (0..asked).map(|at| (CanaryKind::Mixed, wrong(at), at as u64)).collect();
        let (declared, mut state) = live(&canaries);
        for (rank, canary) in ranks.iter().zip(&declared) {
            let known = state.get_or_insert_with(&canary.id, || CanaryState::new("", fault_at()));
            let reason = FailureReason::WrongResults;
            known.last = Some(AskVerdict::Wrong { reason, rank: *rank, seen: "z.md".to_owned() });
        }
        let found = diagnose(&declared, UNPINNED, &state, horizon()).unwrap();
        assert_eq!(found.is_slide, expected, "{sentence}: {}", found.summary);
        assert_eq!(found.summary.starts_with("sources come lower"), expected, "{sentence}: {}", found.summary);
    }
}

#[test]
fn nobody_else_gives_the_scores_where_what_is_kept_has_those_it_had() {
    // Of 24 canaries 14 lost their source to others with lower scores; the rest has these first scores, and .5 is pinned.
    for (kept, expected) in [(0.5, FailureReason::WrongResults), (0.1, FailureReason::RerankerChanged)] {
        let wrong = |at| (at < 14).then_some(FailureReason::WrongResults);
        let canaries: Vec<_> = (0..24).map(|at| (CanaryKind::Mixed, wrong(at), at)).collect();
        let (declared, mut state) = live(&canaries);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let pinned = |canary: &Canary| PinnedCanary {
            definition_hash: canary.definition_hash.clone(),
            lists: vec![names(&["a", "b", "c", "d"])],
            top_score: Some(PinnedScore { median: 0.5, mad: 0.0 }),
            results: (4, 4),
            chars: None,
            first_chars: None,
            text_chars: None,
            repeats: false,
            sorted: true,
        };
        let lock = Pinned {
            runs: 20,
            reached_index: true,
            canaries: declared.iter().map(|canary| (canary.id.clone(), pinned(canary))).collect(),
            ..Pinned::default()
        };
        for (at, canary) in declared.iter().enumerate() {
            let (list, score) = if at < 14 { ("x y z w", 0.2) } else { ("x a y z", kept) };
            let look = Look {
                at: fault_at(),
                ranking: Ranking::of(list.split(' ')),
                results: 4,
                is_text: false,
                top_score: Some(score),
                chars: None,
                first_chars: None,
                right_source: None,
                names: None,
            };
            state.get_or_insert_with(&canary.id, || CanaryState::new("", fault_at())).see(look, false);
        }
        let known = Known { pinned: Some(&lock), ..UNPINNED };
        assert_eq!(diagnose(&declared, known, &state, horizon()).unwrap().reason, expected, "{kept}");
    }
}

fn fault_at() -> DateTime<Utc> {
    "2026-11-21T00:53:10Z".parse().unwrap()
}

/// Everything was answered at the fault's own moment, and is told a minute later.
fn horizon() -> Horizon {
    Horizon { since: fault_at(), turned_at: None, resumed_at: None, now: fault_at() + TimeDelta::seconds(60) }
}

#[test]
fn what_is_said_is_what_was_asked() {
    use CanaryKind::{Keyword, Meaning, Negative};
    const ARM: &str = "the vector half of the search brings nothing, or questions are embedded with another model than the index: searches lost their source: 3 of 5 asked since 00:53 UTC (0 of 2 keyword, 3 of 3 meaning)";
    // Each canary: its kind, and what it says: e empty, w wrong, t results for nothing, r right, - not asked since,
    // W wrong before others turned right. Then the headline, and what is said of it once it is over.
    let rows = [
        (
            vec![(Keyword, 'e'), (Keyword, 'e'), (Meaning, 'e'), (Meaning, 'e'), (Meaning, 'e')],
            "every search comes back empty: 5 of 5 asked since 00:53 UTC (2 of 2 keyword, 3 of 3 meaning)",
            "every search came back empty: 5 of 5 asked since 00:53 UTC (2 of 2 keyword, 3 of 3 meaning)",
        ),
        (
            vec![(Keyword, 'w'), (Meaning, 'w'), (Meaning, '-'), (Meaning, '-'), (Keyword, '-')],
            "searches lost their source: 2 of 2 asked since 00:53 UTC, 3 not asked since (1 of 1 keyword, 1 of 1 meaning)",
            "searches lost their source: 2 of 2 asked since 00:53 UTC, 3 not asked since (1 of 1 keyword, 1 of 1 meaning)",
        ),
        (vec![(Keyword, 'r'), (Keyword, 'r'), (Meaning, 'w'), (Meaning, 'w'), (Meaning, 'e')], ARM, ARM),
        (
            vec![(Keyword, 'e'), (Meaning, 'e'), (Negative, 'r'), (Negative, '-')],
            "every search comes back empty: 2 of 2 asked since 00:53 UTC (1 of 1 keyword, 1 of 1 meaning, 0 of 1 negative)",
            "every search came back empty: 2 of 2 asked since 00:53 UTC (1 of 1 keyword, 1 of 1 meaning, 0 of 1 negative)",
        ),
        (
            vec![(Keyword, 'r'), (Meaning, 'r'), (Negative, 't')],
            "questions about what is not there do not come back empty: 1 of 3 asked since 00:53 UTC (0 of 1 keyword, 0 of 1 meaning, 1 of 1 negative)",
            "questions about what is not there did not come back empty: 1 of 3 asked since 00:53 UTC (0 of 1 keyword, 0 of 1 meaning, 1 of 1 negative)",
        ),
    ];
    for (canaries, now, was) in rows {
        let said = hear(&canaries, false);
        assert_eq!((said.summary.as_str(), said.was.as_str()), (now, was), "{canaries:?}");
    }
}

#[test]
fn texts_that_are_wrong_lost_no_source() {
    let wrong = (CanaryKind::Mixed, Some(FailureReason::WrongResults), 1);
    let (mut declared, state) = live(&[wrong, (CanaryKind::Mixed, Some(FailureReason::WrongResults), 2)]);
    let summary = |declared: &[Canary]| diagnose(declared, UNPINNED, &state, horizon()).unwrap().summary;
    let since = "2 of 2 asked since 00:53 UTC (2 of 2 mixed)";
    declared[0].text = Some(Box::default());
    assert_eq!(summary(&declared), format!("every search lost its source: {since}"), "one of them expects a source");
    declared[1].text = Some(Box::default());
    assert_eq!(summary(&declared), format!("every search brings a text that is not right: {since}"));
    use FailureReason as R;
    let rows = [
        (R::WrongResults, [7, 7, 7], "every search gets one and the same text", "one text for three questions is none"),
        (R::ResultMalformed, [1, 2, 3], "every text is cut short, or cannot be read", "far shorter than pinned"),
        (R::ChunkSizeAnomaly, [1, 2, 3], "every text is far too long", "far longer"),
        (R::EmptyResults, [0, 0, 0], "every search comes back empty", "nothing is nothing, in words too"),
    ];
    for (reason, lists, expected, sentence) in rows {
        let (mut declared, state) = live(&lists.map(|list| (CanaryKind::Mixed, Some(reason), list)));
        declared.iter_mut().for_each(|canary| canary.text = Some(Box::default()));
        let said = diagnose(&declared, UNPINNED, &state, horizon()).unwrap().summary;
        assert!(said.starts_with(&format!("{expected}: 3 of 3")), "{sentence}: {said}");
    }
}

#[test]
fn while_answers_turn_right_nothing_is_claimed_that_was_not_asked_again() {
    use CanaryKind::{Keyword, Meaning};
    let rows = [
        (
            vec![(Keyword, 'R'), (Keyword, 'W'), (Meaning, 'W')],
            "answers turn right: 1 of 3 asked since 00:53 UTC, 2 to be asked again (0 of 2 keyword, 0 of 1 meaning)",
            false,
        ),
        (
            vec![(Keyword, 'R'), (Keyword, 'w'), (Meaning, '-')],
            "searches lost their source: 1 of 2 asked since 00:53 UTC, 1 not asked since (1 of 2 keyword)",
            true,
        ),
        (
            vec![(Keyword, 'R'), (Keyword, 'R'), (Meaning, 'r')],
            "answers are right again: 3 of 3 asked since 00:53 UTC (0 of 2 keyword, 0 of 1 meaning)",
            false,
        ),
    ];
    for (canaries, summary, told) in rows {
        let said = hear(&canaries, true);
        assert_eq!((said.summary.as_str(), said.extent.stands()), (summary, told), "{canaries:?}");
    }
}

/// As [`what_is_said_is_what_was_asked`] writes it; `R`: right, and confirmed wrong before.
fn hear(canaries: &[(CanaryKind, char)], turned: bool) -> Diagnosis {
    use FailureReason as R;
    let reason = |word: char| match word {
        'e' => Some(R::EmptyResults),
        't' => Some(R::ThresholdBroken),
        'w' | 'W' | 'R' => Some(R::WrongResults),
        _ => None,
    };
    let lists: Vec<_> = (0..).zip(canaries).map(|(list, (kind, word))| (*kind, reason(*word), list)).collect();
    let (declared, mut state) = live(&lists);
    let turned_at = fault_at() + TimeDelta::seconds(30);
    for ((_, word), canary) in canaries.iter().zip(&declared) {
        let known = state.get_or_insert_with(&canary.id, || CanaryState::new("", fault_at()));
        match word {
            '-' => known.answered_at = Some(fault_at() - TimeDelta::seconds(1)),
            'R' => {
                known.hear(&AskVerdict::Right { rank: Some(1) }, AnsweredBy::INDEX, 1, turned_at);
            }
            'W' => {}
            _ if turned => known.answered_at = Some(turned_at),
            _ => {}
        }
    }
    let horizon = Horizon { turned_at: turned.then_some(turned_at), ..horizon() };
    diagnose(&declared, UNPINNED, &state, horizon).unwrap()
}

fn live(canaries: &[(CanaryKind, Option<FailureReason>, u64)]) -> (Vec<Canary>, CanaryStates) {
    let now = fault_at();
    let (mut declared, mut state) = (Vec::new(), CanaryStates::default());
    for (number, (kind, wrong, list)) in canaries.iter().enumerate() {
        let id = format!("c{number}");
        let mut heard = CanaryState::new("", now);
        let verdict = wrong.map_or(AskVerdict::Right { rank: Some(1) }, |reason| AskVerdict::Wrong {
            reason,
            rank: None,
            seen: "z.md".to_owned(),
        });
        heard.hear(&verdict, AnsweredBy::INDEX, 1, now);
        heard.list = Some(*list);
        state.insert(&id, heard);
        declared.push(Canary {
            id,
            query: String::new(),
            kind: *kind,
            expect: Vec::new(),
            within: 3,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        });
    }
    (declared, state)
}
