//! Looks at the outbox and the writer's queue now and then: their depth for the metrics, and given-up deliveries for
//! our own alerts.

use std::time::Duration;

use chrono::Utc;
use tokio_util::sync::CancellationToken;

use crate::daemon::hands::Hands;
use crate::deliver::trouble::Trouble;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The name under which the loop shows its pulse.
const NAME: &str = "gauge";

/// Runs until shutdown.
pub async fn run(hands: Hands, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        let now = Utc::now();
        hands.board.pulse().turn(NAME, now);
        hands.board.pulse().look(now);
        hands.alerts.look_for_files(now);
        hands.board.pulse().set_writer_queue(hands.store.waiting());
        // Where the store does not answer, the beats say so; this loop only counts.
        if let Ok(backlog) = hands.store.backlog().await {
            hands.board.pulse().set_deliveries_pending(backlog.pending);
            if backlog.dead > 0 {
                let detail = format!("{} deliveries were given up; /deliveries names them", backlog.dead);
                hands.alerts.raise(Trouble::DeliveryDead, &detail, now);
            } else {
                hands.alerts.clear(Trouble::DeliveryDead, now);
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}
