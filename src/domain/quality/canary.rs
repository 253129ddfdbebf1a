//! One canary's answer: right or wrong (RETRIEVAL.md §3, checks 2 and 3).

use crate::domain::answer::{Answer, Hit, Variant};
use crate::domain::monitor::{Canary, CanaryKind, Monitor};
use crate::domain::outcome::{AskVerdict, IN_OTHER_WORDS};
use crate::domain::quality::form::{CHUNK_CHARS_MAX, PinnedForm, deformed, of_other_length};
use crate::domain::quality::score_code::rounded;
use crate::domain::reason::FailureReason;
use crate::domain::search::Search;
use crate::domain::wording::counted;

/// Sources named in one line of evidence.
const SEEN_SOURCES_MAX: usize = 3;

const NAMES_NO_SOURCE: &str = "no result names its source";

/// Canaries that a finding names; the monitor's page shows them all.
pub(crate) const EVIDENCE_CANARIES_MAX: usize = 8;

/// The evidence key under which a finding tells what one canary got.
pub(crate) fn key(canary: &str) -> String {
    format!("canary.{canary}")
}

/// Whose line a key of the evidence is.
pub(crate) fn canary_of(key: &str) -> Option<&str> {
    key.strip_prefix("canary.")
}

/// Judges the answer to a canary of a monitor that was asked so.
pub(crate) fn judge_asked(monitor: &Monitor, (canary, variant): (&Canary, Variant), answer: &Answer) -> AskVerdict {
    match judge(canary, &monitor.search, PinnedForm::of(monitor, canary, variant), answer) {
        AskVerdict::Wrong { reason, rank, seen } if variant == Variant::Reworded => {
            AskVerdict::Wrong { reason, rank, seen: format!("{IN_OTHER_WORDS}{seen}") }
        }
        verdict => verdict,
    }
}

/// Judges an answer by what the canary declares, and its form by what is pinned, where it is.
pub(crate) fn judge(canary: &Canary, search: &Search, form: Option<PinnedForm<'_>>, answer: &Answer) -> AskVerdict {
    match by_expectation(canary, search, form, answer) {
        // Whether a source is forbidden shows by its name alone.
        AskVerdict::Right { .. } if !canary.forbid.is_empty() && names_no_source(answer) => unnamed(),
        verdict => verdict,
    }
}

fn by_expectation(canary: &Canary, search: &Search, form: Option<PinnedForm<'_>>, answer: &Answer) -> AskVerdict {
    let wrong = |reason, rank, seen| AskVerdict::Wrong { reason, rank, seen };
    if let Some(seen) = wrong_text(canary, answer) {
        let is_empty = canary.kind != CanaryKind::Negative && !answer.text_only && answer.hits.is_empty();
        let reason = if is_empty { FailureReason::EmptyResults } else { FailureReason::WrongResults };
        return wrong(reason, None, seen);
    }
    if canary.kind == CanaryKind::Negative {
        return judge_negative(canary, search, answer);
    }
    if canary.expect.is_empty() {
        let misfit = form.zip(answer.kept.as_deref()).and_then(|(form, text)| of_other_length(form, text));
        return match misfit {
            None => AskVerdict::Right { rank: None },
            // What is wanted is found: it did not lose its source.
            Some((reason, seen)) => wrong(reason, Some(1), format!("{seen}, which begins {}", beginning(answer))),
        };
    }
    if let Some((reason, seen)) = malformed(answer) {
        return wrong(reason, None, seen);
    }
    let rank = rank_of(&canary.expect, &answer.hits);
    if let Some(seen) = form.and_then(|form| deformed(form, answer)) {
        return wrong(FailureReason::ResultMalformed, rank, seen);
    }
    match rank {
        Some(rank) if rank <= canary.within => AskVerdict::Right { rank: Some(rank) },
        rank => {
            let place = rank.map_or_else(|| "not found".to_owned(), |rank| format!("at rank {rank}"));
            let seen = format!(
                "{} {place} within {}, got {}",
                canary.expect.join(" or "),
                canary.within,
                top_sources(&answer.hits)
            );
            wrong(FailureReason::WrongResults, rank, seen)
        }
    }
}

/// Rank, from 1, of the first expected source among the distinct sources of the answer.
pub(crate) fn rank_of(expect: &[String], hits: &[Hit]) -> Option<u32> {
    let mut distinct: Vec<&str> = Vec::new();
    for hit in hits {
        if distinct.contains(&hit.source.as_str()) {
            continue;
        }
        distinct.push(&hit.source);
        if expect.iter().any(|expected| same_source(expected, &hit.source)) {
            return u32::try_from(distinct.len()).ok();
        }
    }
    None
}

/// Whether a source is one that makes an answer to the canary right.
pub(crate) fn expects(canary: &Canary, source: &str) -> bool {
    canary.expect.iter().any(|expected| same_source(expected, source))
}

/// Whether a declared source and an answered one are the same: equal, or the declared one is a
/// whole-component tail of it; a fragment (`#section`) of the answered one does not matter.
pub(crate) fn same_source(expected: &str, answered: &str) -> bool {
    let answered = answered.split('#').next().unwrap_or(answered);
    let expected = expected.trim_start_matches("./");
    answered == expected || answered.strip_suffix(expected).is_some_and(|head| head.ends_with('/'))
}

/// What is wrong with the answer's text, with its first words, where the canary reads it.
fn wrong_text(canary: &Canary, answer: &Answer) -> Option<String> {
    let text = answer.read.as_deref().or(answer.text.as_deref()).unwrap_or_default();
    let wrong = canary.text.as_deref()?.wrong(text, &canary.query)?;
    Some(format!("{wrong}, which begins {}", beginning(answer)))
}

fn beginning(answer: &Answer) -> String {
    format!("“{}”", answer.begins.as_deref().unwrap_or_default())
}

fn judge_negative(canary: &Canary, search: &Search, answer: &Answer) -> AskVerdict {
    // Where the file knows how the server says that it found nothing, a text that merely holds no wrong words says less.
    let says_when_empty = search.said.as_ref().is_some_and(|said| said.empty.is_some());
    let is_told = canary.text.as_deref().is_some_and(|text| !text.contains.is_empty() || !says_when_empty);
    if answer.text_only && !is_told {
        let seen = format!("the answer does not say that nothing was found; it begins {}", beginning(answer));
        return AskVerdict::Wrong { reason: FailureReason::ThresholdBroken, rank: None, seen };
    }
    let counts = |hit: &&Hit| match (canary.max_score, hit.score) {
        (Some(limit), Some(score)) => rounded(score) > rounded(limit),
        _ => true,
    };
    let hits: Vec<&Hit> = answer.hits.iter().filter(counts).collect();
    match hits.first() {
        None => AskVerdict::Right { rank: None },
        Some(first) => AskVerdict::Wrong {
            reason: FailureReason::ThresholdBroken,
            rank: None,
            seen: match (canary.max_score, first.score) {
                (Some(limit), Some(score)) => format!("{} scored {score:.3}, {limit} is allowed", first.source),
                _ => format!("{}, none are allowed: {}", counted(hits.len(), "result", "results"), first.source),
            },
        },
    }
}

fn unnamed() -> AskVerdict {
    AskVerdict::Wrong { reason: FailureReason::ResultMalformed, rank: None, seen: NAMES_NO_SOURCE.to_owned() }
}

/// Whether there are results, and not one says where it is from.
fn names_no_source(answer: &Answer) -> bool {
    !answer.hits.is_empty() && answer.hits.iter().all(|hit| hit.source.is_empty())
}

/// What is wrong with an answer before anybody asks whether it is right.
fn malformed(answer: &Answer) -> Option<(FailureReason, String)> {
    if answer.hits.is_empty() {
        let total = answer.total.map_or_else(String::new, |total| format!(" (total says {total})"));
        return Some((FailureReason::EmptyResults, format!("no results{total}")));
    }
    if names_no_source(answer) {
        return Some((FailureReason::ResultMalformed, NAMES_NO_SOURCE.to_owned()));
    }
    let longest = answer.hits.iter().map(|hit| hit.chars).max().unwrap_or(0);
    if longest > CHUNK_CHARS_MAX {
        return Some((FailureReason::ChunkSizeAnomaly, format!("a result of {longest} characters")));
    }
    let repeats = |at: usize, hit: &Hit| hit.chars > 0 && answer.hits[..at].contains(hit);
    let repeated = answer.hits.iter().enumerate().find(|(at, hit)| repeats(*at, hit));
    repeated.map(|(_, hit)| (FailureReason::ResultMalformed, format!("the same chunk of {} twice", hit.source)))
}

fn top_sources(hits: &[Hit]) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for hit in hits {
        if !distinct.contains(&hit.source.as_str()) {
            distinct.push(&hit.source);
        }
    }
    let more = distinct.len().saturating_sub(SEEN_SOURCES_MAX);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", distinct[..distinct.len().min(SEEN_SOURCES_MAX)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::answer::KeptText;
    use crate::domain::monitor::Monitor;
    use crate::domain::pinned::PinnedCanary;
    use crate::domain::secret::{Address, Secret};
    use crate::domain::wanted::{ExpectedText, Pattern, TextSigns, Wanted};

    fn hit(source: &str, score: f64) -> Hit {
        Hit { source: source.to_owned(), score: Some(score), chars: 100, excerpt: format!("of {source} {score}") }
    }

    fn canary(kind: CanaryKind, expect: &[&str], max_score: Option<f64>) -> Canary {
        Canary {
            id: "c".to_owned(),
            query: "q".to_owned(),
            kind,
            expect: expect.iter().map(|source| (*source).to_owned()).collect(),
            within: 2,
            max_score,
            text: None,
            forbid: Vec::new(),
            also: Vec::new(),
            line: 1,
            definition_hash: String::new(),
        }
    }

    /// One that says so where it found nothing, or none that does.
    fn search(says_when_empty: bool) -> Search {
        let address = Address { shown: String::new(), resolved: Secret::new("") };
        let signs = TextSigns { error: None, empty: Some(Pattern::new("^nothing found").unwrap()) };
        let said = says_when_empty.then(|| Box::new(signs));
        Search { said, ..Monitor::undeclared("m", address).search }
    }

    fn slug(verdict: &AskVerdict) -> &str {
        match verdict {
            AskVerdict::Wrong { reason, .. } | AskVerdict::Failed { reason } => reason.slug(),
            other => other.slug(),
        }
    }

    #[test]
    fn an_answer_is_right_or_wrong_for_a_reason() {
        let asks = canary(CanaryKind::Mixed, &["a.md"], None);
        let negative = canary(CanaryKind::Negative, &[], None);
        let lenient = canary(CanaryKind::Negative, &[], Some(0.3));
        let rows: Vec<(&Canary, Vec<Hit>, &str, &str)> = vec![
            (&asks, vec![hit("a.md", 0.9)], "right", "the expected source is first"),
            (&asks, vec![hit("b.md", 0.9), hit("a.md", 0.8)], "right", "the expected source is just within"),
            (
                &asks,
                vec![hit("b.md", 0.9), hit("b.md", 0.8), hit("a.md", 0.7)],
                "right",
                "ranks count sources, not chunks",
            ),
            (&asks, vec![hit("b.md", 0.9), hit("c.md", 0.8), hit("a.md", 0.7)], "wrong_results", "one rank too late"),
            (&asks, vec![hit("b.md", 0.9)], "wrong_results", "the expected source is absent"),
            (&asks, vec![hit("docs/a.md#top", 0.9)], "right", "a longer path and a fragment are the same source"),
            (&asks, vec![hit("aa.md", 0.9)], "wrong_results", "a longer name is another source"),
            (&asks, vec![], "empty_results", "nothing came"),
            (&asks, vec![hit("", 0.9)], "result_malformed", "no source is named"),
            (&asks, vec![hit("a.md", 0.9), hit("a.md", 0.9)], "result_malformed", "the same chunk twice"),
            (&asks, vec![Hit { chars: 50_000, ..hit("a.md", 0.9) }], "chunk_size_anomaly", "a chunk of a whole book"),
            (&negative, vec![], "right", "nothing is the right answer to a question about nothing"),
            (&negative, vec![hit("a.md", 0.1)], "threshold_broken", "any result is one too many"),
            (&lenient, vec![hit("a.md", 0.3)], "right", "a low score is no hit"),
            (&lenient, vec![hit("a.md", 0.31)], "threshold_broken", "a score above the limit is"),
        ];
        for (canary, hits, expected, sentence) in rows {
            let verdict = judge(canary, &search(false), None, &Answer { hits, ..Answer::default() });
            assert_eq!(slug(&verdict), expected, "{sentence}: {verdict:?}");
        }
    }

    fn told(text: &str) -> Answer {
        Answer { text: Some(text.into()), text_only: true, begins: Some(text.to_owned()), ..Answer::default() }
    }

    #[test]
    fn a_text_is_right_or_wrong_by_what_it_holds_beside_the_question() {
        let words = |words: &[&str]| words.iter().map(|words| Wanted::Words((*words).to_owned())).collect();
        let reads = |kind, contains: &[&str], not_contains: &[&str]| Canary {
            query: "copper valve".to_owned(),
            text: Some(Box::new(ExpectedText { contains: words(contains), not_contains: words(not_contains) })),
            ..canary(kind, &[], None)
        };
        let asks = reads(CanaryKind::Mixed, &["boilers", "each quarter"], &["INV-9"]);
        let none = canary(CanaryKind::Negative, &[], None);
        let refuses = reads(CanaryKind::Negative, &[], &["boilers"]);
        let both = Canary { expect: vec!["a.md".to_owned()], ..reads(CanaryKind::Mixed, &["quarter"], &[]) };
        let echo = "Results for copper valve";
        let listed = |hits: Vec<Hit>| Answer { hits, text_only: false, ..told("checked each quarter") };
        let rows: Vec<(&Canary, Answer, &str, &str)> = vec![
            (&asks, told("Boilers: checked each  quarter"), "right", "all of the words"),
            (&asks, told("Boilers are old"), "wrong_results", "some of the words"),
            (&asks, told("Boilers: each quarter, see INV-9"), "wrong_results", "a word that may not be there"),
            (&asks, told(echo), "wrong_results", "an echo of the question"),
            (
                &asks,
                Answer { text_only: false, ..told("nothing found") },
                "empty_results",
                "it says that there is nothing",
            ),
            (&none, Answer { text_only: false, ..told("nothing found") }, "right", "nothing, and it says so"),
            (&none, told(echo), "threshold_broken", "a text that does not say so"),
            (&refuses, told(echo), "right", "a text without what it may not hold"),
            (&refuses, told("boilers"), "wrong_results", "a text with it"),
            (&both, listed(vec![hit("a.md", 0.9)]), "right", "source and words"),
            (&both, listed(vec![hit("b.md", 0.9)]), "wrong_results", "words of another source"),
            (
                &both,
                Answer { text: Some("no".into()), ..listed(vec![hit("a.md", 0.9)]) },
                "wrong_results",
                "other words",
            ),
        ];
        for (canary, answer, expected, sentence) in rows {
            let verdict = judge(canary, &search(false), None, &answer);
            assert_eq!(slug(&verdict), expected, "{sentence}: {verdict:?}");
        }
        let pinned = PinnedCanary { text_chars: Some((100, 120)), ..PinnedCanary::default() };
        let form = PinnedForm { pinned: &pinned, least: 0.5 };
        let of = |text: &str, chars| {
            let kept = KeptText { name: "text:ab".into(), bytes: 0, chars, begins: "".into() };
            Answer { kept: Some(Box::new(kept)), ..told(text) }
        };
        let rows = [
            (&asks, of("Boilers: each quarter", 50), "right", "as long as pinned"),
            (&asks, of("Boilers: each quarter", 49), "result_malformed", "cut short, whatever it still holds"),
            (&asks, of("Boilers", 7), "wrong_results", "what it lacks comes before how long it is"),
            (&refuses, of("nothing of that", 7), "right", "nothing is pinned of how long nothing is"),
        ];
        for (canary, answer, expected, sentence) in rows {
            let verdict = judge(canary, &search(false), Some(form), &answer);
            assert_eq!(slug(&verdict), expected, "{sentence}: {verdict:?}");
        }
        let says = reads(CanaryKind::Negative, &["no match"], &["boilers"]);
        let rows = [
            (&refuses, told("Internal failure 17"), "threshold_broken", "it does not say that it found nothing"),
            (&refuses, Answer { text_only: false, ..told("nothing found") }, "right", "it does"),
            (&says, told("no match"), "right", "in words of the canary's own"),
        ];
        for (canary, answer, expected, sentence) in rows {
            let verdict = judge(canary, &search(true), None, &answer);
            assert_eq!(slug(&verdict), expected, "{sentence}: {verdict:?}");
        }
    }
}
