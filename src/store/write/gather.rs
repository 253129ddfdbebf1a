//! How long the writer waits before it commits, so that many share a commit: its cost is its syncs and its switches of
//! threads, and hardly depends on how much is written.
//!
//! It is not woken by each beat that joins: at some 100 a second the waking would cost more than the writing. It is woken
//! where something comes that waits less, or where half the queue is full, and looks at what there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::store::write::work::{Patience, WriteJob, patience};

/// Jobs in one transaction: enough that the commit's two syncs no longer count, few enough to stay below 100 ms.
pub(in crate::store) const BATCH_MAX: usize = 512;
/// How long a beat waits that a look at the same server may follow: 5 s later, at the soonest (`schedule::suspects`).
const SHORT_MAX: Duration = Duration::from_secs(1);

/// What passes between the writer and those who ask it, beside the queue.
#[derive(Debug)]
pub(in crate::store) struct Signals {
    pub(in crate::store) outbox_changed: Arc<Notify>,
    /// Told where somebody asked for something.
    pub(in crate::store) asked: Arc<Notify>,
    /// Told of every commit that waited for the disk.
    pub(in crate::store) written_at: Arc<Mutex<std::time::Instant>>,
    /// Told of every connection to a server that took the place of one that broke.
    pub(in crate::store) reconnects: Arc<AtomicU64>,
    /// Told of everything that waits less than others do.
    pub(in crate::store) hurry: Arc<Notify>,
    /// How long beats that decided nothing wait for company, in microseconds. A commit costs some 200 µs of CPU and a
    /// sync however small it is, and each of its statements two switches of threads; a beat in a batch costs some 30 µs.
    pub(in crate::store) gather_us: Arc<AtomicU64>,
}

/// Waits until the first of the jobs can wait no longer, or there are as many as fit into a commit.
pub(in crate::store) async fn gather(
    queue: &mut mpsc::Receiver<WriteJob>,
    jobs: &mut Vec<WriteJob>,
    signals: &Signals,
) {
    let long = Duration::from_micros(signals.gather_us.load(Ordering::Relaxed));
    let (mut looked_at, mut until) = (0, Instant::now() + long);
    loop {
        while jobs.len() < BATCH_MAX
            && let Ok(job) = queue.try_recv()
        {
            jobs.push(job);
        }
        let now = Instant::now();
        for job in jobs.get(looked_at..).unwrap_or_default() {
            let wait = match patience(&job.work) {
                Patience::None => Duration::ZERO,
                Patience::Short => long.min(SHORT_MAX),
                Patience::Long => long,
            };
            until = until.min(now + wait);
        }
        looked_at = jobs.len();
        if jobs.len() >= BATCH_MAX || until <= now {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = signals.hurry.notified() => {}
        }
    }
}
