//! What one beat adds to the windows and streaks.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::answer::{Answer, Ask, Turn as AskTurn, Variant};
use crate::domain::errors::SearchCall;
use crate::domain::monitor::Likeness;
use crate::domain::monitor_state::state::{Beat, Decision, MonitorState};
use crate::domain::monitor_state::track::{self, Decided};
use crate::domain::observation::Stage;
use crate::domain::outcome::{AskVerdict, Finding};
use crate::domain::quality::confirmation::{AnsweredBy, CanaryState};
use crate::domain::quality::corpus::whole_count;
use crate::domain::quality::look::Look;
use crate::domain::reason::FailureReason;
use crate::domain::restart::recognise;
use crate::domain::signal::Signal;

/// Two restarts told within this time are one piece of news.
pub(super) const RESTARTS_APART: Duration = Duration::from_secs(300);

/// Which windows got something new in a beat; a window that did not says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fresh {
    pub(super) calls: bool,
    pub(super) samples: bool,
    pub(super) answers: bool,
}

impl MonitorState {
    /// A clock that was set back must not make every answer one from before the fault.
    pub(super) fn follow_clock(&mut self, now: DateTime<Utc>) {
        self.begun_at = self.begun_at.min(now);
        self.turned_at = self.turned_at.map(|at| at.min(now));
        self.index_sight.follow_clock(now);
        self.changes.round_of_both = self.changes.round_of_both.map(|at| at.min(now));
        for unclaimed in self.open.values_mut().filter_map(|open| open.incident.course.unclaimed.as_mut()) {
            unclaimed.follow_clock(now);
        }
        if let Some(open) = self.open.get_mut(&Signal::Quality) {
            open.incident.course.since = open.incident.course.since.map(|at| at.min(now));
            open.drifts_since = open.drifts_since.map(|at| at.min(now));
        }
        let ahead = |canary: &CanaryState| canary.doubted_since.is_some_and(|at| at > now);
        self.canaries.change(ahead, |canary| canary.doubted_since = Some(now));
    }

    /// A server that was refused and is back, or whose marks changed, restarted.
    pub(super) fn notice_restart(&mut self, beat: Beat<'_>, decisions: &mut Vec<Decision>) {
        let restart = recognise(&mut self.marks, beat.seen, self.refused, beat.now);
        let refused = |finding: &Finding| finding.reason == FailureReason::ConnectionRefused;
        match beat.outcome.finding(Signal::Availability) {
            Some(finding) if refused(finding) => self.refused = true,
            Some(_) => {}
            None => self.refused = false,
        }
        if let Some(restart) = restart {
            self.warming.restarted(beat.now);
            let told_lately = |at: DateTime<Utc>| (beat.now - at).to_std().is_ok_and(|age| age < RESTARTS_APART);
            if !self.restart_told_at.is_some_and(told_lately) {
                self.restart_told_at = Some(beat.now);
                decisions.push(Decision::Restarted(restart));
            }
        }
    }

    /// Several addresses may speak of several caches: one that is cold is enough. Samples of a cold
    /// start that is over leave the window, or it would open a ticket for a server that is fast again.
    pub(super) fn hear_warmth(&mut self, beat: Beat<'_>) {
        let said = beat.seen.health.iter().filter_map(|health| health.cache_warm).reduce(|all, one| all && one);
        let over = said.and_then(|warm| self.warming.hear(warm, beat.now));
        if let Some(start) = over.filter(|_| !self.signal(Signal::Latency).phase.has_incident()) {
            self.latency.forget_since(start);
        }
    }

    /// Takes samples, calls, canary answers and tools in; says which windows got something new.
    pub(super) fn take_in(&mut self, beat: Beat<'_>, decisions: &mut Vec<Decision>) -> Fresh {
        let mut fresh = Fresh::default();
        let rules = &beat.monitor.rules;
        let counts = beat.seen.kind.counts_for_percentiles();
        let mut timed = Vec::new();
        let mut decided = Decided::new();
        for (nth, (ask, verdict)) in beat.seen.asks.iter().zip(&beat.outcome.asks).enumerate() {
            // Two answers a moment apart are one look.
            if beat.seen.is_second(nth) {
                continue;
            }
            let by = AnsweredBy { variant: ask.variant, index: beat.seen.reached_index(ask) };
            if counts && ask.turn == AskTurn::Scheduled {
                fresh.calls |= self.count_call(verdict, beat.now);
                if by.index && self.time_call(ask, verdict, beat.now) {
                    timed.push(ask.elapsed);
                }
            }
            fresh.answers |= self.hear(ask, verdict, (by, &mut decided), beat);
            if matches!(verdict, AskVerdict::Right { .. } | AskVerdict::Wrong { .. }) {
                self.index_sight.see(by.index, beat.now);
            }
        }
        self.hear_harvested(&mut decided, beat);
        self.observe(decided, beat);
        let throttled = beat.seen.fault_before_search().is_some() && beat.outcome.finding(Signal::Errors).is_some();
        if throttled {
            let failed = beat.outcome.finding(Signal::Errors).map(|finding| finding.reason);
            self.errors.push(SearchCall { at_us: beat.now.timestamp_micros(), failed });
            fresh.calls = true;
        }
        if counts && beat.monitor.canaries.is_empty() && beat.seen.tools.is_some() {
            for step in beat.seen.steps.iter().filter(|step| step.stage == Stage::Tools) {
                self.latency.push(beat.now, step.elapsed, false);
                timed.push(step.elapsed);
            }
        }
        fresh.samples = !timed.is_empty();
        self.warm_up.take(&mut timed);
        self.latency.trim(rules.latency.window, beat.now);
        self.errors.trim(rules.errors.window, beat.now);
        self.sources.follow(beat.monitor.pinned_sources());
        if let Some(count) = beat.seen.sources.as_ref().and_then(whole_count) {
            self.sources.see(count);
        }
        if let Some(unlisted) = &beat.seen.unlisted {
            self.unlisted.clone_from(unlisted);
        }
        // What finds its source again is not out of date; when it loses it once more, the list is read once more.
        let is_right = |canary: &CanaryState| matches!(canary.last, Some(AskVerdict::Right { .. }));
        self.unlisted.retain(|id| !self.canaries.get(id).is_some_and(is_right));
        if beat.seen.tools.as_ref().is_some_and(|tools| self.tools.settle(tools, beat.now)) {
            decisions.push(Decision::ToolsSettled);
        }
        fresh
    }

    /// Counts a call among those that may fail, where it was made.
    fn count_call(&mut self, verdict: &AskVerdict, now: DateTime<Utc>) -> bool {
        let failed = match verdict {
            AskVerdict::NotAsked => return false,
            AskVerdict::Failed { reason } => Some(*reason),
            AskVerdict::Right { .. } | AskVerdict::Wrong { .. } => None,
        };
        self.errors.push(SearchCall { at_us: now.timestamp_micros(), failed });
        true
    }

    /// Takes the time of a call that was answered or waited for to the end.
    fn time_call(&mut self, ask: &Ask, verdict: &AskVerdict, now: DateTime<Utc>) -> bool {
        let is_censored = matches!(verdict, AskVerdict::Failed { reason: FailureReason::Timeout });
        let is_timed = is_censored || matches!(verdict, AskVerdict::Right { .. } | AskVerdict::Wrong { .. });
        if is_timed {
            self.latency.push(now, ask.elapsed, is_censored);
        }
        is_timed
    }

    /// Whether the ask brought an answer that says something about quality.
    fn hear(
        &mut self,
        ask: &Ask,
        verdict: &AskVerdict,
        (by, decided): (AnsweredBy, &mut Decided),
        beat: Beat<'_>,
    ) -> bool {
        let Some(declared) = beat.monitor.canaries.iter().find(|canary| canary.id == ask.canary) else {
            return false;
        };
        let hash = &declared.definition_hash;
        let told = self.signal(Signal::Quality).phase.has_incident();
        let is_any_doubted = self.is_any_doubted();
        let after = self.after(beat.monitor).answers;
        let state = self.canaries.get_or_insert_with(&ask.canary, || CanaryState::new(hash, beat.now));
        if *state.definition_hash != **hash {
            *state = CanaryState::new(hash, beat.now);
        }
        let (was_wrong, was) = (state.is_wrong(), (state.state.phase, state.wrong_in_a_row));
        let is_heard = state.hear(verdict, by, after, beat.now);
        if is_heard {
            track::count_blip(&mut self.track.blips, was, state, ask.turn);
            track::add(decided, declared.kind, track::decide(state, by, ask.turn));
        }
        if *verdict != AskVerdict::NotAsked {
            state.elapsed = ask.elapsed;
            state.wordings_asked = state.wordings_asked.wrapping_add(u32::from(ask.variant == Variant::Reworded));
        }
        if was_wrong && !state.is_wrong() && told {
            self.turned_at = Some(beat.now);
        }
        if let Some(Ok(answer)) = ask.result.as_ref().filter(|_| is_heard) {
            state.list = Some(fingerprint(answer));
            state.tokens = answer.tokens.or(state.tokens);
            if by.index && by.variant != Variant::Reworded {
                let look = Look::of(answer, verdict, beat.now);
                let is_alone = beat.monitor.likeness == Likeness::Alone;
                state.see(if is_alone { look } else { look.with_names(answer) }, is_any_doubted);
            }
        }
        is_heard
    }
}

/// FNV-1a over the sources in order, and over how a text begins that has none: equal lists, equal fingerprints, on every
/// machine.
pub(super) fn fingerprint(answer: &Answer) -> u64 {
    let begins = answer.hits.iter().filter(|hit| hit.source.is_empty()).map(|hit| &*hit.excerpt);
    let bytes = answer.sources().chain(begins).flat_map(|source| source.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::answer::{Hit, KeptText};

    #[test]
    fn texts_are_told_apart_as_lists_are() {
        let text = |name: &str| {
            let kept = KeptText { name: name.into(), bytes: 1, chars: 1, begins: "".into() };
            fingerprint(&Answer { kept: Some(Box::new(kept)), ..Answer::default() })
        };
        assert_eq!(text("text:a"), text("text:a"), "one text for several questions is constant");
        assert_ne!(text("text:a"), text("text:b"), "texts are not all one list that is empty");
        let hit = |excerpt: &str| {
            let hit = Hit { source: String::new(), score: None, chars: 1, excerpt: excerpt.to_owned() };
            fingerprint(&Answer { hits: vec![hit], ..Answer::default() })
        };
        assert_eq!(hit("a"), hit("a"), "results without sources");
        assert_ne!(hit("a"), hit("b"), "these are told apart by their texts");
    }
}
