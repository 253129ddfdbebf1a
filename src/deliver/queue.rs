//! Messages about Serin's own trouble that wait for their receivers, in memory and in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::deliver::internal_alert::InternalAlert;
use crate::deliver::message::Message;
use crate::domain::fleet::Fleet;
use crate::domain::paging::delivery::{AttemptEnd, GIVE_UP_AFTER, jittered_gap};

/// Messages waiting for one receiver; the oldest gives way, and the log still has it.
const WAITING_MAX: usize = 32;

/// What waits for each receiver, in order.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    queues: BTreeMap<String, Queue>,
    /// Who was told of what is not over yet: they hear of the end too, whatever the file says by then.
    told: BTreeMap<InternalAlert, BTreeSet<String>>,
}

/// What a message says of a trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueuedKind {
    Alert,
    Reminder,
    Over,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<QueuedMessage>,
    /// The first one is under way.
    busy: bool,
}

#[derive(Debug)]
struct QueuedMessage {
    kind: InternalAlert,
    id: String,
    payload: String,
    made_at: DateTime<Utc>,
    next_at: DateTime<Utc>,
    /// When `next_at` was reckoned.
    reckoned_at: DateTime<Utc>,
    attempts: u32,
}

impl QueuedMessage {
    /// How long it is not due yet; what was reckoned later than now was reckoned before the clock was set back.
    fn due_in(&self, now: DateTime<Utc>) -> Duration {
        if self.reckoned_at > now { Duration::ZERO } else { (self.next_at - now).to_std().unwrap_or_default() }
    }
}

impl Queues {
    /// A message for each internal receiver of the fleet, and at the end for everybody who was told.
    pub(crate) fn add(
        &mut self,
        kind: InternalAlert,
        what: QueuedKind,
        message: &Message,
        fleet: &Fleet,
        now: DateTime<Utc>,
    ) {
        let payload = message.frozen();
        let told = self.told.entry(kind).or_default();
        told.extend(fleet.internal.iter().cloned());
        let to = told.clone();
        if what == QueuedKind::Over {
            self.told.remove(&kind);
        }
        for name in to {
            let queue = self.queues.entry(name).or_default();
            // A reminder of something this receiver was not even told yet says nothing new.
            if what == QueuedKind::Reminder && queue.waiting.iter().any(|waiting| waiting.kind == kind) {
                continue;
            }
            if queue.waiting.len() >= WAITING_MAX {
                queue.waiting.remove(usize::from(queue.busy));
            }
            queue.waiting.push_back(QueuedMessage {
                kind,
                id: message.id.clone(),
                payload: payload.clone(),
                made_at: now,
                next_at: now,
                reckoned_at: now,
                attempts: 0,
            });
        }
    }

    /// Others than the internal receivers hear of a trouble from now on, and of its end.
    pub(crate) fn hear_too(&mut self, kind: InternalAlert, names: BTreeSet<String>) {
        if !names.is_empty() {
            self.told.entry(kind).or_default().extend(names);
        }
    }

    /// Lets go of receivers that are no longer in the file at all: there is no address to send to.
    pub(crate) fn keep_declared(&mut self, fleet: &Fleet) {
        self.queues.retain(|name, _| fleet.receiver(name).is_some());
    }

    /// The first message of every receiver that is idle and due: its name, the message's id and bytes.
    pub(crate) fn start(&mut self, now: DateTime<Utc>) -> Vec<(String, String, String)> {
        let mut started = Vec::new();
        for (name, queue) in &mut self.queues {
            match queue.waiting.front_mut() {
                Some(first) if !queue.busy && first.due_in(now).is_zero() => {
                    first.attempts += 1;
                    queue.busy = true;
                    started.push((name.clone(), first.id.clone(), first.payload.clone()));
                }
                _ => {}
            }
        }
        started
    }

    /// An attempt ended: the message is done, tried again later, or given up.
    pub(crate) fn ended(&mut self, name: &str, end: &AttemptEnd, now: DateTime<Utc>) {
        let Some(queue) = self.queues.get_mut(name) else { return };
        queue.busy = false;
        let Some(first) = queue.waiting.front_mut() else { return };
        let (why, wish) = match end {
            AttemptEnd::Accepted => {
                queue.waiting.pop_front();
                return;
            }
            AttemptEnd::Failed { why, retry_after } => (why, *retry_after),
            AttemptEnd::Refused { why } => (why, None),
        };
        let age = (now - first.made_at).to_std().unwrap_or_default();
        tracing::error!(receiver = name, trouble = first.kind.slug(), why, "Serin's own trouble could not be told");
        if age >= GIVE_UP_AFTER {
            queue.waiting.pop_front();
            return;
        }
        let gap = jittered_gap(first.attempts, age, wish, rand::random());
        (first.next_at, first.reckoned_at) = (now + gap, now);
    }

    /// How long until another message is due; none where nothing waits.
    pub(crate) fn next_due(&self, now: DateTime<Utc>) -> Option<Duration> {
        let idle = self.queues.values().filter(|queue| !queue.busy);
        idle.filter_map(|queue| queue.waiting.front()).map(|first| first.due_in(now)).min()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::deliver::message::MessageEvidence;
    use crate::domain::receiver::{Channel, Receiver};

    fn fleet(internal: &[&str], receivers: &[&str]) -> Fleet {
        let receiver = |name: &&str| {
            let channel = Channel::Email { to: vec!["sre@example.org".into()] };
            Arc::new(Receiver {
                name: (*name).to_owned(),
                channel,
                at_most: None,
                line: 1,
                definition_hash: String::new(),
            })
        };
        Fleet {
            receivers: receivers.iter().map(receiver).collect(),
            internal: internal.iter().map(|name| (*name).to_owned()).collect(),
            ..Fleet::default()
        }
    }

    fn message(id: &str) -> Message {
        Message {
            version: 1,
            id: id.into(),
            sequence: 1,
            event: "serin.trouble".into(),
            at: String::new(),
            incident: None,
            monitor: None,
            failure_reason: None,
            failed_stage: None,
            summary: String::new(),
            evidence: MessageEvidence::default(),
            runbook_url: String::new(),
            rule: None,
            reproduce: None,
            severity: "page".into(),
            resolves_when: None,
            acknowledge_url: None,
            group: None,
        }
    }

    fn started(queues: &mut Queues, now: DateTime<Utc>) -> Vec<(String, String)> {
        queues.start(now).into_iter().map(|(name, id, _)| (name, id)).collect()
    }

    #[test]
    fn who_was_told_hears_of_the_end_after_the_file_changed() {
        let now = DateTime::UNIX_EPOCH;
        let mut queues = Queues::default();
        queues.add(InternalAlert::DiskFull, QueuedKind::Alert, &message("1"), &fleet(&["a"], &["a", "b"]), now);
        assert_eq!(started(&mut queues, now), [("a".to_owned(), "1".to_owned())]);
        queues.ended("a", &AttemptEnd::Accepted, now);
        queues.add(InternalAlert::DiskFull, QueuedKind::Over, &message("2"), &fleet(&["b"], &["a", "b"]), now);
        let to: Vec<String> = started(&mut queues, now).into_iter().map(|(name, _)| name).collect();
        assert_eq!(to, ["a", "b"]);
    }

    #[test]
    fn a_dead_receiver_keeps_its_order_and_is_given_up_after_a_day() {
        let start = DateTime::UNIX_EPOCH;
        let dead = AttemptEnd::Failed { why: "refused".into(), retry_after: None };
        let both = fleet(&["a"], &["a"]);
        let mut queues = Queues::default();
        queues.add(InternalAlert::DiskFull, QueuedKind::Alert, &message("1"), &both, start);
        queues.add(InternalAlert::DiskFull, QueuedKind::Reminder, &message("2"), &both, start);
        queues.add(InternalAlert::DiskFull, QueuedKind::Over, &message("3"), &both, start);
        assert_eq!(started(&mut queues, start), [("a".to_owned(), "1".to_owned())]);
        assert_eq!(started(&mut queues, start), [], "one at a time");
        queues.ended("a", &dead, start);
        assert_eq!(started(&mut queues, start), [], "not before its gap is over");
        let later = start + Duration::from_secs(10);
        assert_eq!(started(&mut queues, later), [("a".to_owned(), "1".to_owned())], "the same one again");
        queues.ended("a", &dead, start + GIVE_UP_AFTER);
        let id = started(&mut queues, start + GIVE_UP_AFTER).remove(0).1;
        assert_eq!(id, "3", "the reminder of what was never told is left out");
        queues.keep_declared(&fleet(&[], &[]));
        queues.ended("a", &dead, later);
        assert_eq!(queues.next_due(later), None, "a receiver without an address is let go");
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_no_message_waiting() {
        let start = DateTime::UNIX_EPOCH + Duration::from_secs(86_400);
        let dead = AttemptEnd::Failed { why: "refused".into(), retry_after: None };
        let mut queues = Queues::default();
        queues.add(InternalAlert::DiskFull, QueuedKind::Alert, &message("1"), &fleet(&["a"], &["a"]), start);
        assert_eq!(started(&mut queues, start).len(), 1);
        queues.ended("a", &dead, start);
        let back = start - Duration::from_secs(3 * 3600);
        assert_eq!(queues.next_due(back), Some(Duration::ZERO), "what was reckoned by another clock is due");
        assert_eq!(started(&mut queues, back).len(), 1);
        queues.ended("a", &dead, back);
        assert_eq!(started(&mut queues, back), [], "and then by this one");
    }

    #[test]
    fn what_waits_is_bounded_and_what_is_under_way_stays() {
        let now = DateTime::UNIX_EPOCH;
        let fleet = fleet(&["a"], &["a"]);
        let mut queues = Queues::default();
        queues.add(InternalAlert::LoopLate, QueuedKind::Alert, &message("first"), &fleet, now);
        assert_eq!(started(&mut queues, now).len(), 1);
        for n in 0..100 {
            queues.add(InternalAlert::LoopLate, QueuedKind::Alert, &message(&n.to_string()), &fleet, now);
        }
        assert_eq!(queues.queues["a"].waiting.len(), WAITING_MAX);
        assert_eq!(queues.queues["a"].waiting[0].id, "first");
    }
}
