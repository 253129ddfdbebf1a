//! The threads that beats run on, apart from pages and deliveries.

use anyhow::Context as _;

/// Beats a second that one thread carries with room to spare: a beat takes some 300 µs of it.
const BEATS_PER_THREAD: f64 = 1_000.0;

/// The threads that beats run on, apart from pages and deliveries: what a page costs is in nobody's latency, and a beat
/// wakes one thread and not its neighbours.
#[derive(Debug)]
pub(super) struct BeatThreads(Option<tokio::runtime::Runtime>);

impl BeatThreads {
    pub(super) fn new(beats_per_second: f64) -> anyhow::Result<Self> {
        let threads = beat_threads(beats_per_second, std::thread::available_parallelism().map_or(1, usize::from));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("beats")
            .enable_all()
            .build()
            .context("the threads that beats run on cannot be started")?;
        Ok(Self(Some(runtime)))
    }

    /// Runs something on them to its end.
    pub(super) async fn run(self, work: impl Future<Output = ()> + Send + 'static) {
        let Some(runtime) = &self.0 else { return };
        if let Err(error) = runtime.spawn(work).await
            && let Ok(broken) = error.try_into_panic()
        {
            std::panic::resume_unwind(broken);
        }
    }
}

impl Drop for BeatThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Threads that carry so many beats a second: one for each [`BEATS_PER_THREAD`], as far as there are cores.
fn beat_threads(beats_per_second: f64, cores: usize) -> usize {
    ((beats_per_second / BEATS_PER_THREAD).ceil() as usize).clamp(1, cores.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_get_as_many_threads_as_they_need() {
        let rows = [
            (0.0, 8, 1, "an idle Serin"),
            (833.0, 2, 1, "fifty thousand a minute fit on one"),
            (2_500.0, 8, 3, "more beats, more threads"),
            (1e6, 4, 4, "never more than cores"),
        ];
        for (rate, cores, expected, sentence) in rows {
            assert_eq!(beat_threads(rate, cores), expected, "{sentence}");
        }
    }
}
