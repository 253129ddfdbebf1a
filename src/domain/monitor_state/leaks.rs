//! Forbidden sources over many beats: which canary saw one, until when that counts, and what it says of `access`.
//!
//! Each canary goes its own way: two that leak once each are not one that leaks twice. A beat that did not hear one again
//! says nothing of it, so that what was seen is never over because nobody looked.

use std::time::Duration;

use crate::domain::incident::{Incident, Need, Thresholds, step};
use crate::domain::leak::{answers, leaked};
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::cause::Cause;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Phase, Reading, Signal, SignalState};

/// Answers of one canary in a row with a forbidden source: one may be a document that was just moved.
const LEAKS_IN_A_ROW: u32 = 2;

impl MonitorState {
    /// Takes in what this beat says of forbidden sources. However often it asked a canary, that is one look.
    pub(super) fn hear_leaks(&mut self, beat: Beat<'_>) {
        let close = Need::readings(beat.monitor.rules.access.recover_after);
        let bar = Thresholds { open: Need::readings(LEAKS_IN_A_ROW), close };
        for canary in beat.monitor.canaries.iter().filter(|canary| !canary.forbid.is_empty()) {
            let mut heard = answers(&canary.id, beat.seen).map(|answer| leaked(canary, answer).is_some()).peekable();
            if heard.peek().is_none() {
                continue;
            }
            let level = if heard.any(|leaks| leaks) { Level::Elevated } else { Level::Calm };
            let known = self.canaries.get(&canary.id).and_then(|known| known.leak.as_deref());
            if level == Level::Calm && known.is_none() {
                continue;
            }
            let quiet = SignalState::quiet(beat.now);
            let (next, _) = step(known.unwrap_or(&quiet), level, Duration::ZERO, bar, None, beat.now);
            let hash = &canary.definition_hash;
            let state = self.canaries.get_or_insert_with(&canary.id, || CanaryState::new(hash, beat.now));
            state.leak = (next.phase != Phase::Quiet).then(|| Box::new(next));
        }
    }

    /// What a beat says of credentials, certificates and leaks: nothing good where it did not ask after one that is known,
    /// and what ends some day takes no leak's place before that is over.
    pub(super) fn access_level(&self, beat: Beat<'_>, looked: bool) -> (Reading, Option<Cause>) {
        let (said, cause) = self.by_finding(Signal::Access, beat, looked);
        let is_unknown = match &cause {
            None => looked && self.is_leak_unheard(beat),
            Some(ending) if ending.is_expiry() => self.leaks().next().is_some() || self.is_leak_unheard(beat),
            Some(_) => false,
        };
        if is_unknown {
            return (Reading { level: Level::Unknown, figure: "what leaked is asked again".into(), samples: 0 }, None);
        }
        (said, cause)
    }

    /// Whether a leak is known that this beat did not ask after.
    fn is_leak_unheard(&self, beat: Beat<'_>) -> bool {
        let is_heard = |id: &str| answers(id, beat.seen).next().is_some();
        let mut forbidding = beat.monitor.canaries.iter().filter(|canary| !canary.forbid.is_empty());
        self.canaries.iter().any(|(id, known)| known.leak.is_some() && !is_heard(id))
            || self.incident(Signal::Access).is_some_and(is_about_leak)
                && !forbidding.any(|canary| is_heard(&canary.id))
    }

    /// Whether one and the same canary saw a forbidden source often enough.
    pub(super) fn is_leak_confirmed(&self) -> bool {
        self.leaks().any(|leak| leak.phase.has_incident())
    }

    /// Whether a forbidden source was seen, and not often enough yet.
    pub(super) fn is_leak_in_doubt(&self) -> bool {
        self.leaks().next().is_some() && !self.is_leak_confirmed()
    }

    /// How many beats it takes, and from where `access` counts them: from anew where no canary leaked twice, so that
    /// neither another canary's leak nor a refusal lends its beat to this one.
    pub(super) fn before_leak(&self, beat: Beat<'_>) -> (SignalState, Need) {
        let state = self.signal(Signal::Access);
        let is_anew = state.phase == Phase::Pending && !self.is_leak_confirmed();
        let before = if is_anew { SignalState::quiet(beat.now) } else { state.clone() };
        (before, Need::readings(LEAKS_IN_A_ROW))
    }

    /// Whether an incident about a leak has lost the canary that saw it, by an edit of the file.
    pub(super) fn is_leak_unwarranted(&self) -> bool {
        self.incident(Signal::Access).is_some_and(is_about_leak) && self.leaks().next().is_none()
    }

    fn leaks(&self) -> impl Iterator<Item = &SignalState> {
        self.canaries.values().filter_map(|canary| canary.leak.as_deref())
    }
}

impl CanaryState {
    /// Whether its last answer held a forbidden source.
    pub(crate) fn is_leaking(&self) -> bool {
        self.leak.as_ref().is_some_and(|leak| matches!(leak.phase, Phase::Pending | Phase::Open))
    }
}

/// Beats in a row that open `access` on this monitor: fewer where what is in doubt is a leak.
pub(super) fn open_need(state: &MonitorState, monitor: &Monitor) -> Need {
    let after = if state.is_leak_in_doubt() { LEAKS_IN_A_ROW } else { monitor.rules.access.after };
    Need::readings(after)
}

fn is_about_leak(incident: &Incident) -> bool {
    incident.reason == FailureReason::TenantLeak
}
