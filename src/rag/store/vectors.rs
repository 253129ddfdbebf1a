//! Vectors in memory: one contiguous slice, exact, and therefore its own ground truth.

use crate::rag::embed::hashing::DIMENSIONS;

/// What the vector arm scans. A new one replaces it whole; a search keeps the one it began with.
#[derive(Debug, Clone, Default)]
pub struct Index {
    numbers: Vec<f32>,
    entries: Vec<Entry>,
}

/// Whose vector it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The chunk's key.
    pub id: i64,
    /// Its source.
    pub source: String,
    /// Its place within the source: source and place, not the key, decide what a fault strikes, so
    /// that indexing again changes nothing.
    pub ordinal: i64,
}

impl Index {
    /// Chunks held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a vector; one of another width is cut or filled with zeros.
    pub fn push(&mut self, entry: Entry, vector: &[f32]) {
        self.numbers.extend(vector.iter().copied().chain(std::iter::repeat(0.0)).take(DIMENSIONS));
        self.entries.push(entry);
    }

    /// The same index without a source.
    pub fn without(&self, source: &str) -> Self {
        let mut kept = Self::default();
        for (entry, vector) in self.iter().filter(|(entry, _)| entry.source != source) {
            kept.push(entry.clone(), vector);
        }
        kept
    }

    /// Every entry with its vector.
    pub fn iter(&self) -> impl Iterator<Item = (&Entry, &[f32])> {
        self.entries.iter().zip(self.numbers.chunks_exact(DIMENSIONS))
    }
}
