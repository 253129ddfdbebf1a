//! What a beat decided, as it is written down and announced.

use crate::daemon::loop_context::LoopContext;
use crate::daemon::notify::flaps::stays_open;
use crate::daemon::notify::{Notifier, closer_look, timeline};
use crate::domain::contract::FIRST_STABLE;
use crate::domain::incident::Incident;
use crate::domain::monitor::MonitorId;
use crate::domain::monitor_state::{Decision, MonitorState};
use crate::domain::observation::Observation;
use crate::domain::paging::follow_up::FollowUp;
use crate::domain::paging::hold::TellingHold;
use crate::domain::paging::notification::Event;
use crate::live::state::LiveChange;
use crate::store::values::change_set::{ChangeSet, TimelineRow, ToolsRow};
use crate::store::{Store, StoreError};

/// What a decision adds to the beat's transaction: its incident, a line of its timeline, and who is told.
pub(crate) async fn add_decision(
    record: &mut ChangeSet,
    (decision, seen, next): (&Decision, &Observation, &MonitorState),
    store: &Store,
    notifier: &Notifier<'_>,
) -> Result<(), StoreError> {
    let (event, incident) = match decision {
        Decision::Opened { incident, silent } => {
            record.outbox.extend((!silent).then(|| notifier.opened(incident)));
            (Event::IncidentOpened, incident)
        }
        Decision::Told { incident, held } => {
            return add_told(record, (incident, held.as_ref()), store, notifier).await;
        }
        Decision::FollowedUp { incident, told } => {
            return add_follow_up(record, (incident, told), store, notifier).await;
        }
        Decision::Updated(incident) => {
            let is_worse = record.lapsed.iter().any(|(id, _)| *id == incident.id);
            record.outbox.push(notifier.changed(store, incident, is_worse).await?);
            (Event::IncidentUpdated, incident)
        }
        Decision::LookedCloser(incident) => {
            record.outbox.push(notifier.looked_closer(store, incident).await?);
            record.timeline.push(closer_look(incident, notifier.now));
            record.incidents.push(incident.clone());
            return Ok(());
        }
        Decision::Flaps(incident) => {
            record.outbox.push(notifier.flaps(store, incident).await?);
            record.timeline.push(stays_open(incident, notifier.now));
            record.incidents.push(incident.clone());
            return Ok(());
        }
        Decision::Resolved(incident) => {
            record.outbox.extend(notifier.resolved(store, incident).await?);
            (Event::IncidentResolved, incident)
        }
        Decision::Refreshed(incident) => {
            record.incidents.push(incident.clone());
            return Ok(());
        }
        Decision::Restarted(restart) => {
            record.outbox.extend(notifier.restarted(restart));
            return Ok(());
        }
        Decision::ToolsSettled => {
            let baseline = next.tools.baseline.as_ref();
            record.tools = seen.tools.clone().map(|tools| ToolsRow {
                monitor: notifier.monitor.id.clone(),
                era: seen.era,
                tools,
                from: notifier.now,
                accepted_by: baseline.map_or(FIRST_STABLE, |baseline| &baseline.accepted_by).to_owned(),
            });
            return Ok(());
        }
    };
    record.timeline.push(timeline(event, incident, "serin", notifier.now));
    record.incidents.push(incident.clone());
    Ok(())
}

/// What the late opening of an incident adds to a transaction; `held` held it back, where something did.
pub(crate) async fn add_told(
    record: &mut ChangeSet,
    (incident, held): (&Incident, Option<&TellingHold>),
    store: &Store,
    notifier: &Notifier<'_>,
) -> Result<(), StoreError> {
    let (outgoing, line) = notifier.told_late(store, incident, held).await?;
    record.outbox.push(outgoing);
    record.timeline.push(line);
    record.incidents.push(incident.clone());
    Ok(())
}

/// What a reminder or an escalation adds to a transaction.
pub(crate) async fn add_follow_up(
    record: &mut ChangeSet,
    (incident, told): (&Incident, &FollowUp),
    store: &Store,
    notifier: &Notifier<'_>,
) -> Result<(), StoreError> {
    record.outbox.push(notifier.followed_up(store, incident, told).await?);
    let line = timeline(told.event, incident, "serin", notifier.now);
    record.timeline.push(TimelineRow { text: format!("notified {}: {}", told.to.join(", "), line.text), ..line });
    record.incidents.push(incident.clone());
    Ok(())
}

/// Says it in the log, and to whoever looks at a page.
pub(crate) fn announce(context: &LoopContext, monitor: &MonitorId, decisions: &[Decision]) {
    for decision in decisions {
        match decision {
            Decision::Opened { incident, .. } => {
                tracing::warn!(monitor = %incident.monitor, incident = incident.id, reason = %incident.reason, summary = incident.summary, "incident opened");
                context.live.tell(LiveChange::Incident(incident.id.clone()));
            }
            Decision::Told { incident, .. } => {
                tracing::warn!(monitor = %incident.monitor, incident = incident.id, reason = %incident.reason, "incident told that was held back");
                context.live.tell(LiveChange::Incident(incident.id.clone()));
            }
            Decision::FollowedUp { incident, told } => {
                tracing::warn!(monitor = %incident.monitor, incident = incident.id, event = told.event.slug(), to = told.to.join(", "), "nobody took an incident");
                context.live.tell(LiveChange::Incident(incident.id.clone()));
            }
            Decision::Updated(incident) => {
                tracing::warn!(monitor = %incident.monitor, incident = incident.id, reason = %incident.reason, "incident updated");
                context.live.tell(LiveChange::Incident(incident.id.clone()));
            }
            Decision::Flaps(incident) => {
                tracing::warn!(monitor = %incident.monitor, incident = incident.id, reason = %incident.reason, "incident flaps and stays open");
                context.live.tell(LiveChange::Incident(incident.id.clone()));
            }
            Decision::Resolved(incident) => {
                tracing::info!(monitor = %incident.monitor, incident = incident.id, "incident resolved");
                context.live.tell(LiveChange::Incident(incident.id.clone()));
            }
            Decision::LookedCloser(incident) | Decision::Refreshed(incident) => {
                context.live.tell(LiveChange::Incident(incident.id.clone()))
            }
            Decision::Restarted(restart) => tracing::info!(%monitor, certain = restart.certain, "server restarted"),
            Decision::ToolsSettled => {}
        }
    }
}
