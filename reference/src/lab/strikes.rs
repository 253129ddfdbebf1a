//! Which chunks and sources a fault strikes: decided by their names, so that indexing again and a
//! restart strike the very same ones.

use std::collections::HashSet;

use crate::lab::kinds::Dose;
use crate::text::draw::mix;

/// What is struck in one search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strikes {
    /// Chunks that the vector arm cannot reach.
    pub unreachable: Option<Dose>,
    /// Chunks whose vectors read as zero.
    pub zeroed: Option<Dose>,
    /// Chunks that are as if they had never been indexed.
    pub missing: Option<Dose>,
    /// Sources that are as if they had never been indexed.
    pub missing_sources: HashSet<String>,
}

impl Strikes {
    /// Whether nothing is struck, which is every day's case.
    pub fn is_none(&self) -> bool {
        self.unreachable.is_none() && self.zeroed.is_none() && self.missing.is_none() && self.missing_sources.is_empty()
    }

    /// Whether neither arm sees a chunk.
    pub fn hides(&self, source: &str, ordinal: i64) -> bool {
        struck(self.missing, source, ordinal) || self.missing_sources.contains(source)
    }

    /// Whether the vector arm does not reach a chunk.
    pub fn loses(&self, source: &str, ordinal: i64) -> bool {
        struck(self.unreachable, source, ordinal) || self.hides(source, ordinal)
    }

    /// Whether a chunk's vector reads as zero.
    pub fn zeroes(&self, source: &str, ordinal: i64) -> bool {
        struck(self.zeroed, source, ordinal)
    }
}

fn struck(dose: Option<Dose>, source: &str, ordinal: i64) -> bool {
    dose.is_some_and(|dose| {
        let number = source.bytes().fold(mix(ordinal.cast_unsigned()), |sum, byte| mix(sum ^ u64::from(byte)));
        dose.strikes(number)
    })
}
