//! Work that grows with what a stranger sends is done aside: never on the threads that start beats, and not on all cores.
//!
//! Short lists, which nearly all are, are worked on where they were read: a thread of its own would cost more than they do.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

/// Bytes that are worked on at once, on the thread that read them: a millisecond of it, regular expressions included.
const AT_ONCE_BYTES_MAX: usize = 16 * 1024;

/// Long lists worked on at the same time: half of the cores, so that beats always have the others. Who waits for a place is
/// served in turn, a slice each, so that one long list holds up another by a slice at most.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, |cores| cores.get() / 2).max(1)));

/// Does some work over so many bytes.
pub(crate) async fn offload<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= AT_ONCE_BYTES_MAX {
        return work();
    }
    // The place goes with the work: a beat that is given up meanwhile leaves it taken until the work is done.
    let place = PLACES.acquire().await.ok();
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    match done.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that ends cancels it, and this beat with it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_work_leaves_the_thread_that_starts_beats() {
        let here = std::thread::current().id();
        let thread = || std::thread::current().id();
        assert_eq!(offload(AT_ONCE_BYTES_MAX, thread).await, here, "short work is not worth a hop");
        assert_ne!(offload(AT_ONCE_BYTES_MAX + 1, thread).await, here, "long work is done elsewhere");
    }

    #[tokio::test]
    async fn beats_go_on_while_all_places_are_taken() {
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        let (told, mut under_way) = tokio::sync::mpsc::unbounded_channel();
        let held = std::sync::Arc::new(std::sync::Mutex::new(held));
        // Twice as many as there are places: one half works and the other waits, until this thread, which is the only one
        // that starts beats here, says so.
        let count = PLACES.available_permits() * 2;
        let work = (0..count).map(|_| {
            let (held, told) = (std::sync::Arc::clone(&held), told.clone());
            tokio::spawn(offload(usize::MAX, move || {
                told.send(()).unwrap();
                held.lock().unwrap().recv().unwrap();
            }))
        });
        let work: Vec<_> = work.collect();
        under_way.recv().await.unwrap();
        for _ in 0..count {
            let_go.send(()).unwrap();
        }
        for one in work {
            one.await.unwrap();
        }
    }
}
