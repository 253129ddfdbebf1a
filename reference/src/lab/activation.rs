//! Which chunks and sources a fault strikes: decided by their names, so that indexing again and a
//! restart strike the very same ones.

use std::collections::HashSet;
use std::time::Duration;

use crate::lab::kinds::{Dose, Fault};
use crate::lab::switches::Faults;
use crate::lab::waits::fading;
use crate::store::contract::Connection;
use crate::store::records::{StoreError, StoredSource};
use crate::text::draw::mix;

/// What is struck in one search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultActivation {
    /// Chunks that the vector retriever cannot reach.
    pub unreachable: Option<Dose>,
    /// Chunks whose vectors read as zero.
    pub zeroed: Option<Dose>,
    /// Chunks that are as if they had never been indexed.
    pub missing: Option<Dose>,
    /// Sources that are as if they had never been indexed.
    pub missing_sources: HashSet<String>,
}

impl FaultActivation {
    /// Whether nothing is struck, which is every day's case.
    pub fn is_none(&self) -> bool {
        self.unreachable.is_none() && self.zeroed.is_none() && self.hides_none()
    }

    /// Whether both retrievers see every chunk.
    pub fn hides_none(&self) -> bool {
        self.missing.is_none() && self.missing_sources.is_empty()
    }

    /// Whether neither retriever sees a chunk.
    pub fn hides(&self, source: &str, ordinal: i64) -> bool {
        affected(self.missing, source, ordinal) || self.missing_sources.contains(source)
    }

    /// Whether the vector retriever does not reach a chunk.
    pub fn loses(&self, source: &str, ordinal: i64) -> bool {
        affected(self.unreachable, source, ordinal) || self.hides(source, ordinal)
    }

    /// Whether a chunk's vector reads as zero.
    pub fn zeroes(&self, source: &str, ordinal: i64) -> bool {
        affected(self.zeroed, source, ordinal)
    }
}

fn affected(dose: Option<Dose>, source: &str, ordinal: i64) -> bool {
    dose.is_some_and(|dose| {
        let number = source.bytes().fold(mix(ordinal.cast_unsigned()), |sum, byte| mix(sum ^ u64::from(byte)));
        dose.applies_to(number)
    })
}

/// What is struck now.
///
/// # Errors
/// The store's.
pub async fn now(connection: &mut dyn Connection, faults: &Faults) -> Result<FaultActivation, StoreError> {
    let truncated = faults.dose(Fault::CorpusTruncated);
    let newest = truncated.filter(|dose| dose.mode == "newest");
    Ok(FaultActivation {
        unreachable: faults.dose_since(Fault::VectorsUnreachable).map(|(dose, since)| healed(dose, since)),
        zeroed: faults.dose(Fault::VectorsZeroed),
        missing: truncated.filter(|dose| dose.mode == "share"),
        missing_sources: match newest {
            Some(dose) => newest_sources(connection.sources().await?, dose.share),
            None => HashSet::new(),
        },
    })
}

fn healed(dose: Dose, since: Duration) -> Dose {
    if dose.mode == "healing" { dose.share(dose.share * fading(since, dose.tau_ms)) } else { dose }
}

/// The newest share of the sources: by the day they are of, then by when they were indexed, then by name.
fn newest_sources(mut sources: Vec<StoredSource>, share: f64) -> HashSet<String> {
    sources.sort_by(|left, right| {
        (right.dated, right.indexed_at, &right.source).cmp(&(left.dated, left.indexed_at, &left.source))
    });
    let many = (sources.len() as f64 * share).round() as usize;
    sources.into_iter().take(many).map(|source| source.source).collect()
}
