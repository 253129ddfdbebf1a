//! Which part of the fleet this machine watches, where several share it: it says every other second that it lives, and learns
//! what is its. What it loses is let go, what it gains is taken up by whoever waits for another set of leases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::domain::lease::Leases;
use crate::domain::wording::counted;
use crate::live::banner::Banner;
use crate::live::nodes::NodesView;
use crate::store::StoreError;

/// Others take over what is ours once they have not heard of us for five times this.
pub(crate) const EVERY: Duration = Duration::from_secs(2);
/// So many turns in a row nobody who lives has the file in force: whoever had it is gone for good.
const ORPHANED_TURNS: u32 = 15;
/// So many turns after its start a machine works: it may have brought a file that was never in force.
const PROVEN_TURNS: u32 = 8;
/// Clocks that differ by more show in what is told.
const CLOCK_OFF_MAX: TimeDelta = TimeDelta::seconds(5);
/// The name under which the loop reports its turns.
const NAME: &str = "sharing";
/// The kind of the banner that says what is wrong with how the fleet is shared.
const SHARING: &str = "sharing";

/// What the loop says of this machine, and where it puts what it learns.
#[derive(Debug)]
pub(crate) struct Sharing {
    pub context: LoopContext,
    /// What is watched here.
    pub leases: watch::Sender<Arc<Leases>>,
    /// The name by which other machines show this one.
    pub name: String,
    pub started_at: DateTime<Utc>,
    /// Has the file put in force once more, though it did not change, at the next look at it.
    pub anew: Arc<AtomicBool>,
    /// Has the file looked at.
    pub look: Arc<Notify>,
}

impl Sharing {
    /// Runs until shutdown.
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let mut fleets = self.context.fleet.clone();
        let (mut orphaned, mut turns) = (0, 0);
        // The file in force when this machine began, and which it was not.
        let mut at_start = None;
        while !shutdown.is_cancelled() {
            let now = Utc::now();
            self.context.live.metrics().turn(NAME, now);
            let (held, fleet) = (self.leases.borrow().clone(), fleets.borrow_and_update().clone());
            let note = (&*self.name, &*fleet.provenance.declared, self.started_at);
            match self.context.store.lease_turn(note, &held).await {
                Ok(mut turn) => {
                    self.context.note_write(None, now);
                    turns += 1;
                    if turns == 1 {
                        at_start = turn.nodes.file_in_force.clone().filter(|file| *file != fleet.provenance.declared);
                    }
                    if turns == PROVEN_TURNS && at_start.is_some() && at_start == turn.nodes.file_in_force {
                        self.put_in_force();
                    }
                    turn.nodes.troubles = match turns {
                        // Until then nobody knows whether its file is an older one.
                        ..=PROVEN_TURNS if at_start.is_some() => Vec::new(),
                        _ => trouble(&turn.nodes, &fleet.provenance.declared),
                    };
                    if turn.leases != *held {
                        let count = |leases: &Leases| leases.iter().count();
                        let (gained, lost) = (count(&turn.leases.without(&held)), count(&held.without(&turn.leases)));
                        tracing::info!(gained, lost, shards = count(&turn.leases), "the fleet is shared anew");
                        self.leases.send_replace(Arc::new(turn.leases));
                    }
                    orphaned = if is_orphaned(&turn.nodes) { orphaned + 1 } else { 0 };
                    self.show(&turn.nodes.troubles, now);
                    self.context.live.nodes().put(turn.nodes);
                }
                Err(StoreError::Closed) => return,
                // What is decided meanwhile is refused where others have taken over.
                Err(error) => self.context.note_write(Some(&error), now),
            }
            if orphaned > ORPHANED_TURNS {
                orphaned = 0;
                tracing::warn!("nobody who lives has the file that was in force; this one is in force from now on");
                self.put_in_force();
            }
            tokio::select! {
                () = shutdown.cancelled() => {}
                Ok(()) = fleets.changed() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Has the file of this machine put in force, unless it is an older one than another that lives has.
    fn put_in_force(&self) {
        self.anew.store(true, Ordering::Relaxed);
        self.look.notify_one();
    }

    /// Has pages say what is wrong with how the fleet is shared.
    fn show(&self, troubles: &[String], now: DateTime<Utc>) {
        let text = troubles.join("\n");
        let shown = self.context.live.banners().into_iter().find(|banner| banner.kind == SHARING);
        match shown {
            _ if text.is_empty() => drop(self.context.live.lower(SHARING)),
            Some(shown) if shown.text == text => {}
            shown => {
                tracing::warn!("{text}");
                self.context.live.raise(Banner { kind: SHARING, text, since: shown.map_or(now, |shown| shown.since) });
            }
        }
    }
}

/// Whether none that lives has the file in force.
fn is_orphaned(nodes: &NodesView) -> bool {
    let has_it = |file: &String| nodes.nodes.iter().any(|node| !node.is_gone && node.file == *file);
    nodes.file_in_force.as_ref().is_some_and(|file| !has_it(file))
}

/// What is wrong with how the fleet is shared, a line each.
fn trouble(nodes: &NodesView, file: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if nodes.file_in_force.as_ref().is_some_and(|in_force| in_force != file) {
        lines.push(match is_orphaned(nodes) {
            true => "No machine that lives has the file in force; each watches on what it has.".to_owned(),
            false => {
                "Another file is in force than this machine has: it watches nothing until it has that one, and pages here show its own.".to_owned()
            }
        });
    }
    if nodes.clock_ahead.abs() > CLOCK_OFF_MAX {
        let how = if nodes.clock_ahead > TimeDelta::zero() { "ahead of" } else { "behind" };
        let by = counted(nodes.clock_ahead.num_seconds().unsigned_abs(), "second", "seconds");
        lines.push(format!("The clock of this machine is {by} {how} the database's: times of what it sees are wrong."));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::nodes::NodeView;

    fn node(id: &str, file: &str, is_gone: bool) -> NodeView {
        let at = DateTime::UNIX_EPOCH;
        let (id, name, version) = (id.to_owned(), id.to_owned(), "1".to_owned());
        NodeView { id, name, version, file: file.to_owned(), started_at: at, seen_at: at, is_gone, shards: 0 }
    }

    #[test]
    fn it_is_said_what_is_wrong_with_how_the_fleet_is_shared() {
        let view = |nodes: Vec<NodeView>, ahead: i64| NodesView {
            own: "a".to_owned(),
            nodes,
            file_in_force: Some("new".to_owned()),
            unwatched: 0,
            troubles: Vec::new(),
            clock_ahead: TimeDelta::seconds(ahead),
        };
        let rows = [
            (view(vec![node("a", "new", false)], 0), "new", "", "all is well"),
            (
                view(vec![node("a", "old", false), node("b", "new", false)], 0),
                "old",
                "Another file is in force than this machine has: it watches nothing until it has that one, and pages here show its own.",
                "an older file",
            ),
            (
                view(vec![node("a", "old", false), node("b", "new", true)], 0),
                "old",
                "No machine that lives has the file in force; each watches on what it has.",
                "whoever had the newer is gone",
            ),
            (view(vec![node("a", "new", false)], 5), "new", "", "clocks are never the same"),
            (
                view(vec![node("a", "new", false)], -90),
                "new",
                "The clock of this machine is 90 seconds behind the database's: times of what it sees are wrong.",
                "but near each other",
            ),
        ];
        for (nodes, file, expected, sentence) in rows {
            assert_eq!(trouble(&nodes, file).join("\n"), expected, "{sentence}");
        }
    }
}
