//! The reference RAG server: a model to copy, and a laboratory that fails on request.
//!
//! A house of its own: of Serin it uses nothing but `serin-outbound`. From the ground up; arrows run downward only:
//!
//! - `text` words, tokens, reproducible draws
//! - `cut` documents into chunks; `remote` servers we ask by HTTP, with limits and a circuit breaker
//! - `bert` weights from a folder (feature `local-models`)
//! - `embed` texts into vectors; `rerank` judges question and passage together
//! - `store` chunks, words and vectors on disk
//! - `index` documents and folders into the store
//! - `find` a question's answer: both arms, fusion, rerank, context
//! - `project` the configuration of an index, found from any folder below it
//! - `data` beside them: documents made by seed, questions with known answers, and their figures
//! - `serve` all of it by MCP and HTTP, with health
//! - `lab` stands around all of them and breaks them on request; a life that can crash
//! - `cli` the commands, which `serin reference` and the binary `serin-reference` have alike

#[cfg(feature = "local-models")]
pub mod bert;
#[cfg(feature = "cli")]
pub mod cli;
pub mod cut;
#[cfg(feature = "figures")]
pub mod data;
pub mod embed;
#[cfg(feature = "lab")]
pub mod lab;
pub mod find;
pub mod index;
#[cfg(feature = "project")]
pub mod project;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "rerank")]
pub mod rerank;
pub mod serve;
pub mod store;
pub mod text;
