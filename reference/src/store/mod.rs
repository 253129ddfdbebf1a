//! Chunks, words and vectors, kept and found again; and cached embeddings, answers and conversations.
//!
//! `contract` says what a store can do, `records` and `filter` in which words, `rows` what both databases are asked
//! alike, by connections of a `pool`; `sqlite` is the one that needs no server, `postgres` the one beyond one machine.

#[cfg(feature = "memory")]
pub mod cache;
pub mod contract;
pub mod filter;
pub mod pool;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod records;
pub mod rows;
pub mod sqlite;
