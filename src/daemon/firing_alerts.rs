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

use crate::deliver::attempt::Frozen;
use crate::deliver::channel::ChannelSender;
use crate::deliver::write_permit::WritePermit;
use crate::domain::fleet::Fleet;
use crate::domain::lease::Leases;
use crate::domain::paging::delivery::AttemptEnd;
use crate::domain::receiver::{Channel, Receiver};
use crate::domain::shard::Shard;
use crate::net::lived::lived;
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
        let permit = permit(&self.leases, Shard::of_receiver(&receiver.name), lived());
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

/// Holds while what was read then is young, and the receiver is told here.
fn permit(leases: &watch::Receiver<Arc<Leases>>, shard: Shard, read_at: Duration) -> WritePermit {
    let leases = leases.clone();
    WritePermit::while_holds(move || {
        lived().saturating_sub(read_at) <= READ_AGE_MAX && leases.borrow().of(shard).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_standstill_or_is_told_elsewhere_is_posted_no_more() {
        let shard = Shard::of_receiver("alertmanager");
        let ago = |seconds| lived().saturating_sub(Duration::from_secs(seconds));
        let rows = [
            (true, 0, true, "just read, and told here"),
            (true, 60, false, "it stood still for a minute meanwhile"),
            (false, 0, false, "another machine tells it by now"),
        ];
        for (is_ours, age, holds, sentence) in rows {
            let leases = if is_ours { Leases::whole() } else { Leases::none() };
            let (_leases, leases) = watch::channel(Arc::new(leases));
            assert_eq!(permit(&leases, shard, ago(age)).ask().is_ok(), holds, "{sentence}");
        }
    }
}
