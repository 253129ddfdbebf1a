//! What one answer of the index looked like, as far as later ones are compared with it, and how it differs from what is
//! pinned or was right before.

use chrono::{DateTime, Utc};

use crate::domain::answer::Answer;
use crate::domain::outcome::AskVerdict;
use crate::domain::pinned::PinnedCanary;
use crate::domain::quality::ranking::{Ranking, distinct, fingerprint};
use crate::domain::quality::score_code::rounded;

/// Sources of a list that are kept by name where another monitor's list is put beside it.
const NAMES_MAX: usize = 3;
/// Characters that are kept of such a name.
const NAME_CHARS_MAX: usize = 120;

/// One answer, reduced to what is compared; some 100 bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// When it came.
    pub at: DateTime<Utc>,
    /// Its distinct sources.
    pub ranking: Ranking,
    /// Its results.
    pub results: u32,
    /// Whether it was a text, which stands for a list of one.
    pub is_text: bool,
    /// The first result's score as it is kept; none where it has none.
    pub top_score: Option<f64>,
    /// The median of its results' lengths in characters; none where no result has a text.
    pub chars: Option<u32>,
    /// The first result's length in characters; none where it has no text.
    pub first_chars: Option<u32>,
    /// The source that makes it right, by its fingerprint; none where it is wrong, or needs none.
    pub right_source: Option<u32>,
    /// Its first sources by name, where its list is put beside another monitor's; none everywhere else.
    pub names: Option<Box<FirstNames>>,
}

/// The first sources of a list by name. Few monitors have such, so that it is one pointer in all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstNames(Vec<String>);

impl Look {
    /// Of an answer and its judgement.
    pub(crate) fn of(answer: &Answer, verdict: &AskVerdict, at: DateTime<Utc>) -> Self {
        let rank = if let AskVerdict::Right { rank } = verdict { *rank } else { None };
        Self {
            at,
            ranking: Ranking::of(answer.sources()),
            results: u32::try_from(answer.sources().count()).unwrap_or(u32::MAX),
            is_text: answer.kept.is_some(),
            top_score: answer.hits.first().and_then(|hit| hit.score).map(rounded),
            chars: median_chars(answer),
            first_chars: answer.hits.first().map(|hit| hit.chars).filter(|chars| *chars > 0),
            right_source: rank.and_then(|rank| source_at(answer, rank)),
            names: None,
        }
    }

    /// The same with its first sources by name.
    pub(crate) fn with_names(self, answer: &Answer) -> Self {
        Self { names: Some(Box::new(FirstNames::of(answer.sources()))), ..self }
    }

    /// Its first sources by name; empty where they are not kept.
    pub(crate) fn names(&self) -> &[String] {
        self.names.as_ref().map(|names| &*names.0).unwrap_or_default()
    }
}

impl FirstNames {
    pub(crate) fn of<'s>(sources: impl Iterator<Item = &'s str>) -> Self {
        let cut = |name: &str| name.chars().take(NAME_CHARS_MAX).collect();
        Self(distinct(sources, NAMES_MAX).into_iter().map(cut).collect())
    }
}

/// What a canary's answer is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Baseline<'a> {
    /// As the lock file has it, where that says how the index answers.
    pub(crate) pinned: Option<&'a PinnedCanary>,
    /// The last right answer from before anything was in doubt.
    pub(crate) before: Option<&'a Look>,
}

impl Baseline<'_> {
    /// How alike the sources are to the nearest list that was accepted, 0 to 1: by rank-biased overlap, and as sets. None
    /// where nothing is known, or each answer is worded anew.
    pub(crate) fn overlap(&self, look: &Look) -> Option<Overlap> {
        if self.pinned.is_some_and(PinnedCanary::words_anew) {
            return None;
        }
        let of = |ranking: &Ranking| Overlap { rbo: look.ranking.rbo(ranking), jaccard: look.ranking.jaccard(ranking) };
        let pinned = self.pinned.into_iter().flat_map(|pinned| &pinned.lists).map(|list| {
            let list = Ranking::of(list.iter().map(String::as_str));
            of(&list)
        });
        let nearest = pinned.max_by(|one, other| one.rbo.total_cmp(&other.rbo));
        nearest.or_else(|| Some(of(&self.before?.ranking)))
    }

    /// Whether the first result is of the same source as before, and of another length: it was cut in another way, or its
    /// text was edited. None where that cannot be told.
    pub(crate) fn is_recut(&self, look: &Look) -> Option<bool> {
        let first = look.ranking.first()?;
        let (is_same, chars) = match self.pinned.filter(|pinned| pinned.first_chars.is_some()) {
            Some(pinned) => {
                let mut firsts = pinned.lists.iter().filter_map(|list| list.first());
                (firsts.any(|source| fingerprint(source) == first), pinned.first_chars)
            }
            None => self.before.map(|before| (before.ranking.first() == Some(first), before.first_chars))?,
        };
        Some(look.first_chars? != chars?).filter(|_| is_same)
    }

    /// Results there were at the least; none where nothing is known.
    pub(crate) fn results(&self) -> Option<u32> {
        self.pinned.map(|pinned| pinned.results.0).or_else(|| Some(self.before?.results))
    }
}

/// How alike two lists of sources are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Overlap {
    pub(crate) rbo: f64,
    pub(crate) jaccard: f64,
}

/// The middle one of some numbers; of an even count the mean of the middle two; none of none.
pub(crate) fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    let upper = *numbers.get(numbers.len() / 2)?;
    let lower = numbers[(numbers.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

fn median_chars(answer: &Answer) -> Option<u32> {
    let lengths = answer.hits.iter().filter(|hit| hit.chars > 0).map(|hit| f64::from(hit.chars));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a median of lengths is one")]
    median(lengths.collect()).map(|chars| chars as u32)
}

/// The distinct source at a rank, as ranks are counted.
fn source_at(answer: &Answer, rank: u32) -> Option<u32> {
    let mut distinct: Vec<&str> = Vec::new();
    for hit in &answer.hits {
        if !distinct.contains(&hit.source.as_str()) {
            distinct.push(&hit.source);
        }
    }
    let at = usize::try_from(rank).ok()?.checked_sub(1)?;
    distinct.get(at).map(|source| fingerprint(source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::answer::Hit;

    fn answer(hits: &[(&str, f64, u32)]) -> Answer {
        let hit = |(source, score, chars): &(&str, f64, u32)| Hit {
            source: (*source).to_owned(),
            score: Some(*score),
            chars: *chars,
            excerpt: String::new(),
        };
        Answer { hits: hits.iter().map(hit).collect(), ..Answer::default() }
    }

    #[test]
    fn an_answer_leaves_what_is_compared() {
        let right = AskVerdict::Right { rank: Some(2) };
        let look = Look::of(
            &answer(&[("a.md#1", 0.75, 100), ("a.md#1", 0.5, 300), ("b.md", 0.25, 0)]),
            &right,
            DateTime::UNIX_EPOCH,
        );
        assert_eq!(look.names(), [""; 0], "names are not kept of a monitor that stands alone");
        let named = look.clone().with_names(&answer(&[("a.md#1", 0.75, 100), ("a.md#2", 0.5, 300), ("b.md", 0.25, 0)]));
        assert_eq!(named.names(), ["a.md", "b.md"], "each source once");
        assert!(size_of::<Look>() <= 88, "{} bytes", size_of::<Look>());
        assert_eq!((look.results, look.top_score, look.chars), (3, Some(0.75), Some(200)), "no text has no length");
        assert_eq!(look.right_source, Some(fingerprint("b.md")), "ranks count sources");
        let wrong = AskVerdict::Wrong {
            reason: crate::domain::reason::FailureReason::EmptyResults,
            rank: None,
            seen: String::new(),
        };
        let nothing = Look::of(&answer(&[]), &wrong, DateTime::UNIX_EPOCH);
        assert_eq!((nothing.results, nothing.top_score, nothing.chars, nothing.right_source), (0, None, None, None));
    }

    #[test]
    fn the_nearest_accepted_list_counts() {
        let right = AskVerdict::Right { rank: Some(1) };
        let look = |sources: &[&str]| {
            let hits: Vec<_> = sources.iter().map(|source| (*source, 0.5, 10)).collect();
            Look::of(&answer(&hits), &right, DateTime::UNIX_EPOCH)
        };
        let lists = |lists: &[&[&str]]| PinnedCanary {
            definition_hash: String::new(),
            lists: lists.iter().map(|list| list.iter().map(|source| (*source).to_owned()).collect()).collect(),
            top_score: None,
            results: (2, 3),
            chars: None,
            first_chars: None,
            text_chars: None,
            repeats: false,
            sorted: true,
        };
        let pinned = lists(&[&["a", "b"], &["b", "a"]]);
        let before = look(&["x", "y"]);
        let rbo = |pinned: Option<&PinnedCanary>, before: Option<&Look>| {
            Baseline { pinned, before }.overlap(&look(&["b", "a"])).map(|overlap| overlap.rbo)
        };
        let close = |one: Option<f64>, other: f64| one.is_some_and(|one| (one - other).abs() < 1e-12);
        assert!(close(rbo(Some(&pinned), Some(&before)), 1.0), "a tie that breaks differently was pinned too");
        assert!(close(rbo(None, Some(&before)), 0.0), "without a lock what was right before stands in");
        assert!(close(rbo(Some(&lists(&[])), Some(&before)), 0.0), "and where it holds no list");
        assert_eq!(rbo(None, None), None, "nothing is known");
        let texts = PinnedCanary { text_chars: Some((90, 110)), ..lists(&[]) };
        assert_eq!(rbo(Some(&texts), Some(&before)), None, "a text that is worded anew each time is no list");
    }

    #[test]
    fn medians() {
        let rows =
            [(vec![], None), (vec![3.0], Some(3.0)), (vec![9.0, 1.0], Some(5.0)), (vec![7.0, 1.0, 2.0], Some(2.0))];
        for (numbers, expected) in rows {
            assert_eq!(median(numbers), expected);
        }
    }
}
