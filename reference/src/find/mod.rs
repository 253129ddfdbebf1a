//! Finds what answers a question.
//!
//! `retrieval` is the whole way; the rest are its steps, in their order.

pub mod found;
pub mod question;
pub mod stages;

pub mod rewriting;
#[cfg(feature = "generator")]
pub mod writer;
pub mod guard;
pub mod answers;
pub mod warmth;
pub mod sought;
pub mod fusion;
pub mod tuning;
pub mod gathering;
pub mod summaries;
#[cfg(feature = "rerank")]
pub mod reranking;
pub mod ranking;
pub mod conversation;
pub mod context;
pub mod retrieval;
#[cfg(feature = "project")]
pub mod codebase;
#[cfg(all(test, feature = "lab"))]
mod written_tests;
#[cfg(test)]
mod warmth_tests;
