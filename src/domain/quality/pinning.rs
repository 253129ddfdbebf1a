//! From the answers of many runs to what is pinned of a canary, and what a few more answers would move of it
//! (RETRIEVAL.md §2).

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::answer::{Answer, KeptText};
use crate::domain::monitor::Canary;
use crate::domain::observation::Observation;
use crate::domain::pinned::{PinnedCanary, PinnedScore, Relation};
use crate::domain::quality::form::{from_to, repeated};
use crate::domain::quality::look::median;
use crate::domain::quality::score_code::rounded;
use crate::domain::wording::counted;

/// A top score has moved where it is farther from the pinned one than this many deviations, as check 6 has it.
const MADS_MAX: f64 = 5.0;
/// Or, where it never moved, than this share of it: a score is judged as it is kept, and that rounds by 0.025 %.
const SCORE_SHARE: f64 = 0.005;
/// Results are longer or shorter where the median left this share of the pinned one.
const CHARS_SHARE: f64 = 0.1;
/// Sources that are named of a list.
const SOURCES_NAMED: usize = 5;

/// What is pinned of a canary that was answered so, a run an answer; none without any.
pub(crate) fn pinned(canary: &Canary, answers: &[&Answer]) -> Option<PinnedCanary> {
    let mut counts: Vec<(Vec<String>, usize)> = Vec::new();
    for answer in answers {
        let list = distinct_sources(answer);
        match counts.iter_mut().find(|(known, _)| *known == list) {
            Some((_, count)) => *count += 1,
            None => counts.push((list, 1)),
        }
    }
    // The sort is stable: of two as frequent, the one seen first.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let results = answers.iter().map(|answer| results(answer));
    let text_chars = text_chars(answers);
    if text_chars.is_some() && counts.len() > 1 {
        // Texts that differ by themselves are told apart from nothing.
        counts.clear();
    }
    Some(PinnedCanary {
        definition_hash: canary.definition_hash.clone(),
        lists: counts.into_iter().map(|(list, _)| list).collect(),
        top_score: top_score(answers),
        results: (results.clone().min()?, results.max()?),
        chars: chars(answers),
        first_chars: first_chars(answers),
        text_chars,
        repeats: answers.iter().any(|answer| repeated(answer).is_some()),
        sorted: are_sorted(answers),
    })
}

/// The lowest and the highest score of any result, as they are judged; none where none has one.
pub(crate) fn scale<'a>(answers: impl Iterator<Item = &'a Answer>) -> Option<(f64, f64)> {
    let scores = answers.flat_map(|answer| &answer.hits).filter_map(|hit| hit.score).map(rounded);
    scores.fold(None, |scale, score| {
        let (low, high) = scale.unwrap_or((score, score));
        Some((f64::min(low, score), f64::max(high, score)))
    })
}

/// What of a canary a new pin would move, a sentence each; nothing where it answers as it did.
pub(crate) fn moved(pin: &PinnedCanary, answers: &[&Answer]) -> Vec<String> {
    if pin.is_text() && answers.iter().all(|answer| answer.kept.is_some()) {
        return text_moved(pin, answers);
    }
    let mut said = Vec::new();
    let fresh = answers.iter().map(|answer| distinct_sources(answer)).find(|list| !pin.lists.contains(list));
    if let (Some(list), Some(was)) = (fresh, pin.lists.first()) {
        said.push(format!("sources were {}, now {}", named(was), named(&list)));
    } else if pin.words_anew() {
        said.push("a text before, now a list of results".to_owned());
    }
    let (fewest, most) = pin.results;
    let other = answers.iter().map(|answer| results(answer)).find(|count| !(fewest..=most).contains(count));
    if let Some(count) = other {
        said.push(format!("{} results before, now {count}", from_to(fewest, most)));
    }
    match (pin.top_score, top_score(answers)) {
        (Some(was), Some(now)) if is_far(was, now.median) => {
            said.push(format!("top score {:.4} ± {:.4} before, now {:.4}", was.median, was.mad, now.median));
        }
        (None, Some(now)) => said.push(format!("no score before, now {:.4}", now.median)),
        // Without a result there is none to have a score.
        (Some(was), None) if answers.iter().any(|answer| results(answer) > 0) => {
            said.push(format!("top score {:.4} before, now none", was.median));
        }
        _ => {}
    }
    if let (Some(was), Some(now)) = (pin.chars, chars(answers))
        && f64::from(was.abs_diff(now)) > f64::from(was) * CHARS_SHARE
    {
        said.push(format!("results of {was} characters before, now of {now}"));
    }
    if pin.sorted && !are_sorted(answers) && answers.iter().any(|answer| answer.hits.len() > 1) {
        said.push("scores fell from each result to the next before, and do not now".to_owned());
    }
    said
}

/// The same of texts: whether it is another one, where it was the same each time, and how long it is.
fn text_moved(pin: &PinnedCanary, answers: &[&Answer]) -> Vec<String> {
    let mut said = Vec::new();
    let is_other = |text: &KeptText| pin.lists.iter().all(|list| list.iter().all(|name| **name != *text.name));
    let texts = || answers.iter().filter_map(|answer| answer.kept.as_deref());
    if !pin.words_anew() && texts().any(is_other) {
        said.push("another text than before".to_owned());
    }
    if let (Some((shortest, longest)), Some(now)) = (pin.text_chars, text_chars(answers))
        && (f64::from(now.0) < f64::from(shortest) * (1.0 - CHARS_SHARE)
            || f64::from(now.1) > f64::from(longest) * (1.0 + CHARS_SHARE))
    {
        let (was, now) = (from_to(shortest, longest), from_to(now.0, now.1));
        said.push(format!("a text of {was} characters before, now of {now}"));
    }
    said
}

/// The nonce of a beat's `nth` question: another one for each question of a beat, and on each beat but for a chance of one
/// in four thousand million. What begins at one moment never comes again, so that nothing has to be remembered.
pub(crate) fn nonce(started_at: DateTime<Utc>, nth: usize) -> u32 {
    const MOMENT_BITS: u32 = 52;
    let own = started_at.timestamp_micros().cast_unsigned() ^ ((nth as u64) << MOMENT_BITS);
    // Odd, so that no two of them come to one product; its upper half depends on every bit.
    (own.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> u32::BITS) as u32
}

/// A question as it is asked to see whether a relation holds; `nonce` is another one each time.
pub(crate) fn altered(relation: Relation, question: &str, nonce: u32) -> String {
    match relation {
        Relation::SameTwice | Relation::Prefix => question.to_owned(),
        Relation::CaseAndBlanks => {
            let has_small = question.chars().any(char::is_lowercase);
            let turned = if has_small { question.to_uppercase() } else { question.to_lowercase() };
            format!(" {} ", turned.replace(' ', "  "))
        }
        Relation::Nonce => format!("{question} {nonce:08x}"),
    }
}

/// Whether an answer to the altered question keeps the relation: `accepted` are the lists of sources, repeats and all, that
/// the question itself brought.
pub(crate) fn holds(relation: Relation, accepted: &[Vec<String>], answer: &Answer) -> bool {
    let found: Vec<&str> = answer.sources().collect();
    let is_prefix = |list: &Vec<String>| {
        !found.is_empty() && list.len() >= found.len() && list.iter().zip(&found).all(|(a, b)| a == b)
    };
    match relation {
        Relation::Prefix => accepted.iter().any(is_prefix) || (found.is_empty() && accepted.iter().any(Vec::is_empty)),
        _ => accepted.iter().any(|list| list.iter().map(String::as_str).eq(found.iter().copied())),
    }
}

/// Whether a relation held between a canary's own answer and that to its altered question; none where none was looked at.
pub(crate) fn held(seen: &Observation) -> Option<bool> {
    let (relation, own, again) = seen.asked_otherwise()?;
    Some(holds(relation, &[own.sources().map(str::to_owned).collect()], again))
}

/// The sources of an answer without repeats, in the order given.
fn distinct_sources(answer: &Answer) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for source in answer.sources() {
        if !found.iter().any(|known| known == source) {
            found.push(source.to_owned());
        }
    }
    found
}

/// A list in words, its first sources by name.
pub(crate) fn named(list: &[String]) -> String {
    let shown: Vec<&str> = list.iter().take(SOURCES_NAMED).map(String::as_str).collect();
    match (shown.is_empty(), list.len().saturating_sub(SOURCES_NAMED)) {
        (true, _) => "none".to_owned(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} and {}", shown.join(", "), counted(more, "other", "others")),
    }
}

fn results(answer: &Answer) -> u32 {
    u32::try_from(answer.sources().count()).unwrap_or(u32::MAX)
}

fn top_score(answers: &[&Answer]) -> Option<PinnedScore> {
    let scores: Vec<f64> = answers.iter().filter_map(|answer| answer.hits.first()?.score).map(rounded).collect();
    let middle = median(scores.clone())?;
    let mad = median(scores.iter().map(|score| (score - middle).abs()).collect())?;
    Some(PinnedScore { median: rounded(middle), mad: rounded(mad) })
}

fn chars(answers: &[&Answer]) -> Option<u32> {
    let hits = answers.iter().flat_map(|answer| answer.hits.iter().map(|hit| hit.chars));
    let texts = answers.iter().filter_map(|answer| answer.kept.as_ref().map(|text| text.chars));
    let mut lengths: Vec<u32> = hits.chain(texts).filter(|chars| *chars > 0).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied()
}

/// Characters of the shortest and the longest text; none where some answer was no text.
fn text_chars(answers: &[&Answer]) -> Option<(u32, u32)> {
    let lengths = answers.iter().map(|answer| Some(answer.kept.as_ref()?.chars)).collect::<Option<Vec<u32>>>()?;
    Some((*lengths.iter().min()?, *lengths.iter().max()?))
}

/// The length of the first result; none where it differs, or has no text.
fn first_chars(answers: &[&Answer]) -> Option<u32> {
    let mut lengths = answers.iter().filter_map(|answer| answer.hits.first()).map(|hit| hit.chars);
    let first = lengths.next().filter(|chars| *chars > 0)?;
    lengths.all(|chars| chars == first).then_some(first)
}

/// Whether scores fell in every answer, and there were any to see it by.
fn are_sorted(answers: &[&Answer]) -> bool {
    let pairs =
        || answers.iter().flat_map(|answer| answer.hits.windows(2)).filter_map(|pair| pair[0].score.zip(pair[1].score));
    pairs().next().is_some() && pairs().all(|(one, next)| rounded(one) >= rounded(next))
}

fn is_far(was: PinnedScore, now: f64) -> bool {
    (now - was.median).abs() > (was.mad * MADS_MAX).max(was.median.abs() * SCORE_SHARE)
}

/// How each of these questions was answered, by the lists of sources with their repeats.
pub(crate) fn lists<'a>(answers: impl Iterator<Item = (&'a str, &'a Answer)>) -> HashMap<String, Vec<Vec<String>>> {
    let mut found: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    for (canary, answer) in answers {
        let list: Vec<String> = answer.sources().map(str::to_owned).collect();
        let known = found.entry(canary.to_owned()).or_default();
        if !known.contains(&list) {
            known.push(list);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::answer::Hit;
    use crate::domain::monitor::CanaryKind;

    fn answer(hits: &[(&str, f64)]) -> Answer {
        let hit = |(source, score): &(&str, f64)| Hit {
            source: (*source).to_owned(),
            score: Some(*score),
            chars: 400,
            excerpt: String::new(),
        };
        Answer { hits: hits.iter().map(hit).collect(), ..Answer::default() }
    }

    fn canary() -> Canary {
        Canary {
            id: "a".to_owned(),
            query: "how".to_owned(),
            kind: CanaryKind::Meaning,
            expect: Vec::new(),
            within: 5,
            max_score: None,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: "d".to_owned(),
        }
    }

    #[test]
    fn runs_become_what_is_pinned() {
        let (usual, other) = (answer(&[("a", 0.5), ("a", 0.25), ("b", 0.25)]), answer(&[("b", 0.75), ("a", 1.0)]));
        let pin = pinned(&canary(), &[&other, &usual, &usual]).unwrap();
        assert_eq!(pin.lists, [["a", "b"], ["b", "a"]], "the most frequent first, without repeats");
        assert_eq!(pin.top_score, Some(PinnedScore { median: 0.5, mad: 0.0 }));
        assert_eq!((pin.results, pin.chars, pin.sorted), ((2, 3), Some(400), false));
        assert!(pinned(&canary(), &[&usual]).unwrap().sorted, "fallen, or equal");
        assert!(!pinned(&canary(), &[&answer(&[])]).unwrap().sorted, "nothing was seen to fall");
        assert_eq!(pinned(&canary(), &[]), None);
        assert_eq!(scale([&usual, &other].into_iter()), Some((0.25, 1.0)));
    }

    #[test]
    fn what_moved_is_said_and_nothing_else() {
        let pin = pinned(&canary(), &[&answer(&[("a", 0.5), ("b", 0.25)])]).unwrap();
        let shorter = {
            let mut answer = answer(&[("a", 0.5), ("b", 0.25)]);
            answer.hits.iter_mut().for_each(|hit| hit.chars = 300);
            answer
        };
        let rows = [
            (answer(&[("a", 0.501), ("b", 0.25)]), "", "a score that hardly moved"),
            (answer(&[("b", 0.5), ("a", 0.25)]), "sources were a, b, now b, a", "another order"),
            (answer(&[("a", 0.25), ("b", 0.125)]), "top score 0.5000 ± 0.0000 before, now 0.2500", "half the score"),
            (answer(&[]), "sources were a, b, now none; 2 results before, now 0", "nothing"),
            (
                answer(&[("a", 0.5), ("b", 0.75)]),
                "scores fell from each result to the next before, and do not now",
                "no order",
            ),
            (shorter, "results of 400 characters before, now of 300", "other chunks"),
        ];
        for (answer, expected, sentence) in rows {
            assert_eq!(moved(&pin, &[&answer]).join("; "), expected, "{sentence}");
        }
    }

    #[test]
    fn of_texts_is_pinned_how_long_they_are_and_which_one_came_each_time() {
        let text = |name: &str, chars| {
            let kept = KeptText { name: format!("text:{name}").into(), bytes: 0, chars, begins: "".into() };
            Answer { text_only: true, kept: Some(Box::new(kept)), ..Answer::default() }
        };
        let (one, longer, other) = (text("a", 400), text("b", 440), text("c", 200));
        let steady = pinned(&canary(), &[&one, &one]).unwrap();
        assert_eq!((&steady.lists, steady.text_chars), (&vec![vec!["text:a".to_owned()]], Some((400, 400))));
        let anew = pinned(&canary(), &[&one, &longer, &one]).unwrap();
        assert_eq!(
            (anew.lists.len(), anew.text_chars),
            (0, Some((400, 440))),
            "texts that differ are none to know again"
        );
        assert_eq!((steady.words_anew(), anew.words_anew()), (false, true));
        let mixed = pinned(&canary(), &[&one, &answer(&[("a", 0.5)])]).unwrap();
        assert_eq!((mixed.text_chars, mixed.is_text()), (None, false), "sometimes a list");
        let rows = [
            (&steady, &one, "", "the same text"),
            (&steady, &longer, "another text than before", "hardly longer"),
            (&steady, &other, "another text than before; a text of 400 characters before, now of 200", "half as long"),
            (&anew, &longer, "", "one of many"),
            (&anew, &other, "a text of 400 to 440 characters before, now of 200", "shorter than any"),
            (
                &anew,
                &answer(&[("a", 0.5)]),
                "a text before, now a list of results; no score before, now 0.5000",
                "a list",
            ),
        ];
        for (pin, answer, expected, sentence) in rows {
            assert_eq!(moved(pin, &[answer]).join("; "), expected, "{sentence}");
        }
    }

    #[test]
    fn relations_are_seen_between_two_answers() {
        let accepted = [vec!["a".to_owned(), "a".to_owned(), "b".to_owned()]];
        let rows = [
            (Relation::Prefix, &["a", "a"][..], true, "the first of more"),
            (Relation::Prefix, &["a", "b"], false, "a repeat counts"),
            (Relation::Prefix, &[], false, "nothing is the first of nothing"),
            (Relation::Nonce, &["a", "a", "b"], true, "the same list"),
            (Relation::Nonce, &["a", "a"], false, "a shorter one"),
        ];
        for (relation, sources, expected, sentence) in rows {
            let hits: Vec<(&str, f64)> = sources.iter().map(|source| (*source, 0.5)).collect();
            assert_eq!(holds(relation, &accepted, &answer(&hits)), expected, "{sentence}");
        }
        assert_eq!(altered(Relation::CaseAndBlanks, "how long", 0), " HOW  LONG ");
        assert_eq!(altered(Relation::CaseAndBlanks, "ERR-4417", 0), " err-4417 ", "always another text");
        assert_eq!(altered(Relation::Nonce, "how", 255), "how 000000ff");
        assert_eq!(altered(Relation::SameTwice, "how", 1), "how");
    }

    #[test]
    fn a_nonce_does_not_come_again() {
        let begun = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        // A day of beats a minute apart, each a little late, with more questions than a beat asks.
        let moments =
            (0..1440_u64).map(|beat| begun + std::time::Duration::from_micros(beat * 60_000_000 + beat * 977));
        let all: Vec<u32> = moments.flat_map(|at| (0..12).map(move |nth| nonce(at, nth))).collect();
        let distinct: std::collections::HashSet<u32> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        let of_one_beat: std::collections::HashSet<u32> = (0..500).map(|nth| nonce(begun, nth)).collect();
        assert_eq!(of_one_beat.len(), 500, "nor within one beat, however many it asks");
    }
}
