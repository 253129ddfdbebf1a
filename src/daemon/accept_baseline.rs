//! A person accepts a monitor's tools as they are: the accepted list moves, and the incident about it ends.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::daemon::loop_context::LoopContext;
use crate::daemon::notify::{Notifier, hold_lines, timeline};
use crate::daemon::rows::{changed_holds, changed_signals};
use crate::daemon::runtime::MonitorRuntime;
use crate::domain::monitor_state::MonitorState;
use crate::domain::observation::ToolsSeen;
use crate::domain::paging::notification::Event;
use crate::domain::signal::Signal;
use crate::live::state::LiveChange;
use crate::store::StoreError;
use crate::store::values::change_set::{ChangeSet, TimelineRow, ToolsRow};

/// Moves the accepted list to the one seen last, where that is still the one that the person looked at.
///
/// False where it is not, or where nothing differs.
///
/// # Errors
/// Where the store fails; nothing is changed then.
pub(crate) async fn accept(
    context: &LoopContext,
    runtime: &mut MonitorRuntime,
    (hash, actor): (&str, &str),
    action: &str,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let Some(listed) = runtime.listings.last.clone().filter(|listed| listed.tools.hash == hash) else {
        return Ok(false);
    };
    if runtime.state.tools.baseline.as_ref().is_none_or(|baseline| baseline.listing.hash == hash) {
        return Ok(false);
    }
    let mut next = MonitorState::clone(&runtime.state);
    let ended = next.accept(&listed.tools, actor, now);
    let fleet = Arc::clone(&context.fleet.borrow());
    let quiets = context.quiets.book();
    let notifier = Notifier { fleet: &fleet, quiets: &quiets, live: &context.live, monitor: &runtime.monitor, now };
    let mut record = ChangeSet {
        signals: changed_signals(runtime, &next),
        holds: changed_holds(runtime, &next),
        tools: Some(ToolsRow {
            monitor: runtime.monitor.id.clone(),
            era: listed.era,
            tools: ToolsSeen::clone(&listed.tools),
            from: now,
            accepted_by: actor.to_owned(),
        }),
        applied: Some((action.to_owned(), now)),
        ..ChangeSet::under(runtime.lease)
    };
    record.timeline = hold_lines(&record.holds, &next);
    if let Some(incident) = ended {
        record.outbox.extend(notifier.resolved(&context.store, &incident).await?);
        record.timeline.push(timeline(Event::IncidentResolved, &incident, actor, now));
        record.incidents.push(incident);
    } else if let Some(incident) = next.incident(Signal::Contract) {
        let calls = listed.tools.calls.said().map(|said| format!("; {said}, so it stays open")).unwrap_or_default();
        record.timeline.push(TimelineRow {
            incident: incident.id.clone(),
            at: now,
            kind: "accepted".to_owned(),
            actor: actor.to_owned(),
            text: format!("{actor} accepted the tools as they are{calls}"),
        });
    }
    context.store.commit(record.clone()).await?;
    runtime.state = Arc::new(next);
    context.live.put(runtime.view(now));
    tracing::info!(monitor = %runtime.monitor.id, actor, hash, "tools accepted");
    for line in record.timeline {
        context.live.tell(LiveChange::Incident(line.incident));
    }
    Ok(true)
}
