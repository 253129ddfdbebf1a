//! What changed without harm: told once it stands, never in the place of what canaries lost, over when it is as pinned.

use std::collections::BTreeMap;
use std::sync::Arc;

use serin::domain::answer::{Answer, Ask, CacheWord, Hit, KeptText, Turn, Variant};
use serin::domain::fault::{Fault, FaultKind};
use serin::domain::monitor::{CanaryKind, Monitor};
use serin::domain::monitor_state::MonitorState;
use serin::domain::observation::Observation;
use serin::domain::pinned::{Pinned, PinnedCanary, PinnedScore, Relation};
use serin::domain::reason::Severity;
use serin::domain::rules::{FreshnessRule, ShrinksRule};
use serin::domain::search::FreshWay;
use serin::domain::signal::Signal;
use serin::domain::sources::SourcesSeen;
use serin::domain::wanted::{ExpectedText, Wanted};

use crate::{Scene, ask, at, canary, incident_of, with};

const COUNT: usize = 12;

/// Twelve canaries, six by words and six in other words, all asked on each beat, and what is pinned of them.
fn pinned() -> Monitor {
    with(|monitor| {
        monitor.canaries = (0..COUNT).map(|at| canary(&format!("c{at:02}"))).collect();
        for at in 0..COUNT {
            monitor.canaries[at].kind = if at % 2 == 0 { CanaryKind::Keyword } else { CanaryKind::Meaning };
        }
        monitor.search.per_beat = 12;
        monitor.pinned = Some(Arc::new(lock("one")));
    })
}

pub(crate) fn lock(hash: &str) -> Pinned {
    let of = |at: usize| {
        let id = format!("c{at:02}");
        let canary = PinnedCanary {
            definition_hash: id.clone(),
            lists: vec![["a.md", "b.md", "c.md", "d.md"].map(str::to_owned).to_vec()],
            top_score: Some(PinnedScore { median: 0.5, mad: 0.0 }),
            results: (4, 4),
            chars: Some(600),
            first_chars: Some(600),
            text_chars: None,
            repeats: false,
            sorted: true,
        };
        (id, canary)
    };
    Pinned {
        hash: hash.to_owned(),
        place: ("monitors.lock".to_owned(), 1),
        runs: 20,
        reached_index: true,
        scale: Some((0.1, 0.9)),
        canaries: (0..COUNT).map(of).collect::<BTreeMap<_, _>>(),
        ..Pinned::default()
    }
}

/// An answer that names these sources; its first score; the length of its chunks.
fn answers(seen: &mut Observation, sources: &[&str], score: f64, chars: u32) {
    let hits = sources.iter().enumerate().map(|(at, source)| Hit {
        source: (*source).to_owned(),
        score: Some(score / (at + 1) as f64),
        chars,
        excerpt: format!("{source} {at}"),
    });
    let answer = Answer { hits: hits.collect(), ..Answer::default() };
    seen.asks = (0..COUNT).map(|at| ask(&format!("c{at:02}"), Ok(answer.clone()))).collect();
}

const USUAL: [&str; 4] = ["a.md", "b.md", "c.md", "d.md"];

/// `.` as pinned, `l` other lists, `s` other scores, `b` both, `c` short chunks, `p` partial, `v` no vectors, `V` the same
/// where words alone find one result, `k` one result for all, `m` another model, `w` noise alone, `g` a first score of its
/// own for each question where all were one, `G` the same, and two of them lose their source.
fn beats(scene: &mut Scene, beats: &str) {
    for look in beats.chars() {
        scene.beat(60, |seen| {
            let moved = ["x.md", "y.md", "a.md", "z.md"];
            match look {
                'l' => answers(seen, &moved, 0.5, 600),
                's' => answers(seen, &USUAL, 0.25, 600),
                'b' => answers(seen, &moved, 0.25, 600),
                'c' => answers(seen, &USUAL, 0.5, 200),
                _ => answers(seen, &USUAL, 0.5, 600),
            }
            for (at, ask) in seen.asks.iter_mut().enumerate() {
                let Some(Ok(answer)) = &mut ask.result else { continue };
                let is_meaning = at % 2 == 1;
                match look {
                    'p' => answer.self_reported = vec!["partial: true".to_owned()],
                    'v' | 'V' if is_meaning => answer.hits.clear(),
                    'V' | 'k' => answer.hits.truncate(1),
                    'm' if is_meaning => answer.hits.iter_mut().for_each(|hit| hit.source = format!("n{at}.md")),
                    'm' => answer.hits[1..].iter_mut().for_each(|hit| hit.source.insert(0, 'n')),
                    'g' | 'G' => {
                        answer.hits[0].score = Some(0.5 - at as f64 / 100.0);
                        if look == 'G' && at < 2 {
                            answer.hits[0].source = "n.md".to_owned();
                        }
                    }
                    'w' => answer.hits.iter_mut().for_each(|hit| hit.source = format!("n{at}.md")),
                    _ => {}
                }
            }
        });
    }
}

fn check(sentence: &str, monitor: Monitor, looks: &str, told: &[&str]) {
    let mut scene = Scene::new(monitor);
    beats(&mut scene, looks);
    assert_eq!(scene.told, told, "{sentence}");
}

#[test]
fn a_source_that_slid_wakes_nobody_and_one_that_is_gone_does() {
    for (place, expected) in [(Some(3), Severity::Ticket), (None, Severity::Page)] {
        let mut scene = Scene::new(pinned());
        for _ in 0..4 {
            scene.beat(60, |seen| {
                answers(seen, &USUAL, 0.5, 600);
                let Some(Ok(answer)) = &mut seen.asks[0].result else { return };
                answer.hits[0].source = "new.md".to_owned();
                if let Some(place) = place {
                    answer.hits[place].source = "a.md".to_owned();
                }
            });
        }
        let incident = scene.state.incident(Signal::Quality).unwrap();
        assert_eq!((incident.reason.slug(), incident.severity), ("wrong_results", expected), "{}", incident.summary);
    }
}

#[test]
fn who_scores_otherwise_is_named_where_sources_are_lost() {
    check("two of twelve", pinned(), ".GGG", &["4 opened quality reranker_changed"]);
}

#[test]
fn a_change_is_noted_and_wakes_nobody() {
    check("lists that moved, in two rounds", pinned(), ".ll", &["3 opened quality ranking_changed"]);
    check("one round is chance", pinned(), ".l.l.", &[]);
    check(
        "it ends with a round as pinned",
        pinned(),
        "lll.",
        &["2 opened quality ranking_changed", "4 resolved quality recovered"],
    );
    check("scores that moved", pinned(), "sss", &["2 opened quality score_shift"]);
    check("lists and scores at once", pinned(), "bbb", &["2 opened quality reranker_changed"]);
    check(
        "scores that cease to be ranks are somebody else's",
        pinned(),
        "ggg.",
        &["2 opened quality reranker_changed", "4 resolved quality recovered"],
    );
    check(
        "chunks that were cut anew explain what else moved",
        pinned(),
        "cccc",
        &["3 opened quality chunking_changed"],
    );
    check(
        "what answers say of themselves",
        pinned(),
        "pp.ppp..",
        &["6 opened quality self_reported_degradation", "8 resolved quality recovered"],
    );
    let mut scene = Scene::new(pinned());
    beats(&mut scene, "lll");
    let severities: Vec<Severity> = scene.decided.iter().filter_map(incident_of).map(|told| told.severity).collect();
    assert_eq!(severities, [Severity::Notice]);
}

/// `.` one list for both, `i` two lists, `1` asked once; each of the first canary.
fn asked_twice(scene: &mut Scene, beats: &str, is_wrong: bool) {
    for look in beats.chars() {
        scene.beat(60, |seen| {
            answers(seen, &USUAL, 0.5, 600);
            let Some(Ok(first)) = seen.asks[0].result.clone() else { return };
            let mut again = first.clone();
            if look == 'i' {
                again.hits.swap(1, 2);
            }
            let lost =
                |answer: &mut Answer| answer.hits.iter_mut().for_each(|hit| hit.source = format!("n{}", hit.source));
            if is_wrong {
                lost(&mut again);
                seen.asks[0].result.iter_mut().flatten().for_each(lost);
            }
            if look != '1' {
                seen.asks.insert(1, ask("c00", Ok(again)));
            }
        });
    }
}

#[test]
fn a_question_asked_twice_brings_one_list_or_that_is_told() {
    let twice = |pinned_so: bool| {
        with(|monitor| {
            *monitor = pinned();
            let relations = if pinned_so { vec![Relation::SameTwice] } else { Vec::new() };
            monitor.pinned = Some(Arc::new(Pinned { relations, ..lock("one") }));
        })
    };
    let rows: [(&str, bool, &str, &[&str]); 5] = [
        ("one list", true, "....", &[]),
        ("two lists, three beats in a row", true, "iii", &["3 opened quality inconsistent_results"]),
        ("a beat that asks once says nothing of it", true, "ii11i", &["5 opened quality inconsistent_results"]),
        ("one list again", true, "iii..", &["3 opened quality inconsistent_results", "5 resolved quality recovered"]),
        ("several lists were pinned", false, "iiii", &[]),
    ];
    for (sentence, pinned_so, looks, told) in rows {
        let mut scene = Scene::new(twice(pinned_so));
        asked_twice(&mut scene, looks, false);
        assert_eq!(scene.told, told, "{sentence}");
    }
    let mut scene = Scene::new(twice(true));
    asked_twice(&mut scene, "iii", true);
    assert_eq!(scene.told, ["3 opened quality inconsistent_results"], "two answers a moment apart are one look");
}

/// What a beat saw of a relation beside the canaries' own answers: `.` nothing, `2` one list for one question twice, `i` two,
/// `f` fewer results that are the first of more, `F` that are not, `r` the same list in other capitals, `R` another one, `c`
/// another one of a cache, `x` no answer.
fn altered(scene: &mut Scene, beats: &str) {
    for look in beats.chars() {
        scene.beat(60, |seen| {
            answers(seen, &USUAL, 0.5, 600);
            let mut again = seen.asks[0].clone();
            let answer = again.result.as_mut().unwrap().as_mut().unwrap();
            match look {
                'f' => answer.hits.truncate(2),
                'F' => answer.hits = answer.hits[1..3].to_vec(),
                'i' | 'R' | 'c' => answer.hits.swap(1, 2),
                _ => {}
            }
            if look == 'c' {
                answer.cache = CacheWord::Hit;
            }
            if look == 'x' {
                again.result = Some(Err(Fault { kind: FaultKind::Silent, detail: String::new() }));
            }
            match look {
                '.' => {}
                '2' | 'i' => seen.asks.insert(1, Ask { turn: Turn::ReAsk, ..again }),
                'f' | 'F' => seen.altered = Some(Box::new(Ask { turn: Turn::Fewer, ..again })),
                _ => seen.altered = Some(Box::new(Ask { turn: Turn::Respelled, ..again })),
            }
        });
    }
}

#[test]
fn each_relation_that_was_pinned_holds_or_is_told() {
    let monitor = with(|monitor| {
        *monitor = pinned();
        let relations = vec![Relation::SameTwice, Relation::Prefix, Relation::CaseAndBlanks];
        monitor.pinned = Some(Arc::new(Pinned { relations, ..lock("one") }));
    });
    let opened = "3 opened quality inconsistent_results";
    let rows: [(&str, &str, &[&str], &str); 9] = [
        ("all hold", "2fr2fr", &[], ""),
        ("fewer results that are not the first of more", "FFF", &[opened], "prefix"),
        ("capitals that matter", "RRR", &[opened], "case_and_blanks"),
        ("twice is chance", "FF.ff", &[], ""),
        (
            "that another relation holds says nothing of it",
            "F2F2F",
            &["5 opened quality inconsistent_results"],
            "prefix",
        ),
        (
            "nor does a cache, or a call that failed",
            "RcxRR",
            &["5 opened quality inconsistent_results"],
            "case_and_blanks",
        ),
        ("where one question brings two lists, that is why", "FFi", &[opened], "same_twice"),
        ("it is over when it holds twice", "RRR22rr", &[opened, "7 resolved quality recovered"], ""),
        ("and not when it holds once", "RRRr", &[opened], "case_and_blanks"),
    ];
    for (sentence, looks, told, named) in rows {
        let mut scene = Scene::new(monitor.clone());
        altered(&mut scene, looks);
        assert_eq!(scene.told, told, "{sentence}");
        let open = scene.state.incident(Signal::Quality);
        let evidence = |key: &str| open?.evidence.iter().find(|one| one.key == key).map(|one| one.value.as_str());
        assert_eq!(evidence("relation").unwrap_or_default(), named, "{sentence}");
        let asked = ["prefix", "case_and_blanks"].contains(&named);
        assert_eq!(evidence("asked").is_some(), asked, "{sentence}: with an example");
    }
    let mut scene = Scene::new(monitor);
    altered(&mut scene, "RRR");
    restarted(&mut scene);
    altered(&mut scene, "22");
    assert!(scene.state.incident(Signal::Quality).is_some(), "a restart knows which one is broken");
    altered(&mut scene, "rr");
    assert_eq!(scene.told[1..], ["7 resolved quality recovered"]);
}

/// The first canary of a server whose caches can be passed: `.` asked past them, `o` plainly, with an old list, `O` the same
/// of an answer that says no cache gave it; both ways with an old list `d`, with one list `e`, and plainly from the index `n`.
fn with_caches(scene: &mut Scene, beats: &str) {
    beats.chars().for_each(|look| scene.beat(60, |seen| past_caches(seen, look)));
}

fn past_caches(seen: &mut Observation, look: char) {
    answers(seen, &USUAL, 0.5, 600);
    seen.tools.as_mut().unwrap().fresh = Some(FreshWay::Known("cache", r#""bypass""#));
    seen.asks.iter_mut().for_each(|ask| ask.variant = Variant::Fresh);
    let mut plain = seen.asks[0].clone();
    plain.variant = Variant::Plain;
    let answer = plain.result.as_mut().unwrap().as_mut().unwrap();
    if matches!(look, 'o' | 'O' | 'd') {
        for (hit, source) in answer.hits.iter_mut().zip(["x.md", "a.md", "y.md", "b.md"]) {
            source.clone_into(&mut hit.source);
        }
    }
    if matches!(look, 'O' | 'n') {
        answer.cache = CacheWord::Missed;
    }
    match look {
        '.' => {}
        'o' | 'O' => seen.asks[0] = plain,
        _ => seen.asks.insert(0, plain),
    }
}

/// The same of a server that answers with texts, which are others where lists were.
fn as_texts(seen: &mut Observation) {
    for answer in seen.asks.iter_mut().filter_map(|ask| ask.result.as_mut()?.as_mut().ok()) {
        let name = format!("text:{}", answer.sources().collect::<String>());
        let kept = KeptText { name: name.into(), bytes: 600, chars: 600, begins: "Boilers".into() };
        *answer = Answer {
            text: Some("Boilers are old".into()),
            text_only: true,
            begins: Some("Boilers are old".to_owned()),
            kept: Some(Box::new(kept)),
            cache: answer.cache,
            ..Answer::default()
        };
    }
}

#[test]
fn a_cache_gives_out_what_the_index_does_or_that_is_told() {
    let monitor = |relations: Vec<Relation>| {
        with(|monitor| {
            *monitor = pinned();
            monitor.pinned = Some(Arc::new(Pinned { relations: relations.clone(), ..lock("one") }));
        })
    };
    let stale = "5 opened quality cache_stale";
    let rows: [(&str, &str, &[&str]); 6] = [
        ("an old list is a suspicion, and three beats in which both were asked say so", ".oddd", &[stale]),
        ("an index that moved meanwhile brings one list both ways", ".oeddd", &[]),
        ("a beat that asks one way says nothing of it", ".od.dd", &["6 opened quality cache_stale"]),
        ("nor does the index's own list", ".Oddd", &[]),
        ("it is over with one list, twice", ".odddee", &[stale, "7 resolved quality recovered"]),
        ("or where the cache lets go of it", ".odddnn", &[stale, "7 resolved quality recovered"]),
    ];
    for (sentence, looks, told) in rows {
        let mut scene = Scene::new(monitor(vec![Relation::SameTwice]));
        with_caches(&mut scene, looks);
        assert_eq!(scene.told, told, "{sentence}");
    }
    let mut scene = Scene::new(monitor(Vec::new()));
    with_caches(&mut scene, ".odddddd");
    assert_eq!(scene.told.len(), 0, "an index that brings several lists for one question says nothing of its caches");
    let mut scene = Scene::new(monitor(vec![Relation::SameTwice]));
    with_caches(&mut scene, ".oddd");
    let severities: Vec<Severity> = scene.decided.iter().filter_map(incident_of).map(|told| told.severity).collect();
    assert_eq!(severities, [Severity::Notice], "nobody lost an answer");
}

#[test]
fn a_cache_that_gives_out_another_text_is_told_as_well() {
    let mut lock = Pinned { relations: vec![Relation::SameTwice], ..lock("one") };
    for pin in lock.canaries.values_mut() {
        (pin.lists, pin.text_chars) = (vec![vec![format!("text:{}", USUAL.concat())]], Some((600, 600)));
    }
    let lock = Arc::new(lock);
    let mut scene = Scene::new(with(|monitor| {
        *monitor = pinned();
        monitor.pinned = Some(Arc::clone(&lock));
        for canary in &mut monitor.canaries {
            let contains = vec![Wanted::Words("boilers".to_owned())];
            canary.expect.clear();
            canary.text = Some(Box::new(ExpectedText { contains, not_contains: Vec::new() }));
        }
    }));
    for look in ".oddd".chars() {
        scene.beat(60, |seen| {
            past_caches(seen, look);
            as_texts(seen);
        });
    }
    assert_eq!(scene.told, ["5 opened quality cache_stale"], "neither lists nor chunks moved");
    let told = scene.decided.iter().find_map(incident_of).unwrap();
    assert!(told.summary.contains("a cache answers with another text than the index"), "{}", told.summary);
}

#[test]
fn what_is_asked_in_other_words_is_compared_with_nothing() {
    let mut scene = Scene::new(with(|monitor| {
        *monitor = pinned();
        monitor.pinned = Some(Arc::new(Pinned { relations: vec![Relation::SameTwice], ..lock("one") }));
    }));
    beats(&mut scene, ".");
    for beat in 0..12 {
        scene.beat(60, |seen| {
            // The expected source is there; others, fewer and shorter results than are pinned, other scores and once none, once
            // from a cache, and two orders in one beat.
            let sources: &[&str] = if beat % 2 == 0 { &["a.md"] } else { &["x.md", "a.md"] };
            answers(seen, sources, 0.2, 100);
            seen.asks.iter_mut().for_each(|ask| ask.variant = Variant::Reworded);
            if let Some(Ok(answer)) = &mut seen.asks[0].result {
                answer.cache = CacheWord::Hit;
                answer.hits[0].score = None;
            }
            let mut again = seen.asks[1].clone();
            if let Some(Ok(answer)) = &mut again.result {
                answer.hits.reverse();
            }
            seen.asks.insert(2, again);
        });
    }
    assert_eq!(scene.told, Vec::<String>::new(), "its list is another question's");
    scene.beat(60, |seen| {
        answers(seen, &["x.md"], 0.5, 600);
        seen.asks.iter_mut().for_each(|ask| ask.variant = Variant::Reworded);
    });
    assert!(scene.state.is_any_doubted(), "whether it is right is judged");
    assert_eq!(
        scene.state.canaries.get("c00").map(|canary| canary.wordings_asked),
        Some(13),
        "the next takes the next"
    );
}

#[test]
fn without_a_lock_or_where_the_file_says_so_nothing_is_compared() {
    check(
        "no lock",
        with(|monitor| {
            *monitor = pinned();
            monitor.pinned = None;
        }),
        "llllcccc",
        &[],
    );
    check(
        "a lock of what a cache said",
        with(|monitor| {
            *monitor = pinned();
            monitor.pinned = Some(Arc::new(Pinned { reached_index: false, ..lock("one") }));
        }),
        "llllcccc",
        &[],
    );
    check(
        "switched off",
        with(|monitor| {
            *monitor = pinned();
            monitor.rules.quality.checks.lists.rule.severity = None;
        }),
        "llll",
        &[],
    );
}

#[test]
fn harm_comes_before_change_and_ends_by_itself() {
    check(
        "a notice becomes the page that harm is, with no beat more",
        pinned(),
        "llvvv",
        &["2 opened quality ranking_changed", "5 updated quality vector_arm_down"],
    );
    check(
        "a page ends when its canaries are right, whatever moved meanwhile",
        pinned(),
        ".vvvllll",
        &["4 opened quality vector_arm_down", "6 resolved quality recovered", "7 opened quality ranking_changed"],
    );
}

#[test]
fn what_is_broken_is_named_with_and_without_a_lock() {
    let bare = || {
        with(|monitor| {
            *monitor = pinned();
            monitor.pinned = None;
        })
    };
    for (sentence, monitor) in [("against the lock", pinned()), ("against what was right before", bare())] {
        check(sentence, monitor.clone(), "...vvv", &["6 opened quality vector_arm_down"]);
        check(sentence, monitor.clone(), "...mmm", &["6 opened quality embedding_mismatch"]);
        check(sentence, monitor, "...www", &["6 opened quality embedding_mismatch"]);
    }
    check("lists that got shorter too far lost no source", pinned(), "...VVV", &["6 opened quality vector_arm_down"]);
    check("lists that are cut for all", pinned(), "...kkk", &["6 opened quality result_malformed"]);
    let mut scene = Scene::new(pinned());
    beats(&mut scene, "...mmm");
    let open = scene.state.incident(Signal::Quality).unwrap();
    let value = |key: &str| open.evidence.iter().find(|one| one.key == key).map(|one| one.value.as_str());
    assert_eq!((value("symptom"), value("or_else")), (Some("wrong_results"), Some("vector_arm_down")));
    assert!(value("known_by.embedding_mismatch").is_some_and(|by| by.contains("cosine")), "{open:#?}");
    assert!(value("known_by.vector_arm_down").is_some_and(|by| by.contains("log")), "{open:#?}");
    let said = "docs: questions are embedded with another model than the index, or the vector half of the search brings \
                nothing: searches lost their source: 6 of 12 asked since ";
    assert!(open.summary.starts_with(said), "{}", open.summary);
}

/// Another process takes over what is open.
pub(crate) fn restarted(scene: &mut Scene) {
    let before = std::mem::replace(&mut scene.state, MonitorState::new(at(scene.second + 1)));
    for signal in Signal::ALL {
        scene.state.restore_signal(signal, before.signal(signal).clone());
    }
    for incident in before.incidents() {
        scene.state.restore_incident(incident.clone(), before.telling(incident.signal).cloned().unwrap_or_default());
    }
    scene.state.canaries = before.canaries;
}

#[test]
fn a_change_stands_over_a_restart_and_ends_with_another_lock() {
    let mut scene = Scene::new(pinned());
    beats(&mut scene, "lll");
    restarted(&mut scene);
    beats(&mut scene, "llll");
    assert_eq!(scene.told, ["2 opened quality ranking_changed"], "told once");
    let mut other = lock("two");
    for canary in other.canaries.values_mut() {
        canary.lists = vec![["x.md", "y.md", "a.md", "z.md"].map(str::to_owned).to_vec()];
    }
    scene.monitor.pinned = Some(Arc::new(other));
    beats(&mut scene, "llll");
    assert_eq!(scene.told[1..], ["8 resolved quality recovered"], "what is pinned now is what is seen");
    let mut off = Scene::new(pinned());
    beats(&mut off, "lll");
    off.monitor.rules.quality.checks.lists.rule.severity = None;
    let ended = off.state.reconsider(&off.monitor, at(off.second));
    assert_eq!(ended.len(), 1, "an edit that wants it no longer told ends it");
}

/// Beats of twelve canaries of which each looks for another source, and lists of sources: `.` all found, `g` the first one's
/// source is gone, `w` the same, and the whole list says so, `h` the same, where half of the list is gone, `n` the same, where
/// it was read in part, `v` as `w`, and nothing is found by meaning either.
fn taken_out(scene: &mut Scene, beats: &str) {
    for look in beats.chars() {
        scene.beat(60, |seen| {
            answers(seen, &USUAL, 0.5, 600);
            for (at, ask) in seen.asks.iter_mut().enumerate() {
                let Some(Ok(answer)) = &mut ask.result else { continue };
                if look != '.' && at == 0 {
                    answer.hits.iter_mut().for_each(|hit| hit.source.insert(0, 'x'));
                }
                if look == 'v' && at % 2 == 1 {
                    answer.hits.clear();
                }
            }
            let count = if look == 'h' { 200 } else { 412 - u32::from(look != '.') };
            let last_indexed_at = Some(seen.started_at);
            seen.sources = (look != 'n').then(|| SourcesSeen { count, last_indexed_at, ..SourcesSeen::default() });
            seen.unlisted = matches!(look, 'w' | 'v' | 'h').then(|| vec!["c00".to_owned()]);
        });
    }
}

#[test]
fn a_canary_whose_source_was_taken_out_wakes_nobody() {
    let fresh = || {
        with(|monitor| {
            *monitor = pinned();
            monitor.pinned = None;
            let older_than = std::time::Duration::from_secs(3_600);
            let (shrinks, severity) = (ShrinksRule::STANDARD, Severity::Ticket);
            monitor.rules.freshness = Some(FreshnessRule { older_than, shrinks, severity, line: 1 });
        })
    };
    let rows: [(&str, &str, &[&str]); 6] = [
        ("it is out of date", "..ggw", &["5 opened quality canary_stale"]),
        (
            "until it finds something again",
            "..ggw..",
            &["5 opened quality canary_stale", "7 resolved quality recovered"],
        ),
        (
            "which then says nothing of the next time",
            "..ggw..ggn",
            &["5 opened quality canary_stale", "7 resolved quality recovered", "10 opened quality wrong_results"],
        ),
        ("where nobody read the whole list, it is harm", "..ggn", &["5 opened quality wrong_results"]),
        ("and where half of the corpus is gone, that is it", "..ggh", &["5 opened quality corpus_truncated"]),
        ("what others lose does", "..ggwvvvv", &["5 opened quality canary_stale", "8 updated quality vector_arm_down"]),
    ];
    for (sentence, looks, told) in rows {
        let mut scene = Scene::new(fresh());
        taken_out(&mut scene, looks);
        let told_of_it: Vec<&String> = scene.told.iter().filter(|told| told.contains("quality")).collect();
        assert_eq!(told_of_it, told, "{sentence}");
    }
    let mut scene = Scene::new(fresh());
    taken_out(&mut scene, "..ggw");
    let open = scene.state.incident(Signal::Quality).unwrap();
    assert_eq!(open.severity, Severity::Notice);
    assert!(open.summary.contains("no longer among the server's sources"), "{}", open.summary);
    restarted(&mut scene);
    taken_out(&mut scene, "ngggn");
    let open = scene.state.incident(Signal::Quality).unwrap();
    assert_eq!(
        (open.severity, scene.told.len()),
        (Severity::Notice, 1),
        "a restart makes no page of it: {:?}",
        scene.told
    );
}

#[test]
fn a_corpus_that_was_cut_before_the_first_beat_shows_by_the_lock() {
    let with_lock = |sources: Option<u32>| {
        with(|monitor| {
            monitor.pinned = Some(Arc::new(Pinned { sources, canaries: BTreeMap::new(), ..lock("one") }));
        })
    };
    let looks = |scene: &mut Scene, counts: &[u32]| {
        for count in counts {
            scene.beat(60, |seen| seen.sources = Some(SourcesSeen { count: *count, ..SourcesSeen::default() }));
        }
    };
    let told = "2 opened freshness corpus_truncated";
    type Row<'r> = (&'r str, Option<u32>, &'r [u32], &'r [&'r str]);
    let rows: [Row<'_>; 4] = [
        ("a seventh of it is gone, and nobody wrote a rule", Some(412), &[350, 350], &[told]),
        ("and comes back", Some(412), &[350, 350, 412], &[told, "3 resolved freshness recovered"]),
        ("it is all there", Some(412), &[411, 411, 430], &[]),
        ("a lock without a number compares with nothing", None, &[350, 350], &[]),
    ];
    for (sentence, sources, counts, expected) in rows {
        let mut scene = Scene::new(with_lock(sources));
        looks(&mut scene, counts);
        assert_eq!(scene.told, expected, "{sentence}");
    }
    let mut scene = Scene::new(with_lock(Some(412)));
    looks(&mut scene, &[350, 350]);
    let told = scene.decided.iter().find_map(incident_of).unwrap();
    assert_eq!((told.severity, &*told.summary), (Severity::Page, "docs: 350 of 412 sources are left"));
    let by = told.evidence.iter().find(|one| one.key == "sources_known_by").map(|one| &*one.value);
    assert_eq!(by, Some("monitors.lock"));
    scene.monitor = with_lock(Some(350));
    looks(&mut scene, &[350]);
    assert_eq!(scene.told[1..], ["3 resolved freshness recovered"], "a lock that says so approves it");
}

#[test]
fn sources_that_go_missing_are_told_on_the_second_look() {
    let shrunk = |counts: &[Option<u32>]| {
        let mut scene = Scene::new(with(|monitor| {
            let older_than = std::time::Duration::from_secs(3_600);
            let (shrinks, severity) = (ShrinksRule::STANDARD, Severity::Ticket);
            monitor.rules.freshness = Some(FreshnessRule { older_than, shrinks, severity, line: 1 });
        }));
        for count in counts {
            scene.beat(60, |seen| {
                let last_indexed_at = Some(seen.started_at);
                let whole = |count| SourcesSeen { count, last_indexed_at, ..SourcesSeen::default() };
                seen.sources = count.map(whole);
            });
        }
        scene
    };
    let scene = shrunk(&[Some(412), Some(412), Some(300), None, Some(300), None, Some(412)]);
    assert_eq!(scene.told, ["5 opened freshness corpus_truncated", "7 resolved freshness recovered"]);
    let told = scene.decided.iter().find_map(incident_of).unwrap();
    assert_eq!((told.severity, &*told.summary), (Severity::Page, "docs: 300 of 412 sources are left"));
    assert_eq!(shrunk(&[Some(412), Some(300), Some(300)]).told, [""; 0], "what one look showed was never known");
    let mut open = shrunk(&[Some(412), Some(412), Some(300), Some(300)]);
    restarted(&mut open);
    open.beat(60, |seen| {
        seen.sources =
            Some(SourcesSeen { count: 300, last_indexed_at: Some(seen.started_at), ..SourcesSeen::default() });
    });
    assert_eq!(open.told, ["4 opened freshness corpus_truncated"], "a restart is no recovery");
}
