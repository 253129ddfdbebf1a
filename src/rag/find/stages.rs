//! How long each part of a search takes.

use std::time::Instant;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

/// Upper bounds in seconds: from a look into memory to what a caller gives up on.
const BOUNDS: [f64; 14] = [0.000_1, 0.000_3, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// A part of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Stage {
    /// Waiting for a connection of the pool.
    Connect,
    /// Looking for a remembered answer.
    Recall,
    /// Embedding the question.
    Embed,
    /// The keyword arm.
    Keyword,
    /// The vector arm.
    Vector,
    /// Reading question and passages together.
    Rerank,
    /// Choosing hits and assembling the context.
    Context,
    /// All of it.
    Search,
}

/// The label of a stage's histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StageLabel {
    /// Which.
    pub stage: Stage,
}

/// A histogram for each stage, in seconds. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Stages(Family<StageLabel, Histogram, fn() -> Histogram>);

impl Default for Stages {
    fn default() -> Self {
        Self(Family::new_with_constructor(|| Histogram::new(BOUNDS)))
    }
}

impl Stages {
    /// Times a stage until what this gives is dropped, also where the stage fails or is given up.
    pub fn time(&self, stage: Stage) -> Timed<'_> {
        Timed { stages: self, stage, since: Instant::now() }
    }

    /// The histograms, to be shown.
    pub fn family(&self) -> Family<StageLabel, Histogram, fn() -> Histogram> {
        self.0.clone()
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
        let label = StageLabel { stage: self.stage };
        self.stages.0.get_or_create(&label).observe(self.since.elapsed().as_secs_f64());
    }
}
