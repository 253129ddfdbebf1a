//! A store in one file: text, words in FTS5, vectors as blobs and in memory.
//!
//! The vectors are scanned whole, which is exact and therefore its own ground truth. Memory follows
//! the file by the index's count of changes, so two servers on one file see the same index.

pub mod blob;
#[cfg(feature = "memory")]
pub mod cache;
pub mod following;
pub mod memory;
#[cfg(feature = "cli")]
pub mod migrating;
pub mod open;
pub mod reading;
pub mod schema;
pub mod terms;
pub mod writing;
