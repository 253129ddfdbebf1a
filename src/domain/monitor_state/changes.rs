//! What changed without harm, over many beats: which check found it, since when it stands, and what it says of *quality*.
//!
//! A change that stands is told where no canary is wrong; what canaries lost comes first. It ends when answers are as they
//! are pinned again, or when another lock is loaded.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::incident::{Incident, Need, Thresholds, step};
use crate::domain::monitor::Monitor;
use crate::domain::outcome::Evidence;
use crate::domain::pinned::Relation;
use crate::domain::quality::changes::{ChangeCheck, FIRST_SCORES_SHARED, Judged, LISTS_MOVED};
use crate::domain::quality::ranking::fingerprint;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::QualityChecks;
use crate::domain::signal::{Level, Phase, SignalState};

/// Beats, or rounds, as they are pinned that end a change: two beats may be two canaries, a round is all of them.
const BACK_IN_A_ROW: [u32; ChangeCheck::COUNT] = [2, 2, 2, 2, 1, 2, 1, 1];

/// The evidence key of the relation that was broken.
pub(super) const RELATION: &str = "relation";
/// The evidence key of two canaries that were mixed up: the one that names the other comes first.
pub(super) const PAIR: &str = "pair";
/// The evidence key of the canary that is asked with caches and past them.
pub(super) const ASKED_BOTH_WAYS: &str = "asked_both_ways";

/// What is remembered of changes between beats.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Changes {
    /// What was compared with, by its fingerprint; none before the first comparison.
    against: Option<u32>,
    /// When the round began that is going on, and its beats so far.
    pub(super) round: Option<(DateTime<Utc>, usize)>,
    /// The canary that is asked with caches and past them, since its lists were seen to differ.
    pub(super) both_ways: Option<Box<str>>,
    /// Of each canary that names a near miss, by id, which of the last five looks found both mixed up: a bit each, the
    /// latest lowest. Those without one are left out.
    pub(super) mixed_up: BTreeMap<Box<str>, u8>,
    /// Whose lists its own were put beside, by the id's fingerprint; none where it is no replica.
    beside: Option<u32>,
    /// When the round began in which replica and original answer each canary that both ask.
    pub(super) round_of_both: Option<DateTime<Utc>>,
    /// In the order of [`ChangeCheck::ALL`]; none where everything is as it is pinned.
    standing: [Option<Box<Standing>>; ChangeCheck::COUNT],
}

/// What one check found.
#[derive(Debug, Clone, PartialEq)]
struct Standing {
    state: SignalState,
    found: Found,
}

/// What was seen last of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) said: String,
    pub(super) evidence: Vec<Evidence>,
    /// Whether scores are on another scale.
    pub(super) is_rescaled: bool,
    /// Whether scores became ranks in disguise, or cease to be, which no list has to move for.
    pub(super) is_regraded: bool,
}

impl Changes {
    pub(super) fn hear(
        &mut self,
        check: ChangeCheck,
        judged: Judged<Found>,
        checks: &QualityChecks,
        now: DateTime<Utc>,
    ) {
        let rule = check.rule(checks);
        let (level, found) = match judged {
            Judged::Unknown => return,
            Judged::Same => (Level::Calm, None),
            Judged::Other(found) => (Level::Elevated, Some(found)),
        };
        let slot = &mut self.standing[check as usize];
        let Some(found) = found.or_else(|| slot.as_ref().map(|standing| standing.found.clone())) else { return };
        let quiet = SignalState::quiet(now);
        let before = slot.as_ref().map_or(&quiet, |standing| &standing.state);
        // Of two questions that look alike, so many of the last looks are counted before they come here.
        let after = if check == ChangeCheck::Pairs { 1 } else { rule.after };
        let need = Thresholds { open: Need::readings(after), close: Need::readings(BACK_IN_A_ROW[check as usize]) };
        let (state, _) = step(before, level, Duration::ZERO, need, None, now);
        *slot = (state.phase != Phase::Quiet).then(|| Box::new(Standing { state, found }));
    }

    /// Forgets what the file no longer wants judged, and what was compared with another lock.
    pub(super) fn follow(&mut self, monitor: &Monitor) {
        let against = monitor.pinned.as_ref().map(|pinned| fingerprint(&pinned.hash));
        let beside = monitor.original().map(|original| fingerprint(original.id.as_str()));
        let is_other = self.against.is_some() && self.against != against;
        let is_beside_other = self.beside.is_some() && self.beside != beside;
        for check in ChangeCheck::ALL {
            let is_over = match check {
                ChangeCheck::SelfReported => false,
                ChangeCheck::Pairs => !monitor.asks_pairs(),
                ChangeCheck::Replicas => is_beside_other || beside.is_none(),
                _ => is_other || against.is_none(),
            };
            if is_over || check.rule(&monitor.rules.quality.checks).severity.is_none() {
                self.standing[check as usize] = None;
            }
        }
        self.round = self.round.filter(|_| !is_other);
        let is_asked = |id: &str| monitor.canaries.iter().any(|canary| canary.id == id);
        if !self.both_ways.as_deref().is_some_and(is_asked) {
            self.forget_caches();
        }
        let is_declared = |canary: &str| monitor.near_misses.iter().any(|pair| pair.canary == canary);
        self.mixed_up.retain(|canary, looks| *looks != 0 && is_declared(canary));
        self.round_of_both = self.round_of_both.filter(|_| beside.is_some() && !is_beside_other);
        (self.against, self.beside) = (against, beside);
    }

    /// Forgets what was seen of caches: nothing can be compared any more.
    pub(super) fn forget_caches(&mut self) {
        (self.both_ways, self.standing[ChangeCheck::Caches as usize]) = (None, None);
    }

    pub(super) fn found(&self, check: ChangeCheck) -> Option<&Found> {
        let standing = self.standing[check as usize].as_deref();
        standing.filter(|standing| standing.state.phase.has_incident()).map(|standing| &standing.found)
    }

    /// Whether a check found something, told or not yet.
    pub(super) fn is_elevated(&self, check: ChangeCheck) -> bool {
        self.standing[check as usize].is_some()
    }

    /// The relation that was seen broken, told or not yet.
    pub(super) fn broken_relation(&self) -> Option<Relation> {
        let found = &self.standing[ChangeCheck::Relations as usize].as_deref()?.found;
        let named = found.evidence.iter().find(|one| one.key == RELATION);
        // Before there were others, none was named.
        Some(named.and_then(|one| Relation::from_slug(&one.value)).unwrap_or(Relation::SameTwice))
    }

    /// What stands, as one reason: the first that explains the others. What moved against the lock is why a replica answers
    /// otherwise than its original, but nothing explains what is louder than itself.
    pub(super) fn told(&self, checks: &QualityChecks) -> Option<(FailureReason, Severity, String)> {
        use ChangeCheck as C;
        let by = |check: C, reason: FailureReason| {
            Some((reason, check.rule(checks).severity?, self.found(check)?.said.clone()))
        };
        let reranked = || {
            let scores = self.found(C::Scores)?;
            let lists = self.found(C::Lists).filter(|_| scores.is_rescaled);
            let said = lists.map(|lists| format!("{}; ", lists.said)).unwrap_or_default() + &scores.said;
            (lists.is_some() || scores.is_regraded).then_some((FailureReason::RerankerChanged, checks.reranker?, said))
        };
        let moved = || {
            by(C::Pairs, FailureReason::CacheFalseHit)
                .or_else(|| by(C::Caches, FailureReason::CacheStale))
                .or_else(|| by(C::Chunks, FailureReason::ChunkingChanged))
                .or_else(reranked)
                .or_else(|| by(C::Lists, FailureReason::RankingChanged))
                .or_else(|| by(C::Scores, FailureReason::ScoreShift))
        };
        let apart = || by(C::Replicas, FailureReason::ReplicaDivergence);
        by(C::SelfReported, FailureReason::SelfReportedDegradation)
            .or_else(|| by(C::Relations, FailureReason::InconsistentResults))
            .or_else(|| match (moved(), apart()) {
                (Some(moved), Some(apart)) if moved.1 < apart.1 => Some(apart),
                (moved, apart) => moved.or(apart),
            })
    }

    /// Goes on from an incident that told of it.
    pub(super) fn restore(&mut self, incident: &Incident) {
        let has = |key: &str| incident.evidence.iter().any(|one| one.key == key);
        let is_regraded = has(FIRST_SCORES_SHARED);
        let checks: &[ChangeCheck] = match incident.reason {
            FailureReason::SelfReportedDegradation => &[ChangeCheck::SelfReported],
            FailureReason::InconsistentResults => &[ChangeCheck::Relations],
            FailureReason::CacheFalseHit => &[ChangeCheck::Pairs],
            FailureReason::CacheStale => &[ChangeCheck::Caches],
            FailureReason::ReplicaDivergence => &[ChangeCheck::Replicas],
            FailureReason::ChunkingChanged => &[ChangeCheck::Chunks],
            FailureReason::RankingChanged => &[ChangeCheck::Lists],
            FailureReason::ScoreShift => &[ChangeCheck::Scores],
            FailureReason::RerankerChanged if is_regraded && !has(LISTS_MOVED) => &[ChangeCheck::Scores],
            FailureReason::RerankerChanged => &[ChangeCheck::Lists, ChangeCheck::Scores],
            _ => return,
        };
        let said = incident.summary.split_once(": ").map_or(&*incident.summary, |(_, said)| said).to_owned();
        let asked = incident.evidence.iter().find(|one| *one.key == *ASKED_BOTH_WAYS);
        self.both_ways = asked.map(|one| one.value.as_str().into());
        let pair = incident.evidence.iter().find(|one| one.key == PAIR);
        // It is asked on each beat, until five looks found it well.
        self.mixed_up.extend(pair.and_then(|one| Some((one.value.split_once(' ')?.0.into(), 1))));
        let found = Found { said, evidence: incident.evidence.clone(), is_rescaled: checks.len() > 1, is_regraded };
        for check in checks {
            let state = SignalState { phase: Phase::Open, ..SignalState::quiet(incident.opened_at) };
            self.standing[*check as usize] = Some(Box::new(Standing { state, found: found.clone() }));
        }
    }
}

/// Whether an incident tells of a change, and of no harm that canaries saw.
pub(super) fn is_about_change(incident: &Incident) -> bool {
    use FailureReason as R;
    let may_be = matches!(
        incident.reason,
        R::SelfReportedDegradation
            | R::InconsistentResults
            | R::CacheFalseHit
            | R::CacheStale
            | R::ReplicaDivergence
            | R::ChunkingChanged
            | R::RerankerChanged
            | R::RankingChanged
            | R::ScoreShift
    );
    // Canaries that are wrong are counted, whatever they are named.
    may_be && incident.course.worst.is_none()
}
