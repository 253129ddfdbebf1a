//! Looks at what nobody else would notice while nothing is due: whether the database is where it was, whether a write
//! reaches it, what waits in the outbox and in the writer's queue. Metrics, banners and our own alerts follow.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::wording::counted;
use crate::live::state::Banner;
use crate::store::StoreError;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Where nothing was written for so long, a write of our own shows whether anything could be.
const PROVE_AFTER: Duration = Duration::from_secs(20);
/// A write takes milliseconds, or a second where another process holds the database; one that takes longer is none.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// The name under which the loop shows its pulse.
const NAME: &str = "gauge";
/// The kind of the banner about the database's place.
const MOVED: &str = "database_moved";
/// The kind of the banner about deliveries that do not get through.
const DELIVERIES: &str = "deliveries";

/// Runs until shutdown.
pub async fn run(hands: LoopContext, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        let now = Utc::now();
        hands.board.metrics().turn(NAME, now);
        hands.board.metrics().snapshot(Instant::now());
        hands.alerts.look_for_files(now);
        hands.board.metrics().set_writer_queue(hands.store.waiting());
        place(&hands, now);
        prove(&hands, now).await;
        outbox(&hands, now).await;
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Whether the database's file is still where it was.
fn place(hands: &LoopContext, now: DateTime<Utc>) {
    let moved = hands.store.in_place().err().map(|error| error.to_string());
    match &moved {
        Some(why) => hands.alerts.raise(InternalAlert::DatabaseMoved, why, now),
        None => hands.alerts.clear(InternalAlert::DatabaseMoved, now),
    }
    let text =
        moved.map(|why| format!("{why}. Serin goes on in the file that is open, which the next start will not find."));
    show_banner(hands, MOVED, text, now);
}

/// Writes where nobody else did for a while: else a full disk shows only when a beat is due.
async fn prove(hands: &LoopContext, now: DateTime<Utc>) {
    if hands.store.written_ago() < PROVE_AFTER {
        return;
    }
    let written = tokio::time::timeout(WRITE_MAX, hands.store.touch(now)).await;
    let stalled = || Err(StoreError::Io(format!("a write did not come back within {} s", WRITE_MAX.as_secs())));
    hands.note_write(written.unwrap_or_else(|_| stalled()).err().as_ref(), now);
}

/// What waits to be sent, and to whom nothing gets through.
async fn outbox(hands: &LoopContext, now: DateTime<Utc>) {
    // Where the store does not answer, the beats say so.
    let Ok(backlog) = hands.store.backlog(now).await else { return };
    hands.board.metrics().set_deliveries_pending(backlog.pending);
    if backlog.dead > 0 {
        let detail = counted(
            backlog.dead,
            "delivery was given up; /deliveries names it",
            "deliveries were given up; /deliveries names them",
        );
        hands.alerts.raise(InternalAlert::DeliveryDead, &detail, now);
    } else {
        hands.alerts.clear(InternalAlert::DeliveryDead, now);
    }
    let lines: Vec<String> = backlog.behind.iter().map(ToString::to_string).collect();
    show_banner(hands, DELIVERIES, (!lines.is_empty()).then(|| lines.join("\n")), now);
}

/// Shows a banner, or takes it away; pages are told only where it says something else than before.
fn show_banner(hands: &LoopContext, kind: &'static str, text: Option<String>, now: DateTime<Utc>) {
    let shown = hands.board.banners().into_iter().find(|banner| banner.kind == kind);
    match (text, shown) {
        (Some(text), Some(shown)) if text == shown.text => {}
        (Some(text), shown) => {
            let since = shown.map_or(now, |shown| shown.since);
            hands.board.raise(Banner { kind, text, since });
        }
        (None, Some(_)) => drop(hands.board.lower(kind)),
        (None, None) => {}
    }
}
