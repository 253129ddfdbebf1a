//! Keeps alerts of an Alertmanager firing while their incidents are open: there an alert ends by itself unless it is posted
//! again, as Prometheus does.
//!
//! - It tells of nothing new: what is posted is what the receiver was told last, read from the database each time, so that
//!   a start goes on where the last one ended.
//! - Nothing fires after its end was sent. The end is written before it is told, and both this loop and the delivery worker
//!   post in the receiver's turn, in which this loop reads first. Where another machine tells a receiver by now, or may, what
//!   was read is not posted any more.
//! - A post that fails is made again at the next look: an alert outlasts several.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::daemon::clock::lived;
use crate::deliver::attempt::Frozen;
use crate::deliver::channel::ChannelSender;
use crate::deliver::write_permit::WritePermit;
use crate::domain::fleet::Fleet;
use crate::domain::lease::Leases;
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::shard::Shard;
use crate::store::{Store, StoreError};

/// How often what fires is posted again: ten times before an alert would end.
const POST_EVERY: Duration = Duration::from_secs(30);

/// How old what was read may be when it is posted. A machine that stood still in between posts nothing: another one may have
/// told of the end since.
const READ_AGE_MAX: Duration = Duration::from_secs(4);

/// The loop.
#[derive(Debug)]
pub(crate) struct FiringAlerts {
    /// Where it stands what was told.
    pub store: Store,
    /// How it goes out.
    pub sender: Arc<ChannelSender>,
    /// Receivers as the file in force declares them.
    pub fleet: watch::Receiver<Arc<Fleet>>,
    /// Which of them are told here.
    pub leases: watch::Receiver<Arc<Leases>>,
}

impl FiringAlerts {
    /// Runs until shutdown.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        // Receivers whose last post failed: each is told of once.
        let mut failing = HashSet::new();
        while !shutdown.is_cancelled() {
            let fleet = self.fleet.borrow_and_update().clone();
            let is_ours =
                |receiver: &&Arc<Receiver>| self.leases.borrow().of(Shard::of_receiver(&receiver.name)).is_some();
            let posted_again = |one: &&Arc<Receiver>| matches!(one.channel, Channel::Alertmanager { .. });
            let receivers: Vec<_> = fleet.receivers.iter().filter(posted_again).filter(is_ours).collect();
            for receiver in receivers {
                let posting = self.post(&fleet, receiver);
                let posted = tokio::select! {
                    () = shutdown.cancelled() => return,
                    posted = posting => posted,
                };
                match posted {
                    Ok(AttemptEnd::Accepted) => {
                        failing.remove(&receiver.name);
                    }
                    Ok(AttemptEnd::Failed { why, .. } | AttemptEnd::Refused { why }) => {
                        if failing.insert(receiver.name.clone()) {
                            tracing::warn!(receiver = %receiver.name, why, "what fires could not be posted again");
                        }
                    }
                    Err(StoreError::Closed) => return,
                    Err(error) => tracing::warn!(%error, "what fires cannot be read; it is posted again later"),
                }
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                Ok(()) = self.fleet.changed() => {}
                () = tokio::time::sleep(POST_EVERY) => {}
            }
        }
    }

    /// Posts what one receiver knows to be open.
    async fn post(&self, fleet: &Fleet, receiver: &Receiver) -> Result<AttemptEnd, StoreError> {
        let turn = self.sender.turn(receiver).await;
        let (began, leases, shard) = (lived(), self.leases.clone(), Shard::of_receiver(&receiver.name));
        let permit = WritePermit::while_holds(move || {
            lived().saturating_sub(began) <= READ_AGE_MAX && leases.borrow().of(shard).is_some()
        });
        let rows = self.store.firing(&receiver.name).await?;
        let firing: Vec<Frozen<'_>> = rows
            .iter()
            .map(|row| Frozen {
                id: &row.notification,
                payload: &row.payload,
                external_ref: row.external_ref.as_deref(),
                over_at: None,
                replayed: false,
            })
            .collect();
        Ok(self.sender.fire_again((&turn, &permit), fleet, receiver, &firing, Utc::now()).await)
    }
}
