//! What people ask of lists: read one now, or let go what one names no longer.

use std::collections::BTreeMap;

use chrono::Utc;
use tokio::time::Instant;

use crate::daemon::discovery::known::Known;
use crate::daemon::loop_context::LoopContext;
use crate::domain::action::{Action, Asked};

/// Does what was asked of a list; of one that is declared no more there is nothing to do.
pub(super) fn act(action: &Action, all: &mut BTreeMap<String, Known>) {
    let Some(known) = source(action).and_then(|id| all.get_mut(id)) else { return };
    (known.due, known.is_asked_again) = (Instant::now(), known.reading.is_some());
    if let Asked::LetGo { source, ids } = &action.asked {
        let gone = known.listing.accept(&ids.iter().cloned().collect(), Utc::now().timestamp());
        // Whether the list can be read or not.
        known.write();
        let (asked, actor) = (ids.len(), &action.actor);
        tracing::info!(source, gone, asked, actor, "what the list names no longer is let go");
    }
}

/// Notes what is done and can be undone by nothing; what is left is not on disk yet, or could not be noted.
pub(super) async fn note(context: &LoopContext, done: &mut Vec<Action>, all: &BTreeMap<String, Known>) {
    let is_safe = |action: &Action| match action.asked {
        Asked::LetGo { .. } => source(action).and_then(|id| all.get(id)).is_none_or(Known::is_safe),
        _ => true,
    };
    let mut noting: Vec<Action> = done.extract_if(.., |action| is_safe(action)).collect();
    while let Some(action) = noting.pop() {
        let now = Utc::now();
        let noted = context.store.applied(&action.id, now).await;
        context.note_write(noted.as_ref().err(), now);
        if noted.is_err() {
            noting.push(action);
            break;
        }
    }
    done.extend(noting);
}

fn source(action: &Action) -> Option<&str> {
    match &action.asked {
        Asked::ReadList { source } | Asked::LetGo { source, .. } => Some(source),
        Asked::Recheck | Asked::Accept { .. } | Asked::Claimed { .. } => None,
    }
}
