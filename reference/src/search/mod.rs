//! Finds what answers a question.
//!
//! `retrieval` is the whole way; the rest are its steps, in their order.

pub mod found;
pub mod question;
#[cfg(feature = "metrics")]
pub mod stages;
#[cfg(not(feature = "metrics"))]
#[path = "untimed.rs"]
pub mod stages;

#[cfg(feature = "weights")]
pub mod rewriting;
#[cfg(feature = "generator")]
pub mod writer;
#[cfg(feature = "memory")]
pub mod guard;
#[cfg(feature = "memory")]
pub mod answers;
#[cfg(feature = "memory")]
pub mod query_cache;
pub mod query_vectors;
#[cfg(feature = "generator")]
pub mod written;
pub mod fusion;
pub mod tuning;
pub mod retrievers;
#[cfg(feature = "chunkers")]
pub mod summaries;
#[cfg(feature = "rerank")]
pub mod reranking;
#[cfg(feature = "weights")]
pub mod ranking;
#[cfg(feature = "weights")]
pub mod pools;
#[cfg(feature = "memory")]
pub mod conversation;
pub mod context;
pub mod retrieval;
#[cfg(feature = "memory")]
mod recalling;
#[cfg(feature = "generator")]
mod writing;
#[cfg(feature = "project")]
pub mod codebase;
#[cfg(feature = "lab")]
#[cfg(test)]
mod written_tests;
#[cfg(feature = "memory")]
#[cfg(test)]
mod query_cache_tests;
