//! Chunks, words and vectors, kept and found again; and what was learnt by answering.
//!
//! `contract` says what a store can do, `records` and `filter` in which words; `sqlite` is the one
//! that needs no server.

pub mod contract;
pub mod filter;
pub mod records;
pub mod sqlite;
