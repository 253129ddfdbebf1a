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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::domain::discovery::{From, Source};
    use crate::domain::monitor::MonitorId;

    #[tokio::test]
    async fn a_list_that_is_read_already_is_read_once_more_where_somebody_asks_meanwhile() {
        let source = Source {
            id: "prod".to_owned(),
            from: From::FileSd(Vec::new()),
            every: Duration::from_secs(3_600),
            hosts: Vec::new(),
            has_credential: false,
            allow_private: Vec::new(),
            relabel: Vec::new(),
            template: String::new(),
            gone_after: Duration::from_secs(3_600),
            line: 1,
        };
        let read = |source: &str| Action {
            id: "a1".to_owned(),
            monitor: MonitorId::new(""),
            actor: String::new(),
            at: Utc::now(),
            asked: Asked::ReadList { source: source.to_owned() },
        };
        let known = Known::kept(source, PathBuf::new(), String::new());
        let mut all = BTreeMap::from([("prod".to_owned(), known)]);
        act(&read("prod"), &mut all);
        assert!(!all["prod"].is_asked_again, "it is about to be read");
        let reading = tokio::spawn(std::future::pending::<()>());
        all.get_mut("prod").unwrap().reading = Some(reading.abort_handle());
        act(&read("gone"), &mut all);
        assert!(!all["prod"].is_asked_again, "another list is meant");
        act(&read("prod"), &mut all);
        assert!(all["prod"].is_asked_again, "what is read now may have been fetched before");
        reading.abort();
    }
}
