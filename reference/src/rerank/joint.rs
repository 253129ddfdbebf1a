//! The reranker that is built in: reads question and passage together, without weights.
//!
//! What it looks at, and what each is worth, is in `WEIGHTS`. A term weighs what it tells about the
//! candidates: one that all of them hold weighs little (Robertson and Spärck Jones' inverse document
//! frequency, over the candidates). A part that a question cannot have (proximity with one term,
//! identifiers where it names none) is left out, so that a perfect passage reaches 1 for any question.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation as _;

use crate::embed::concepts;
use crate::rerank::{Passage, RerankError, Reranker, bounded};
use crate::text::words;

/// The built-in reranker. The same question and passages give the same bits everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JointReranker;

#[async_trait::async_trait]
impl Reranker for JointReranker {
    fn name(&self) -> &'static str {
        "serin-joint"
    }

    /// Measured over the golden set: half and half has MRR .840, its words alone .746, the fused order .694.
    fn share(&self) -> f64 {
        0.5
    }

    async fn scores(&self, question: &str, passages: &[Passage<'_>]) -> Result<Vec<f64>, RerankError> {
        bounded(passages)?;
        Ok(self.judge(question, passages))
    }
}

/// What a part of the judgement is worth.
struct JointWeights {
    /// Terms of the question in the passage, or at least their concepts.
    coverage: f64,
    /// Terms of the question in its headings.
    heading: f64,
    /// How close together the terms stand.
    proximity: f64,
    /// The longest run of the question's terms that the passage has word for word.
    phrase: f64,
    /// Identifiers of the question, letter for letter.
    identifier: f64,
}

/// Coverage is most of it: the other parts tell apart passages that cover alike. An identifier is what
/// a question that has one is about, and letters that nearly match are another one.
const WEIGHTS: JointWeights =
    JointWeights { coverage: 0.50, heading: 0.15, proximity: 0.12, phrase: 0.13, identifier: 0.60 };
/// What a passage is credited for a term of which it has only the concept.
const CONCEPT_CREDIT: f64 = 0.7;
/// Different terms of a question that are looked at; a longer one is a document.
const TERMS_MAX: usize = 64;
/// Characters of a passage that are read: past this a chunk has no business being a chunk.
const PASSAGE_CHARS_MAX: usize = 16_384;

impl JointReranker {
    /// The scores, 0 to 1, in the order of the passages; at once and without awaiting.
    pub fn judge(&self, question: &str, passages: &[Passage<'_>]) -> Vec<f64> {
        let question = JointQuestion::read(question);
        let read: Vec<Read> = passages.iter().map(|passage| Read::of(passage, &question)).collect();
        let weights: Vec<f64> = (0..question.terms.len()).map(|term| idf(&read, term)).collect();
        read.iter().map(|passage| question.score(passage, &weights)).collect()
    }
}

/// A question as it is looked for.
struct JointQuestion {
    /// Its different stems, in their order.
    terms: Vec<String>,
    /// Concepts of each term.
    concepts: Vec<Vec<&'static str>>,
    /// Its stems with repeats, as places in `terms`.
    sequence: Vec<usize>,
    identifiers: Vec<String>,
}

/// A passage as far as this question goes.
struct Read {
    /// Places of terms in text and headings: (place, term), by place.
    places: Vec<(usize, usize)>,
    /// What of each term is there, 0 to 1.
    credit: Vec<f64>,
    /// Which terms are in the headings.
    heading: Vec<bool>,
    /// Terms of the longest run.
    run: usize,
    identifiers: usize,
}

impl JointQuestion {
    fn read(text: &str) -> Self {
        let stems = words::content_stems(text);
        let mut terms: Vec<String> = Vec::new();
        let mut sequence = Vec::new();
        for stem in &stems {
            let known = terms.iter().position(|term| term == stem);
            if known.is_none() && terms.len() == TERMS_MAX {
                break;
            }
            sequence.push(known.unwrap_or(terms.len()));
            if known.is_none() {
                terms.push(stem.clone());
            }
        }
        let mut concepts: Vec<Vec<&'static str>> =
            terms.iter().map(|term| concepts::of(std::slice::from_ref(term))).collect();
        for (pair, places) in stems.windows(2).zip(sequence.windows(2)) {
            // A phrase of two words names a concept; each of the two stands for it.
            for place in places {
                concepts[*place].extend(concepts::of_phrase(&pair[0], &pair[1]));
            }
        }
        Self { terms, concepts, sequence, identifiers: identifiers(text) }
    }

    fn score(&self, passage: &Read, idf: &[f64]) -> f64 {
        let share = |of: &dyn Fn(usize) -> f64| {
            let all: f64 = idf.iter().sum();
            let some: f64 = idf.iter().enumerate().map(|(term, weight)| weight * of(term)).sum();
            if all > 0.0 { some / all } else { 0.0 }
        };
        let coverage = share(&|term| passage.credit[term]);
        let heading = share(&|term| f64::from(u8::from(passage.heading[term])));
        let mut parts = vec![(WEIGHTS.coverage, coverage), (WEIGHTS.heading, heading)];
        if self.terms.len() > 1 {
            parts.push((WEIGHTS.proximity, proximity(&passage.places) * coverage));
            let run = if passage.run > 1 { ratio(passage.run, self.sequence.len()) } else { 0.0 };
            parts.push((WEIGHTS.phrase, run));
        }
        if !self.identifiers.is_empty() {
            parts.push((WEIGHTS.identifier, ratio(passage.identifiers, self.identifiers.len())));
        }
        let all: f64 = parts.iter().map(|(weight, _)| weight).sum();
        parts.iter().map(|(weight, part)| weight * part).sum::<f64>() / all
    }
}

impl Read {
    fn of(passage: &Passage<'_>, question: &JointQuestion) -> Self {
        let headings = words::content_stems(passage.section);
        let content: String = passage.content.chars().take(PASSAGE_CHARS_MAX).collect();
        let stems = words::content_stems(&content);
        let known: HashMap<&str, usize> = question.terms.iter().map(String::as_str).zip(0..).collect();
        let term = |stem: &String| known.get(stem.as_str()).copied();
        let places = stems.iter().enumerate().filter_map(|(place, stem)| Some((place, term(stem)?))).collect();
        let mut heading = vec![false; question.terms.len()];
        for found in headings.iter().filter_map(term) {
            heading[found] = true;
        }
        let found: HashSet<usize> = stems.iter().filter_map(term).collect();
        let concepts: HashSet<&str> = concepts::of(&stems).into_iter().chain(concepts::of(&headings)).collect();
        let credit = (0..question.terms.len())
            .map(|term| {
                if found.contains(&term) || heading[term] {
                    1.0
                } else if question.concepts[term].iter().any(|concept| concepts.contains(concept)) {
                    CONCEPT_CREDIT
                } else {
                    0.0
                }
            })
            .collect();
        let written: HashSet<String> = identifiers(&content).into_iter().chain(identifiers(passage.section)).collect();
        let identifiers = question.identifiers.iter().filter(|identifier| written.contains(*identifier)).count();
        let run = longest_run(&question.sequence, &stems.iter().map(term).collect::<Vec<_>>());
        Self { places, credit, heading, run, identifiers }
    }
}

/// What a term tells about these candidates; always above zero, so that a term none of them holds is missed.
fn idf(passages: &[Read], term: usize) -> f64 {
    let holding: f64 = passages.iter().map(|passage| passage.credit[term]).sum();
    let count = passages.iter().fold(0.0, |count, _| count + 1.0);
    (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln()
}

/// How close together the terms that are there stand: their number by the words of the smallest window that holds
/// each of them, 0 to 1; 0 where fewer than two are there.
fn proximity(places: &[(usize, usize)]) -> f64 {
    let wanted = places.iter().map(|(_, term)| term).collect::<HashSet<_>>().len();
    if wanted < 2 {
        return 0.0;
    }
    let mut inside = HashMap::<usize, usize>::new();
    let (mut from, mut smallest) = (0, usize::MAX);
    for (place, term) in places {
        *inside.entry(*term).or_default() += 1;
        while inside.len() == wanted {
            let (first, leaving) = places[from];
            smallest = smallest.min(place - first + 1);
            from += 1;
            if let Some(count) = inside.get_mut(&leaving) {
                *count -= 1;
                if *count == 0 {
                    inside.remove(&leaving);
                }
            }
        }
    }
    ratio(wanted, smallest)
}

/// The longest run of the question's terms that the passage has without another word between: their number.
fn longest_run(question: &[usize], passage: &[Option<usize>]) -> usize {
    let mut longest = 0;
    // before[i]: the run that ends at the question's word i and the passage's word before this one.
    let mut before = vec![0; question.len() + 1];
    for word in passage {
        let mut now = vec![0; question.len() + 1];
        for (at, term) in question.iter().enumerate() {
            if *word == Some(*term) {
                now[at + 1] = before[at] + 1;
                longest = longest.max(now[at + 1]);
            }
        }
        before = now;
    }
    longest
}

/// Words of a text that are names in some system: with a digit, an underscore, a sign between letters, or capitals
/// within. In lower case, for people do not shift.
fn identifiers(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let mut found: Vec<String> = text
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| is_identifier(word))
        .map(str::to_lowercase)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn is_identifier(word: &str) -> bool {
    let signed = word.contains(['_', ':', '.']);
    let humped =
        word.chars().zip(word.chars().skip(1)).any(|(left, right)| left.is_lowercase() && right.is_uppercase());
    word.graphemes(true).count() > 1 && (signed || humped || word.chars().any(|c| c.is_ascii_digit()))
}

fn ratio(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let ratio = part as f64 / whole.max(1) as f64;
    ratio.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(question: &str, passages: &[(&str, &str)]) -> Vec<f64> {
        let passages: Vec<Passage<'_>> =
            passages.iter().map(|(section, content)| Passage { section, content }).collect();
        JointReranker.judge(question, &passages)
    }

    /// The first passage is the right one; wherever it stands it scores above each of the others.
    fn check(says: &str, question: &str, passages: &[(&str, &str)]) {
        let mut passages = passages.to_vec();
        let first = judged(question, &passages);
        assert!(first[1..].iter().all(|other| first[0] > *other), "{says}: {first:?}");
        assert!(first.iter().all(|score| (0.0..=1.0).contains(score)), "{says}: {first:?}");
        passages.reverse();
        let mut turned = judged(question, &passages);
        turned.reverse();
        assert_eq!(first, turned, "{says}: the order of the passages is nothing to their scores");
    }

    #[test]
    fn the_right_passage_comes_first() {
        check(
            "the one that has all of the terms",
            "How long is the warranty of the pump?",
            &[
                ("", "The pump has a warranty of two years."),
                ("", "The pump is blue."),
                ("", "A warranty is a promise."),
            ],
        );
        check(
            "a term that all hold tells nothing, the rare one decides",
            "valve pressure",
            &[("", "valve steel pressure"), ("", "valve valve valve steel"), ("", "valve brass fittings")],
        );
        check(
            "terms that stand together",
            "valve pressure",
            &[
                ("", "Set the valve to a pressure of two bar, then wait for the green lamp."),
                ("", "Open the valve, wait for the green lamp, then close the lid; then look at the pressure."),
            ],
        );
        check(
            "the words in the question's order",
            "reset the main controller board",
            &[
                ("", "To reset main controller board, hold it."),
                ("", "The controller main: a board. Then reset it, hold."),
            ],
        );
        check(
            "the identifier, letter for letter, among its near twins",
            "What does error HX-1107 mean?",
            &[
                ("", "HX-1107: an error of the pump; mean time to repair two hours."),
                ("", "HX-1170: an error of the pump; mean time to repair two hours."),
                ("", "Error, error: what errors mean, and the mean error. HX-1108 is an error."),
            ],
        );
        check(
            "an identifier is what the question is about, whatever else is shared",
            "how do I configure the session timeout of pool_max_idle",
            &[
                ("", "pool_max_idle takes a number."),
                ("", "How to configure a session: its timeout, its pool, the idle maximum."),
            ],
        );
        check(
            "the one whose heading says it",
            "backup schedule",
            &[
                ("Operations > Backup schedule", "Each night at two, kept for a week."),
                ("Operations > Restore", "Each night at two, kept for a week."),
            ],
        );
        check(
            "other words for the same things",
            "sluggish after a reboot",
            &[
                ("", "Slow searches follow a restart."),
                ("", "A token expires after an hour."),
                ("", "The moon is far away."),
            ],
        );
        check(
            "a phrase of two words is one concept",
            "warm up the stash",
            &[("", "The cache is cold at first."), ("", "The contract is signed at first.")],
        );
    }

    #[test]
    fn a_perfect_passage_reaches_one_and_a_strange_one_zero() {
        let scores = judged("pump warranty", &[("Pump warranty", "pump warranty"), ("", "The moon is far away.")]);
        assert!(scores[0] > 0.999, "{scores:?}");
        assert!(scores[1].abs() < f64::EPSILON, "{scores:?}");
    }

    #[test]
    fn nothing_to_judge_by_is_no_trouble() {
        assert_eq!(judged("the of and", &[("", "anything")]), [0.0], "a question without terms");
        assert_eq!(judged("", &[("", "")]), [0.0], "nothing at all");
        assert!(judged("pump", &[]).is_empty(), "no passages");
        let long = "pump ".repeat(100_000);
        assert_eq!(judged(&long, &[("", &long)]).len(), 1, "a question as long as a book");
    }

    #[tokio::test]
    async fn too_many_are_refused() {
        let passages = vec![Passage { section: "", content: "" }; 101];
        let refused = JointReranker.scores("pump", &passages).await;
        assert_eq!(refused, Err(RerankError::TooMany { count: 101, max: 100 }));
    }
}
