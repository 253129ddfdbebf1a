//! What a server counts since its start.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::search::question::{CacheUse, Findings, RetrievalError};

/// What a server counts since its start.
#[derive(Debug, Default)]
pub struct Counts {
    pub(super) searches: Family<CallOutcome, Counter>,
    pub(super) answers: Family<Recall, Counter>,
    pub(super) documents: Family<CallOutcome, Counter>,
}

/// How a call ended: `ok`, `empty`, `partial`, or the code of its error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallOutcome {
    outcome: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Recall {
    kind: RecallKind,
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RecallKind {
    Answer,
    Vector,
    Miss,
}

impl EncodeLabelValue for RecallKind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        let word = match self {
            Self::Answer => "exact",
            Self::Vector => "vector",
            Self::Miss => "miss",
        };
        word.encode(encoder)
    }
}

impl Counts {
    /// Counts a search.
    pub fn searched(&self, outcome: &Result<Findings, RetrievalError>) {
        let word = match outcome {
            Ok(findings) if !findings.degraded.is_empty() => "partial",
            Ok(findings) if findings.hits.is_empty() => "empty",
            Ok(_) => "ok",
            Err(error) => error.code().0,
        };
        self.searches.get_or_create(&CallOutcome { outcome: word.to_owned() }).inc();
        if let Ok(findings) = outcome {
            let kind = match findings.cache {
                CacheUse { age: Some(_), .. } => RecallKind::Answer,
                CacheUse { vector_age: Some(_), .. } => RecallKind::Vector,
                CacheUse { .. } => RecallKind::Miss,
            };
            self.answers.get_or_create(&Recall { kind }).inc();
        }
    }

    /// Counts a document: `indexed`, `unchanged`, or the code of its error.
    pub fn indexed(&self, outcome: &str) {
        self.documents.get_or_create(&CallOutcome { outcome: outcome.to_owned() }).inc();
    }
}
