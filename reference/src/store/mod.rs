//! Chunks, words and vectors, kept and found again; and what was learnt by answering.
//!
//! `contract` says what a store can do, `records` and `filter` in which words; `sqlite` is the one
//! that needs no server, `postgres` the one beyond one machine.

pub mod contract;
pub mod filter;
#[cfg(feature = "memory")]
pub mod learnt;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod records;
pub mod sqlite;
