//! What changed without a right answer lost: lists, first scores and lengths of chunks against the lock (RETRIEVAL.md §3,
//! checks 5 to 7), and what answers say of themselves (check 12).
//!
//! Change is no damage: a corpus that grows moves lists, and nobody is woken for it. Each function judges what was
//! observed against what is pinned, and says where that is too little.

use std::collections::BTreeMap;

use crate::domain::answer::Answer;
use crate::domain::monitor::Monitor;
use crate::domain::outcome::Evidence;
use crate::domain::pinned::PinnedCanary;
use crate::domain::quality::look::{Baseline, Look, Overlap, median};
use crate::domain::quality::near_misses;
use crate::domain::quality::score_code::rounded;
use crate::domain::rules::{CheckRule, ChunksCheck, ListsCheck, QualityChecks};
use crate::domain::search::Fresh;
use crate::domain::wording::counted;

/// Distinct canaries of a round. With fewer the sign test cannot reach its level: 2 ÷ 2¹¹ is the first below .001.
pub(crate) const ROUND_MIN: usize = 11;
/// Answers of a beat that are compared before chunks are said to be cut anew.
const RECUT_MIN: usize = 2;
/// Level of the sign test.
const P_BELOW: f64 = 0.001;
/// So many times its own jitter a score has to have moved.
const JITTERS: f64 = 5.0;
/// And so large a part of itself: four times what the rounding of scores may make of it.
const MOVED_MIN: f64 = 0.001;
/// Why a check is not armed that somebody switched off.
pub(crate) const OFF: &str = "is switched off in the file";
/// A scale is another one where scores are larger or smaller by so large a part of themselves: a corpus that grows moves
/// them by less, a reranker that is switched by far more.
const RESCALED_BY: f64 = 0.25;
/// Scores that are ranks in disguise are few: half of the canaries share their first score with another. Those of a model
/// are as many as there are questions; by rounding a tenth is shared at most.
const SHARED_MANY: f64 = 0.5;
const SHARED_FEW: f64 = 0.25;
/// The evidence key of lists that moved.
pub(crate) const LISTS_MOVED: &str = "lists_moved";
/// The evidence key of scores that became ranks in disguise, or cease to be.
pub(crate) const FIRST_SCORES_SHARED: &str = "first_scores_shared";
/// What a server says of itself, as far as it is told.
const WORDS_MAX: usize = 4;

/// What a check says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Judged<T> {
    /// Too little was seen, or is pinned.
    Unknown,
    /// As it is pinned.
    Same,
    /// Otherwise.
    Other(T),
}

/// A canary's last answer of the index beside what is pinned of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub(crate) look: &'a Look,
    pub(crate) pinned: &'a PinnedCanary,
}

impl Compared<'_> {
    /// None of a text: it has no sources that could move.
    fn overlap(&self) -> Option<Overlap> {
        if self.pinned.is_text() {
            return None;
        }
        Baseline { pinned: Some(self.pinned), before: None }.overlap(self.look)
    }

    /// Whether its first score is another one than pinned, by more than its jitter and what rounding makes of it; none
    /// without a score.
    pub(crate) fn is_rescored(&self) -> Option<bool> {
        let (now, pinned, jitter) = self.scores()?;
        Some((now - pinned).abs() > (JITTERS * jitter).max(MOVED_MIN * pinned.abs()))
    }

    /// The first score as it is and as it is pinned, and its jitter.
    fn scores(&self) -> Option<(f64, f64, f64)> {
        let pinned = self.pinned.top_score?;
        Some((self.look.top_score?, rounded(pinned.median), pinned.mad))
    }
}

/// Lists that moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ListsMoved {
    pub(crate) moved: usize,
    pub(crate) of: usize,
    /// Medians over the whole round, 0 to 1.
    pub(crate) rbo: f64,
    pub(crate) jaccard: f64,
}

impl ListsMoved {
    pub(crate) fn said(&self) -> String {
        format!("lists of {} of {} canaries moved, no right answer is lost", self.moved, self.of)
    }

    pub(crate) fn evidence(&self) -> Vec<Evidence> {
        vec![
            Evidence::new(LISTS_MOVED, format!("{} of {}", self.moved, self.of)),
            Evidence::new("overlap", format!("{:.2} by rank, {:.2} as sets (medians)", self.rbo, self.jaccard)),
        ]
    }
}

/// Check 5: whether lists of a whole round moved.
pub(crate) fn lists_moved(round: &[Compared<'_>], check: &ListsCheck) -> Judged<ListsMoved> {
    let overlaps: Vec<Overlap> = round.iter().filter_map(Compared::overlap).collect();
    if overlaps.len() < ROUND_MIN {
        return Judged::Unknown;
    }
    let of = overlaps.len();
    let moved = overlaps.iter().filter(|overlap| overlap.rbo < check.similar).count();
    if (moved as f64) < check.share * of as f64 {
        return Judged::Same;
    }
    let median = |part: fn(&Overlap) -> f64| median(overlaps.iter().map(part).collect()).unwrap_or(1.0);
    Judged::Other(ListsMoved {
        moved,
        of,
        rbo: median(|overlap| overlap.rbo),
        jaccard: median(|overlap| overlap.jaccard),
    })
}

/// First scores that moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoresMoved {
    /// Canaries whose first score rose.
    pub(crate) up: usize,
    /// Those whose fell.
    pub(crate) down: usize,
    /// Two-sided, of the sign test.
    pub(crate) p: f64,
    /// The median of first scores now, and as pinned.
    pub(crate) medians: (f64, f64),
    /// The lowest and the highest score that was pinned.
    pub(crate) scale: Option<(f64, f64)>,
    /// Canaries that share their first score with another, now and as pinned, where scores became ranks in disguise or cease
    /// to be: somebody else gives them.
    pub(crate) shared: Option<(usize, usize)>,
}

impl ScoresMoved {
    pub(crate) fn said(&self) -> String {
        if let Some((now, pinned)) = self.shared {
            let all = self.up + self.down;
            return format!("{now} canaries share a first score with another and {pinned} did, of {all} that moved");
        }
        let (count, way) = if self.up >= self.down { (self.up, "rose") } else { (self.down, "fell") };
        format!("first scores of {count} of {} canaries {way}, no right answer is lost", self.up + self.down)
    }

    /// Whether that is another scale, and no drift.
    pub(crate) fn is_rescaled(&self) -> bool {
        let (now, pinned) = self.medians;
        self.shared.is_some() || (now - pinned).abs() > RESCALED_BY * pinned.abs()
    }

    pub(crate) fn evidence(&self) -> Vec<Evidence> {
        let (now, pinned) = self.medians;
        let scale = self.scale.map(|(least, most)| Evidence::new("scale_pinned", format!("{least:.4} to {most:.4}")));
        let moved = [
            Evidence::new("scores_moved", format!("{} up, {} down (sign test, p = {:.5})", self.up, self.down, self.p)),
            Evidence::new("first_score", format!("{now:.4}, {pinned:.4} is pinned (medians)")),
        ];
        let shared = self.shared.map(|(now, pinned)| {
            Evidence::new(FIRST_SCORES_SHARED, format!("by {now} canaries, by {pinned} as pinned"))
        });
        moved.into_iter().chain(scale).chain(shared).collect()
    }
}

/// Check 6: whether first scores of a whole round moved, by a paired sign test of each minus its pinned one, and by more
/// than five times their jitter; or whether they became ranks in disguise, or cease to be. `scale` is what the lock says of
/// all scores.
///
/// The sign test: Conover, Practical Nonparametric Statistics, 3rd ed., 1999, §3.4; ties are left out.
pub(crate) fn scores_moved(round: &[Compared<'_>], scale: Option<(f64, f64)>) -> Judged<ScoresMoved> {
    let scores: Vec<(f64, f64, f64)> = round.iter().filter_map(Compared::scores).collect();
    if scores.len() < ROUND_MIN {
        return Judged::Unknown;
    }
    let of = |part: fn(&(f64, f64, f64)) -> f64| median(scores.iter().map(part).collect()).unwrap_or_default();
    let up = scores.iter().filter(|(now, pinned, _)| now > pinned).count();
    let down = scores.iter().filter(|(now, pinned, _)| now < pinned).count();
    let (p, moved) = (sign_test(up, down), of(|(now, pinned, _)| now - pinned).abs());
    let jitter = of(|(.., jitter)| *jitter);
    let least = MOVED_MIN * of(|(_, pinned, _)| pinned.abs());
    let shared = regraded(&scores);
    if shared.is_none() && (p >= P_BELOW || moved <= JITTERS * jitter || moved <= least) {
        return Judged::Same;
    }
    let medians = (of(|(now, ..)| *now), of(|(_, pinned, _)| *pinned));
    Judged::Other(ScoresMoved { up, down, p, medians, scale, shared })
}

/// How many share their first score with another now, and as pinned, where that says that somebody else gives the scores.
fn regraded(scores: &[(f64, f64, f64)]) -> Option<(usize, usize)> {
    let shared = |part: fn(&(f64, f64, f64)) -> f64| {
        let mut counts = BTreeMap::<u64, usize>::new();
        scores.iter().for_each(|one| *counts.entry(part(one).to_bits()).or_default() += 1);
        counts.into_values().filter(|count| *count > 1).sum::<usize>()
    };
    let (now, pinned) = (shared(|(now, ..)| *now), shared(|(_, pinned, _)| *pinned));
    let share = |count: usize| count as f64 / scores.len() as f64;
    let (few, many) = (share(now.min(pinned)), share(now.max(pinned)));
    (few <= SHARED_FEW && many >= SHARED_MANY).then_some((now, pinned))
}

/// The chance, two-sided, that fair coins fall as unevenly as this.
fn sign_test(up: usize, down: usize) -> f64 {
    let (n, most) = (up + down, up.max(down));
    // From C(n, n) ÷ 2ⁿ downwards, each from the one before.
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut tail = 0.0;
    for k in (most..=n).rev() {
        tail += term;
        term *= k as f64 / (n - k + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

/// Check 7: whether most answers of a beat have chunks that are much longer or shorter than pinned; the median ratio.
pub(crate) fn chunks_resized(answers: &[Compared<'_>], check: &ChunksCheck) -> Judged<f64> {
    let ratio = |one: &Compared<'_>| {
        let pinned = one.pinned.chars.filter(|chars| *chars > 0)?;
        Some(f64::from(one.look.chars?) / f64::from(pinned))
    };
    let ratios: Vec<f64> = answers.iter().filter_map(ratio).collect();
    let factor = f64::from(check.factor);
    let outside = ratios.iter().filter(|ratio| **ratio > factor || **ratio * factor < 1.0).count();
    match median(ratios.clone()) {
        None => Judged::Unknown,
        Some(ratio) if outside * 2 > ratios.len() => Judged::Other(ratio),
        Some(_) => Judged::Same,
    }
}

/// Check 7 as well: whether chunks were cut anew, seen by their exact lengths, while their sources come as before. All that
/// can be compared have to be so: a source that was edited is another one. Where no length is pinned nothing is cut anew.
pub(crate) fn chunks_recut(answers: &[Compared<'_>]) -> Judged<usize> {
    if answers.iter().all(|one| one.pinned.first_chars.is_none()) {
        return Judged::Same;
    }
    let recut = answers.iter().filter_map(|one| Baseline { pinned: Some(one.pinned), before: None }.is_recut(one.look));
    let (other, all) = recut.fold((0, 0), |(other, all), one| (other + usize::from(one), all + 1));
    match () {
        () if all < RECUT_MIN => Judged::Unknown,
        () if other == all => Judged::Other(all),
        () => Judged::Same,
    }
}

/// What answers say of themselves, each thing once.
pub(crate) fn self_reported<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for word in answers.flat_map(|answer| &answer.self_reported) {
        if said.len() < WORDS_MAX && !said.contains(word) {
            said.push(word.clone());
        }
    }
    said
}

/// What is judged here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeCheck {
    SelfReported,
    Relations,
    Pairs,
    Caches,
    Replicas,
    Chunks,
    Lists,
    Scores,
}

impl ChangeCheck {
    /// How many there are.
    pub(crate) const COUNT: usize = 8;
    /// Every check, in the order in which one explains the next: who answers otherwise each time moves lists, and so do
    /// chunks that were cut anew, and lists these scores.
    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::SelfReported,
        Self::Relations,
        Self::Pairs,
        Self::Caches,
        Self::Replicas,
        Self::Chunks,
        Self::Lists,
        Self::Scores,
    ];

    /// Its key in the file, below `rules`.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::SelfReported => "quality.checks.self_reported",
            Self::Relations => "quality.checks.relations",
            Self::Pairs => "quality.checks.pairs",
            Self::Caches => "quality.checks.caches",
            Self::Replicas => "quality.checks.replicas",
            Self::Chunks => "quality.checks.chunks",
            Self::Lists => "quality.checks.lists",
            Self::Scores => "quality.checks.scores",
        }
    }

    /// What a monitor lacks for it; none where it is armed.
    pub(crate) fn lacks(self, monitor: &Monitor) -> Option<String> {
        let checks = &monitor.rules.quality.checks;
        let rule = self.rule(checks);
        if rule.severity.is_none() {
            return Some(OFF.to_owned());
        }
        if monitor.canaries.is_empty() {
            return Some("needs a canary".to_owned());
        }
        let has: fn(&PinnedCanary) -> bool = match self {
            Self::SelfReported => return None,
            Self::Replicas => return lacks_original(monitor),
            Self::Pairs => return near_misses::lacks(monitor, monitor.search.fresh != Fresh::Off),
            Self::Relations | Self::Caches => |_| true,
            Self::Chunks => |pinned| pinned.chars.is_some_and(|chars| chars > 0) && !pinned.is_text(),
            Self::Lists => |pinned| !pinned.lists.is_empty() && !pinned.is_text(),
            Self::Scores => |pinned| pinned.top_score.is_some(),
        };
        let Some(pinned) = &monitor.pinned else { return Some("needs an entry in monitors.lock".to_owned()) };
        if !pinned.reached_index {
            return Some(
                "needs an entry in monitors.lock whose answers came from the index, not from a cache".to_owned(),
            );
        }
        if self == Self::Caches && monitor.search.fresh == Fresh::Off {
            return Some("needs search.fresh_arguments: searches are never asked past caches".to_owned());
        }
        if matches!(self, Self::Relations | Self::Caches) {
            let needs = "needs same_twice in monitors.lock: in the pin runs one question brought several lists";
            return (!monitor.brings_one_list()).then(|| needs.to_owned());
        }
        let count = monitor.canaries.iter().filter_map(|canary| canary.pinned(pinned)).filter(|one| has(one)).count();
        let (what, least) = match self {
            Self::SelfReported | Self::Relations | Self::Pairs | Self::Caches | Self::Replicas => return None,
            Self::Chunks => ("a length", 1),
            Self::Lists => ("a list", ROUND_MIN),
            Self::Scores => ("a score", ROUND_MIN),
        };
        let needs = counted(least, "canary", "canaries");
        (count < least).then(|| format!("needs {needs} with {what} in monitors.lock, and has {count}"))
    }

    pub(crate) const fn rule(self, checks: &QualityChecks) -> CheckRule {
        match self {
            Self::SelfReported => checks.self_reported,
            Self::Relations => checks.relations,
            Self::Pairs => checks.pairs,
            Self::Caches => checks.caches,
            Self::Replicas => checks.replicas.rule,
            Self::Chunks => checks.chunks.rule,
            Self::Lists => checks.lists.rule,
            Self::Scores => checks.scores,
        }
    }
}

/// What a monitor lacks to be held against another one.
fn lacks_original(monitor: &Monitor) -> Option<String> {
    let Some(original) = monitor.original() else {
        return Some(
            "needs replicas_of: the id of another monitor whose server has to answer as this one does".to_owned(),
        );
    };
    let (id, count) = (&original.id, original.shared.len());
    let needs = counted(ROUND_MIN, "canary", "canaries");
    (count < ROUND_MIN).then(|| format!("needs {needs} that '{id}' asks in the same words, and has {count}"))
}

#[cfg(test)]
mod tests;
