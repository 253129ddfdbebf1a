//! Servers that we ask by HTTP: one client with a limit on everything, and a breaker that stops asking
//! one that fails.
//!
//! Knows nothing of embeddings or reranking. What such a server says is hostile: its bodies are bounded,
//! its texts are shown as one plain line, its redirects are not followed. Read `breaker`,
//! `trouble`, `settings`, `plain` and `listed`, then `client`.

pub mod breaker;
pub mod trouble;
pub mod settings;
pub mod plain;
pub mod listed;
pub mod client;
#[cfg(test)]
pub(crate) mod scripted;
