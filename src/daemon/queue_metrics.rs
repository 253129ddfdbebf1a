//! Looks at what nobody else would notice while nothing is due: whether the database is where it was, whether a write
//! reaches it, what waits in the outbox and in the writer's queue. Metrics, banners and our own alerts follow.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use tokio_util::sync::CancellationToken;

use crate::daemon::loop_context::LoopContext;
use crate::deliver::internal_alert::InternalAlert;
use crate::domain::lease::Job;
use crate::domain::wording::counted;
use crate::live::banner::Banner;
use crate::store::StoreError;
use crate::store::read::backlog::Behind;

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Where nothing was written for so long, a write of our own shows whether anything could be.
const PROVE_AFTER: Duration = Duration::from_secs(20);
/// A write takes milliseconds, or a second where another process holds the database; one that takes longer is none.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// A receiver that took nothing for so long is failing: beyond what a restart or a rollout of it takes.
const FAILING_AFTER: TimeDelta = TimeDelta::minutes(5);
/// Receivers named in one banner or message.
const NAMED_MAX: usize = 8;
/// The name under which the loop reports its turns.
const NAME: &str = "gauge";
/// The kind of the banner about the database's place.
const MOVED: &str = "database_moved";
/// The kind of the banner about deliveries that do not get through.
const DELIVERIES: &str = "deliveries";

pub(crate) async fn run(context: LoopContext, shutdown: CancellationToken) {
    while !shutdown.is_cancelled() {
        let now = Utc::now();
        context.live.metrics().turn(NAME, now);
        context.live.metrics().snapshot(Instant::now());
        context.alerts.look_for_files(now);
        context.live.metrics().set_writer_queue(context.store.waiting());
        place(&context, now);
        prove(&context, now).await;
        if context.leases.borrow().have_job(Job::Outbox) {
            outbox(&context, now).await;
        } else {
            for kind in [InternalAlert::DeliveryDead, InternalAlert::ReceiverFailing] {
                context.alerts.hand_over(kind);
            }
            context.live.metrics().set_deliveries_pending(0);
            context.live.metrics().set_receivers_failing(Vec::new());
            show_banner(&context, DELIVERIES, None, now);
        }
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Whether the database's file is still where it was.
fn place(context: &LoopContext, now: DateTime<Utc>) {
    let moved = context.store.in_place().err().map(|error| error.to_string());
    match &moved {
        Some(why) => context.alerts.raise(InternalAlert::DatabaseMoved, why, now),
        None => context.alerts.clear(InternalAlert::DatabaseMoved, now),
    }
    let text =
        moved.map(|why| format!("{why}. Serin goes on in the file that is open, which the next start will not find."));
    show_banner(context, MOVED, text, now);
}

/// Writes where nobody else did for a while: else a full disk shows only when a beat is due.
async fn prove(context: &LoopContext, now: DateTime<Utc>) {
    if context.store.written_ago() < PROVE_AFTER {
        return;
    }
    let written = tokio::time::timeout(WRITE_MAX, context.store.touch(now)).await;
    let stalled = || Err(StoreError::Io(format!("a write did not come back within {} s", WRITE_MAX.as_secs())));
    context.note_write(written.unwrap_or_else(|_| stalled()).err().as_ref(), now);
}

/// What waits to be sent, and to whom nothing gets through.
async fn outbox(context: &LoopContext, now: DateTime<Utc>) {
    // Where the store does not answer, the beats say so.
    let Ok(backlog) = context.store.backlog(now).await else { return };
    context.live.metrics().set_deliveries_pending(backlog.pending);
    if backlog.dead > 0 {
        let detail = counted(
            backlog.dead,
            "delivery was given up; /deliveries names it",
            "deliveries were given up; /deliveries names them",
        );
        context.alerts.raise(InternalAlert::DeliveryDead, &detail, now);
    } else {
        context.alerts.clear(InternalAlert::DeliveryDead, now);
    }
    failing(context, &backlog.behind, now);
    let lines = named(&backlog.behind.iter().collect::<Vec<_>>(), "\n");
    show_banner(context, DELIVERIES, Some(lines).filter(|lines| !lines.is_empty()), now);
}

/// Receivers that keep failing: told once to `internal` and to the fallback of each, and when all take messages again.
fn failing(context: &LoopContext, behind: &[Behind], now: DateTime<Utc>) {
    // What was never tried waits for us, after a pause of ours or in a long queue; what came of drills has an alert of its own.
    let is_failing = |one: &&Behind| one.since <= now - FAILING_AFTER && !one.why.is_empty() && !one.is_drill;
    let failing: Vec<&Behind> = behind.iter().filter(is_failing).collect();
    context.live.metrics().set_receivers_failing(failing.iter().map(|one| one.receiver.clone()).collect());
    if failing.is_empty() {
        return context.alerts.clear(InternalAlert::ReceiverFailing, now);
    }
    let fleet = context.fleet.borrow().clone();
    let about: BTreeMap<String, Option<String>> =
        failing.iter().map(|one| (one.receiver.clone(), fleet.fallback(&one.receiver).map(str::to_owned))).collect();
    context.alerts.raise_about(InternalAlert::ReceiverFailing, &named(&failing, "; "), about, now);
}

/// The first of them, and how many more there are.
fn named(behind: &[&Behind], between: &str) -> String {
    let mut lines: Vec<String> = behind.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    if let Some(more) = behind.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines.join(between)
}

/// Shows a banner, or takes it away; pages are told only where it says something else than before.
fn show_banner(context: &LoopContext, kind: &'static str, text: Option<String>, now: DateTime<Utc>) {
    let shown = context.live.banners().into_iter().find(|banner| banner.kind == kind);
    match (text, shown) {
        (Some(text), Some(shown)) if text == shown.text => {}
        (Some(text), shown) => {
            let since = shown.map_or(now, |shown| shown.since);
            context.live.raise(Banner { kind, text, since });
        }
        (None, Some(_)) => drop(context.live.lower(kind)),
        (None, None) => {}
    }
}
