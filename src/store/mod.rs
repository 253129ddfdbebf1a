//! What Serin remembers. SQL stands here in full, one query a function, and rows become domain values here.
//!
//! One connection writes, fed by a bounded channel, and many beats share a commit; a pool of
//! read-only connections serves pages. What was answered with `Ok` has reached the disk
//! (`synchronous=FULL`); what was not answered is there whole or not at all. We may die anywhere:
//! the lock on the database dies with us, and the next start finds the last commit.
//!
//! From the ground: `sql` (statements that two databases read alike), `values` (what is remembered), `file` (the database
//! file), `server` (a PostgreSQL server in its place), `packed` (hours and days), `read` (what is
//! asked of it), `write` (the handle, and the one that writes).

pub(in crate::store) mod sql;

pub mod values;

pub mod file;

pub(in crate::store) mod server;

pub mod packed;

pub mod read;

pub mod write;

pub use file::held::is_held;
pub use values::error::{OpenError, StoreError};
pub use write::handle::Store;
