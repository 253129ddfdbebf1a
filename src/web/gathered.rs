//! What changed, gathered over a moment and written once for all open pages: two hundred viewers cost one gathering and a
//! wake-up each, not each of them a wake-up for every beat.
//!
//! Whoever listens first has it begun, and it ends when nobody listens any more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::time::{Instant, timeout_at};

use crate::live::state::{LiveChange, LiveState};

/// Changes are gathered for so long: a large fleet changes hundreds of times a second.
const GATHER_FOR: Duration = Duration::from_millis(500);
/// Names in one event; beyond it, the page is told to look at everything.
const NAMES_MAX: usize = 200;
/// Where nothing changed for so long, that is said. A page that hears nothing for three times as long turns grey
/// (`assets/app.js`), and no proxy takes its stream for dead meanwhile.
const SAID_EVERY: Duration = Duration::from_secs(5);
/// Events that a slow stream may lag behind before its page is told to look at everything: half a minute of a busy fleet.
const LAG_MAX: usize = 64;

/// What open pages hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Something changed: JSON that names it.
    Change(Arc<str>),
    /// Nothing did for a while.
    Nothing,
}

/// Gathers while somebody listens.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    sender: Mutex<Option<Sender<Heard>>>,
    /// Counts what was told.
    told: AtomicU64,
}

/// What changed within one moment.
#[derive(Debug, Default, Serialize)]
struct GatheredUpdates {
    all: bool,
    fleet: bool,
    monitors: BTreeSet<String>,
    incidents: BTreeSet<String>,
}

impl Gathering {
    /// What changes from now on. Who lags gets `Lagged` and looks at everything again; it is closed when the live state is
    /// gone.
    pub(crate) fn listen(self: &Arc<Self>, live: &LiveState) -> Receiver<Heard> {
        let mut current = self.sender.lock();
        if let Some(sender) = &*current {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(LAG_MAX);
        *current = Some(sender);
        tokio::spawn(Arc::clone(self).gather(live.changes()));
        receiver
    }

    /// How often something was told, while somebody listens: what was drawn since the last time shows all that anybody heard
    /// of. None while nobody does.
    pub(crate) fn told(&self) -> Option<u64> {
        self.sender.lock().as_ref().map(|_| self.told.load(Ordering::Acquire))
    }

    async fn gather(self: Arc<Self>, mut changes: Receiver<LiveChange>) {
        loop {
            let heard = next(&mut changes).await;
            let mut current = self.sender.lock();
            // Whoever comes later begins it anew.
            let is_over = heard.is_none() || current.as_ref().is_none_or(|sender| sender.receiver_count() == 0);
            if is_over {
                *current = None;
                return;
            }
            if let (Some(sender), Some(heard)) = (&*current, heard) {
                self.told.fetch_add(1, Ordering::Release);
                // Nobody listening is no error: the next turn ends it.
                drop(sender.send(heard));
            }
        }
    }
}

/// What is told to a page that missed something: it looks at everything.
pub(crate) fn everything() -> Heard {
    written(&GatheredUpdates { all: true, ..GatheredUpdates::default() })
}

fn written(updates: &GatheredUpdates) -> Heard {
    serde_json::to_string(updates).map_or(Heard::Nothing, |text| Heard::Change(text.into()))
}

/// Waits for a change and for what follows it closely, or until nothing happened for a while; none when the live state is
/// gone.
async fn next(changes: &mut Receiver<LiveChange>) -> Option<Heard> {
    let mut gathered = GatheredUpdates::default();
    let Ok(first) = timeout_at(Instant::now() + SAID_EVERY, changes.recv()).await else { return Some(Heard::Nothing) };
    if !gathered.take(first) {
        return None;
    }
    let deadline = Instant::now() + GATHER_FOR;
    while let Ok(change) = timeout_at(deadline, changes.recv()).await {
        if !gathered.take(change) {
            break;
        }
    }
    if gathered.monitors.len() + gathered.incidents.len() > NAMES_MAX {
        return Some(everything());
    }
    Some(written(&gathered))
}

impl GatheredUpdates {
    /// Takes a change in; false where there will be no more.
    fn take(&mut self, change: Result<LiveChange, RecvError>) -> bool {
        match change {
            Ok(LiveChange::Monitor(id)) => drop(self.monitors.insert(id.to_string())),
            Ok(LiveChange::Incident(id)) => drop(self.incidents.insert(id)),
            Ok(LiveChange::Fleet) => self.fleet = true,
            Err(RecvError::Lagged(_)) => self.all = true,
            Err(RecvError::Closed) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn what_changed_is_written_once_for_all_who_listen() {
        let (gathering, live) = (Arc::new(Gathering::default()), LiveState::default());
        let mut all: Vec<_> = (0..3).map(|_| gathering.listen(&live)).collect();
        live.tell(LiveChange::Incident("0199".to_owned()));
        live.tell(LiveChange::Fleet);
        let heard = join_all(all.iter_mut().map(Receiver::recv)).await;
        let texts: Vec<&Arc<str>> = heard
            .iter()
            .map(|one| match one {
                Ok(Heard::Change(text)) => text,
                other => panic!("a change, not {other:?}"),
            })
            .collect();
        assert_eq!(&**texts[0], r#"{"all":false,"fleet":true,"monitors":[],"incidents":["0199"]}"#);
        assert!(texts.iter().all(|text| Arc::ptr_eq(text, texts[0])), "the same text for all");
    }

    #[tokio::test]
    async fn it_ends_when_nobody_listens_and_begins_anew() {
        let (gathering, live) = (Arc::new(Gathering::default()), LiveState::default());
        drop(gathering.listen(&live));
        live.tell(LiveChange::Fleet);
        while gathering.sender.lock().is_some() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut again = gathering.listen(&live);
        live.tell(LiveChange::Fleet);
        assert!(matches!(again.recv().await, Ok(Heard::Change(_))));
    }

    #[tokio::test]
    async fn who_lists_too_much_is_told_to_look_at_everything_and_the_end_is_heard() {
        let (gathering, live) = (Arc::new(Gathering::default()), LiveState::default());
        let mut one = gathering.listen(&live);
        for number in 0..=NAMES_MAX {
            live.tell(LiveChange::Incident(number.to_string()));
        }
        assert_eq!(one.recv().await, Ok(everything()));
        drop(live);
        assert_eq!(one.recv().await, Err(RecvError::Closed));
    }
}
