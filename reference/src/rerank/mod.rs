//! Judges question and passage together, which neither arm of retrieval does.
//!
//! Read `reranker`, then `remote` (a rerank HTTP API), `cross` (a cross-encoder from a folder, feature `local-models`)
//! and `joint` (the laboratory's, feature `builtin`). A reranker scores what it is given or fails; who called keeps the fused order then, and says so.

pub mod reranker;
#[cfg(feature = "builtin")]
pub mod joint;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "local-models")]
pub mod cross;

pub use reranker::{PASSAGES_MAX, Passage, RerankError, Reranker, bounded, readable};
