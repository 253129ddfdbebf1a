//! Chunks, words and vectors, kept and scanned.

pub mod scan;
pub mod sqlite;
pub mod terms;
pub mod vectors;
