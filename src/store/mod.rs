//! What Serin remembers. SQL stands here in full, one query a function, and rows become domain values here.
//!
//! One connection writes, fed by a channel, and many beats share a commit; a pool of read-only
//! connections serves pages. Read: `board` (the last state, in memory), `record` (what a turn
//! wants remembered), `read` (what pages ask for).

pub mod board;
pub mod pulse;
pub mod read;
pub mod record;

/// The open database.
#[derive(Debug, Clone)]
pub struct Store {}

/// Why the store could not do it. Always our own trouble, never a monitor's.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The writer has stopped.
    #[error("the database is closed")]
    Closed,
}
