//! Chunks, words and vectors, kept and found again; and cached embeddings, answers and conversations.
//!
//! `contract` says what a store can do, `records` and `filter` in which words, `rows` what databases are asked alike, by
//! connections of a `pool`; `sqlite` needs no server, `postgres` serves many machines, `chroma` has the vectors alone.

#[cfg(feature = "memory")]
pub mod cache;
pub mod contract;
pub mod filter;
pub mod pool;
#[cfg(feature = "chroma")]
pub mod chroma;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod records;
pub mod rows;
pub mod sqlite;
