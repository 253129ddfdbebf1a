//! Finds what answers a question.

pub mod context;
pub mod fusion;
pub mod retrieval;
pub mod warmth;
