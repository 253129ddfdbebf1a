//! Whether answers are worth anything (RETRIEVAL.md).
//!
//! Read: `score_code` (a score as it is judged and kept), `canary` (one answer: right or wrong), `confirmation` (many answers of one canary: a blip
//! or an incident), `index_sight` (whether any of them came from the index), `canary_states` (all of a monitor's), `answers` (how many of many were right), `extent` (how far a fault reaches), `diagnosis` (many canaries: what is broken), `pinning` (what is pinned of many answers, and what moved of it), `propose` (canaries for a server that has none
//! yet) and `propose_text` (the same where it answers with text).

pub(crate) mod score_code;
pub(crate) mod canary;
pub(crate) mod confirmation;
pub(crate) mod index_sight;
pub(crate) mod canary_states;
pub(crate) mod answers;
pub(crate) mod extent;
pub(crate) mod diagnosis;
pub(crate) mod pinning;
pub(crate) mod propose;
pub(crate) mod propose_text;
