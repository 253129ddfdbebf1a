//! Check 11: whether a replica brings the lists of its original (RETRIEVAL.md §3).
//!
//! Servers that are declared to be the same are held against each other and against no lock: neither has to be as it was.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::domain::monitor::MonitorId;
use crate::domain::outcome::Evidence;
use crate::domain::quality::changes::{Judged, ROUND_MIN};
use crate::domain::quality::look::{Look, median};
use crate::domain::quality::pinning::named;
use crate::domain::quality::ranking::Ranking;
use crate::domain::reason::Severity;
use crate::domain::rules::ListsCheck;

/// Canaries whose two lists stand in the evidence, those that are least alike.
const SHOWN_MAX: usize = 3;

/// How an original stands for its replicas, wherever these are watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OriginalStand {
    /// How loud a difference may be that is held against it. What is wrong with its own answers, or explains them, is told by
    /// itself, unless it is quieter than the difference would be.
    pub speaks_at: Vec<Severity>,
    /// What its index last answered, by the canary's id.
    pub lists: BTreeMap<String, OriginalList>,
}

/// What the index of an original last answered to one canary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalList {
    /// The declaration of the canary that was asked.
    pub definition_hash: String,
    /// When it came, UTC.
    pub at: DateTime<Utc>,
    /// Its distinct sources.
    pub ranking: Ranking,
    /// The first of them by name.
    pub names: Vec<String>,
}

/// What the indexes of both answered to one canary, each the last time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) canary: &'a str,
    /// The replica's.
    pub(crate) here: &'a Look,
    /// The original's.
    pub(crate) there: &'a OriginalList,
}

/// Lists of a round that differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Apart<'a> {
    pub(crate) apart: usize,
    pub(crate) of: usize,
    /// The median over all that were compared, 0 to 1.
    pub(crate) rbo: f64,
    /// The least alike, that one first.
    pub(crate) farthest: Vec<(&'a str, &'a [String], &'a [String])>,
}

/// Whether lists of a whole round differ. Two that are empty say nothing, and fewer than [`ROUND_MIN`] pairs neither.
pub(crate) fn lists_apart<'a>(round: &[Pair<'a>], check: &ListsCheck) -> Judged<Apart<'a>> {
    let is_any = |pair: &&Pair<'_>| !(pair.here.ranking.is_empty() && pair.there.ranking.is_empty());
    let mut pairs: Vec<(f64, Pair<'a>)> =
        round.iter().filter(is_any).map(|pair| (pair.here.ranking.rbo(&pair.there.ranking), *pair)).collect();
    let of = pairs.len();
    let Some(rbo) = median(pairs.iter().map(|(rbo, _)| *rbo).collect()).filter(|_| of >= ROUND_MIN) else {
        return Judged::Unknown;
    };
    pairs.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let apart = pairs.partition_point(|(rbo, _)| *rbo < check.similar);
    if (apart as f64) < check.share * of as f64 {
        return Judged::Same;
    }
    let shown = pairs[..apart].iter().take(SHOWN_MAX);
    let farthest = shown.map(|(_, pair)| (pair.canary, pair.here.names(), &*pair.there.names)).collect();
    Judged::Other(Apart { apart, of, rbo, farthest })
}

impl Apart<'_> {
    pub(crate) fn said(&self, original: &MonitorId) -> String {
        format!("lists of {} of {} canaries are not those of '{original}', whose replica it is", self.apart, self.of)
    }

    pub(crate) fn evidence(&self, original: &MonitorId) -> Vec<Evidence> {
        let count = [
            Evidence::new("replica_of", original.as_str()),
            Evidence::new("lists_apart", format!("{} of {}", self.apart, self.of)),
            Evidence::new("overlap_of_both", format!("{:.2} by rank (median)", self.rbo)),
        ];
        let both = self.farthest.iter().map(|(canary, here, there)| {
            let said = format!("first here {}; first at '{original}' {}", named(here), named(there));
            Evidence::new(&format!("apart.{canary}"), said)
        });
        count.into_iter().chain(both).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::quality::look::FirstNames;
    use crate::domain::rules::QualityChecks;

    fn look(sources: &str) -> Look {
        Look {
            at: DateTime::UNIX_EPOCH,
            ranking: Ranking::of(sources.split_whitespace()),
            results: 4,
            is_text: false,
            top_score: None,
            chars: None,
            first_chars: None,
            right_source: None,
            names: Some(Box::new(FirstNames::of(sources.split_whitespace()))),
        }
    }

    fn there(sources: &str) -> OriginalList {
        let look = look(sources);
        let names = look.names().to_vec();
        OriginalList { definition_hash: String::new(), at: look.at, ranking: look.ranking, names }
    }

    #[test]
    fn replicas_agree_or_do_not() {
        // So many canaries with this list here and that one there; how many differ.
        type Row<'r> = (&'r [(usize, &'r str, &'r str)], Judged<usize>, &'r str);
        let rows: [Row<'_>; 9] = [
            (&[(12, "a b c d", "a b c d")], Judged::Same, "the same lists"),
            (&[(12, "a b c d", "a b c x")], Judged::Same, "one source at the end is another"),
            (&[(12, "a#1 b#2", "a#7 b#9")], Judged::Same, "chunks are numbered otherwise"),
            (&[(6, "a b c d", "a b c d"), (6, "a b c d", "w x y z")], Judged::Other(6), "half of them differ"),
            (&[(7, "a b c d", "a b c d"), (5, "a b c d", "w x y z")], Judged::Same, "fewer than half"),
            (&[(12, "a b c d", "d c b a")], Judged::Other(12), "the same in another order"),
            (&[(12, "a b c d", "")], Judged::Other(12), "one of both finds nothing"),
            (&[(10, "a b c d", "w x y z")], Judged::Unknown, "ten are too few"),
            (&[(10, "a b c d", "w x y z"), (9, "", "")], Judged::Unknown, "and two empty lists are none more"),
        ];
        for (lists, expected, sentence) in rows {
            let looks: Vec<(Look, OriginalList)> =
                lists.iter().flat_map(|(count, of, other)| vec![(look(of), there(other)); *count]).collect();
            let round: Vec<Pair<'_>> = looks.iter().map(|(here, there)| Pair { canary: "c", here, there }).collect();
            let found = match lists_apart(&round, &QualityChecks::STANDARD.replicas) {
                Judged::Other(apart) => Judged::Other(apart.apart),
                Judged::Same => Judged::Same,
                Judged::Unknown => Judged::Unknown,
            };
            assert_eq!(found, expected, "{sentence}");
        }
    }

    #[test]
    fn the_evidence_shows_the_lists_that_are_least_alike() {
        let pairs: Vec<(String, Look, OriginalList)> = (0..12)
            .map(|at| match at {
                4 => ("c4".to_owned(), look("a b c d"), there("w x y z")),
                _ => (format!("c{at}"), look("a b c d e"), there("x a y b z c")),
            })
            .collect();
        let round: Vec<Pair<'_>> = pairs.iter().map(|(canary, here, there)| Pair { canary, here, there }).collect();
        let Judged::Other(apart) = lists_apart(&round, &QualityChecks::STANDARD.replicas) else {
            panic!("they differ")
        };
        let docs = MonitorId::new("docs");
        assert_eq!(apart.said(&docs), "lists of 12 of 12 canaries are not those of 'docs', whose replica it is");
        let evidence = apart.evidence(&docs);
        assert_eq!(evidence.len(), 3 + SHOWN_MAX, "{evidence:?}");
        assert_eq!(evidence[3].key, "apart.c4", "the least alike comes first");
        assert_eq!(evidence[3].value, "first here a, b, c; first at 'docs' w, x, y");
    }
}
