//! A store in one file: text, words in FTS5, vectors as blobs and in memory.
//!
//! The vectors are scanned whole, which is exact and therefore its own ground truth. Memory follows
//! the file by the index's count of changes, so two servers on one file see the same index.

#[cfg(feature = "memory")]
pub mod answering;
pub mod blob;
pub mod following;
pub mod memory;
#[cfg(feature = "cli")]
pub mod migrating;
pub mod open;
pub mod reading;
pub mod schema;
pub mod terms;
pub mod writing;
