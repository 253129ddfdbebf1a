//! What changes a monitor's state beside beats: an edited file, a removed monitor, somebody who takes an incident, the end of a
//! silence or window.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::daemon::decided::{add_follow_up, add_told, announce};
use crate::daemon::loop_context::LoopContext;
use crate::daemon::notify::{Notifier, hold_lines, timeline};
use crate::daemon::rows::{changed_holds, changed_signals};
use crate::daemon::runtime::MonitorRuntime;
use crate::domain::incident::Incident;
use crate::domain::monitor::Monitor;
use crate::domain::monitor_state::{Decision, MonitorState, TellPolicy};
use crate::domain::observation::ToolsSeen;
use crate::domain::paging::notification::Event;
use crate::live::state::LiveChange;
use crate::store::StoreError;
use crate::store::values::change_set::{ChangeSet, ToolsRow};

/// Takes another declaration over, and the tools that the lock holds for it; what neither warrants any longer ends.
///
/// # Errors
/// Where the store fails; the runtime is unchanged then.
pub(crate) async fn edit(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    monitor: Arc<Monitor>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut next = MonitorState::clone(&runtime.state);
    let mut ended = next.reconsider(&monitor, now);
    let locked = next.is_behind_lock(&monitor);
    let last = runtime.listings.last.as_ref().map(|last| &*last.tools);
    ended.extend(next.take_lock(&monitor, last, now));
    let tools = next.tools.baseline.as_ref().filter(|_| locked).map(|locked| ToolsRow {
        monitor: monitor.id.clone(),
        era: None,
        tools: ToolsSeen { listing: Arc::clone(&locked.listing), ..ToolsSeen::default() },
        from: now,
        accepted_by: locked.accepted_by.clone(),
    });
    end(context, runtime, next, (ended, tools), now).await?;
    if monitor.definition_hash != runtime.monitor.definition_hash {
        context.prober.release(&runtime.monitor, &runtime.profile).await;
    }
    runtime.declare(monitor);
    context.live.put(runtime.view(now));
    Ok(())
}

/// Ends everything that is open, since the monitor is gone from the file.
///
/// # Errors
/// Where the store fails; nothing is changed then.
pub(crate) async fn remove(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut next = MonitorState::clone(&runtime.state);
    let ended = next.remove(now);
    end(context, runtime, next, (ended, None), now).await?;
    context.prober.release(&runtime.monitor, &runtime.profile).await;
    context.uplink.note_egress(&context.alerts, &runtime.monitor.id, None, now);
    context.live.remove(&runtime.monitor.id);
    Ok(())
}

/// Brings memory into line with who has an incident by its row, which is written before whoever asked is answered, and tells
/// those who were told of it; false where nothing is new. `actor`: who asked.
///
/// # Errors
/// Where the store fails; nothing is changed then.
pub(crate) async fn claimed(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    (incident, actor): (&str, &str),
    action: Option<&str>,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let Some(row) = context.store.incident(incident).await? else { return Ok(false) };
    let mut next = MonitorState::clone(&runtime.state);
    let fleet = Arc::clone(&context.fleet.borrow());
    let quiets = context.quiets.book();
    let notifier = Notifier { fleet: &fleet, quiets: &quiets, live: &context.live, monitor: &runtime.monitor, now };
    let (told, changed) = if let Some((by, at)) = row.acknowledged {
        let Some(taken) = next.acknowledge(incident, &by, at) else { return Ok(false) };
        (notifier.taken(&context.store, &taken).await?, taken)
    } else {
        let Some((given, event)) = next.give_back(incident, now) else { return Ok(false) };
        let told = match event {
            Some(_) => Some(notifier.given_back(&context.store, &given, actor).await?),
            None => None,
        };
        (told, given)
    };
    let applied = action.map(|action| (action.to_owned(), now));
    let outbox = told.into_iter().collect();
    let record = ChangeSet { outbox, incidents: vec![changed], applied, ..ChangeSet::under(runtime.lease) };
    context.store.commit(record).await?;
    runtime.state = Arc::new(next);
    context.live.put(runtime.view(now));
    context.live.tell(LiveChange::Incident(incident.to_owned()));
    Ok(true)
}

/// Looks at what silences, windows and parents hold, beside beats: what they no longer do is told now.
///
/// # Errors
/// Where the store fails; nothing is changed then.
pub(crate) async fn tell(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (fleet, quiets) = (Arc::clone(&context.fleet.borrow()), context.quiets.book());
    let monitor = Arc::clone(&runtime.monitor);
    let is_well = runtime.state.incidents().next().is_none();
    let parents = context.parents.stands((&context.prober, &context.live), &monitor, is_well, now).await;
    let policy = TellPolicy { monitor: &monitor, routes: &fleet.routes, quiets: &quiets, parents: &parents };
    let mut next = MonitorState::clone(&runtime.state);
    let mut decisions = next.let_go(policy, now);
    decisions.extend(next.follow_up(policy, now));
    let holds = changed_holds(runtime, &next);
    if holds.is_empty() && decisions.is_empty() {
        // Nothing to write; that a clock was set back is remembered all the same.
        runtime.state = Arc::new(next);
        return Ok(());
    }
    let notifier = Notifier { fleet: &fleet, quiets: &quiets, live: &context.live, monitor: &runtime.monitor, now };
    let mut record = ChangeSet { timeline: hold_lines(&holds, &next), holds, ..ChangeSet::under(runtime.lease) };
    for decision in &decisions {
        match decision {
            Decision::Told { incident, held } => {
                add_told(&mut record, (incident, held.as_ref()), &context.store, &notifier).await?;
            }
            Decision::FollowedUp { incident, told } => {
                add_follow_up(&mut record, (incident, told), &context.store, &notifier).await?;
            }
            // Everything else is decided by beats.
            _ => {}
        }
    }
    let held: Vec<String> = record.holds.iter().map(|hold| hold.incident.clone()).collect();
    context.store.commit(record).await?;
    runtime.state = Arc::new(next);
    context.live.put(runtime.view(now));
    for incident in held {
        context.live.tell(LiveChange::Incident(incident));
    }
    announce(context, &runtime.monitor.id, &decisions);
    Ok(())
}

pub(super) async fn end(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    next: MonitorState,
    (ended, tools): (Vec<Incident>, Option<ToolsRow>),
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let fleet = Arc::clone(&context.fleet.borrow());
    let quiets = context.quiets.book();
    let notifier = Notifier { fleet: &fleet, quiets: &quiets, live: &context.live, monitor: &runtime.monitor, now };
    let (signals, holds) = (changed_signals(runtime, &next), changed_holds(runtime, &next));
    let mut record =
        ChangeSet { signals, timeline: hold_lines(&holds, &next), holds, tools, ..ChangeSet::under(runtime.lease) };
    for incident in ended {
        record.outbox.extend(notifier.resolved(&context.store, &incident).await?);
        record.timeline.push(timeline(Event::IncidentResolved, &incident, "serin", now));
        record.incidents.push(incident);
    }
    if !record.signals.is_empty() || !record.incidents.is_empty() || record.tools.is_some() {
        context.store.commit(record.clone()).await?;
    }
    runtime.state = Arc::new(next);
    for incident in record.incidents {
        context.live.tell(LiveChange::Incident(incident.id));
    }
    Ok(())
}
