//! Serin's own trouble, told directly: without database and without outbox, because it may be about them.
//!
//! One alert for each kind of trouble, a reminder every [`REMIND_AFTER`], one all-clear at the end; a kind
//! that comes and goes is told at most every [`REALERT_AFTER`], so that no storm arises. What is
//! open lives in memory: after a crash the trouble is found and told anew.
//!
//! [`InternalAlerts`] is the handle that any loop holds: raising and clearing never wait and never
//! fail. [`InternalAlerts::run`] is the loop that sends; it may be started once, late, or die.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::deliver::channel::ChannelSender;
use crate::deliver::internal_alert::InternalAlert;
use crate::deliver::message::{Message, MessageEvidence, VERSION, timestamp};
use crate::deliver::plain;
use crate::deliver::queue::{QueuedKind, Queues};
use crate::domain::fleet::Fleet;
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::reason::Severity;
use crate::domain::runbooks::RunbookWanted;
use crate::net::files;

/// Time between two reminders of one open trouble: twice in a working day, and not so often that a filter is written.
pub const REMIND_AFTER: Duration = Duration::from_secs(4 * 3600);
/// A kind of trouble that is over and comes back is told again after this long, counted from its last alert.
pub const REALERT_AFTER: Duration = Duration::from_secs(600);
/// The loop looks at least this often, so that a reminder is due without anybody waking it.
const TURN_MAX: Duration = Duration::from_secs(60);
/// Things said that no loop has taken yet; the oldest gives way, and the log still has it.
const SAID_MAX: usize = 32;
/// Time to send what is due when the process ends.
const PARTING_MAX: Duration = Duration::from_secs(5);
/// So many files free at once are no chance: the shortage is over.
const FILES_FREE: usize = 16;
const DETAIL_CHARS_MAX: usize = 400;

/// One kind of trouble, while it lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAlert {
    /// When it was raised, UTC.
    pub since: DateTime<Utc>,
    /// What was last seen of it; one line.
    pub detail: String,
    /// How often it was seen.
    pub times: u64,
    /// When receivers were last told; none: not yet, since it was told and over a moment ago.
    pub told_at: Option<DateTime<Utc>>,
    /// What it is about, each with who hears of it besides the receivers of `internal`: of failing receivers their
    /// fallbacks. Empty where it is about Serin as a whole.
    pub about: BTreeMap<String, Option<String>>,
}

/// The handle: cheap to clone, never waits, never fails.
#[derive(Debug, Clone, Default)]
pub struct InternalAlerts {
    shared: Arc<AlertsShared>,
}

#[derive(Debug, Default)]
struct AlertsShared {
    /// The name of this machine among those that share a fleet; empty where it is alone.
    machine: String,
    state: Mutex<AlertState>,
    woken: Notify,
}

#[derive(Debug, Default)]
struct AlertState {
    open: BTreeMap<InternalAlert, OpenAlert>,
    /// When each kind was last told, also after it was over.
    last_told: BTreeMap<InternalAlert, DateTime<Utc>>,
    /// What is still to be handed to the loop.
    said: Vec<LastSaid>,
    sequence: u32,
}

/// One thing to say, before it is addressed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LastSaid {
    kind: InternalAlert,
    what: QueuedKind,
    at: DateTime<Utc>,
    open: OpenAlert,
    sequence: u32,
}

impl InternalAlerts {
    /// An empty set; clones share it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same on a machine of this name, which shares a fleet with others: its troubles are told apart from theirs.
    pub fn of_machine(machine: &str) -> Self {
        Self { shared: Arc::new(AlertsShared { machine: machine.to_owned(), ..AlertsShared::default() }) }
    }

    /// There is trouble. May be said as often as it is seen: one alert goes out, and a reminder now and then.
    pub fn raise(&self, kind: InternalAlert, detail: &str, now: DateTime<Utc>) {
        self.raise_about(kind, detail, BTreeMap::new(), now);
    }

    /// The same where it is about some things of several; see [`OpenAlert::about`]. One that comes to be among them while
    /// the alert is open is told at once.
    pub fn raise_about(
        &self,
        kind: InternalAlert,
        detail: &str,
        about: BTreeMap<String, Option<String>>,
        now: DateTime<Utc>,
    ) {
        let mut state = self.state();
        let detail = plain::line(detail, DETAIL_CHARS_MAX);
        match state.open.get_mut(&kind) {
            Some(open) => {
                open.times += 1;
                open.detail = detail;
                let is_more = about.keys().any(|one| !open.about.contains_key(one));
                open.about = about;
                if is_more && open.told_at.is_some() {
                    open.told_at = Some(now);
                    let open = open.clone();
                    state.say(kind, QueuedKind::Alert, open, now);
                }
            }
            None => {
                tracing::error!(trouble = kind.slug(), detail, "Serin has trouble of its own: {}", kind.meaning());
                state.open.insert(kind, OpenAlert { since: now, detail, times: 1, told_at: None, about });
            }
        }
        state.tell_what_is_due(now);
        drop(state);
        self.shared.woken.notify_one();
    }

    /// Another machine tells of it from now on: neither over nor ours.
    pub fn hand_over(&self, kind: InternalAlert) {
        self.state().open.remove(&kind);
    }

    /// It is over; an all-clear goes out to whoever was told. Nothing happens where nothing was wrong.
    pub fn clear(&self, kind: InternalAlert, now: DateTime<Utc>) {
        let mut state = self.state();
        let Some(open) = state.open.remove(&kind) else { return };
        tracing::info!(trouble = kind.slug(), times = open.times, since = %open.since, "Serin's own problem is over");
        if open.told_at.is_some() {
            state.say(kind, QueuedKind::Over, open, now);
        }
        drop(state);
        self.shared.woken.notify_one();
    }

    /// Raises [`InternalAlert::OutOfFiles`] where no file can be opened now, and says so: whatever failed by it has no other
    /// cause, though SQLite, a resolver and a file's reader each tell of another.
    pub fn out_of_files(&self, what: &str, now: DateTime<Utc>) -> bool {
        let out = !files::are_left(1);
        if out {
            self.raise_out_of_files(what, now);
        }
        out
    }

    /// The same, where it is known already that it was for want of a file.
    pub fn raise_out_of_files(&self, what: &str, now: DateTime<Utc>) {
        let all = match files::limit() {
            Some(limit) => format!("{limit} of {limit} that this process may have, or all of the machine's, are open"),
            None => "all of the machine's are open".to_owned(),
        };
        self.raise(InternalAlert::OutOfFiles, &format!("no file was left for {what}: {all}"), now);
    }

    /// Gives the all-clear once some files are free again; looks only where there was trouble.
    pub fn look_for_files(&self, now: DateTime<Utc>) {
        let is_open = self.state().open.contains_key(&InternalAlert::OutOfFiles);
        if is_open && files::are_left(FILES_FREE) {
            self.clear(InternalAlert::OutOfFiles, now);
        }
    }

    /// What is wrong now, for pages.
    pub fn open(&self) -> Vec<(InternalAlert, OpenAlert)> {
        self.state().open.iter().map(|(kind, open)| (*kind, open.clone())).collect()
    }

    /// Sends until the token is cancelled, then once more what is due.
    ///
    /// The receivers are those that `internal` names in the fleet in force when a message is made.
    /// Each has a queue of its own, in order, tried again like any delivery for up to 24 h.
    pub async fn run(self, sender: Arc<ChannelSender>, fleet: watch::Receiver<Arc<Fleet>>, stop: CancellationToken) {
        let mut queues = Queues::default();
        let mut under_way: FuturesUnordered<Sending> = FuturesUnordered::new();
        while !stop.is_cancelled() {
            let wake = self.turn(&mut queues, &mut under_way, &sender, &fleet, Utc::now());
            tokio::select! {
                () = self.shared.woken.notified() => {}
                Some((receiver, end)) = under_way.next() => queues.ended(&receiver, &end, Utc::now()),
                () = tokio::time::sleep(wake) => {}
                () = stop.cancelled() => {}
            }
        }
        self.turn(&mut queues, &mut under_way, &sender, &fleet, Utc::now());
        let parting = async {
            while let Some((receiver, end)) = under_way.next().await {
                queues.ended(&receiver, &end, Utc::now());
                if end == AttemptEnd::Accepted {
                    self.turn(&mut queues, &mut under_way, &sender, &fleet, Utc::now());
                }
            }
        };
        let _ended = tokio::time::timeout(PARTING_MAX, parting).await;
    }

    /// One turn: what is due is told, queued and started. Returns how long nothing else is due.
    fn turn(
        &self,
        queues: &mut Queues,
        under_way: &mut FuturesUnordered<Sending>,
        sender: &Arc<ChannelSender>,
        fleet: &watch::Receiver<Arc<Fleet>>,
        now: DateTime<Utc>,
    ) -> Duration {
        let fleet = Arc::clone(&fleet.borrow());
        let said = {
            let mut state = self.state();
            state.tell_what_is_due(now);
            std::mem::take(&mut state.said)
        };
        for said in said {
            let message = message_of(&said, &self.shared.machine, &fleet);
            let also: BTreeSet<String> = said.open.about.values().flatten().cloned().collect();
            queues.hear_too(said.kind, also);
            queues.add(said.kind, said.what, &message, &fleet, said.at);
        }
        queues.keep_declared(&fleet);
        for (receiver, id, payload) in queues.start(now) {
            under_way.push(sending(Arc::clone(sender), Arc::clone(&fleet), receiver, id, payload, now));
        }
        queues.next_due(now).unwrap_or(TURN_MAX).min(TURN_MAX)
    }

    fn state(&self) -> MutexGuard<'_, AlertState> {
        self.shared.state.lock()
    }
}

impl AlertState {
    /// Alerts that were held back for a moment, and reminders.
    fn tell_what_is_due(&mut self, now: DateTime<Utc>) {
        // What was told much later than now was told before the clock was set back: whether it is long ago, nobody knows.
        // A little later is another beat, which told it while this one, begun before, was still under way.
        let passed = |at: DateTime<Utc>, length: Duration| match (now - at).to_std() {
            Ok(age) => age >= length,
            Err(_) => (at - now).to_std().is_ok_and(|ahead| ahead >= REALERT_AFTER),
        };
        let due: Vec<(InternalAlert, QueuedKind)> = self
            .open
            .iter()
            .filter_map(|(kind, open)| match (open.told_at, self.last_told.get(kind)) {
                (Some(told), _) => passed(told, REMIND_AFTER).then_some((*kind, QueuedKind::Reminder)),
                (None, Some(last)) => passed(*last, REALERT_AFTER).then_some((*kind, QueuedKind::Alert)),
                (None, None) => Some((*kind, QueuedKind::Alert)),
            })
            .collect();
        for (kind, what) in due {
            let Some(open) = self.open.get_mut(&kind) else { continue };
            open.told_at = Some(now);
            let open = open.clone();
            self.last_told.insert(kind, now);
            self.say(kind, what, open, now);
        }
    }

    fn say(&mut self, kind: InternalAlert, what: QueuedKind, open: OpenAlert, at: DateTime<Utc>) {
        self.sequence += 1;
        // Without a running loop nobody takes them; the log has them all.
        if self.said.len() >= SAID_MAX {
            self.said.remove(0);
        }
        self.said.push(LastSaid { kind, what, at, open, sequence: self.sequence });
    }
}

/// The receiver's name and how the attempt ended.
type Sending = Pin<Box<dyn Future<Output = (String, AttemptEnd)> + Send>>;

fn sending(
    sender: Arc<ChannelSender>,
    fleet: Arc<Fleet>,
    name: String,
    id: String,
    payload: String,
    now: DateTime<Utc>,
) -> Sending {
    Box::pin(async move {
        let end = match fleet.receiver(&name) {
            Some(receiver) => sender.attempt(&fleet, receiver, &id, &payload, now).await,
            None => AttemptEnd::Refused { why: "the receiver is no longer in the file".to_owned() },
        };
        (name, end)
    })
}

/// The public message: the same contract, without a monitor and without an incident. `machine`: whose trouble it is, where
/// there are several.
fn message_of(said: &LastSaid, machine: &str, fleet: &Fleet) -> Message {
    let kind = said.kind;
    let machine = Some(machine).filter(|machine| !machine.is_empty() && kind.is_of_machine());
    let serin = machine.map_or_else(|| "Serin itself".to_owned(), |machine| format!("Serin itself, on {machine}"));
    let summary = match said.what {
        QueuedKind::Alert => format!("{serin}: {}", kind.meaning()),
        QueuedKind::Reminder => format!("{serin}, still: {}", kind.meaning()),
        QueuedKind::Over => format!("{serin}: {} is over", kind.slug()),
    };
    let mut evidence = vec![("trouble".to_owned(), kind.slug().to_owned())];
    evidence.extend(machine.map(|machine| ("machine".to_owned(), machine.to_owned())));
    evidence.extend([
        ("since".to_owned(), timestamp(said.open.since)),
        ("times_seen".to_owned(), said.open.times.to_string()),
        ("detail".to_owned(), said.open.detail.clone()),
    ]);
    if said.what == QueuedKind::Over {
        evidence.push(("over_at".to_owned(), timestamp(said.at)));
    }
    Message {
        version: VERSION,
        id: uuid::Uuid::now_v7().to_string(),
        sequence: said.sequence,
        event: if said.what == QueuedKind::Over { "serin.trouble_over" } else { "serin.trouble" }.to_owned(),
        at: timestamp(said.at),
        incident: None,
        monitor: None,
        failure_reason: Some(kind.reason().slug().to_owned()),
        failed_stage: None,
        summary,
        evidence: MessageEvidence(evidence),
        runbook_url: fleet.runbooks.url(RunbookWanted::of(kind.reason()), &fleet.public_url),
        rule: None,
        reproduce: None,
        severity: Severity::Page.slug().to_owned(),
        resolves_when: (said.what != QueuedKind::Over).then(|| kind.resolves_when().to_owned()),
        acknowledge_url: None,
        group: None,
    }
}

#[cfg(test)]
mod tests;
