//! Whether answers are worth anything (RETRIEVAL.md).
//!
//! Read: `canary` (one answer: right or wrong), `confirmation` (many answers of one canary: a blip
//! or an incident), `answers` (how many of many were right), `extent` (how far a fault reaches), `diagnosis` (many canaries: what is broken), `propose` (canaries for a server that has none yet).

pub mod canary;
pub mod confirmation;
pub mod answers;
pub mod extent;
pub mod diagnosis;
pub mod propose;
