//! What one document may cost.

use std::time::{Duration, Instant};

use crate::extract::refusal::Refusal;

/// Bytes of a file; a manual with pictures. What inflates is bounded for itself.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// Pages of a PDF; the longest text that is indexed has some hundred.
pub const PAGES_MAX: usize = 2_000;
/// Bytes that a file may inflate to, all its parts together: a manual's pictures at 300 dots an inch.
pub const INFLATED_BYTES_MAX: usize = 128 << 20;
/// Bytes of text, some twenty times what one document of the index has.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Tags, tokens and operators of a document: at some 100 ns each, what the time allows.
pub const ENTITIES_MAX: usize = 20_000_000;
/// How long a reader may take.
pub const WITHIN: Duration = Duration::from_secs(20);
/// How often a reader looks at the clock, in pieces of markup.
const LOOKS_EVERY: usize = 4_096;

/// What is left of it.
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
