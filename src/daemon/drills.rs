//! The loop of drills: tells receivers that nothing is wrong when the file says so, waits for their receipts, and tells of
//! those that do not come.
//!
//! - A drill is told once for each moment it is due at: the row of its run, its messages and their promises are one
//!   transaction, so that we may die anywhere. Restarts, reloads and clocks that are set find the row there.
//! - How long a receiver may take is counted by the clock that nobody sets, and anew after a start: what was not brought
//!   while nobody ran is not its fault.
//! - Silences and windows keep no drill back: it is known to be none of what they are about.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::daemon::loop_context::LoopContext;
use crate::deliver::internal_alert::InternalAlert;
use crate::deliver::message;
use crate::domain::drills::{DrillDue, ScheduledDrill};
use crate::domain::fleet::Fleet;
use crate::domain::lease::Job;
use crate::domain::paging::drill::{Drill, keeps_open};
use crate::domain::receiver::Receiver;
use crate::domain::wording::as_written;
use crate::net::lived::lived;
use crate::store::StoreError;
use crate::store::read::drills::{AwaitedReceipt, DrillReceipt};
use crate::store::values::change_set::{Addressee, Outgoing};
use crate::store::values::drill_rows::{DrillEnd, DrillRun};

/// The longest it does not look: a clock may be set, and somebody may test a receiver that failed.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// While receipts are awaited.
const LOOK_OFTEN: Duration = Duration::from_secs(1);
/// The shortest pause before a drill that is due, so that no mistake makes us spin.
const LOOK_GAP: Duration = Duration::from_millis(100);
/// Receivers named in one alert.
const NAMED_MAX: usize = 4;
/// The name under which the loop reports its turns.
const NAME: &str = "drills";

/// What the loop remembers from turn to turn; all of it is found anew after a start.
#[derive(Debug, Default)]
pub(crate) struct Drills {
    /// Since when the file's drills are known, by their ids; none until that was read.
    known: Option<HashMap<String, DateTime<Utc>>>,
    /// The moment each was told for, or missed at, last.
    done: HashMap<String, DateTime<Utc>>,
    /// When the time of each awaited receipt is over, by message, as time lived.
    over_at: HashMap<String, Duration>,
}

/// Runs until shutdown.
pub(crate) async fn run(context: LoopContext, shutdown: CancellationToken) {
    let (mut fleets, mut leases) = (context.fleet.clone(), context.leases.clone());
    let mut drills = Drills::default();
    let mut is_away = false;
    while !shutdown.is_cancelled() {
        let now = Utc::now();
        context.live.metrics().turn(NAME, now);
        let (fleet, held) = (fleets.borrow_and_update().clone(), leases.borrow_and_update().clone());
        let turn = match held.have_job(Job::Drills) {
            true => drills.turn(&context.under(&held), &fleet, (now, lived())).await,
            false => {
                // Another machine tells them; should it end, all is found anew.
                drills = Drills::default();
                context.alerts.hand_over(InternalAlert::DrillFailed);
                context.live.metrics().drills.set_failed(Vec::new());
                Ok(())
            }
        };
        match turn {
            Ok(()) => is_away = false,
            Err(StoreError::Closed) => return,
            Err(StoreError::LeaseLost) => {}
            Err(error) => {
                if !std::mem::replace(&mut is_away, true) {
                    tracing::warn!(%error, "drills cannot be read or written down; they wait");
                }
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            Ok(()) = fleets.changed() => {}
            Ok(()) = leases.changed() => {}
            () = tokio::time::sleep(drills.pause(&fleet, now)) => {}
        }
    }
}

impl Drills {
    /// One turn: what is due is told, what was answered is written down, and what was not is told of. `lived` is the time
    /// since the machine started.
    pub(crate) async fn turn(
        &mut self,
        context: &LoopContext,
        fleet: &Arc<Fleet>,
        (now, lived): (DateTime<Utc>, Duration),
    ) -> Result<(), StoreError> {
        self.know(context, fleet, now).await?;
        for drill in &fleet.drills {
            self.tell(context, fleet, drill, now).await?;
        }
        self.settle(context, fleet, (now, lived)).await?;
        alert(context, fleet, now).await
    }

    /// How long nothing is to be done.
    fn pause(&self, fleet: &Fleet, now: DateTime<Utc>) -> Duration {
        let look = if self.over_at.is_empty() { LOOK_EVERY } else { LOOK_OFTEN };
        let next = fleet.drills.iter().flat_map(|drill| drill.starts.next_after(now, 1)).min();
        let next = next.and_then(|at| (at - now).to_std().ok());
        next.unwrap_or(look).clamp(LOOK_GAP, look)
    }

    /// Takes note of drills that came and went since the last turn.
    async fn know(&mut self, context: &LoopContext, fleet: &Fleet, now: DateTime<Utc>) -> Result<(), StoreError> {
        let declared: HashSet<&str> = fleet.drills.iter().map(|drill| drill.id.as_str()).collect();
        // One that is known since a moment to come was read by a clock that was set back since.
        let are_known = |known: &HashMap<String, DateTime<Utc>>| {
            known.len() == declared.len()
                && known.iter().all(|(id, since)| declared.contains(id.as_str()) && *since <= now)
        };
        if self.known.as_ref().is_some_and(are_known) {
            return Ok(());
        }
        let ids = fleet.drills.iter().map(|drill| drill.id.clone()).collect();
        context.store.know_drills(ids, now).await?;
        let known = context.store.known_drills().await?;
        self.done.retain(|id, _| known.contains_key(id));
        self.known = Some(known);
        Ok(())
    }

    /// Tells a drill that is due, once.
    async fn tell(
        &mut self,
        context: &LoopContext,
        fleet: &Fleet,
        drill: &ScheduledDrill,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let Some(since) = self.known.as_ref().and_then(|known| known.get(&drill.id)) else { return Ok(()) };
        let (due_at, is_missed) = match drill.due(now, *since) {
            DrillDue::Not => return Ok(()),
            DrillDue::Now(at) => (at, false),
            DrillDue::Missed(at) => (at, true),
        };
        if self.done.get(&drill.id) == Some(&due_at) {
            return Ok(());
        }
        let place = fleet.provenance.shown(drill.line);
        let mut run = DrillRun {
            id: Uuid::now_v7().to_string(),
            drill: drill.id.clone(),
            due_at,
            begun_at: now,
            place: place.clone(),
            calls: Vec::new(),
            timeout: drill.timeout,
        };
        if !is_missed {
            let told = fleet.drilled([drill]);
            run.calls = told.into_iter().map(|receiver| call(fleet, drill, &run, receiver)).collect();
        }
        let (receivers, due) = (run.calls.len(), drill.starts.shown(due_at));
        let is_new = context.store.begin_drill(run).await?;
        self.done.insert(drill.id.clone(), due_at);
        match (is_new, is_missed) {
            (true, false) => tracing::info!(place, due, receivers, "a drill is told"),
            (true, true) => tracing::warn!(place, due, "a drill was missed while Serin did not run; it is left out"),
            (false, _) => {}
        }
        Ok(())
    }

    /// Writes down what came of drills, as far as it is known.
    async fn settle(
        &mut self,
        context: &LoopContext,
        fleet: &Fleet,
        (now, lived): (DateTime<Utc>, Duration),
    ) -> Result<(), StoreError> {
        let awaited = context.store.awaited_receipts().await?;
        let messages: HashSet<&str> = awaited.iter().map(|one| one.notification.as_str()).collect();
        self.over_at.retain(|message, _| messages.contains(message.as_str()));
        for one in awaited {
            let over_at = *self.over_at.entry(one.notification.clone()).or_insert(lived + one.timeout);
            let is_late = lived >= over_at;
            if one.is_pending && !is_late {
                continue;
            }
            let end = ending(fleet, &one, is_late, now);
            let AwaitedReceipt { receiver, place, notification, .. } = one;
            let Some(outcome) = context.store.end_drill(end).await? else { continue };
            self.over_at.remove(&notification);
            match outcome.took {
                Some(took) => {
                    context.live.metrics().drills.accepted(&receiver, took);
                    tracing::info!(receiver, place, took_ms = took.as_millis(), "a drill was accepted");
                }
                None => tracing::error!(receiver, place, answer = outcome.answer, "a drill was not accepted in time"),
            }
        }
        Ok(())
    }
}

/// What a receiver is told, and who hears it instead.
fn call(fleet: &Fleet, drill: &ScheduledDrill, run: &DrillRun, receiver: &Receiver) -> Outgoing {
    let what = format!("a drill of receiver '{}'", receiver.name);
    let next = drill.next_shown(run.begun_at);
    let id = Uuid::now_v7().to_string();
    // By its own id, and not by the run's: a fallback that hears of two receivers keeps them apart.
    let said = Drill { id: id.clone(), by: run.place.clone(), what, next };
    let notification = said.opening(id, run.begun_at, &fleet.public_url);
    let to = vec![addressee(receiver, fleet.fallback(&receiver.name))];
    Outgoing { payload: message::freeze(&notification), notification, to }
}

/// The end of a drill at one receiver, for all those where it would stay open.
fn ending(fleet: &Fleet, awaited: &AwaitedReceipt, is_late: bool, now: DateTime<Utc>) -> DrillEnd {
    let AwaitedReceipt { run, place, receiver, notification, .. } = awaited.clone();
    let what = format!("a drill of receiver '{receiver}'");
    let said = Drill { id: notification.clone(), by: place, what, next: None };
    let told = said.end(Uuid::now_v7().to_string(), now, &fleet.public_url);
    let keeping = fleet.receivers.iter().filter(|one| keeps_open(&one.channel));
    let to = keeping.map(|one| addressee(one, None)).collect();
    let end = Outgoing { payload: message::freeze(&told), notification: told, to };
    DrillEnd { run, receiver, notification, now, is_late, end }
}

fn addressee(receiver: &Receiver, fallback: Option<&str>) -> Addressee {
    Addressee {
        gathering: None,
        receiver: receiver.name.clone(),
        receiver_hash: receiver.definition_hash.clone(),
        fallback: fallback.map(str::to_owned),
    }
}

/// Receivers that did not accept their last drill: told once to `internal` and to the fallback of each, and when all of them
/// have accepted one.
async fn alert(context: &LoopContext, fleet: &Fleet, now: DateTime<Utc>) -> Result<(), StoreError> {
    let drilled: Vec<&str> = fleet.drilled(&fleet.drills).iter().map(|receiver| receiver.name.as_str()).collect();
    let failed = if drilled.is_empty() { Vec::new() } else { context.store.failed_drills(&drilled).await? };
    context.live.metrics().drills.set_failed(failed.iter().map(|one| one.receiver.clone()).collect());
    if failed.is_empty() {
        context.alerts.clear(InternalAlert::DrillFailed, now);
        return Ok(());
    }
    let about: BTreeMap<String, Option<String>> =
        failed.iter().map(|one| (one.receiver.clone(), fleet.fallback(&one.receiver).map(str::to_owned))).collect();
    let mut lines: Vec<String> = failed.iter().take(NAMED_MAX).map(unheard).collect();
    if let Some(more) = failed.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    context.alerts.raise_about(InternalAlert::DrillFailed, &lines.join("; "), about, now);
    Ok(())
}

/// A drill that was not accepted, in one line.
fn unheard(receipt: &DrillReceipt) -> String {
    let DrillReceipt { receiver, at, place, timeout, answer, .. } = receipt;
    let at = at.format("%Y-%m-%d %H:%M:%S UTC");
    let tried = if answer.is_empty() { "it was not tried".to_owned() } else { format!("the last try: {answer}") };
    format!("receiver '{receiver}' did not accept the drill of {at} ({place}) within {}; {tried}", as_written(*timeout))
}

#[cfg(test)]
mod tests;
