//! One merged list: what a source is worth beside what its text says.
//!
//! final = score × weight + prior of the kind of source + recency. Ties go to the greater prior,
//! then the shorter path, then the chunk's name, so the same question has the same list every day.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, Utc};

use crate::search::found::Found;

/// How hits are ranked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// What the score of question and text counts.
    pub weight: f64,
    /// What is added for a kind of source.
    pub priors: BTreeMap<String, f64>,
    /// What is added for a source of today; half of it after `recency_half_life_days`.
    pub recency: f64,
    /// After how many days half of the recency is left.
    pub recency_half_life_days: f64,
}

impl Default for Ranking {
    /// Constraints before patterns before code: a rule that forbids a change is worth more than code
    /// that looks like it. Other kinds have no prior, and dates count nothing.
    fn default() -> Self {
        let priors = [("constraints", 0.35), ("patterns", 0.20), ("code", 0.0)];
        Self {
            weight: 1.0,
            priors: priors.into_iter().map(|(kind, prior)| (kind.to_owned(), prior)).collect(),
            recency: 0.0,
            recency_half_life_days: 30.0,
        }
    }
}

/// Kinds of sources of a codebase, and how many candidates each brings: twelve in all.
const POOLS: [(&str, usize); 2] = [("constraints", 3), ("patterns", 3)];
/// Candidates of every other kind together, code above all.
const POOL_OF_OTHERS: usize = 6;

/// Ranks hits whose `final_score` is still the bare score of question and text.
pub fn rank(mut hits: Vec<Found>, ranking: &Ranking, now: DateTime<Utc>) -> Vec<Found> {
    for hit in &mut hits {
        let recency = ranking.recency * hit.chunk.dated.map_or(0.0, |day| fading(day, ranking, now));
        hit.final_score = hit.final_score * ranking.weight + ranking.prior(&hit.chunk.source_type) + recency;
    }
    hits.sort_by(|left, right| {
        let (own, other) = (&left.chunk, &right.chunk);
        right
            .final_score
            .total_cmp(&left.final_score)
            .then_with(|| ranking.prior(&other.source_type).total_cmp(&ranking.prior(&own.source_type)))
            .then_with(|| own.source.len().cmp(&other.source.len()))
            .then_with(|| (own.source.as_str(), own.ordinal).cmp(&(other.source.as_str(), other.ordinal)))
    });
    hits
}

/// A pool of candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidatePool {
    /// Kinds of sources that it is drawn from.
    pub kinds: Vec<String>,
    /// Candidates that it brings at most.
    pub size: usize,
}

/// The pools an index is searched in: for a codebase 3 constraints, 3 patterns and 6 others, so that
/// much code never crowds out the one rule that matters. `None` where nothing is a constraint or a
/// pattern: then everything is one pool.
pub fn pools(kinds: &BTreeSet<String>) -> Option<Vec<CandidatePool>> {
    let ruled = |kind: &String| POOLS.iter().any(|(pool, _)| pool == kind);
    if !kinds.iter().any(ruled) {
        return None;
    }
    let of_rules = POOLS.into_iter().filter(|(kind, _)| kinds.contains(*kind));
    let mut pools: Vec<CandidatePool> =
        of_rules.map(|(kind, size)| CandidatePool { kinds: vec![kind.to_owned()], size }).collect();
    let others: Vec<String> = kinds.iter().filter(|kind| !ruled(kind)).cloned().collect();
    if !others.is_empty() {
        pools.push(CandidatePool { kinds: others, size: POOL_OF_OTHERS });
    }
    Some(pools)
}

impl Ranking {
    fn prior(&self, source_type: &str) -> f64 {
        self.priors.get(source_type).copied().unwrap_or(0.0)
    }

    /// The settings as one line, for the key of remembered answers.
    pub fn line(&self) -> String {
        format!("{:?}", (self.weight, &self.priors, self.recency, self.recency_half_life_days))
    }
}

/// What is left of a day's recency: 1 for today, a half after the half-life.
fn fading(day: NaiveDate, ranking: &Ranking, now: DateTime<Utc>) -> f64 {
    let days = (now.date_naive() - day).num_days().max(0) as f64;
    0.5_f64.powf(days / ranking.recency_half_life_days.max(f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::StoredChunk;

    fn found(source: &str, source_type: &str, score: f64, dated: Option<&str>) -> Found {
        let chunk = StoredChunk {
            source: source.to_owned(),
            source_type: source_type.to_owned(),
            dated: dated.and_then(|day| day.parse().ok()),
            ..StoredChunk::default()
        };
        Found { chunk, score, fused_score: score, final_score: score, expanded: None }
    }

    fn check(says: &str, hits: Vec<Found>, ranking: &Ranking, expected: &[&str]) {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let ranked = rank(hits, ranking, now);
        assert_eq!(ranked.iter().map(|hit| hit.chunk.source.as_str()).collect::<Vec<_>>(), expected, "{says}");
    }

    #[test]
    fn hits_are_ranked() {
        let usual = Ranking::default();
        check("the better first", vec![found("a", "x", 0.1, None), found("b", "x", 0.9, None)], &usual, &["b", "a"]);
        check(
            "a tie to the shorter path",
            vec![found("aa", "x", 0.5, None), found("b", "x", 0.5, None)],
            &usual,
            &["b", "aa"],
        );
        check("then to the name", vec![found("b", "x", 0.5, None), found("a", "x", 0.5, None)], &usual, &["a", "b"]);
        check(
            "a constraint before code that says it better",
            vec![
                found("code", "code", 0.8, None),
                found("rule", "constraints", 0.5, None),
                found("way", "patterns", 0.5, None),
            ],
            &usual,
            &["rule", "code", "way"],
        );
        let dates = Ranking { recency: 0.5, ..Ranking::default() };
        check(
            "the newer where dates count",
            vec![found("old", "x", 0.6, Some("2026-09-22")), found("new", "x", 0.5, Some("2026-11-21"))],
            &dates,
            &["new", "old"],
        );
        check(
            "and the better where they do not",
            vec![found("old", "x", 0.6, Some("2026-09-22")), found("new", "x", 0.5, Some("2026-11-21"))],
            &usual,
            &["old", "new"],
        );
    }

    #[test]
    fn code_does_not_crowd_out_rules() {
        let pools_of = |kinds: &[&str]| pools(&kinds.iter().map(|kind| (*kind).to_owned()).collect());
        let sizes = |kinds: &[&str]| pools_of(kinds).unwrap().iter().map(|pool| pool.size).collect::<Vec<_>>();
        assert_eq!(pools_of(&["documentation", "code"]), None, "no rule, no pools");
        assert_eq!(sizes(&["code", "constraints", "patterns", "notes"]), [3, 3, 6], "twelve in all");
        assert_eq!(sizes(&["constraints"]), [3]);
    }
}
