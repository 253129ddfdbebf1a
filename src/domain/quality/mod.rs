//! Whether answers are worth anything (RETRIEVAL.md).
//!
//! Read: `score_code` (a score as it is judged and kept), `ranking` (how alike two lists of sources are), `moved` (the
//! same two as people read them), `form` (an answer's form against the lock), `canary` (one answer: right or wrong), `look` (what of an answer later ones are
//! compared with), `confirmation` (many answers of one canary: a blip or an incident), `index_sight` (whether any of
//! them came from the index), `canary_states` (all of a monitor's), `answers` (how many of many were right), `bound`
//! (how far such a share may be trusted), `streak`, `blips` (how many wrong answers in a row are an incident),
//! `erosion` (whether a hit rate falls slowly), `harvest` (sentences out of answers, asked back), `track_record` (what of all that is kept), `extent` (how far a fault
//! reaches), `arms` (which part of the search is broken), `changes` (what changed without harm), `replicas` (whether a
//! replica answers as its original), `corpus` (whether
//! sources go missing), `unarmed` (what checks need), `diagnosis` (many canaries: what is broken), `pinning` (what is
//! pinned of many answers, and what moved of it), `propose` (canaries for a server that has none yet), `propose_text`
//! (the same where it answers with text), `stems` and `lint` (whether a canary proves what its kind is for).

pub(crate) mod score_code;
pub(crate) mod ranking;
pub(crate) mod moved;
pub(crate) mod form;
pub(crate) mod canary;
pub(crate) mod look;
pub(crate) mod confirmation;
pub(crate) mod index_sight;
pub(crate) mod canary_states;
pub(crate) mod answers;
pub(crate) mod bound;
pub(crate) mod streak;
pub(crate) mod blips;
pub(crate) mod erosion;
pub(crate) mod harvest;
pub(crate) mod track_record;
pub(crate) mod extent;
pub(crate) mod arms;
pub(crate) mod near_misses;
pub(crate) mod changes;
pub(crate) mod replicas;
pub(crate) mod corpus;
pub(crate) mod unarmed;
pub(crate) mod diagnosis;
pub(crate) mod pinning;
pub(crate) mod propose;
pub(crate) mod propose_text;
pub(crate) mod stems;
pub(crate) mod lint;
