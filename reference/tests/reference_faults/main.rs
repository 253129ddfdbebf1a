//! What callers see of the faults that do not change what is found, and of those modes that
//! `tests/figures.rs` has no signature for; the memory of answers and of conversations besides.
//!
//! Everything is asked through the public door of a real server that knows a few notes. Nothing is
//! timed: where something must wait, it is still waiting when looked at, and ends by an event.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

mod conversation;
mod endings;
mod looks;
mod memory;
mod server;
mod shares;
