//! What changed without harm, over many beats: which check found it, since when it stands, and what it says of *quality*.
//!
//! A change that stands is told where no canary is wrong; what canaries lost comes first. It ends when answers are as they
//! are pinned again, or when another lock is loaded. A round is the time in which each pinned canary was answered once;
//! while something is in doubt no round is judged, since lists of a fault are no change.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::incident::{Incident, Need, Thresholds, step};
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::monitor_state::cause::Cause;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::observation::Stage;
use crate::domain::outcome::Evidence;
use crate::domain::pinned::Pinned;
use crate::domain::quality::changes::{
    ChangeCheck, Compared, Judged, ROUND_MIN, chunks_resized, lists_moved, scores_moved, self_reported,
};
use crate::domain::quality::ranking::fingerprint;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::rules::QualityChecks;
use crate::domain::signal::{Level, Phase, Signal, SignalState};

/// Beats, or rounds, as they are pinned that end a change: two beats may be two canaries, a round is all of them.
const BACK_IN_A_ROW: [u32; 4] = [2, 2, 1, 1];
/// How many times as long as it has to take a round may last: calls fail, and caches answer some.
const ROUND_PATIENCE: usize = 3;

/// What is remembered of changes between beats.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Changes {
    /// What was compared with, by its fingerprint; none before the first comparison.
    against: Option<u32>,
    /// When the round began that is going on, and its beats so far.
    round: Option<(DateTime<Utc>, usize)>,
    /// In the order of [`ChangeCheck::ALL`]; none where everything is as it is pinned.
    standing: [Option<Box<Standing>>; 4],
}

/// What one check found.
#[derive(Debug, Clone, PartialEq)]
struct Standing {
    state: SignalState,
    found: Found,
}

/// What was seen last of it.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    said: String,
    evidence: Vec<Evidence>,
    /// Whether scores are on another scale.
    is_rescaled: bool,
}

impl Changes {
    fn hear(&mut self, check: ChangeCheck, judged: Judged<Found>, checks: &QualityChecks, now: DateTime<Utc>) {
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
        let need =
            Thresholds { open: Need::readings(rule.after), close: Need::readings(BACK_IN_A_ROW[check as usize]) };
        let (state, _) = step(before, level, Duration::ZERO, need, None, now);
        *slot = (state.phase != Phase::Quiet).then(|| Box::new(Standing { state, found }));
    }

    /// Forgets what the file no longer wants judged, and what was compared with another lock.
    fn follow(&mut self, monitor: &Monitor) {
        let against = monitor.pinned.as_ref().map(|pinned| fingerprint(&pinned.hash));
        let is_other = self.against.is_some() && self.against != against;
        for check in ChangeCheck::ALL {
            let is_pinned = check != ChangeCheck::SelfReported;
            let is_off = check.rule(&monitor.rules.quality.checks).severity.is_none();
            if is_off || is_pinned && (is_other || against.is_none()) {
                self.standing[check as usize] = None;
            }
        }
        self.round = self.round.filter(|_| !is_other);
        self.against = against;
    }

    fn found(&self, check: ChangeCheck) -> Option<&Found> {
        let standing = self.standing[check as usize].as_deref();
        standing.filter(|standing| standing.state.phase.has_incident()).map(|standing| &standing.found)
    }

    /// What stands, as one reason: the first that explains the others.
    fn told(&self, checks: &QualityChecks) -> Option<(FailureReason, Severity, String)> {
        use ChangeCheck as C;
        let by = |check: C, reason: FailureReason| {
            Some((reason, check.rule(checks).severity?, self.found(check)?.said.clone()))
        };
        let reranked = || {
            let (lists, scores) = (self.found(C::Lists)?, self.found(C::Scores)?);
            let said = format!("{}; {}", lists.said, scores.said);
            scores.is_rescaled.then_some((FailureReason::RerankerChanged, checks.reranker?, said))
        };
        by(C::SelfReported, FailureReason::SelfReportedDegradation)
            .or_else(|| by(C::Chunks, FailureReason::ChunkingChanged))
            .or_else(reranked)
            .or_else(|| by(C::Lists, FailureReason::RankingChanged))
            .or_else(|| by(C::Scores, FailureReason::ScoreShift))
    }

    /// Goes on from an incident that told of it.
    pub(super) fn restore(&mut self, incident: &Incident) {
        let checks: &[ChangeCheck] = match incident.reason {
            FailureReason::SelfReportedDegradation => &[ChangeCheck::SelfReported],
            FailureReason::ChunkingChanged => &[ChangeCheck::Chunks],
            FailureReason::RankingChanged => &[ChangeCheck::Lists],
            FailureReason::ScoreShift => &[ChangeCheck::Scores],
            FailureReason::RerankerChanged => &[ChangeCheck::Lists, ChangeCheck::Scores],
            _ => return,
        };
        let said = incident.summary.split_once(": ").map_or(&*incident.summary, |(_, said)| said).to_owned();
        let found = Found { said, evidence: incident.evidence.clone(), is_rescaled: checks.len() > 1 };
        for check in checks {
            let state = SignalState { phase: Phase::Open, ..SignalState::quiet(incident.opened_at) };
            self.standing[*check as usize] = Some(Box::new(Standing { state, found: found.clone() }));
        }
    }
}

impl MonitorState {
    /// Takes in what this beat says of changes.
    pub(super) fn hear_changes(&mut self, beat: Beat<'_>) {
        self.changes.follow(beat.monitor);
        let checks = &beat.monitor.rules.quality.checks;
        let answered = || beat.seen.asks.iter().filter_map(|ask| Some((ask, ask.result.as_ref()?.as_ref().ok()?)));
        let words = self_reported(answered().map(|(_, answer)| answer));
        let judged = match () {
            () if !words.is_empty() => Judged::Other(admitted(&words)),
            // What a cache says is of another day.
            () if answered().any(|(ask, _)| beat.seen.reached_index(ask)) => Judged::Same,
            () => Judged::Unknown,
        };
        self.changes.hear(ChangeCheck::SelfReported, judged, checks, beat.now);
        let Some(pinned) = beat.monitor.pinned.as_deref() else { return };
        if self.is_any_doubted() {
            self.changes.round = None;
            return;
        }
        let judged = self.judge_chunks(pinned, beat);
        self.changes.hear(ChangeCheck::Chunks, judged, checks, beat.now);
        let (lists, scores) = self.judge_round(pinned, beat);
        self.changes.hear(ChangeCheck::Lists, lists, checks, beat.now);
        self.changes.hear(ChangeCheck::Scores, scores, checks, beat.now);
    }

    /// Canaries that the index answered since then, beside what is pinned of them.
    fn compared<'a>(&'a self, pinned: &'a Pinned, monitor: &'a Monitor, since: DateTime<Utc>) -> Vec<Compared<'a>> {
        let of = |canary: &'a Canary| {
            let look = self.canaries.get(&canary.id)?.look.as_deref().filter(|look| look.at >= since)?;
            Some(Compared { look, pinned: canary.pinned(pinned)? })
        };
        monitor.canaries.iter().filter_map(of).collect()
    }

    fn judge_chunks(&self, pinned: &Pinned, beat: Beat<'_>) -> Judged<Found> {
        let chunks = &beat.monitor.rules.quality.checks.chunks;
        match chunks_resized(&self.compared(pinned, beat.monitor, beat.now), chunks) {
            Judged::Unknown => Judged::Unknown,
            Judged::Same => Judged::Same,
            Judged::Other(ratio) => Judged::Other(Found {
                said: format!("chunks are {ratio:.2} times as long as pinned, no right answer is lost"),
                evidence: vec![Evidence::new("chunk_length_ratio", format!("{ratio:.2}"))],
                is_rescaled: false,
            }),
        }
    }

    /// Lists and first scores of the round that ends with this beat, where one does.
    fn judge_round(&mut self, pinned: &Pinned, beat: Beat<'_>) -> (Judged<Found>, Judged<Found>) {
        let monitor = beat.monitor;
        let (since, beats) = self.changes.round.unwrap_or((beat.now, 0));
        let compared = self.compared(pinned, monitor, since);
        let all = monitor.canaries.iter().filter(|canary| canary.pinned(pinned).is_some()).count();
        let length = monitor.canaries.len().div_ceil(monitor.per_beat().max(1) as usize);
        let is_over = compared.len() == all || beats + 1 >= length * ROUND_PATIENCE;
        if all < ROUND_MIN || !is_over {
            self.changes.round = Some((since, beats + 1));
            return (Judged::Unknown, Judged::Unknown);
        }
        let lists = match lists_moved(&compared, &monitor.rules.quality.checks.lists) {
            Judged::Unknown => Judged::Unknown,
            Judged::Same => Judged::Same,
            Judged::Other(moved) => {
                Judged::Other(Found { said: moved.said(), evidence: moved.evidence(), is_rescaled: false })
            }
        };
        let scores = match scores_moved(&compared, pinned.scale) {
            Judged::Unknown => Judged::Unknown,
            Judged::Same => Judged::Same,
            Judged::Other(moved) => Judged::Other(Found {
                said: moved.said(),
                evidence: moved.evidence(),
                is_rescaled: moved.is_rescaled(),
            }),
        };
        self.changes.round = None;
        (lists, scores)
    }

    /// The change that *quality* tells, where one stands and nothing worse is told or just over.
    pub(super) fn change(&self, beat: Beat<'_>) -> Option<Cause> {
        let rule = &beat.monitor.rules.quality;
        if !self.incident(Signal::Quality).is_none_or(is_about_change) {
            return None;
        }
        let (reason, severity, summary) = self.changes.told(&rule.checks)?;
        let mut evidence: Vec<Evidence> = Vec::new();
        for found in ChangeCheck::ALL.into_iter().filter_map(|check| self.changes.found(check)) {
            let is_new = |one: &&Evidence| !evidence.iter().any(|known| known.key == one.key);
            evidence.extend(found.evidence.iter().filter(is_new).cloned().collect::<Vec<_>>());
        }
        Some(Cause {
            reason,
            severity,
            stage: Stage::Search,
            line: rule.line,
            summary,
            evidence,
            health: Vec::new(),
            counted: None,
        })
    }

    /// Whether an open incident tells of a change that the file still wants told.
    pub(super) fn is_change_wanted(&mut self, monitor: &Monitor) -> bool {
        self.changes.follow(monitor);
        self.incident(Signal::Quality).is_some_and(is_about_change)
            && self.changes.told(&monitor.rules.quality.checks).is_some()
    }
}

/// Whether an incident tells of a change, and of no harm that canaries saw.
pub(super) fn is_about_change(incident: &Incident) -> bool {
    use FailureReason as R;
    let may_be = matches!(
        incident.reason,
        R::SelfReportedDegradation | R::ChunkingChanged | R::RerankerChanged | R::RankingChanged | R::ScoreShift
    );
    // Canaries that are wrong are counted, whatever they are named.
    may_be && incident.course.worst.is_none()
}

fn admitted(words: &[String]) -> Found {
    Found {
        said: format!("answers say of themselves: {}", words.join(", ")),
        evidence: vec![Evidence::new("self_reported", words.join(", "))],
        is_rescaled: false,
    }
}
