//! Which canaries say something of a fault, and which should be asked so that they do.

use std::cmp::Reverse;

use chrono::{DateTime, Utc};

use crate::domain::answer::{Turn, Variant};
use crate::domain::calls::TWICE_EVERY;
use crate::domain::monitor::{Canary, CanaryKind, Monitor};
use crate::domain::monitor_state::state::MonitorState;
use crate::domain::observation::Observation;
use crate::domain::pinned::Relation;
use crate::domain::quality::bound;
use crate::domain::quality::confirmation::CanaryState;
use crate::domain::quality::extent::{CanaryHeard, Horizon, Roll};
use crate::domain::reason::FailureReason;
use crate::domain::schedule::{self, BeatAsks, Doubt};
use crate::domain::signal::{Phase, Signal};

/// Where a round of canaries stands.
#[derive(Debug)]
pub(crate) struct CanaryRound {
    /// The order in which they are asked, as places in the file.
    pub order: Vec<usize>,
    /// Canaries the round has asked so far.
    pub turn: usize,
}

impl CanaryRound {
    /// A round of which nothing was asked yet.
    pub(crate) fn begin(monitor: &Monitor) -> Self {
        Self { order: schedule::round(monitor), turn: 0 }
    }

    /// Takes note of what a beat asked.
    pub(crate) fn see(&mut self, seen: &Observation) {
        // What there was no time for is still due.
        let asked = seen.asks.iter().filter(|ask| ask.turn == Turn::Scheduled).count();
        self.turn = self.turn.wrapping_add(asked);
    }
}

/// How many canaries are right, of those that say something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CanaryScore {
    /// Those that were answered rightly.
    pub right: usize,
    /// Those that were answered. A question about nothing does not count while others find nothing.
    pub asked: usize,
    /// Those that were not.
    pub not_asked: usize,
    /// The first wrong answer of the fault that is in doubt or open; none: all that was ever answered counts.
    pub since: Option<DateTime<Utc>>,
}

impl CanaryScore {
    /// The share of all such questions that is answered rightly at least, 0 to 1, with 95 %: each canary counts once,
    /// however often it was asked. None where none was.
    pub fn at_least(&self) -> Option<f64> {
        bound::at_least(self.right, self.asked)
    }

    /// The same as it is shown, such as `at least 86 %`.
    pub(crate) fn at_least_said(&self) -> String {
        bound::at_least_said(self.right, self.asked)
    }
}

impl MonitorState {
    /// What the next beat asks. `knows_way`: the server's caches can be passed; `spare`: how many calls the day has room for
    /// beside the schedule.
    pub(crate) fn asks(
        &self,
        monitor: &Monitor,
        round: &CanaryRound,
        knows_way: bool,
        spare: &dyn Fn() -> usize,
    ) -> BeatAsks {
        let failing = self.wants_asking();
        let (unheard, share) = self.wants_hearing(monitor);
        let room = if unheard.is_empty() { 0 } else { spare() };
        let doubt = Doubt { failing: &failing, knows_way, unheard: &unheard, share, spare: room };
        let mut asks = schedule::asks(monitor, &round.order, round.turn, doubt);
        let mut altered = None;
        if let Some(relation) = self.relation_due(monitor, round) {
            // What one question asked twice does not bring, it does not bring altered either: that is told first.
            let is_twice = relation == Relation::SameTwice || self.changes.broken_relation().is_some();
            let calls = usize::from(is_twice) + usize::from(relation != Relation::SameTwice);
            if spare() >= share.min(unheard.len()) + calls {
                altered = relation.turn().and_then(|turn| schedule::altered(&asks, knows_way, turn));
                if is_twice {
                    schedule::ask_twice(&mut asks, knows_way);
                }
            }
        }
        let both_ways = self.changes.both_ways.as_deref().filter(|_| knows_way && !self.is_any_doubted());
        let compared = both_ways.and_then(|id| monitor.canaries.iter().position(|canary| canary.id == *id));
        if let Some(canary) = compared.filter(|_| spare() > 1) {
            schedule::ask_both_ways(&mut asks, canary);
        }
        for ask in asks.iter_mut().filter(|ask| ask.variant == Variant::Reworded) {
            // One that was not asked yet, as far as there are any: what was asked once may stand in a cache.
            let known = self.canaries.get(&monitor.canaries[ask.canary].id);
            ask.wording = known.map_or(0, |canary| canary.wordings_asked);
        }
        self.ask_near_misses((monitor, round), &mut asks, knows_way, spare);
        // Where one wrong answer is enough, no beat is left between it and the page.
        let at_once = self.after(monitor).answers == 1 && !self.is_any_doubted() && unheard.is_empty();
        let further = round.order.iter().copied().filter(|nth| !asks.iter().any(|ask| ask.canary == *nth));
        let further = if at_once { further.take(spare()).collect() } else { Vec::new() };
        BeatAsks { asks, further, altered }
    }

    /// Which relation the next beat looks at: now and then each in turn; the one that was seen broken, until that is sure.
    /// While canaries are in doubt in each beat whether one question brings one list: by that they are understood.
    fn relation_due(&self, monitor: &Monitor, round: &CanaryRound) -> Option<Relation> {
        let asked = monitor.relations_asked();
        let (turn, every) = (round.turn / monitor.per_beat().max(1) as usize, TWICE_EVERY as usize);
        let doubted = self.is_any_doubted().then_some(Relation::SameTwice);
        let broken = self.changes.broken_relation().filter(|relation| asked.contains(relation));
        let in_turn = || asked.get((turn / every).checked_rem(asked.len())?).filter(|_| turn % every == every - 1);
        doubted.filter(|_| !asked.is_empty()).or(broken).or_else(|| in_turn().copied())
    }

    /// Canaries that the next beat should ask again: those that saw what is forbidden first; then the unconfirmed, those
    /// nearest to being confirmed before the others, so that a fault which strikes many is not told later; then the
    /// longest unheard. Each as it was asked when it was wrong.
    pub fn wants_asking(&self) -> Vec<(&str, Variant)> {
        let mut ids: Vec<_> = self.canaries.iter().filter(|(_, canary)| canary.wants_asking()).collect();
        let nearness = |canary: &CanaryState| if canary.is_confirmed() { 0 } else { canary.wrong_in_a_row };
        ids.sort_by_key(|(id, canary)| {
            let order = (canary.is_confirmed(), Reverse(nearness(canary)), canary.answered_at);
            (canary.leak.is_none(), order, *id)
        });
        ids.into_iter().map(|(id, canary)| (id, canary.asked_again())).collect()
    }

    /// Canaries that say nothing yet of the fault in doubt, or of a change that is about to be told, and how many of them
    /// the next beat should ask, so that all are heard before it is.
    pub fn wants_hearing<'a>(&self, monitor: &'a Monitor) -> (Vec<&'a str>, usize) {
        let Some(horizon) = self.horizon(self.begun_at) else { return (Vec::new(), 0) };
        let changes_since = self.open.get(&Signal::Quality).and_then(|open| open.drifts_since);
        let unheard = |canary: &&Canary| {
            let known = self.canaries.get(&canary.id).filter(|known| *known.definition_hash == *canary.definition_hash);
            let stale = |at: DateTime<Utc>| known.and_then(|known| known.answered_at).is_none_or(|last| last < at);
            matches!(horizon.heard(known), CanaryHeard::NotAsked | CanaryHeard::Waiting)
                || changes_since.is_some_and(stale)
        };
        let ids: Vec<&'a str> = monitor.canaries.iter().filter(unheard).map(|canary| canary.id.as_str()).collect();
        let pending = self.canaries.values().filter(|canary| canary.state.phase == Phase::Pending);
        let after = self.after(monitor).answers;
        let left = pending.map(|canary| after.saturating_sub(canary.wrong_in_a_row)).min();
        let told = self.signal(Signal::Quality).phase.has_incident();
        let beats = if told { 1 } else { left.unwrap_or(1).max(1) };
        let share = ids.len().div_ceil(beats as usize);
        (ids, share)
    }

    /// The first wrong answer of a canary that lost its source more than once, where one did.
    pub(crate) fn lost_since(&self) -> Option<DateTime<Utc>> {
        let is_lost = |canary: &&CanaryState| {
            canary.wrong_in_a_row > 1 && canary.wrong_reason() == Some(FailureReason::WrongResults)
        };
        self.canaries.values().filter(is_lost).filter_map(|canary| canary.doubted_since).min()
    }

    /// When sources were asked for last, where that still says whether those of lost canaries are among them.
    pub(crate) fn sources_known_at(&self, asked_at: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
        let lost_since = self.lost_since();
        asked_at.filter(|at| lost_since.is_none_or(|since| *at >= since))
    }

    /// How the canaries stand: those heard of the fault in doubt; where there is none, at their last answer.
    pub fn canary_score(&self, canaries: &[Canary]) -> CanaryScore {
        if let Some(horizon) = self.horizon(self.begun_at) {
            let extent = Roll::call(canaries, &self.canaries, horizon).extent(horizon, 0);
            let right = extent.asked - extent.wrong - extent.waiting;
            let since = Some(horizon.since);
            return CanaryScore { right, asked: extent.asked, not_asked: extent.not_asked, since };
        }
        self.score_at_last_answer(canaries.iter())
    }

    /// The same for each kind that is declared, in the order of the kinds.
    pub(crate) fn kind_scores(&self, canaries: &[Canary]) -> Vec<(CanaryKind, CanaryScore)> {
        let doubt = self.horizon(self.begun_at).map(|horizon| (horizon, Roll::call(canaries, &self.canaries, horizon)));
        let score = |kind: CanaryKind| match &doubt {
            Some((horizon, roll)) => {
                let (right, asked, not_asked) = roll.of_kind(kind);
                CanaryScore { right, asked, not_asked, since: Some(horizon.since) }
            }
            None => self.score_at_last_answer(canaries.iter().filter(|canary| canary.kind == kind)),
        };
        let declared = |kind: &CanaryKind| canaries.iter().any(|canary| canary.kind == *kind);
        CanaryKind::ALL.into_iter().filter(declared).map(|kind| (kind, score(kind))).collect()
    }

    fn score_at_last_answer<'a>(&self, canaries: impl Iterator<Item = &'a Canary>) -> CanaryScore {
        let mut score = CanaryScore::default();
        for canary in canaries {
            match self.canaries.get(&canary.id).filter(|known| known.last.is_some()) {
                None => score.not_asked += 1,
                Some(known) => {
                    score.asked += 1;
                    score.right += usize::from(!known.is_wrong());
                }
            }
        }
        score
    }

    /// Whether some canary's last answers were wrong, whoever was told.
    pub fn is_any_doubted(&self) -> bool {
        self.canaries.values().any(|canary| canary.state.phase != Phase::Quiet)
    }

    /// Whether a canary's answers are wrong, and nobody is notified yet.
    pub fn is_in_doubt(&self) -> bool {
        self.horizon(self.begun_at).is_some() && !self.signal(Signal::Quality).phase.has_incident()
    }

    /// From when on answers say something of the fault in doubt; none where nothing is in doubt.
    pub(super) fn horizon(&self, now: DateTime<Utc>) -> Option<Horizon> {
        let open = self.open.get(&Signal::Quality);
        let told = open.and_then(|open| open.incident.course.since);
        let since = told.or_else(|| self.canaries.values().filter_map(|canary| canary.doubted_since).min())?;
        let resumed_at = open.filter(|open| open.resumed).map(|_| self.begun_at);
        Some(Horizon { since, turned_at: self.turned_at.filter(|_| open.is_some()), resumed_at, now })
    }
}

#[cfg(test)]
mod tests;
