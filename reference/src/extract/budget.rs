//! What is left of the limits while a document is read.

use std::time::Instant;

use crate::extract::limits::{ENTITIES_MAX, INFLATED_BYTES_MAX, WITHIN};
use crate::extract::refusal::Refusal;

/// How often a reader looks at the clock, in pieces of markup.
const LOOKS_EVERY: usize = 4_096;

/// What is left.
#[derive(Debug)]
pub struct Budget {
    until: Instant,
    entities: usize,
    inflated_bytes: usize,
}

impl Budget {
    /// A whole one, as of now.
    pub fn new() -> Self {
        Self { until: Instant::now() + WITHIN, entities: ENTITIES_MAX, inflated_bytes: INFLATED_BYTES_MAX }
    }

    /// The same, that may inflate so many bytes.
    #[must_use]
    pub fn inflating(self, inflated_bytes: usize) -> Self {
        Self { inflated_bytes, ..self }
    }

    /// Counts a piece of markup.
    ///
    /// # Errors
    /// `Entities`, or `Slow`: nobody waits for the text any more.
    pub fn step(&mut self) -> Result<(), Refusal> {
        self.entities = self.entities.checked_sub(1).ok_or(Refusal::Entities)?;
        if self.entities.is_multiple_of(LOOKS_EVERY) { self.in_time() } else { Ok(()) }
    }

    /// Looks at the clock.
    ///
    /// # Errors
    /// `Slow`.
    pub fn in_time(&self) -> Result<(), Refusal> {
        if Instant::now() < self.until { Ok(()) } else { Err(Refusal::Slow) }
    }

    /// Counts bytes that were inflated.
    ///
    /// # Errors
    /// `Inflates`.
    pub fn inflated(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.inflated_bytes = self.inflated_bytes.checked_sub(bytes).ok_or(Refusal::Inflates)?;
        Ok(())
    }

    /// Bytes that may still be inflated.
    pub fn may_inflate(&self) -> usize {
        self.inflated_bytes
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new()
    }
}
