//! The delivery worker: looks into the outbox, claims what is due, sends it, and records how that went.
//!
//! - At least once: a try is recorded after the send. Dying in between repeats it after the lease,
//!   with the same id and bytes.
//! - In order for an incident and a receiver, which the claim holds; no receiver delays another,
//!   for each has only so many tries in flight.
//! - The loop takes no input. It subscribes before it looks and looks now and then all the same, so
//!   a lost wake costs time and nothing else. Where the store fails it goes on later; what is in
//!   flight keeps trying to record its end.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::clock::Clock;
use crate::daemon::delivery_worker::next_attempt::decide;
use crate::deliver::ack_link::AckLinks;
use crate::deliver::attempt::{Attempt, Frozen};
use crate::deliver::channel::ChannelSender;
use crate::deliver::group_message;
use crate::deliver::message::Message;
use crate::deliver::write_permit::WritePermit;
use crate::domain::fleet::Fleet;
use crate::domain::lease::Leases;
use crate::domain::paging::delivery::{ATTEMPT_MAX, AttemptEnd};
use crate::domain::receiver::Receiver;
use crate::net::lived::lived;
use crate::store::Store;
use crate::store::StoreError;
use crate::store::values::claims::{Attempted, Claim, Claiming};
use crate::store::write::outbox::LEASE;

/// A claim must not run out under a try that is still allowed to run, begun as late as may be.
const _: () = assert!(LEASE.num_seconds() as u64 > CLAIM_AGE_MAX.as_secs() + ATTEMPT_MAX.as_secs());

/// How old a claim may be when its message is written: half of a lease, the other half of which is left for the answer.
/// A machine that slept in between writes nothing under it, so that nothing comes behind what tells of its end.
const CLAIM_AGE_MAX: Duration = Duration::from_secs(15);

/// Tries in flight at once: 200 receivers that hang leave room for others.
const IN_FLIGHT_MAX: usize = 256;
/// Tries of one receiver in flight at once, of different incidents, where its last one was accepted.
const PER_RECEIVER_MAX: usize = 4;
/// The same where it was not, or there was none yet: who hangs takes one place and no more.
const PER_UNPROVEN_MAX: usize = 1;
/// The longest we do not look, whether or not anybody woke us.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The shortest pause between two looks that found nothing to do, so that no mistake makes us spin.
const LOOK_GAP: Duration = Duration::from_millis(50);
/// Pauses after the store failed, growing to the last.
const STORE_GAPS: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(5)];
/// How long a try that ended waits for the store at shutdown; beyond, it is repeated after the next start.
const RECORD_GRACE: Duration = Duration::from_secs(5);

/// The loop that keeps promises.
#[derive(Debug, Clone)]
pub struct DeliveryWorker {
    /// Where deliveries wait and attempts are recorded.
    pub store: Store,
    /// How a message goes out.
    pub sender: Arc<ChannelSender>,
    /// Receivers as the file in force declares them.
    pub fleet: watch::Receiver<Arc<Fleet>>,
    /// Which of them are told here: each by one machine, so that order and how many messages it wants are kept.
    pub leases: watch::Receiver<Arc<Leases>>,
    /// How each receiver gets its own link to take an incident.
    pub links: Arc<AckLinks>,
}

impl DeliveryWorker {
    /// Runs until shutdown; then what is in flight is brought to its end and recorded.
    pub async fn run(self, shutdown: CancellationToken) {
        let (changed, mut leases) = (self.store.outbox_changed(), self.leases.clone());
        let mut flights = InFlight::default();
        let mut failures = 0;
        let mut clock = Clock::default();
        while !shutdown.is_cancelled() {
            let woken = changed.notified();
            let (now, alive) = (Utc::now(), lived());
            let held = leases.borrow_and_update().clone();
            let worker = Self { store: self.store.under(held), ..self.clone() };
            let pause = match worker.turn(&mut flights, &mut clock, (now, alive), &shutdown).await {
                Ok(next) => {
                    failures = 0;
                    next.map_or(LOOK_EVERY, |at| until(at, now))
                }
                Err(StoreError::Closed) => break,
                // It is known in a moment who tells whom.
                Err(StoreError::LeaseLost) => LOOK_EVERY,
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(%error, "the outbox cannot be read; deliveries wait");
                    }
                    failures += 1;
                    STORE_GAPS[(failures - 1).min(STORE_GAPS.len() - 1)]
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = woken => {}
                Ok(()) = leases.changed() => {}
                () = flights.finished() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        flights.all_finished().await;
    }

    /// Wakes overdue fallbacks, claims what is due and sends it off; answers when to look again.
    async fn turn(
        &self,
        flights: &mut InFlight,
        clock: &mut Clock,
        (now, alive): (DateTime<Utc>, Duration),
        shutdown: &CancellationToken,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        if clock.was_set_back(now, alive) {
            self.store.reckon_anew(now).await?;
        }
        clock.read(now, alive);
        let shards = self.leases.borrow().shards();
        let claiming = |flights: &InFlight| Claiming { shards, ..flights.claiming() };
        let mut outlook = self.store.outlook(now, &claiming(flights)).await?;
        if outlook.fallback_at.is_some_and(|at| at <= now) {
            let woken = self.store.wake_fallbacks(now).await?;
            tracing::info!(woken, "pages that nobody took in time go to their fallbacks");
            outlook = self.store.outlook(now, &claiming(flights)).await?;
        }
        while outlook.claim_at.is_some_and(|at| at <= now) && flights.room() > 0 {
            let claims = self.store.claim(now, self.wished(claiming(flights))).await?;
            if claims.is_empty() {
                break;
            }
            for claim in claims {
                flights.start(self.clone(), claim, (now, alive), shutdown.clone());
            }
            outlook = self.store.outlook(now, &claiming(flights)).await?;
        }
        // Without room, a landing wakes us.
        let claim_at = outlook.claim_at.filter(|_| flights.room() > 0);
        Ok(claim_at.into_iter().chain(outlook.fallback_at).min())
    }

    /// What may be claimed, with what the file says of receivers.
    fn wished(&self, claiming: Claiming) -> Claiming {
        let fleet = self.fleet.borrow();
        let people = fleet.receivers.iter().filter(|receiver| receiver.channel.is_for_people());
        let at_most = |receiver: &Arc<Receiver>| Some((receiver.name.clone(), receiver.at_most?));
        Claiming {
            people: people.map(|receiver| receiver.name.clone()).collect(),
            at_most: fleet.receivers.iter().filter_map(at_most).collect(),
            ..claiming
        }
    }

    /// One try, and its record; whether it was accepted. None where it came to no try: the claim had grown too old before
    /// anything was written, and is given back. `claimed` is the time lived at the claim.
    async fn deliver(
        self,
        claim: Claim,
        (started_at, claimed): (DateTime<Utc>, Duration),
        shutdown: CancellationToken,
    ) -> Option<bool> {
        let began = Instant::now();
        let fleet = Arc::clone(&self.fleet.borrow());
        let receiver = fleet.receiver(&claim.receiver).cloned();
        let permit = WritePermit::while_holds(move || lived().saturating_sub(claimed) <= CLAIM_AGE_MAX);
        let Attempt { end, external_ref } = match &receiver {
            Some(receiver) => {
                let (id, payload) = self.said(&claim, &fleet);
                let message = Frozen {
                    id: &id,
                    payload: &payload,
                    external_ref: claim.external_ref.as_deref(),
                    over_at: claim.over_at,
                    replayed: claim.replayed,
                };
                self.sender.attempt_while(&permit, &fleet, receiver, message, started_at).await
            }
            None => Attempt { end: self.unknown(&claim.receiver, &fleet).await, external_ref: None },
        };
        if permit.was_withheld() {
            self.hand_back(&claim).await;
            return None;
        }
        // By the clock as it is now: what follows is reckoned from here, and it may have been set meanwhile.
        let ended_at = Utc::now();
        let started_at = ended_at - began.elapsed();
        if let AttemptEnd::Failed { why, .. } | AttemptEnd::Refused { why } = &end {
            tracing::warn!(notification = %claim.notification, receiver = %claim.receiver, tries = claim.tries + 1, why, "a delivery failed");
        }
        let (next, deliveries) = decide(&claim, &end, &fleet, receiver.as_deref(), ended_at, rand::random());
        let is_accepted = end == AttemptEnd::Accepted;
        let attempted = Attempted {
            deliveries,
            lease: claim.lease,
            started_at,
            ended_at,
            end,
            external_ref,
            next,
            is_again: false,
        };
        self.record(attempted, shutdown).await;
        Some(is_accepted)
    }

    /// What becomes of a message to a receiver that the file does not declare: where another file is in force by now, whoever
    /// has that one may know it, and comes to it next.
    async fn unknown(&self, receiver: &str, fleet: &Fleet) -> AttemptEnd {
        let in_force = self.store.file_in_force().await;
        match in_force.is_ok_and(|file| file.is_none_or(|file| file == fleet.provenance.declared)) {
            true => AttemptEnd::Refused { why: format!("receiver '{receiver}' is no longer declared") },
            false => AttemptEnd::Failed {
                why: format!("receiver '{receiver}' is not in the file of this machine, which is not the one in force"),
                retry_after: None,
            },
        }
    }

    /// What a receiver gets: the message's id, and its bytes. Of several it is one message, the same at each try.
    fn said(&self, claim: &Claim, fleet: &Fleet) -> (String, String) {
        let Some(together) = claim.together.as_ref().filter(|together| !together.others.is_empty()) else {
            let payload = match fleet.is_public {
                true => self.links.with_link(&claim.payload, &claim.receiver, &fleet.public_url),
                false => claim.payload.clone(),
            };
            return (claim.notification.clone(), payload);
        };
        let mut all = vec![(claim.notification.as_str(), claim.payload.as_str())];
        all.extend(together.others.iter().map(|other| (other.notification.as_str(), other.payload.as_str())));
        all.sort_unstable();
        let messages: Vec<Message> = all.iter().filter_map(|(_, payload)| Message::parse(payload).ok()).collect();
        let home = fleet.is_public.then_some(fleet.public_url.as_str());
        (together.id.clone(), group_message::of(&together.id, &together.key, &messages, home).frozen())
    }

    /// Gives back a claim under which nothing was written. Where the store does not take that, its lease runs out.
    async fn hand_back(&self, claim: &Claim) {
        let (notification, receiver) = (&claim.notification, &claim.receiver);
        tracing::warn!(%notification, %receiver, "a claim grew too old before it was written; it is claimed anew");
        if let Err(error) = self.store.hand_back(claim.deliveries(), &claim.lease).await {
            tracing::warn!(%error, %notification, %receiver, "it waits for the end of its lease");
        }
    }

    /// Records a try, however long the store takes: an unrecorded success would be sent again. Once Serin ends it waits for
    /// [`RECORD_GRACE`] and no longer, also where it is looked into what became of it.
    async fn record(&self, attempted: Attempted, shutdown: CancellationToken) {
        let over = async {
            shutdown.cancelled().await;
            tokio::time::sleep(RECORD_GRACE).await;
        };
        let recorded = tokio::select! {
            recorded = self.recorded(&attempted) => recorded,
            () = over => Err(StoreError::Closed),
        };
        if let Err(error) = recorded {
            tracing::error!(%error, deliveries = ?attempted.deliveries, "a try could not be recorded; it will be repeated");
        }
    }

    /// Tries until the store takes it.
    ///
    /// # Errors
    /// Where it never will.
    async fn recorded(&self, attempted: &Attempted) -> Result<(), StoreError> {
        let mut failures = 0;
        loop {
            match self.store.attempted(attempted.clone()).await {
                Err(error) if !matches!(error, StoreError::Closed | StoreError::Conflict(_)) => {}
                recorded => return recorded,
            }
            tokio::time::sleep(STORE_GAPS[failures.min(STORE_GAPS.len() - 1)]).await;
            failures += 1;
        }
    }
}

/// The time from now to a moment, within the bounds of how often we look.
fn until(at: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (at - now).to_std().unwrap_or_default().clamp(LOOK_GAP, LOOK_EVERY)
}

#[derive(Debug, Default)]
struct InFlight {
    tasks: JoinSet<Option<bool>>,
    /// Receiver and deliveries, by task.
    manifest: HashMap<Id, (String, Vec<String>)>,
    /// Receivers whose last try was accepted; at most as many as there ever were.
    proven: HashSet<String>,
}

impl InFlight {
    fn start(
        &mut self,
        worker: DeliveryWorker,
        claim: Claim,
        at: (DateTime<Utc>, Duration),
        shutdown: CancellationToken,
    ) {
        let aboard = (claim.receiver.clone(), claim.deliveries());
        let task = self.tasks.spawn(worker.deliver(claim, at, shutdown));
        self.manifest.insert(task.id(), aboard);
    }

    fn room(&self) -> usize {
        IN_FLIGHT_MAX.saturating_sub(self.manifest.len())
    }

    /// What may be claimed beside what is in flight.
    fn claiming(&self) -> Claiming {
        let mut claiming = Claiming {
            limit: self.room(),
            per_receiver: PER_RECEIVER_MAX,
            per_unproven: PER_UNPROVEN_MAX,
            proven: self.proven.clone(),
            ..Claiming::default()
        };
        for (receiver, deliveries) in self.manifest.values() {
            *claiming.in_flight.entry(receiver.clone()).or_default() += 1;
            claiming.busy.extend(deliveries.iter().cloned());
        }
        claiming
    }

    /// Waits for one try to end, for ever where none is in flight. Safe to drop while it waits.
    async fn finished(&mut self) {
        let (id, is_accepted) = match self.tasks.join_next_with_id().await {
            None => return std::future::pending().await,
            Some(Ok(ended)) => ended,
            Some(Err(error)) => {
                tracing::error!(%error, "a try broke down; it is repeated after its lease");
                (error.id(), Some(false))
            }
        };
        let Some((receiver, _)) = self.manifest.remove(&id) else { return };
        match is_accepted {
            Some(true) => self.proven.insert(receiver),
            Some(false) => self.proven.remove(&receiver),
            None => false,
        };
    }

    async fn all_finished(&mut self) {
        while !self.tasks.is_empty() {
            self.finished().await;
        }
    }
}

mod next_attempt;

#[cfg(test)]
mod tests;
