//! Places for probes in flight: as many as the file limit allows, in two halves, so that probes that hang cannot use up
//! all of them.
//!
//! A probe starts on a place for short probes and holds it for [`LONG_AFTER`] at most; then it moves to one for long
//! probes. Where none of those is free it is given up, and its beat is a missed one: whoever hangs waits for others that
//! hang, and never keeps a server that answers from being looked at.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A probe that runs longer is a long one: a server that is well answers its four calls well within.
pub const LONG_AFTER: Duration = Duration::from_secs(3);
/// Files kept for the database, the pages, the log and receivers, beside those that probes use.
const FILES_KEPT: u64 = 256;
/// Files a probe may hold at once: its connection, and beside it the one to a health address, the event stream of the
/// older transport, or the pipes of a program.
const FILES_PER_PROBE: u64 = 2;
/// Probes in flight at once at most, whatever the file limit: some 40 kB of memory each.
const PERMITS_MAX: u64 = 16_384;
/// And at least; below, a fleet of any size would be missed.
const PERMITS_MIN: u64 = 16;

/// Places for probes that a limit on open files leaves room for.
pub fn sized(files: u64) -> usize {
    let permits = (files.saturating_sub(FILES_KEPT) / FILES_PER_PROBE).clamp(PERMITS_MIN, PERMITS_MAX);
    usize::try_from(permits).unwrap_or(usize::MAX)
}

/// All places.
#[derive(Debug, Clone)]
pub struct Permits {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

/// A place. It is free again when this is dropped.
#[derive(Debug)]
pub struct Permit {
    held: OwnedSemaphorePermit,
    long: Arc<Semaphore>,
}

impl Permits {
    /// So many places, half of them for long probes.
    pub fn new(places: usize) -> Self {
        let long = places / 2;
        Self { short: Arc::new(Semaphore::new(places - long)), long: Arc::new(Semaphore::new(long)) }
    }

    /// A place for a probe that starts; none where all are taken.
    pub fn start(&self) -> Option<Permit> {
        let held = Arc::clone(&self.short).try_acquire_owned().ok()?;
        Some(Permit { held, long: Arc::clone(&self.long) })
    }
}

impl Permit {
    /// Moves to a place for long probes; false, and the place is kept, where none is free.
    pub fn lengthen(&mut self) -> bool {
        let Ok(place) = Arc::clone(&self.long).try_acquire_owned() else { return false };
        self.held = place;
        true
    }

    /// Runs a probe on this place, moving it when it has become a long one; none where it had to be given up.
    pub async fn within<T>(&mut self, probe: impl Future<Output = T>) -> Option<T> {
        let mut probe = std::pin::pin!(probe);
        if let Ok(done) = tokio::time::timeout(LONG_AFTER, probe.as_mut()).await {
            return Some(done);
        }
        if self.lengthen() { Some(probe.await) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_file_limit() {
        let rows = [
            (0, 16, "even without files there are a few"),
            (1024, 384, "a shell's usual limit"),
            (20_000, 9_872, "a container's"),
            (1_048_576, 16_384, "memory is a limit too"),
        ];
        for (files, expected, sentence) in rows {
            assert_eq!(sized(files), expected, "{sentence}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn probes_that_hang_leave_places_for_those_that_answer() {
        let permits = Permits::new(4);
        let hang = |mut permit: Permit| tokio::spawn(async move { permit.within(std::future::pending::<()>()).await });
        let first: Vec<_> = (0..2).filter_map(|_| permits.start()).map(hang).collect();
        tokio::task::yield_now().await;
        assert_eq!(first.len(), 2);
        assert!(permits.start().is_none(), "half of the places are kept for long probes");
        tokio::time::sleep(LONG_AFTER * 2).await;
        assert!(first.iter().all(|probe| !probe.is_finished()), "those two moved to the places for long probes");
        let second: Vec<_> = (0..2).filter_map(|_| permits.start()).map(hang).collect();
        assert_eq!(second.len(), 2, "and the places they left are free");
        tokio::time::sleep(LONG_AFTER * 2).await;
        for given_up in second {
            assert_eq!(given_up.await.ok(), Some(None), "where no place for long ones is free, a probe is given up");
        }
        let mut quick = permits.start().unwrap();
        assert_eq!(
            quick.within(async { "seen" }).await,
            Some("seen"),
            "so a server that answers is looked at, whoever hangs"
        );
    }
}
