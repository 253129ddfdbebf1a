//! Many answers of one canary: a blip or an incident (RETRIEVAL.md §3, the right column).

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::incident::{Need, Thresholds, step};
use crate::domain::outcome::AskVerdict;
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Phase, SignalState};

/// Right answers in a row after which a confirmed canary is believed again.
const RIGHT_IN_A_ROW: u32 = 2;

/// What is remembered of one canary between beats.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryState {
    /// The declaration this memory belongs to; another one starts afresh.
    pub definition_hash: Arc<str>,
    /// Its own way from blip to confirmed and back.
    pub state: SignalState,
    /// Wrong answers in a row.
    pub wrong_in_a_row: u32,
    /// The last answer's judgement; none before the first answer.
    pub last: Option<AskVerdict>,
    /// Why the last call brought no answer, where it did not.
    pub failed: Option<FailureReason>,
    /// The first wrong answer of the doubt that it is in.
    pub doubted_since: Option<DateTime<Utc>>,
    /// Its way from one forbidden source to a leak and back; none where its answers name none.
    pub leak: Option<Box<SignalState>>,
    /// Which list of sources the last answer brought; equal lists, equal fingerprints. None: not known.
    pub list: Option<u64>,
    /// When it last answered.
    pub answered_at: Option<DateTime<Utc>>,
    /// Duration of that call.
    pub elapsed: Duration,
    /// Tokens of the last answer that was counted.
    pub tokens: Option<u32>,
}

impl CanaryState {
    /// A canary nobody has asked yet.
    pub fn new(definition_hash: &str, now: DateTime<Utc>) -> Self {
        Self {
            definition_hash: definition_hash.into(),
            state: SignalState::quiet(now),
            wrong_in_a_row: 0,
            last: None,
            failed: None,
            doubted_since: None,
            leak: None,
            list: None,
            answered_at: None,
            elapsed: Duration::ZERO,
            tokens: None,
        }
    }

    /// Takes in one answer. A failed or missing one says nothing about quality and changes nothing but the record.
    pub fn hear(&mut self, verdict: &AskVerdict, after: u32, now: DateTime<Utc>) {
        let level = match verdict {
            AskVerdict::Right { .. } => Level::Calm,
            AskVerdict::Wrong { .. } => Level::Elevated,
            AskVerdict::Failed { reason } => {
                self.failed = Some(*reason);
                return;
            }
            AskVerdict::NotAsked => return,
        };
        let bar = Thresholds { open: Need::readings(after), close: Need::readings(RIGHT_IN_A_ROW) };
        (self.state, _) = step(&self.state, level, Duration::ZERO, bar, None, now);
        self.wrong_in_a_row = if level == Level::Elevated { self.wrong_in_a_row + 1 } else { 0 };
        self.doubted_since = (self.state.phase != Phase::Quiet).then(|| self.doubted_since.unwrap_or(now));
        self.last = Some(verdict.clone());
        self.failed = None;
        self.answered_at = Some(now);
    }

    /// Whether its last answer was wrong.
    pub const fn is_wrong(&self) -> bool {
        matches!(self.last, Some(AskVerdict::Wrong { .. }))
    }

    /// What its last call came to; none before the first one.
    pub fn outcome(&self) -> Option<AskVerdict> {
        self.failed.map(|reason| AskVerdict::Failed { reason }).or_else(|| self.last.clone())
    }

    /// Whether enough answers in a row were wrong.
    pub const fn is_confirmed(&self) -> bool {
        self.state.phase.has_incident()
    }

    /// Whether the next beat should ask it again, to confirm or to clear.
    pub fn wants_asking(&self) -> bool {
        self.state.phase != Phase::Quiet || self.leak.is_some()
    }

    /// Why its last answer was wrong.
    pub const fn wrong_reason(&self) -> Option<FailureReason> {
        match &self.last {
            Some(AskVerdict::Wrong { reason, .. }) => Some(*reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_confirmed_and_believed_again_by_answers_alone() {
        // r right, w wrong, f failed, - not asked; then: wanted again, confirmed.
        let rows = [
            ("r", false, false, "a right answer leaves nothing to ask"),
            ("w", true, false, "a first wrong one is asked again"),
            ("ww", true, false, "two are a blip"),
            ("www", true, true, "three in a row are not"),
            ("wwrw", true, false, "a right one between starts afresh"),
            ("wwfw", true, true, "a failed call is no answer, neither right nor wrong"),
            ("ww-w", true, true, "nor is one that was not asked"),
            ("wwf", true, false, "and does not confirm"),
            ("wwwr", true, true, "one right answer is not believed yet"),
            ("wwwrwr", true, true, "nor is every other one"),
            ("wwwrr", false, false, "two in a row are"),
            ("wwwrfr", false, false, "whatever failed between"),
        ];
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for (answers, wanted, confirmed, sentence) in rows {
            let mut canary = CanaryState::new("", now);
            for answer in answers.chars() {
                let verdict = match answer {
                    'r' => AskVerdict::Right { rank: Some(1) },
                    'w' => AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: String::new() },
                    'f' => AskVerdict::Failed { reason: FailureReason::Timeout },
                    _ => AskVerdict::NotAsked,
                };
                canary.hear(&verdict, 3, now);
            }
            assert_eq!((canary.wants_asking(), canary.is_confirmed()), (wanted, confirmed), "{answers}: {sentence}");
        }
    }
}
