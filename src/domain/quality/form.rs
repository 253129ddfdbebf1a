//! The form of an answer against the lock (RETRIEVAL.md §3, check 2): how many results there are, whether they are scored,
//! and whether the scores fall. Fused ranks beside other scores may well not, so it is judged only where they always did.

use std::collections::HashSet;

use crate::domain::answer::{Answer, Hit, KeptText, Variant};
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::pinned::PinnedCanary;
use crate::domain::quality::score_code::rounded;
use crate::domain::reason::FailureReason;
use crate::domain::wording::counted;

/// What is longer fills a model's context with one result (RETRIEVAL.md §5 asks for 500 tokens at most).
pub(crate) const CHUNK_CHARS_MAX: u32 = 20_000;
/// And a text only where it is so many times as long as any that is pinned: some tools answer with whole documents.
const LONGER_TIMES: u32 = 2;

/// What is pinned of a canary's answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PinnedForm<'a> {
    pub(super) pinned: &'a PinnedCanary,
    /// Results there have to be ÷ the fewest that are pinned, or a text's characters ÷ those of the shortest, 0 to 1.
    pub(super) least: f64,
}

impl<'a> PinnedForm<'a> {
    /// Of a canary that was asked so; none where nothing is pinned of it, or nothing is to be judged by it: other words may
    /// well bring fewer results.
    pub(crate) fn of(monitor: &'a Monitor, canary: &Canary, variant: Variant) -> Option<Self> {
        if variant == Variant::Reworded {
            return None;
        }
        let results = &monitor.rules.quality.checks.results;
        let pinned = canary.pinned(monitor.pinned.as_ref()?)?;
        results.judge.then_some(Self { pinned, least: results.least })
    }
}

/// What is not as it was in every pin run: far fewer results, no first score, scores that rise.
pub(crate) fn deformed(form: PinnedForm<'_>, answer: &Answer) -> Option<String> {
    let PinnedForm { pinned, least } = form;
    let (fewest, most) = pinned.results;
    if (answer.hits.len() as f64) < f64::from(fewest) * least {
        let results = counted(answer.hits.len(), "result", "results");
        return Some(format!("{results}, {} are pinned", from_to(fewest, most)));
    }
    if let Some(hit) = repeated(answer).filter(|_| !pinned.repeats) {
        return Some(format!("the same text of {} twice, and in no pin run one came so", hit.source));
    }
    if pinned.top_score.is_some() && answer.hits.first().is_some_and(|hit| hit.score.is_none()) {
        return Some("the first result has no score that is a number, and one is pinned".to_owned());
    }
    let scores: Vec<f64> = answer.hits.iter().filter_map(|hit| hit.score).map(rounded).collect();
    let rises = scores.windows(2).position(|pair| pair[0] < pair[1]).filter(|_| pinned.sorted)?;
    Some(format!("result {} scores above the one before, and in no pin run one did", rises + 2))
}

/// What is wrong with the length of a text, beside those that are pinned: it is cut short, or fills a context as none did.
pub(crate) fn of_other_length(form: PinnedForm<'_>, text: &KeptText) -> Option<(FailureReason, String)> {
    let (shortest, longest) = form.pinned.text_chars?;
    let reason = match text.chars {
        chars if f64::from(chars) < f64::from(shortest) * form.least => FailureReason::ResultMalformed,
        chars if chars > CHUNK_CHARS_MAX.max(longest.saturating_mul(LONGER_TIMES)) => FailureReason::ChunkSizeAnomaly,
        _ => return None,
    };
    Some((reason, format!("a text of {} characters, {} are pinned", text.chars, from_to(shortest, longest))))
}

/// Such as `4 to 5`, or `4`.
pub(crate) fn from_to(least: u32, most: u32) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

/// The first result whose text came before, whatever its score: fused ranks give one text two of them.
pub(crate) fn repeated(answer: &Answer) -> Option<&Hit> {
    let text = |hit: &Hit| (hit.chars > 0).then(|| (hit.source.clone(), hit.chars, hit.excerpt.clone()));
    let mut seen = HashSet::new();
    answer.hits.iter().find(|hit| text(hit).is_some_and(|text| !seen.insert(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::pinned::PinnedScore;

    #[test]
    fn an_answer_has_the_pinned_form_or_not() {
        let hit = |score: &Option<f64>| Hit { source: "a".to_owned(), score: *score, chars: 0, excerpt: String::new() };
        let pinned = |results, scored: bool, sorted| PinnedCanary {
            definition_hash: String::new(),
            lists: Vec::new(),
            top_score: scored.then_some(PinnedScore { median: 0.5, mad: 0.0 }),
            results,
            chars: None,
            first_chars: None,
            text_chars: None,
            repeats: false,
            sorted,
        };
        let (usual, unsorted, unscored) =
            (pinned((4, 5), true, true), pinned((4, 5), true, false), pinned((4, 5), false, true));
        let falling = [Some(0.9), Some(0.8), Some(0.8), Some(0.1)];
        let rising = [Some(0.9), Some(0.1), Some(0.8), Some(0.1)];
        let none: [Option<f64>; 4] = [None; 4];
        type Row<'r> = (&'r PinnedCanary, &'r [Option<f64>], Option<&'r str>, &'r str);
        let rows: [Row<'_>; 8] = [
            (&usual, &falling, None, "as pinned"),
            (&usual, &falling[..2], None, "half of the fewest"),
            (&usual, &falling[..1], Some("1 result, 4 to 5 are pinned"), "less than half of them"),
            (&usual, &none, Some("the first result has no score"), "scores that are no numbers come as nothing"),
            (&unscored, &none, None, "a server without scores"),
            (&usual, &rising, Some("result 3 scores above"), "unsorted, and it never was"),
            (&unsorted, &rising, None, "unsorted, as it was"),
            (&usual, &[Some(0.800_01), Some(0.800_02), Some(0.8), Some(0.8)], None, "no more than is kept of a score"),
        ];
        for (pinned, scores, expected, sentence) in rows {
            let answer = Answer { hits: scores.iter().map(hit).collect(), ..Answer::default() };
            let found = deformed(PinnedForm { pinned, least: 0.5 }, &answer);
            match (&found, expected) {
                (Some(found), Some(expected)) => assert!(found.starts_with(expected), "{sentence}: {found}"),
                _ => assert_eq!(found.is_some(), expected.is_some(), "{sentence}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_text_is_as_long_as_pinned_or_far_from_it() {
        use FailureReason as R;
        let pinned = |text_chars| PinnedCanary { text_chars, ..PinnedCanary::default() };
        let (usual, document, unknown) = (Some((400, 440)), Some((15_000, 15_000)), None);
        let rows = [
            (usual, 410, None, "as pinned"),
            (usual, 200, None, "half of the shortest"),
            (
                usual,
                199,
                Some((R::ResultMalformed, "a text of 199 characters, 400 to 440 are pinned")),
                "less than that",
            ),
            (usual, 20_000, None, "much longer, and no harm: more was found"),
            (usual, 20_001, Some((R::ChunkSizeAnomaly, "a text of 20001 characters, 400 to 440 are pinned")), "harm"),
            (document, 30_000, None, "a whole document, which grew"),
            (document, 30_001, Some((R::ChunkSizeAnomaly, "a text of 30001 characters, 15000 are pinned")), "and more"),
            (unknown, 1, None, "no length is pinned"),
        ];
        for (text_chars, chars, expected, sentence) in rows {
            let text = KeptText { name: "text:ab".into(), bytes: 0, chars, begins: "".into() };
            let found = of_other_length(PinnedForm { pinned: &pinned(text_chars), least: 0.5 }, &text);
            let expected = expected.map(|(reason, said)| (reason, said.to_owned()));
            assert_eq!(found, expected, "{sentence}");
        }
    }
}
