//! Questions that look alike: when both are asked, and what their answers say of caches (RETRIEVAL.md §3, check 9).
//!
//! Caches forget, and some are one of several behind one address, so that a single look says little in both directions: of
//! the last five looks at a pair so many have to find both mixed up. Once one did, the pair is asked in each beat.

use crate::domain::answer::{Answer, Variant};
use crate::domain::calls::PAIR_EVERY;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::change_rounds::listed;
use crate::domain::monitor_state::changes::{Found, PAIR};
use crate::domain::monitor_state::hearing::CanaryRound;
use crate::domain::monitor_state::state::{Beat, MonitorState};
use crate::domain::near_miss::NearMiss;
use crate::domain::outcome::Evidence;
use crate::domain::quality::changes::Judged;
use crate::domain::quality::near_misses::{Rightly, mixed_up, pinned};
use crate::domain::quality::ranking::Ranking;
use crate::domain::schedule::{self, PlannedAsk};
use crate::domain::signal::Phase;

/// The bits of the last five looks.
const LOOKS: u8 = 0b1_1111;

impl MonitorState {
    /// Adds the pair that the next beat asks, as far as the day has room for it.
    pub(super) fn ask_near_misses(
        &self,
        (monitor, round): (&Monitor, &CanaryRound),
        asks: &mut Vec<PlannedAsk>,
        knows_way: bool,
        spare: &dyn Fn() -> usize,
    ) {
        if !monitor.asks_pairs() || self.is_any_doubted() {
            return;
        }
        let suspected = |pair: &&NearMiss| self.changes.mixed_up.contains_key(&*pair.canary);
        let (turn, every) = (round.turn / monitor.per_beat().max(1) as usize, PAIR_EVERY as usize);
        let in_turn =
            || monitor.near_misses.get((turn / every) % monitor.near_misses.len()).filter(|_| turn % every == 2);
        let Some(pair) = monitor.near_misses.iter().find(suspected).or_else(in_turn) else { return };
        // What the index says of them is asked as well where they were seen mixed up.
        let is_both_ways = knows_way && suspected(&pair);
        if spare() < if is_both_ways { 4 } else { 2 } {
            return;
        }
        for id in [&pair.canary, &pair.other] {
            let Some(canary) = monitor.canaries.iter().position(|canary| canary.id == *id) else { continue };
            if is_both_ways {
                schedule::ask_both_ways(asks, canary);
            } else {
                schedule::ask_plainly(asks, canary, knows_way);
            }
        }
    }

    /// Whether a cache gives two questions one list that is right for one of them at most.
    pub(super) fn judge_near_misses(&mut self, beat: Beat<'_>) -> Judged<Found> {
        if !beat.monitor.asks_pairs() {
            return Judged::Unknown;
        }
        let after = beat.monitor.rules.quality.checks.pairs.after;
        let (mut found, mut is_any_apart) = (None, false);
        for pair in &beat.monitor.near_misses {
            let Some((is_mixed_up, answers)) = self.looked(pair, beat) else { continue };
            let looks = self.changes.mixed_up.entry(pair.canary.as_str().into()).or_default();
            *looks = (*looks << 1 | u8::from(is_mixed_up)) & LOOKS;
            is_any_apart |= !is_mixed_up;
            if is_mixed_up && looks.count_ones() >= after {
                found = found.or_else(|| Some(said(pair, *looks, answers)));
            }
        }
        self.changes.mixed_up.retain(|_, looks| *looks != 0);
        let stands = self.changes.mixed_up.values().any(|looks| looks.count_ones() >= after);
        match found {
            Some(found) => Judged::Other(found),
            None if is_any_apart && !stands => Judged::Same,
            None => Judged::Unknown,
        }
    }

    /// What both were answered as users ask, and what that says; none where it cannot be said.
    fn looked<'b>(&self, pair: &NearMiss, beat: Beat<'b>) -> Option<(bool, [&'b Answer; 2])> {
        let is_well = |id: &str| self.canaries.get(id).is_none_or(|canary| canary.state.phase == Phase::Quiet);
        let both = [&*pair.canary, &*pair.other];
        let plain = |id: &str| {
            let mut asks = beat.seen.asks.iter().filter(|ask| ask.canary == id && ask.variant == Variant::Plain);
            asks.find_map(|ask| ask.result.as_ref()?.as_ref().ok())
        };
        let answers = [plain(both[0])?, plain(both[1])?];
        if !both.iter().all(|id| is_well(id)) {
            return None;
        }
        let similar = beat.monitor.rules.quality.checks.lists.similar;
        if beat.seen.tools.as_ref()?.fresh.is_none() {
            return Some((mixed_up(answers, Rightly::Pinned(pinned(beat.monitor, pair)?), similar)?, answers));
        }
        let index = |id: &str| {
            let now = beat.seen.asked_both_ways(id).map(|(_, index)| Ranking::of(index.sources()));
            now.or_else(|| Some(self.canaries.get(id)?.look.as_deref()?.ranking.clone()))
        };
        let rankings = [index(both[0])?, index(both[1])?];
        Some((mixed_up(answers, Rightly::Indexed([&rankings[0], &rankings[1]]), similar)?, answers))
    }
}

fn said(pair: &NearMiss, looks: u8, [one, other]: [&Answer; 2]) -> Found {
    let NearMiss { canary, other: id } = pair;
    Found {
        said: format!("a cache gives '{canary}' and '{id}', which look alike, one answer, no right answer is lost"),
        evidence: vec![
            Evidence::new(PAIR, format!("{canary} {id}")),
            Evidence::new("mixed_up", format!("in {} of the last 5 looks", looks.count_ones())),
            listed("one", one),
            listed("other", other),
        ],
        is_rescaled: false,
        is_regraded: false,
    }
}
