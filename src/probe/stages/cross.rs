//! The cross-check: a server that speaks both eras has to list the same tools in both. Once a day, at a time of the
//! monitor's own, and only where the file asks for it.
//!
//! It comes after everything else of a beat and never fails one: a server that speaks one era only is a note. A
//! disagreement is looked at again on the next beat, since two looks open an incident, and then once an hour until it
//! is over; in between the last look stands as long as the beat's own list is the same. Serin's restart forgets it.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::observation::{BeatKind, CrossCheck, Observation, Stage};
use crate::domain::protocol::{Era, Transport};
use crate::domain::server_profile::{Caution, ServerProfile};
use crate::probe::assignment::Assignment;
use crate::probe::session::caller::Caller;
use crate::probe::session::initialize::initialized;
use crate::probe::session::listing::{Listed, all_pages};
use crate::probe::wire::clock::StepClock;

/// Disagreements remembered: a fleet in which more servers disagree with themselves has other troubles.
const REMEMBERED_MAX: usize = 4_096;

/// Looks in a row before one stands for an hour.
const LOOKS: u32 = 2;

const STANDS: TimeDelta = TimeDelta::hours(1);

/// Names kept of each kind of difference.
const NAMES_MAX: usize = 8;

const DAY_SECONDS: i64 = 86_400;

/// Servers that disagreed with themselves when last looked at.
#[derive(Debug, Default)]
pub(crate) struct Differing {
    last: Mutex<HashMap<MonitorId, CrossLook>>,
}

#[derive(Debug, Clone)]
struct CrossLook {
    definition_hash: String,
    /// The beat's own list then.
    listed: String,
    looked_at: DateTime<Utc>,
    looks: u32,
    check: CrossCheck,
}

impl Differing {
    fn of(&self, monitor: &Monitor) -> Option<CrossLook> {
        let last = self.last.lock();
        last.get(&monitor.id).filter(|look| look.definition_hash == monitor.definition_hash).cloned()
    }

    fn remember(&self, monitor: &MonitorId, look: Option<CrossLook>) {
        let mut last = self.last.lock();
        match look {
            Some(look) if last.len() < REMEMBERED_MAX || last.contains_key(monitor) => {
                last.insert(monitor.clone(), look);
            }
            Some(_) => {}
            None => drop(last.remove(monitor)),
        }
    }
}

/// Compares the tools of the other era with `tools`, where it is time to; what came of it goes into `seen`.
pub(crate) async fn check(
    caller: &mut Caller<'_>,
    differing: &Differing,
    assignment: &Assignment,
    (era, tools): (Era, &Listed),
    profile: &ServerProfile,
    seen: &mut Observation,
) {
    let monitor = &*assignment.monitor;
    let Some(listed) = seen.tools.as_ref().map(|tools| tools.hash.clone()) else {
        return;
    };
    let before = differing.of(monitor);
    if let Some(look) = &before
        && look.looks >= LOOKS
        && look.listed == listed
        && assignment.started_at - look.looked_at < STANDS
    {
        seen.cross_check = Some(look.check.clone());
        return;
    }
    let well = seen.steps.iter().all(|step| step.fault.is_none());
    let due = before.is_some() || is_due(assignment);
    if !due || !well || caller.transport() == Transport::Sse {
        return;
    }
    let other = if era == Era::Modern { Era::Legacy } else { Era::Modern };
    let mut clock = StepClock::start(Stage::Tools, "cross-check");
    let hurts = profile.discover == Caution::Harmful || profile.may_be_fragile();
    let outcome = match hurts {
        true => Err(caller.scrub.fault(FaultKind::WrongVersion, "the newer era hurts servers like this one")),
        false => listed_in(caller, monitor, other, &mut clock).await,
    };
    let found = match outcome {
        Ok(theirs) => Some(compare(era, &tools.hashes().await, &theirs.hashes().await)),
        Err(fault) => {
            clock.note(format!("the {} era gives no list to compare: {}", other.slug(), fault.detail));
            None
        }
    };
    let look = found.clone().filter(|check| !check.agrees()).map(|check| CrossLook {
        definition_hash: monitor.definition_hash.clone(),
        listed,
        looked_at: assignment.started_at,
        looks: before.map_or(0, |look| look.looks) + 1,
        check,
    });
    differing.remember(&monitor.id, look);
    seen.cross_check = found;
    seen.steps.push(clock.stop(None));
}

/// The tools in the other era. A program is asked in a second one, since each speaks one era to its end.
async fn listed_in(
    caller: &mut Caller<'_>,
    monitor: &Monitor,
    other: Era,
    clock: &mut StepClock,
) -> Result<Listed, Fault> {
    let own = caller.take_program();
    let started = match (&own, &monitor.reach.program) {
        (Some(_), Some(program)) => caller.start_program(program, clock).await,
        _ => Ok(()),
    };
    let outcome = match started {
        Ok(()) => asked_in(caller, other, clock).await,
        Err(fault) => Err(fault),
    };
    if let Some(own) = own {
        caller.stop_program().await;
        caller.put_program(own);
    }
    outcome
}

async fn asked_in(caller: &mut Caller<'_>, other: Era, clock: &mut StepClock) -> Result<Listed, Fault> {
    if other == Era::Legacy {
        initialized(caller, caller.deadline(), clock).await.map_err(|broken| broken.fault)?;
    }
    all_pages(caller, other, clock).await
}

fn compare(own: Era, here: &BTreeMap<String, String>, there: &BTreeMap<String, String>) -> CrossCheck {
    let missing = |from: &BTreeMap<String, String>, of: &BTreeMap<String, String>| {
        from.keys().filter(|name| !of.contains_key(*name)).take(NAMES_MAX).cloned().collect()
    };
    let differs = |(name, hash): &(&String, &String)| there.get(*name).is_some_and(|other| other != *hash);
    CrossCheck {
        own,
        own_only: missing(here, there),
        other_only: missing(there, here),
        changed: here.iter().filter(differs).map(|(name, _)| name.clone()).take(NAMES_MAX).collect(),
    }
}

/// Whether the monitor's own time of the day lies between this beat and the next.
fn is_due(assignment: &Assignment) -> bool {
    let monitor = &assignment.monitor;
    let text = monitor.id.as_str().bytes();
    // FNV-1a, which spreads ids that differ by a letter over the whole day.
    let slot = text.fold(2_166_136_261_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(16_777_619));
    let slot = i64::from(slot) % DAY_SECONDS;
    let since = (assignment.scheduled_at.timestamp() - slot).rem_euclid(DAY_SECONDS);
    let every = i64::try_from(monitor.every.as_secs()).unwrap_or(DAY_SECONDS).max(1);
    assignment.kind == BeatKind::Scheduled && since < every
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn once_a_day_is_once_and_not_for_all_at_once() {
        let start: DateTime<Utc> = "2026-11-21T00:00:17Z".parse().unwrap();
        let mut firsts = Vec::new();
        for id in ["docs", "wiki", "a", "b"] {
            let mut monitor = Monitor::undeclared(id, Address { shown: String::new(), resolved: Secret::new("") });
            monitor.every = Duration::from_secs(60);
            let monitor = Arc::new(monitor);
            let due = |kind, nth| {
                let at = start + TimeDelta::seconds(60 * nth);
                let monitor = Arc::clone(&monitor);
                let profile = ServerProfile::default();
                is_due(&Assignment {
                    monitor,
                    kind,
                    scheduled_at: at,
                    started_at: at,
                    asks: vec![],
                    further: crate::probe::assignment::Further::NONE,
                    source_pages: 0,
                    source_names: false,
                    profile,
                    lists: crate::tool_lists::known::KnownLists::default(),
                })
            };
            let days: Vec<i64> = (0..2 * 1440).filter(|nth| due(BeatKind::Scheduled, *nth)).collect();
            assert_eq!(days.len(), 2, "{id}: on two days, twice: {days:?}");
            assert_eq!(days[1] - days[0], 1440, "{id}: at the same time");
            assert!(
                !(0..1440).any(|nth| due(BeatKind::Recheck, nth)),
                "{id}: nobody who asks for a beat asks for this"
            );
            firsts.push(days[0]);
        }
        firsts.dedup();
        assert_eq!(firsts.len(), 4, "each at its own time");
    }
}
