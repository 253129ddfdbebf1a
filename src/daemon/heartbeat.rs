//! Tells somebody outside that Serin is really well; who hears nothing raises the alarm.
//!
//! Really well: every loop takes its turns, beats start in time, our network is there, and a write has
//! just reached the disk. A Serin that only answers is not well, so a dead disk or a stuck scheduler
//! keeps the sign back, as a dead process does. A sign that does not get through is our own trouble.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::deliver::channel::ChannelSender;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::paging::delivery::AttemptEnd;

/// The name under which the loop reports its turns.
const NAME: &str = "heartbeat";
/// The loop turns at least this often, however rare the signs are.
const TURN_MAX: Duration = Duration::from_secs(20);
/// A sign that did not get through, or was kept back, is tried again after this, where the next is not due earlier.
const AGAIN_AFTER: Duration = Duration::from_secs(15);
/// Signs lost in a row before it is trouble: one is a restart of the other side.
const LOST_MAX: u32 = 3;
/// A write takes milliseconds; one that takes longer than this is no write.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Beats start in time while no more than a hundredth of them is later than this.
const LATE_MS_MAX: u64 = 5000;
/// While one of these is open, what Serin shows cannot be relied on.
const ILL: [InternalAlert; 8] = [
    InternalAlert::DiskFull,
    InternalAlert::DatabaseLocked,
    InternalAlert::DatabaseBroken,
    InternalAlert::DatabaseMoved,
    InternalAlert::LoopLate,
    InternalAlert::LoopStopped,
    InternalAlert::OutOfFiles,
    InternalAlert::UplinkLost,
];

pub(crate) async fn run(context: LoopContext, sender: Arc<ChannelSender>, shutdown: CancellationToken) {
    let mut fleets = context.fleet.clone();
    let mut signs = Signs { due: Instant::now(), lost: 0, kept_back: false };
    while !shutdown.is_cancelled() {
        let now = Utc::now();
        context.live.metrics().turn(NAME, now);
        signs.turn(&context, &sender, now).await;
        let wake = signs.due.min(Instant::now() + TURN_MAX);
        tokio::select! {
            () = shutdown.cancelled() => {}
            // Another address, or another pace, counts at once.
            Ok(()) = fleets.changed() => signs.due = Instant::now(),
            () = tokio::time::sleep_until(wake) => {}
        }
    }
}

/// What the loop remembers from turn to turn; a restart begins anew.
struct Signs {
    due: Instant,
    /// Heartbeats in a row that did not get through.
    lost: u32,
    /// Whether the last one was not sent, since we are not well.
    kept_back: bool,
}

impl Signs {
    async fn turn(&mut self, context: &LoopContext, sender: &ChannelSender, now: DateTime<Utc>) {
        let fleet = Arc::clone(&context.fleet.borrow());
        let Some(heartbeat) = &fleet.heartbeat else {
            self.due = Instant::now() + TURN_MAX;
            self.lost = 0;
            return context.alerts.clear(InternalAlert::HeartbeatFailed, now);
        };
        if self.due > Instant::now() {
            return;
        }
        let again = Instant::now() + heartbeat.every.min(AGAIN_AFTER);
        if let Some(why) = ill(context, now).await {
            context.live.metrics().heartbeat_failed(format!("kept back: {why}"));
            if !std::mem::replace(&mut self.kept_back, true) {
                tracing::warn!(why, "the heartbeat is kept back, so that whoever waits for it raises the alarm");
            }
            self.due = again;
            return;
        }
        self.kept_back = false;
        let next = Instant::now() + heartbeat.every;
        match sender.ping(&fleet, heartbeat, now).await {
            AttemptEnd::Accepted => {
                (self.lost, self.due) = (0, next);
                context.live.metrics().heartbeat_sent(Utc::now());
                context.alerts.clear(InternalAlert::HeartbeatFailed, now);
            }
            AttemptEnd::Failed { why, .. } | AttemptEnd::Refused { why } => {
                self.lost += 1;
                self.due = again;
                context.live.metrics().heartbeat_failed(why.clone());
                tracing::warn!(why, lost = self.lost, "the heartbeat did not get through");
                if self.lost >= LOST_MAX {
                    context.alerts.raise(InternalAlert::HeartbeatFailed, &why, now);
                }
            }
        }
    }
}

/// Why we are not well; none where we are.
async fn ill(context: &LoopContext, now: DateTime<Utc>) -> Option<String> {
    if let Some((kind, _)) = context.alerts.open().into_iter().find(|(kind, _)| ILL.contains(kind)) {
        return Some(kind.slug().to_owned());
    }
    let unwatched = context.live.nodes().now().unwatched;
    if unwatched > 0 {
        return Some(format!("{unwatched} of 256 shards of the fleet are watched by nobody"));
    }
    let metrics = context.live.metrics();
    if let Some(name) = metrics.silent_loops().first() {
        return Some(format!("the {name} loop takes no turns"));
    }
    let lately = metrics.lately(Instant::now().into_std());
    if lately.starts() > 0 && lately.late_ms_at_most(0.99).is_none_or(|ms| ms > LATE_MS_MAX) {
        return Some("beats start late".to_owned());
    }
    match tokio::time::timeout(WRITE_MAX, context.store.touch(now)).await {
        Ok(written) => {
            context.note_write(written.as_ref().err(), now);
            written.err().map(|error| error.to_string())
        }
        Err(_) => Some("the database takes no write".to_owned()),
    }
}
