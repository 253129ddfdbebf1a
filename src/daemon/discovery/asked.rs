//! What people ask of lists, until it is done: read one now, or let go what one names no longer.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Utc;
use tokio::time::Instant;

use crate::daemon::discovery::known::Known;
use crate::daemon::loop_context::LoopContext;
use crate::domain::action::{Action, Asked};

/// What was asked for and is not on disk as done.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    waiting: Vec<Action>,
    /// What is done once the list that it is about is kept.
    granted: Vec<Action>,
}

impl Wishes {
    /// Takes what was asked for; what is handed on once more waits once.
    pub(super) fn take(&mut self, asked: Vec<Action>) {
        for action in asked {
            if !self.waiting.iter().chain(&self.granted).any(|known| known.id == action.id) {
                self.waiting.push(action);
            }
        }
    }

    /// Does what can be done by now.
    pub(super) fn grant(&mut self, all: &mut BTreeMap<String, Known>) {
        self.granted.extend(self.waiting.extract_if(.., |action| grant(action, all)));
    }

    /// Notes what is done, once nothing can undo it: what was let go is on disk.
    pub(super) async fn note(&mut self, context: &LoopContext, all: &BTreeMap<String, Known>) {
        let is_kept = |action: &Action| source(action).and_then(|id| all.get(id)).is_none_or(Known::is_safe);
        for action in std::mem::take(&mut self.granted) {
            if !is_kept(&action) {
                self.granted.push(action);
                continue;
            }
            let now = Utc::now();
            let noted = context.store.applied(&action.id, now).await;
            context.note_write(noted.as_ref().err(), now);
            if noted.is_err() {
                self.granted.push(action);
            }
        }
    }
}

fn source(action: &Action) -> Option<&str> {
    match &action.asked {
        Asked::ReadList { source } | Asked::LetGo { source, .. } => Some(source),
        Asked::Recheck | Asked::Accept { .. } | Asked::Claimed { .. } => None,
    }
}

/// Does one thing; false where what it is about is not known yet.
fn grant(action: &Action, all: &mut BTreeMap<String, Known>) -> bool {
    // Of a list that is declared no more there is nothing to do.
    let Some(known) = source(action).and_then(|id| all.get_mut(id)) else { return true };
    let Asked::LetGo { held_mark, .. } = &action.asked else {
        known.due = Instant::now();
        return true;
    };
    match known.view.held_mark() {
        Some(mark) if mark == *held_mark => {
            let held: BTreeSet<String> = known.view.held.iter().cloned().collect();
            let gone = known.listing.accept(&held, Utc::now().timestamp());
            // Whether the list can be read or not.
            known.write();
            known.due = Instant::now();
            let (source, actor) = (&known.source.id, &action.actor);
            tracing::info!(source, gone, actor, "what the list names no longer is let go");
            true
        }
        // It names all again, or lost others: nobody lets go what they never saw.
        Some(_) => true,
        None => known.view.read_at.is_some(),
    }
}
