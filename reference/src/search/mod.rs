//! Finds what answers a question.
//!
//! `retrieval` is the whole way, and what comes before it here are its parts. Behind it are the steps that features add,
//! each with what it is made of.

pub mod found;
pub mod question;
#[cfg(feature = "metrics")]
pub mod stages;
#[cfg(not(feature = "metrics"))]
#[path = "untimed.rs"]
pub mod stages;

pub mod fusion;
pub mod tuning;
pub mod asked;
#[cfg(feature = "local-models")]
pub mod worth;
pub mod score;
pub mod retrievers;
pub mod context;
pub mod step;
pub mod settings;
pub mod retrieval;

#[cfg(feature = "names")]
pub mod unknown;
#[cfg(feature = "weights")]
pub mod rewriting;
#[cfg(feature = "weights")]
pub mod ranking;
#[cfg(feature = "weights")]
pub mod weights;
#[cfg(feature = "memory")]
pub mod answers;
#[cfg(feature = "memory")]
pub mod query_cache;
#[cfg(feature = "memory")]
pub mod conversation;
#[cfg(feature = "memory")]
pub mod recalling;
#[cfg(feature = "chunkers")]
pub mod summaries;
#[cfg(feature = "rerank")]
pub mod reranking;
#[cfg(feature = "generator")]
pub mod writer;
#[cfg(feature = "generator")]
pub mod written;
#[cfg(feature = "chroma")]
mod unreached;
#[cfg(feature = "project")]
pub mod codebase;
#[cfg(feature = "remote")]
mod pending;

#[cfg(feature = "lab")]
#[cfg(test)]
mod step_tests;
#[cfg(feature = "memory")]
#[cfg(test)]
mod answers_tests;
#[cfg(feature = "memory")]
#[cfg(test)]
mod query_cache_tests;
#[cfg(feature = "lab")]
#[cfg(test)]
mod written_tests;
