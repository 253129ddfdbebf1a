//! How open files are shared out, and places for probes in flight: as many as their share allows, in two parts, so that
//! probes that hang cannot use up all of them.
//!
//! A probe starts on a place for short probes and holds it for [`LONG_AFTER`] at most; then it moves to one for long
//! probes. Where none of those is free it is given up, and its beat is a missed one: whoever hangs waits for others that
//! hang, and never keeps a server that answers from being looked at.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A probe that runs longer is a long one: a server that is well answers its four calls well within.
pub(crate) const LONG_AFTER: Duration = Duration::from_secs(3);
/// Files that are nobody's share: some forty for the database, the log and the loops, the rest for receivers.
const FILES_RESERVED: u64 = 128;
/// Of the others, one in so many is for connections to the pages: never half of them, since files are for probes first.
const PAGES_PART: u64 = 4;
/// Connections to the pages at most: a few hundred screens, and a search for whom to close that takes microseconds.
const PAGES_MAX: u64 = 1_024;
/// And at least: two browsers.
const PAGES_MIN: u64 = 16;
/// One in so many of them may be an event stream, so that pages can be read however many are watched.
const STREAMS_PART: u64 = 2;
/// Event streams at most; a wall of screens needs a few dozen.
const STREAMS_MAX: u64 = 256;
/// Files a probe may hold at once: its connection, and beside it the one to a health address, the event stream of the
/// older transport, or the pipes of a program.
const FILES_PER_PROBE: u64 = 2;
/// One place in so many is for short probes. A fleet of which a tenth begins to hang has four times as many long probes
/// in flight as short ones, while their first failures are looked at twice more.
const SHORT_PART: usize = 4;
/// Probes in flight at once at most, whatever the file limit: some 40 kB of memory each.
const PERMITS_MAX: u64 = 16_384;
/// And at least; below, a fleet of any size would be missed.
const PERMITS_MIN: u64 = 16;

/// What a limit on open files leaves room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    pub probes: usize,
    /// Connections to the pages, event streams among them.
    pub pages: usize,
    /// Event streams among them.
    pub streams: usize,
}

/// Shares out the files that may be open. Nobody gives up a file of another's share: whoever opens pages without end
/// takes nothing from probes and deliveries.
pub(crate) fn sized(files: u64) -> Shares {
    let left = files.saturating_sub(FILES_RESERVED);
    let pages = (left / PAGES_PART).clamp(PAGES_MIN, PAGES_MAX);
    let probes = (left.saturating_sub(pages) / FILES_PER_PROBE).clamp(PERMITS_MIN, PERMITS_MAX);
    let streams = (pages / STREAMS_PART).min(STREAMS_MAX);
    let [probes, pages, streams] = [probes, pages, streams].map(|share| usize::try_from(share).unwrap_or(usize::MAX));
    Shares { probes, pages, streams }
}

#[derive(Debug, Clone)]
pub(crate) struct Permits {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
}

/// A place. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    held: OwnedSemaphorePermit,
    long: Arc<Semaphore>,
}

impl Permits {
    /// So many places, three quarters of them for long probes.
    pub(crate) fn new(places: usize) -> Self {
        let short = (places / SHORT_PART).max(1);
        let long = places.saturating_sub(short);
        Self { short: Arc::new(Semaphore::new(short)), long: Arc::new(Semaphore::new(long)) }
    }

    /// A place for a probe that starts; none where all are taken.
    pub(crate) fn start(&self) -> Option<Permit> {
        let held = Arc::clone(&self.short).try_acquire_owned().ok()?;
        Some(Permit { held, long: Arc::clone(&self.long) })
    }
}

impl Permit {
    /// Moves to a place for long probes; false, and the place is kept, where none is free.
    pub(crate) fn lengthen(&mut self) -> bool {
        let Ok(place) = Arc::clone(&self.long).try_acquire_owned() else { return false };
        self.held = place;
        true
    }

    /// Runs a probe on this place, moving it when it has become a long one; none where it had to be given up.
    pub(crate) async fn within<T>(&mut self, probe: impl Future<Output = T>) -> Option<T> {
        self.within_after(LONG_AFTER, probe).await
    }

    async fn within_after<T>(&mut self, long: Duration, probe: impl Future<Output = T>) -> Option<T> {
        let mut probe = std::pin::pin!(probe);
        if let Ok(done) = tokio::time::timeout(long, probe.as_mut()).await {
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
            (0, (16, 16, 8), "even without files there are a few"),
            (256, (48, 32, 16), "a very low one"),
            (1024, (336, 224, 112), "a shell's usual limit"),
            (20_000, (9_424, 1_024, 256), "a container's"),
            (1_048_576, (16_384, 1_024, 256), "memory is a limit too"),
        ];
        for (files, (probes, pages, streams), sentence) in rows {
            assert_eq!(sized(files), Shares { probes, pages, streams }, "{sentence}");
        }
        for files in (FILES_RESERVED + 48..70_000).step_by(7) {
            let Shares { probes, pages, .. } = sized(files);
            let taken = FILES_RESERVED + FILES_PER_PROBE * probes as u64 + pages as u64;
            assert!(taken <= files, "{taken} of {files} are given away");
            assert!(pages as u64 <= (files - FILES_RESERVED) / 2, "{pages} of {files} for pages");
        }
    }

    #[tokio::test]
    async fn probes_that_hang_leave_places_for_those_that_answer() {
        let permits = Permits::new(8);
        let mut hung = Vec::new();
        for _ in 0..3 {
            let mut two: Vec<Permit> = (0..2).filter_map(|_| permits.start()).collect();
            assert_eq!(two.len(), 2, "places for short probes are free");
            assert!(permits.start().is_none(), "the others are kept for long probes");
            assert!(two.iter_mut().all(Permit::lengthen), "those two run long and move there");
            hung.extend(two);
        }
        let hang =
            |mut permit: Permit| async move { permit.within_after(Duration::ZERO, std::future::pending::<()>()).await };
        let more: Vec<_> = (0..2).filter_map(|_| permits.start()).map(hang).collect();
        assert_eq!(more.len(), 2, "the places they left are free");
        for probe in more {
            assert_eq!(probe.await, None, "where no place for long ones is free, a probe is given up");
        }
        let mut quick = permits.start().unwrap();
        assert_eq!(
            quick.within(async { "seen" }).await,
            Some("seen"),
            "a server that answers is looked at, whoever hangs"
        );
        drop(hung);
        assert!(quick.lengthen(), "a place is free again once its probe is over");
    }
}
