//! Many answers of one canary: a blip or an incident (RETRIEVAL.md §3, the right column).

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::Variant;
use crate::domain::incident::{Need, Thresholds, step};
use crate::domain::outcome::AskVerdict;
use crate::domain::quality::look::Look;
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Phase, SignalState};

/// Right answers in a row after which a confirmed canary is believed again.
const RIGHT_IN_A_ROW: u32 = 2;

/// Who gave an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredBy {
    /// How it was asked.
    pub variant: Variant,
    /// Whether the index answered, as far as that can be told.
    pub index: bool,
}

impl AnsweredBy {
    /// The index, however it was asked: what is said of servers without caches.
    pub const INDEX: Self = Self { variant: Variant::Plain, index: true };

    /// Whether a right answer ends a doubt, in the index or in a cache. Other words are another question: where one of them
    /// was answered wrongly the question itself, which a cache may know, says nothing of it, and the other way round.
    const fn clears(self, doubt: &CanaryState) -> bool {
        match self.variant {
            Variant::Reworded => doubt.doubts_wording,
            Variant::Plain if doubt.doubts_wording => false,
            _ if doubt.doubts_index => self.index,
            variant => matches!(variant, Variant::Plain),
        }
    }
}

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
    /// Whether the index gave one of the wrong answers of that doubt; else a cache did, as far as that can be told.
    pub doubts_index: bool,
    /// Whether it was answered wrongly in that doubt in other words.
    pub doubts_wording: bool,
    /// How often it was asked in other words, so that the next time takes the next of them.
    pub wordings_asked: u32,
    /// Whether the same question, asked past caches, was answered rightly since.
    pub right_past_caches: bool,
    /// Its way from one forbidden source to a leak and back; none where its answers name none.
    pub leak: Option<Box<SignalState>>,
    /// Whether a wrong answer in its turn is not yet taken for erosion: it may turn right by the third look.
    pub look_due: bool,
    /// Which list of sources the last answer brought; equal lists, equal fingerprints. None: not known.
    pub list: Option<u64>,
    /// What the index last answered; none where it did not yet.
    pub look: Option<Arc<Look>>,
    /// What it answered rightly before that, while nothing was in doubt: a fault that just begins is not in it.
    pub look_before: Option<Arc<Look>>,
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
            doubts_index: false,
            doubts_wording: false,
            wordings_asked: 0,
            right_past_caches: false,
            leak: None,
            look_due: false,
            list: None,
            look: None,
            look_before: None,
            answered_at: None,
            elapsed: Duration::ZERO,
            tokens: None,
        }
    }

    /// Takes in one answer; whether it says anything of what is judged. A failed or missing one says nothing about quality
    /// and changes nothing but the record.
    ///
    /// A wrong answer is harm, whoever gave it. A right one clears what the index answered wrongly only where the index
    /// gave it, and what a cache did only where caches were not passed by.
    pub fn hear(&mut self, verdict: &AskVerdict, by: AnsweredBy, after: u32, now: DateTime<Utc>) -> bool {
        let level = match verdict {
            AskVerdict::Right { .. } => Level::Calm,
            AskVerdict::Wrong { .. } => Level::Elevated,
            AskVerdict::Failed { reason } => {
                self.failed = Some(*reason);
                return false;
            }
            AskVerdict::NotAsked => return false,
        };
        self.failed = None;
        let is_told_already = self.is_wrong() && self.answered_at == Some(now);
        if is_told_already && level == Level::Calm && by.variant == Variant::Reworded {
            // The question itself was answered wrongly a moment ago.
            return false;
        }
        if !self.blame(level, by) {
            return false;
        }
        if is_told_already && level == Level::Elevated {
            // Asked past caches as well in one beat: that is one look, and no confirmation.
            return true;
        }
        let bar = Thresholds { open: Need::readings(after), close: Need::readings(RIGHT_IN_A_ROW) };
        (self.state, _) = step(&self.state, level, Duration::ZERO, bar, None, now);
        self.wrong_in_a_row = if level == Level::Elevated { self.wrong_in_a_row + 1 } else { 0 };
        self.doubted_since = (self.state.phase != Phase::Quiet).then(|| self.doubted_since.unwrap_or(now));
        self.last = Some(verdict.clone());
        self.answered_at = Some(now);
        true
    }

    /// Takes an answer up again that was heard before a restart; its doubt is remembered elsewhere.
    pub fn remember(&mut self, verdict: AskVerdict, by: AnsweredBy, at: DateTime<Utc>) {
        let level = if matches!(verdict, AskVerdict::Wrong { .. }) { Level::Elevated } else { Level::Calm };
        if self.blame(level, by) {
            (self.last, self.answered_at) = (Some(verdict), Some(at));
        }
    }

    /// Notes whom a doubt points at; whether the answer says anything of what is judged.
    fn blame(&mut self, level: Level, by: AnsweredBy) -> bool {
        let is_in_doubt = self.state.phase != Phase::Quiet;
        if level == Level::Elevated {
            self.doubts_index = by.index || is_in_doubt && self.doubts_index;
            self.doubts_wording = by.variant == Variant::Reworded || is_in_doubt && self.doubts_wording;
            self.right_past_caches &= is_in_doubt && !by.index;
            return true;
        }
        let is_heard = !is_in_doubt || by.clears(self);
        self.right_past_caches |= !is_heard && by.index && by.variant != Variant::Reworded;
        is_heard
    }

    /// Remembers what an answer of the index looked like. `is_any_doubted`: some canary of the monitor was wrong lately, so
    /// that what was right before stays what others are compared with.
    pub(crate) fn see(&mut self, look: Look, is_any_doubted: bool) {
        let was = self.look.replace(Arc::new(look));
        if !is_any_doubted && self.state.phase == Phase::Quiet {
            self.look_before = was.or_else(|| self.look_before.take());
        }
    }

    /// How it is asked again: as it was when its answer was wrong. What leaks may do so from the index or from a cache that
    /// others share, so that it is asked as users do.
    pub const fn asked_again(&self) -> Variant {
        match self.leak {
            None if self.doubts_wording => Variant::Reworded,
            None if self.doubts_index => Variant::Fresh,
            _ => Variant::Plain,
        }
    }

    /// Whether caches answer wrongly what the index answers rightly.
    pub const fn blames_cache(&self) -> bool {
        !self.doubts_index && self.right_past_caches
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
        let begun = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for (answers, wanted, confirmed, sentence) in rows {
            let mut canary = CanaryState::new("", begun);
            for (answer, beat) in answers.chars().zip(0..) {
                let now = begun + Duration::from_secs(60 * beat);
                let verdict = match answer {
                    'r' => AskVerdict::Right { rank: Some(1) },
                    'w' => AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: String::new() },
                    'f' => AskVerdict::Failed { reason: FailureReason::Timeout },
                    _ => AskVerdict::NotAsked,
                };
                canary.hear(&verdict, AnsweredBy::INDEX, 3, now);
            }
            assert_eq!((canary.wants_asking(), canary.is_confirmed()), (wanted, confirmed), "{answers}: {sentence}");
        }
    }

    #[test]
    fn what_a_cache_answers_says_nothing_of_the_index_and_the_other_way_round() {
        // Capitals are wrong. i: the index, asked past caches; c: perhaps a cache, asked plainly; m: the index, asked
        // plainly. Then: in doubt, confirmed, how it is asked again, and whether the cache is to blame.
        let (fresh, plain) = (Variant::Fresh, Variant::Plain);
        let rows = [
            ("I", true, false, fresh, false, "the index is wrong"),
            ("Icc", true, false, fresh, false, "and a cache that still knows better changes nothing of it"),
            ("IccII", true, true, fresh, false, "nor does it start the count afresh"),
            ("IIIcccc", true, true, fresh, false, "nor does it end what is confirmed"),
            ("IIIii", false, false, fresh, false, "the index does"),
            ("IIImm", false, false, fresh, false, "and so does an answer that says no cache gave it"),
            ("C", true, false, plain, false, "a wrong answer is harm, whoever gave it"),
            ("CCiC", true, true, plain, true, "a right one past the caches says who is to blame"),
            ("CiCC", true, true, plain, true, "whenever it comes"),
            ("iCCC", true, true, plain, false, "but not one from before"),
            ("CCCcc", false, false, plain, false, "over when the cache is right"),
            ("CCCmm", false, false, plain, false, "or no longer asked"),
            ("CCiI", true, true, fresh, false, "where the index turns wrong, it is to blame"),
            ("IIc", true, false, fresh, false, "and stays so"),
            ("IIIiiC", true, false, plain, false, "each doubt is its own"),
        ];
        let begun = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for (answers, wanted, confirmed, again, blamed, sentence) in rows {
            let mut canary = CanaryState::new("", begun);
            for (answer, beat) in answers.chars().zip(0..) {
                let now = begun + Duration::from_secs(60 * beat);
                let variant = if matches!(answer, 'i' | 'I') { fresh } else { plain };
                let by = AnsweredBy { variant, index: !matches!(answer, 'c' | 'C') };
                let wrong = AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: String::new() };
                let verdict = if answer.is_uppercase() { wrong } else { AskVerdict::Right { rank: Some(1) } };
                canary.hear(&verdict, by, 3, now);
            }
            let judged = (canary.wants_asking(), canary.is_confirmed(), canary.blames_cache());
            assert_eq!(judged, (wanted, confirmed, blamed), "{answers}: {sentence}");
            assert!(!wanted || canary.asked_again() == again, "{answers}: {sentence}");
        }
    }

    #[test]
    fn other_words_confirm_and_clear_nothing_that_the_question_itself_gets_wrong() {
        // A beat a word. p: the question itself, of which a cache may know; w: in other words; h: the question itself, and
        // the answer says that a cache gave it. Capitals are wrong. Then: in doubt, confirmed, and how it is asked again.
        let (plain, fresh, reworded) = (Variant::Plain, Variant::Fresh, Variant::Reworded);
        let rows = [
            ("Pw", true, false, fresh, "other words clear no wrong answer of the same beat"),
            ("P w", true, false, fresh, "nor one of the beat before"),
            ("Pw Pw Pw", true, true, fresh, "so that what users ask is told as soon as ever"),
            ("P p", false, false, fresh, "the question itself clears it"),
            ("W p", true, false, reworded, "a cache that knows the question hides nothing of the index"),
            ("W pW pW", true, true, reworded, "which several wordings confirm"),
            ("W pw", false, false, fresh, "or one clears"),
            ("PW Pw PW", true, true, reworded, "a beat is right where both are"),
            ("PW pW Pw pw pw", false, false, fresh, "and twice over when it is confirmed"),
            ("Hw Hw Hw", true, true, plain, "what a cache admits to is its own"),
        ];
        let begun = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for (beats, wanted, confirmed, again, sentence) in rows {
            let mut canary = CanaryState::new("", begun);
            for (beat, answers) in (0..).zip(beats.split(' ')) {
                for answer in answers.chars() {
                    let lower = answer.to_ascii_lowercase();
                    let by = AnsweredBy { variant: if lower == 'w' { reworded } else { plain }, index: lower != 'h' };
                    let wrong =
                        AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: String::new() };
                    let verdict = if answer == lower { AskVerdict::Right { rank: Some(1) } } else { wrong };
                    canary.hear(&verdict, by, 3, begun + Duration::from_secs(60 * beat));
                }
            }
            assert_eq!((canary.wants_asking(), canary.is_confirmed()), (wanted, confirmed), "{beats}: {sentence}");
            assert!(!canary.blames_cache(), "{beats}: another question says nothing of a cache");
            assert!(!wanted || canary.asked_again() == again, "{beats}: {sentence}");
        }
    }

    #[test]
    fn two_wrong_answers_of_one_beat_are_one() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let wrong = AskVerdict::Wrong { reason: FailureReason::WrongResults, rank: None, seen: String::new() };
        let (plain, fresh) = (AnsweredBy { variant: Variant::Plain, index: false }, AnsweredBy::INDEX);
        let mut canary = CanaryState::new("", now);
        for beat in 0..2 {
            for by in [plain, fresh] {
                canary.hear(&wrong, by, 3, now + Duration::from_secs(60 * beat));
            }
        }
        assert_eq!((canary.wrong_in_a_row, canary.is_confirmed()), (2, false), "asked twice each, in two beats");
        assert!(canary.doubts_index, "and who is to blame is heard of both");
        canary.hear(&wrong, fresh, 3, now + Duration::from_secs(120));
        assert!(canary.is_confirmed());
    }
}
