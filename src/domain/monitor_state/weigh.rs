//! What changes a monitor's state: a beat, an accepted list of tools, an edited file, a removed monitor.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::contract::LOCK;
use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::monitor_state::levels::{as_accepted, reading};
use crate::domain::monitor_state::state::{Beat, Decision, MonitorState};
use crate::domain::monitor_state::telling::awaited;
use crate::domain::observation::ToolsSeen;
use crate::domain::outcome::Verdict;
use crate::domain::reason::FailureReason;
use crate::domain::signal::{Level, Phase, Signal, SignalState};

impl MonitorState {
    /// Takes one beat in: the new state, and what it changed, in the order of decision.
    pub fn weigh(&self, beat: Beat<'_>, new_id: &mut dyn FnMut() -> String) -> (Self, Vec<Decision>) {
        let mut next = self.clone();
        let mut decisions = Vec::new();
        if beat.outcome.verdict == Verdict::Unknown {
            return (next, decisions);
        }
        next.follow_clock(beat.now);
        next.weighed_at = Some(beat.now);
        next.notice_restart(beat, &mut decisions);
        let fresh = next.take_in(beat, &mut decisions);
        next.hear_leaks(beat);
        next.hear_changes(beat);
        next.hear_warmth(beat);
        let levels = Signal::ALL.map(|signal| next.level(signal, beat, fresh));
        let coming = awaited(&levels);
        for (signal, judged) in Signal::ALL.into_iter().zip(levels) {
            next.decide(signal, judged, (&coming, beat), new_id, &mut decisions);
        }
        next.tell_open(&coming, beat, &mut decisions);
        (next, decisions)
    }

    /// Makes the tools just seen the accepted ones; the incident that ends with it, where there is one.
    ///
    /// Calls that do not fit are no matter of taste: an incident about them stays open until they fit.
    pub fn accept(&mut self, seen: &ToolsSeen, by: &str, now: DateTime<Utc>) -> Option<Incident> {
        self.tools.accept(Arc::clone(&seen.listing), by, now);
        if seen.calls.broken > 0 {
            return None;
        }
        self.readings[Signal::Contract as usize] = reading(Level::Calm, as_accepted(seen), 1);
        let drifted = |reason| matches!(reason, FailureReason::SchemaDrift | FailureReason::ToolMissing);
        match self.incident(Signal::Contract).map(|incident| incident.reason) {
            Some(reason) if drifted(reason) => self.resolve(Signal::Contract, ResolveCause::Accepted, now),
            Some(_) => None,
            None => {
                self.signals[Signal::Contract as usize] = SignalState::quiet(now);
                None
            }
        }
    }

    /// Whether the lock holds tools that are not the accepted ones yet, so that they are to be taken.
    pub fn is_behind_lock(&self, monitor: &Monitor) -> bool {
        let locked = monitor.pinned.as_ref().and_then(|pinned| pinned.tools.as_ref());
        let is_taken = |hash: &str| {
            self.tools.baseline.as_ref().is_some_and(|known| known.listing.hash == hash && known.accepted_by == LOCK)
        };
        locked.is_some_and(|listing| !is_taken(&listing.hash))
    }

    /// Makes the tools that the lock holds the accepted ones, whoever accepted others before; the incident that ends with
    /// it, where they are the ones seen last.
    pub fn take_lock(&mut self, monitor: &Monitor, last: Option<&ToolsSeen>, now: DateTime<Utc>) -> Option<Incident> {
        if !self.is_behind_lock(monitor) {
            return None;
        }
        let listing = monitor.pinned.as_ref().and_then(|pinned| pinned.tools.clone())?;
        match last.filter(|seen| seen.hash == listing.hash) {
            Some(seen) => self.accept(seen, LOCK, now),
            None => {
                self.tools.accept(listing, LOCK, now);
                None
            }
        }
    }

    /// Whether what is calm again is the drift that was open when a lock with other tools was loaded: somebody approved it.
    pub(super) fn ends_by_lock(&self, signal: Signal) -> bool {
        let opened_at = self.incident(signal).filter(|_| signal == Signal::Contract).map(|incident| incident.opened_at);
        let locked = self.tools.baseline.as_ref().filter(|baseline| baseline.accepted_by == LOCK);
        opened_at.zip(locked).is_some_and(|(opened_at, locked)| locked.accepted_at >= opened_at)
    }

    /// Looks at open incidents again under edited rules: what they no longer warrant ends.
    pub fn reconsider(&mut self, monitor: &Monitor, now: DateTime<Utc>) -> Vec<Incident> {
        let declared = |id: &str, hash: &str| monitor.canaries.iter().any(|c| c.id == id && c.definition_hash == hash);
        self.canaries.retain(|id, state| declared(id, &state.definition_hash));
        self.track.erosion.keep_of(&monitor.canaries, monitor.search.harvest);
        self.recount(monitor);
        let rules = &monitor.rules;
        self.latency.trim(rules.latency.window, now);
        self.errors.trim(rules.errors.window, now);
        let is_change_wanted = self.is_change_wanted(monitor);
        let is_about_sight = |incident: &Incident| incident.reason == FailureReason::IndexUnseen;
        let about_context = |incident: &Incident| incident.reason == FailureReason::ContextCost;
        // What flaps and is calm for now was calm under the old rules too: it ends in its own time.
        let is_calm_for_now = |signal: Signal| {
            self.flapping(signal).is_some()
                && self.signal(signal).phase == Phase::Clearing
                && !monitor.canaries.is_empty()
        };
        let unwarranted = |signal: &Signal| match signal {
            Signal::Errors | Signal::Quality if is_calm_for_now(*signal) => false,
            Signal::Availability => false,
            Signal::Access => self.is_leak_unwarranted(),
            Signal::Contract => rules.context.is_none() && self.incident(Signal::Contract).is_some_and(about_context),
            Signal::Errors => self.errors.reading(&rules.errors, true).level == Level::Calm,
            // One that is clearing was calm under the old rules too: it ends in its own time, as recovered.
            Signal::Latency => {
                self.signal(Signal::Latency).phase == Phase::Open
                    && self.latency.reading(&rules.latency).level == Level::Calm
            }
            Signal::Quality => {
                let confirmed =
                    |canary: &Canary| self.canaries.get(&canary.id).is_some_and(|known| known.is_confirmed());
                let is_blind = self.incident(Signal::Quality).is_some_and(is_about_sight)
                    && !monitor.canaries.is_empty()
                    && self.index_sight.blind(now).is_some();
                let is_eroded = self.track.erosion.eroded().next().is_some();
                !is_blind && !is_eroded && !is_change_wanted && !monitor.canaries.iter().any(confirmed)
            }
            Signal::Freshness => !monitor.lists_sources(),
            Signal::Health => monitor.health.is_empty(),
        };
        let ended: Vec<Signal> = self.open.keys().filter(|signal| unwarranted(signal)).copied().collect();
        ended.into_iter().filter_map(|signal| self.resolve(signal, ResolveCause::RuleChanged, now)).collect()
    }

    /// Ends everything that is open, since the monitor is no longer in the file.
    pub fn remove(&mut self, now: DateTime<Utc>) -> Vec<Incident> {
        let open: Vec<Signal> = self.open.keys().copied().collect();
        open.into_iter().filter_map(|signal| self.resolve(signal, ResolveCause::MonitorRemoved, now)).collect()
    }
}
