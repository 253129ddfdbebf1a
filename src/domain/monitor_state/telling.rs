//! What is told of the open incidents after a beat: one cause, one page.
//!
//! What opens, changes and ends is decided before, signal by signal. Here each open incident that another one explains gets
//! its hold, loses it where that is over, and is told where nothing holds it and this beat still shows it.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::cause::Cause;
use crate::domain::monitor_state::state::{Beat, Decision, MonitorState, OpenSignal, TellPolicy};
use crate::domain::paging::explains::{Condition, explains};
use crate::domain::paging::follow_up;
use crate::domain::paging::hold::{HoldKind, Holding, TellingHold};
use crate::domain::paging::tell::{Asked, tell};
use crate::domain::route::{Route, Subject, hearers};
use crate::domain::signal::{Level, Phase, Reading, Signal};
use crate::domain::unclaimed::Unclaimed;

/// The order in which incidents are told: what may explain others before what it explains.
const CAUSES_FIRST: [Signal; 8] = [
    Signal::Availability,
    Signal::Access,
    Signal::Contract,
    Signal::Health,
    Signal::Errors,
    Signal::Latency,
    Signal::Quality,
    Signal::Freshness,
];
/// Causes whose confirmation is waited for. What the server's health names is in the page already.
const AWAITED: [Signal; 3] = [Signal::Availability, Signal::Access, Signal::Contract];
/// Silences and windows that are noted to keep one incident quiet; where one of them ends, the next takes its place.
const QUIETS_MAX: usize = 8;
/// Nobody waits longer for a verdict, nor where the next look is further away.
const VERDICT_WITHIN: Duration = Duration::from_secs(60);

/// What this beat said of each signal, with what cause; in [`Signal::ALL`]'s order.
pub(super) type Levels = [(Reading, Option<Cause>); 8];

/// The conditions this beat shows of those signals whose confirmation may be waited for.
pub(super) fn awaited(levels: &Levels) -> Vec<Condition> {
    let of = |signal: Signal| {
        let cause = levels[signal as usize].1.as_ref()?;
        Some(Condition::new(signal, cause.reason, cause.severity, &cause.evidence))
    };
    AWAITED.into_iter().filter_map(of).collect()
}

impl OpenSignal {
    /// Whether a verdict is waited for: once, and no longer than one takes. What may explain it comes and goes with it
    /// otherwise, is never confirmed, and keeps it from everybody.
    fn waits(&mut self, may_be_explained: bool, now: DateTime<Utc>) -> bool {
        if self.telling.is_held(now) {
            self.waits_since = None;
        } else if may_be_explained {
            self.waits_since.get_or_insert(now);
        }
        let since = self.waits_since.filter(|_| may_be_explained);
        since.is_some_and(|since| (now - since).abs().to_std().is_ok_and(|waited| waited <= VERDICT_WITHIN))
    }
}

impl MonitorState {
    /// Sets right what holds each open incident, and tells those that nobody was told of and nothing holds.
    pub(super) fn tell_open(&mut self, coming: &[Condition], beat: Beat<'_>, decisions: &mut Vec<Decision>) {
        for signal in CAUSES_FIRST {
            self.hold(signal, TellPolicy::of(beat), beat.now);
            if self.telling(signal).is_none_or(|telling| telling.told) {
                continue;
            }
            let opens = decisions.iter().position(|decision| is_opening(decision, signal));
            if opens.is_none() && !self.is_shown(signal, beat) {
                continue;
            }
            let Some(incident) = self.incident(signal) else { continue };
            let may_be_explained = self.waits_for_verdict(&Condition::of(incident), coming, beat);
            let is_heard = is_heard(incident, beat.monitor, beat.routes);
            let Some(open) = self.open.get_mut(&signal) else { continue };
            let awaits_verdict = open.waits(may_be_explained, beat.now);
            let ended_now = |hold: &TellingHold| hold.ended_at == Some(beat.now);
            if !open.telling.is_held(beat.now) && !open.telling.holds.iter().any(ended_now) {
                open.telling.still = open.telling.still.saturating_add(1);
            }
            let said = tell(Asked::Shown { awaits_verdict }, &open.telling, beat.now);
            if said.is_none() || !is_heard {
                continue;
            }
            open.first_told(beat.now);
            match opens.map(|at| &mut decisions[at]) {
                Some(Decision::Opened { silent, incident }) => {
                    *silent = false;
                    incident.course.unclaimed = open.incident.course.unclaimed;
                }
                _ => {
                    // What is told is what it says now; what comes next is news against that.
                    open.incident.course.told = None;
                    let held = open.telling.held_last(beat.now).cloned();
                    decisions.push(Decision::Told { incident: open.incident.clone(), held });
                }
            }
        }
    }

    /// Gives an incident the holds of those that explain it and were told, and ends all others.
    fn hold_explained(&mut self, signal: Signal, monitor: &Monitor, now: DateTime<Utc>) {
        let Some(second) = self.incident(signal).cloned() else { return };
        let by = |first: &&Incident| is_explained(first, &second);
        // One that flaps and is calm for now explains nothing that is seen meanwhile.
        let is_why = |(signal, open): &(&Signal, &OpenSignal)| open.telling.told && !self.lingers(**signal, monitor);
        let told = self.open.iter().filter(is_why).map(|(_, open)| &open.incident);
        let by: Vec<String> = told.filter(by).map(|first| first.id.clone()).collect();
        let by: Vec<_> = by.iter().map(|by| Holding { kind: HoldKind::Cause, by, until: None }).collect();
        if let Some(open) = self.open.get_mut(&signal) {
            open.telling.held_by(&second, &[HoldKind::Cause], &by, now);
        }
    }

    /// Gives an incident the holds of the silences and windows that want nobody told of it, of the parents that are why it is
    /// seen, and of a list whose server never worked; ends all others.
    fn hold_by_others(&mut self, signal: Signal, policy: TellPolicy<'_>, now: DateTime<Utc>) {
        let listed_by =
            policy.monitor.discovered.as_deref().filter(|_| !self.has_worked()).map(|listed| &listed.source);
        let Some(open) = self.open.get_mut(&signal) else { return };
        let (incident, monitor) = (&open.incident, policy.monitor);
        let quiet = policy.quiets.holding(Subject::of(monitor, incident.severity, Some(incident)), now);
        let quiet = quiet.into_iter().take(QUIETS_MAX);
        let quiet = quiet.map(|quiet| Holding { kind: quiet.kind, by: &quiet.by, until: quiet.until });
        let behind = policy.parents.iter().filter_map(|parent| parent.holds(monitor, incident, now));
        let untried = listed_by.map(|by| Holding { kind: HoldKind::Quarantine, by, until: None });
        let by: Vec<_> = quiet.chain(behind).chain(untried).collect();
        const KINDS: [HoldKind; 4] = [HoldKind::Silence, HoldKind::Window, HoldKind::Parent, HoldKind::Quarantine];
        open.telling.held_by(incident, &KINDS, &by, now);
    }

    /// Sets right whatever holds an incident.
    fn hold(&mut self, signal: Signal, policy: TellPolicy<'_>, now: DateTime<Utc>) {
        self.hold_explained(signal, policy.monitor, now);
        self.hold_by_others(signal, policy, now);
    }

    /// Looks without a beat at what silences, windows and parents hold: what they no longer do and is still open is told now.
    ///
    /// What is calm again and about to end is left to the next beat, which ends it or shows it once more.
    pub fn let_go(&mut self, policy: TellPolicy<'_>, now: DateTime<Utc>) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for signal in CAUSES_FIRST {
            self.hold(signal, policy, now);
            let is_open = self.signal(signal).phase == Phase::Open;
            let is_heard = |open: &&mut OpenSignal| is_heard(&open.incident, policy.monitor, policy.routes);
            let Some(open) = self.open.get_mut(&signal).filter(|open| is_open && is_heard(open)) else { continue };
            if tell(Asked::LetGo, &open.telling, now).is_some() {
                open.first_told(now);
                open.incident.course.told = None;
                let held = open.telling.held_last(now).cloned();
                decisions.push(Decision::Told { incident: open.incident.clone(), held });
            }
        }
        decisions
    }

    /// Tells what is due by time of incidents that nobody took. What is calm again and about to end waits for the next beat.
    pub fn follow_up(&mut self, policy: TellPolicy<'_>, now: DateTime<Utc>) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for signal in CAUSES_FIRST.into_iter().filter(|signal| self.signals[*signal as usize].phase == Phase::Open) {
            let Some(open) = self.open.get_mut(&signal) else { continue };
            if open.incident.acknowledged.is_some() {
                // Taken, and about to be told so.
                continue;
            }
            let Some(unclaimed) = &mut open.incident.course.unclaimed else { continue };
            unclaimed.follow_clock(now);
            let from = *unclaimed;
            let subject = Subject::of(policy.monitor, open.incident.severity, Some(&open.incident));
            for told in follow_up::due(policy.routes, subject, from, now) {
                if tell(Asked::Due(told.event), &open.telling, now).is_none() {
                    break;
                }
                open.incident.course.unclaimed = Some(Unclaimed { told_until: now, ..from });
                open.incident.sequence += 1;
                decisions.push(Decision::FollowedUp { incident: open.incident.clone(), told });
            }
        }
        decisions
    }

    /// The next moment at which something is to be told without a beat, or looked at for that, UTC.
    pub fn next_telling(&self, monitor: &Monitor, routes: &[Route], now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let next = |(signal, open): (&Signal, &OpenSignal)| {
            let verdict = open.telling.live(now).filter(|hold| hold.kind == HoldKind::Parent);
            let verdict = verdict.filter_map(|hold| hold.until).min();
            // Whatever holds it has us look again where it ends, and the next beat where it is about to end itself.
            let is_taken = open.incident.acknowledged.is_some();
            let waits = is_taken || open.telling.is_held(now) || self.signal(*signal).phase != Phase::Open;
            let unclaimed = open.incident.course.unclaimed.filter(|_| !waits);
            let subject = Subject::of(monitor, open.incident.severity, Some(&open.incident));
            verdict.into_iter().chain(unclaimed.and_then(|from| follow_up::next(routes, subject, from))).min()
        };
        self.open.iter().filter_map(next).min()
    }

    /// Whether a condition that was not confirmed yet would explain this one, and will be or not in a moment.
    pub(super) fn waits_for_verdict(&self, second: &Condition, coming: &[Condition], beat: Beat<'_>) -> bool {
        let is_near = |signal: Signal| {
            let rules = &beat.monitor.rules;
            let suspected = signal == Signal::Availability && rules.availability.page_after <= VERDICT_WITHIN;
            suspected || beat.monitor.every <= VERDICT_WITHIN
        };
        let is_young = |signal: Signal| {
            let since = match self.open.get(&signal) {
                // It is told of something else, and is about to be told of this.
                Some(open) => open.drifts_since,
                None => Some(self.signal(signal)).map(|state| match state.phase {
                    Phase::Quiet => beat.now,
                    _ => state.since,
                }),
            };
            since.is_some_and(|since| (beat.now - since).abs().to_std().is_ok_and(|age| age <= VERDICT_WITHIN))
        };
        let is_told = |first: &Condition| {
            let lingers = self.lingers(first.signal, beat.monitor);
            let open = self.open.get(&first.signal).filter(|open| open.telling.told && !lingers);
            open.is_some_and(|open| explains(&Condition::of(&open.incident), second))
        };
        let explaining = coming.iter().filter(|first| explains(first, second) && !is_told(first));
        explaining.map(|first| first.signal).any(|signal| is_near(signal) && is_young(signal))
    }

    /// Whether this beat shows what an incident is about. What a window still says of the past is no sight of now.
    fn is_shown(&self, signal: Signal, beat: Beat<'_>) -> bool {
        let is_slow = || beat.seen.asks.iter().any(|ask| ask.elapsed > beat.monitor.rules.latency.p95);
        // What no canary is wrong about, such as an index that nobody reaches, is seen in all answers together.
        let is_of_all = self.incident(signal).is_some_and(|open| open.course.since.is_none());
        let is_found = beat.outcome.finding(signal).is_some();
        self.reading(signal).level == Level::Elevated
            && match signal {
                Signal::Errors => is_found,
                Signal::Quality => is_found || is_of_all,
                Signal::Latency => beat.monitor.canaries.is_empty() || is_slow(),
                _ => true,
            }
    }
}

/// Whether an incident is why another is seen. Where each could be, it is the one that was first.
fn is_explained(first: &Incident, second: &Incident) -> bool {
    let (one, other) = (Condition::of(first), Condition::of(second));
    let is_first =
        |first: &Incident, second: &Incident| (first.opened_at, first.signal) < (second.opened_at, second.signal);
    explains(&one, &other) && (!explains(&other, &one) || is_first(first, second))
}

fn is_opening(decision: &Decision, signal: Signal) -> bool {
    matches!(decision, Decision::Opened { incident, .. } if incident.signal == signal)
}

/// Whether a route brings it to anybody.
pub(super) fn is_heard(incident: &Incident, monitor: &Monitor, routes: &[Route]) -> bool {
    !hearers(routes, Subject::of(monitor, incident.severity, Some(incident))).is_empty()
}
