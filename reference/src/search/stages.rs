//! How long each part of a search takes: of all searches in histograms, and of a slow one in the log.

use std::cell::Cell;
use std::future::Future;
use std::time::{Duration, Instant};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

/// Upper bounds in seconds: from a look into memory to what a caller gives up on.
const BOUNDS: [f64; 14] = [0.000_1, 0.000_3, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// From here a search is slow enough to be asked why: several times what a million chunks take.
const SLOW_FROM: Duration = Duration::from_millis(500);

/// A part of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Waiting for a connection of the pool.
    Connect,
    /// Looking for a remembered answer.
    Recall,
    /// Embedding the question.
    Embed,
    /// The keyword retriever.
    Keyword,
    /// The vector retriever.
    Vector,
    /// Reading question and passages together.
    Rerank,
    /// Choosing hits and assembling the context.
    Context,
    /// All of it.
    Search,
}

impl Stage {
    /// How many there are.
    const COUNT: usize = Self::Search as usize + 1;

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Recall => "recall",
            Self::Embed => "embed",
            Self::Keyword => "keyword",
            Self::Vector => "vector",
            Self::Rerank => "rerank",
            Self::Context => "context",
            Self::Search => "search",
        }
    }
}

impl EncodeLabelValue for Stage {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.name().encode(encoder)
    }
}

/// The label of a stage's histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StageLabel {
    /// Which.
    pub stage: Stage,
}

/// A histogram for each stage, in seconds. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Stages {
    histograms: Family<StageLabel, Histogram, fn() -> Histogram>,
    slow_from: Duration,
}

impl Default for Stages {
    fn default() -> Self {
        Self { histograms: Family::new_with_constructor(|| Histogram::new(BOUNDS)), slow_from: SLOW_FROM }
    }
}

tokio::task_local! {
    /// The search that this task is at. Stages are timed where they are done, up to six calls below it,
    /// and most have no other use for it.
    static SPENT: Spent;
}

/// What each stage of one search has taken; one that is done twice counts twice.
#[derive(Debug, Default)]
struct Spent([Cell<Duration>; Stage::COUNT]);

impl Stages {
    /// Times a stage until what this gives is dropped, also where the stage fails or is given up.
    pub fn time(&self, stage: Stage) -> Timed<'_> {
        Timed { stages: self, stage, since: Instant::now() }
    }

    /// Times a search as a whole. Where it is slow, or its caller had not the patience, the log says
    /// where the time went; the operation is the span it is in.
    pub async fn whole<T>(&self, search: impl Future<Output = T>) -> T {
        let timed = async {
            let _whole = self.time(Stage::Search);
            search.await
        };
        SPENT.scope(Spent::default(), timed).await
    }

    /// The histograms, to be shown.
    pub fn family(&self) -> Family<StageLabel, Histogram, fn() -> Histogram> {
        self.histograms.clone()
    }
}

/// A stage under way.
#[derive(Debug)]
pub struct Timed<'a> {
    stages: &'a Stages,
    stage: Stage,
    since: Instant,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        let label = StageLabel { stage: self.stage };
        self.stages.histograms.get_or_create(&label).observe(took.as_secs_f64());
        // What is embedded for another tool is of no search.
        let _outside = SPENT.try_with(|spent| {
            spent.add(self.stage, took);
            if self.stage == Stage::Search && took >= self.stages.slow_from {
                spent.tell();
            }
        });
    }
}

impl Spent {
    fn add(&self, stage: Stage, took: Duration) {
        let spent = &self.0[stage as usize];
        spent.set(spent.get() + took);
    }

    fn tell(&self) {
        let ms = |stage: Stage| (self.0[stage as usize].get().as_secs_f64() * 1e6).round() / 1e3;
        tracing::warn!(
            total_ms = ms(Stage::Search),
            connect_ms = ms(Stage::Connect),
            recall_ms = ms(Stage::Recall),
            embed_ms = ms(Stage::Embed),
            keyword_ms = ms(Stage::Keyword),
            vector_ms = ms(Stage::Vector),
            rerank_ms = ms(Stage::Rerank),
            context_ms = ms(Stage::Context),
            "a slow search"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use tracing::Instrument as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What the log says of a search, given up or not.
    async fn told(slow_from: Duration, is_given_up: bool) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        let _current = tracing::subscriber::set_default(subscriber);
        let stages = Stages { slow_from, ..Stages::default() };
        let search = stages.whole(async {
            drop(stages.time(Stage::Keyword));
            let _vector = stages.time(Stage::Vector);
            if is_given_up {
                std::future::pending::<()>().await;
            }
        });
        let mut search = Box::pin(search.instrument(tracing::info_span!("call", operation = "op-7")));
        let ended = futures_util::poll!(search.as_mut()).is_ready();
        assert_eq!(ended, !is_given_up);
        drop(search);
        let counted = |stage| stages.histograms.get(&StageLabel { stage }).is_some();
        assert!(counted(Stage::Keyword) && counted(Stage::Vector) && counted(Stage::Search));
        drop(stages.time(Stage::Embed));
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    #[tokio::test]
    async fn a_slow_search_says_where_its_time_went() {
        for is_given_up in [false, true] {
            let line = told(Duration::ZERO, is_given_up).await;
            for part in ["op-7", "a slow search", "total_ms=", "keyword_ms=", "vector_ms=", "rerank_ms=0.0"] {
                assert!(line.contains(part), "{part} is missing, given up: {is_given_up}: {line}");
            }
            assert_eq!(line.lines().count(), 1, "once: {line}");
        }
        assert_eq!(told(Duration::MAX, false).await, "", "others say nothing");
    }
}
