//! What is lent out of the outbox, and what came of it: a claim, what is kept by one message with it, and a try.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::domain::paging::delivery::{AttemptEnd, DeliveryState};
use crate::domain::reason::Severity;
use crate::domain::receiver::AtMost;
use crate::domain::shard::Shards;

/// What may be claimed in one turn.
#[derive(Debug, Clone, Default)]
pub struct Claiming {
    /// Whose receivers may be told.
    pub shards: Shards,
    /// Deliveries that may be claimed at once.
    pub limit: usize,
    /// Promises of one receiver at most, those in flight included, where its last try was accepted.
    pub per_receiver: usize,
    /// The same where it was not, or there was none yet.
    pub per_unproven: usize,
    /// Receivers whose last try was accepted.
    pub proven: HashSet<String>,
    /// Promises in flight by receiver.
    pub in_flight: HashMap<String, usize>,
    /// Receivers that people read, so that several promises may be kept by one message.
    pub people: HashSet<String>,
    /// How many messages a receiver wants at most.
    pub at_most: HashMap<String, AtMost>,
    /// Ids of the promises in flight: never claimed twice, even where recording their end takes longer than the lease.
    pub busy: HashSet<String>,
}

impl Claiming {
    /// Promises of a receiver that may be in flight at once.
    pub(in crate::store) fn most(&self, receiver: &str) -> usize {
        if self.proven.contains(receiver) { self.per_receiver } else { self.per_unproven }
    }

    pub(in crate::store) fn room(&self, receiver: &str) -> usize {
        self.most(receiver).saturating_sub(self.in_flight.get(receiver).copied().unwrap_or_default())
    }

    pub(in crate::store) fn full_receivers(&self) -> String {
        let full = self.in_flight.iter().filter(|(receiver, count)| **count >= self.most(receiver));
        serde_json::json!(full.map(|(receiver, _)| receiver).collect::<Vec<_>>()).to_string()
    }

    pub(in crate::store) fn busy_ids(&self) -> String {
        serde_json::json!(self.busy).to_string()
    }
}

/// One promise, lent out to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Id of the delivery, a UUIDv7.
    pub delivery: String,
    /// The notification's id, constant over attempts and receivers.
    pub notification: String,
    /// The message as it was written at the decision; every attempt sends these bytes.
    pub payload: String,
    /// Name of the receiver in the file.
    pub receiver: String,
    /// Who hears of it where this receiver cannot be reached.
    pub fallback: Option<String>,
    /// Whether it wakes somebody, waits for working hours, or is only noted.
    pub severity: Severity,
    /// The proof of this claim.
    pub lease: String,
    /// Attempts made since it was promised, or replayed.
    pub tries: u32,
    /// When it was promised, or replayed.
    pub promised_at: DateTime<Utc>,
    /// What the receiver knows the incident by, as an earlier attempt said.
    pub external_ref: Option<String>,
    /// When the incident ended, whatever this message tells of it.
    pub over_at: Option<DateTime<Utc>>,
    /// Whether somebody had it brought once more.
    pub replayed: bool,
    /// What else is kept by the same message.
    pub together: Option<Together>,
}

/// What is kept by one message with a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Together {
    /// The message's id, constant over attempts.
    pub id: String,
    /// Under which key they waited.
    pub key: String,
    /// The others; none where the promise waited alone.
    pub others: Vec<Companion>,
}

impl Claim {
    /// The others that are kept by the same message.
    pub fn others(&self) -> &[Companion] {
        self.together.as_ref().map_or(&[], |together| &together.others)
    }

    /// All that is kept by it, by delivery.
    pub fn deliveries(&self) -> Vec<String> {
        let others = self.others().iter().map(|other| &other.delivery);
        std::iter::once(&self.delivery).chain(others).cloned().collect()
    }
}

/// How a try ended and what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempted {
    /// The deliveries that were tried in one message, at least one.
    pub deliveries: Vec<TriedDelivery>,
    /// The claim under which it was tried.
    pub lease: String,
    /// When the try began.
    pub started_at: DateTime<Utc>,
    /// When it ended, UTC: retries are reckoned from here.
    pub ended_at: DateTime<Utc>,
    /// What the receiver answered, or why it could not.
    pub end: AttemptEnd,
    /// What the receiver knows the incident by from now on; none: what it was, or nothing.
    pub external_ref: Option<String>,
    /// Done, tried again, or given up.
    pub next: NextAttempt,
    /// It is written once more on a server that lacks it, and may lack the claim, too.
    pub is_again: bool,
}

/// One delivery of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedDelivery {
    /// Its id.
    pub id: String,
    /// Receivers that hear of it, and of all that follows on its order key, from now on.
    pub stand_ins: Vec<String>,
}

/// What becomes of a delivery after a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAttempt {
    /// The receiver has it.
    Sent,
    /// Tried again at this moment.
    Retry(DateTime<Utc>),
    /// Given up; a person may replay it.
    Dead,
}

impl NextAttempt {
    /// As the row's column `state` keeps it.
    pub const fn state(self) -> DeliveryState {
        match self {
            Self::Sent => DeliveryState::Sent,
            Self::Retry(_) => DeliveryState::Pending,
            Self::Dead => DeliveryState::Dead,
        }
    }
}

/// A promise that is kept by the same message as another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Companion {
    /// Id of the delivery.
    pub delivery: String,
    /// The notification's id.
    pub notification: String,
    /// The message as it was written at the decision.
    pub payload: String,
    /// How loud it is.
    pub severity: Severity,
    /// Who hears of it where its receiver cannot be reached.
    pub fallback: Option<String>,
}
