//! The reference RAG server: a model to copy, and a laboratory that fails on request.
//!
//! A house of its own: of Serin it uses nothing but `serin-outbound`. From the ground up; arrows run downward only:
//!
//! - `text` words, tokens, reproducible draws; `lab` what can be broken, and what is
//! - `cut` documents into chunks; `remote` servers we ask by HTTP, with limits and a circuit breaker
//! - `bert` weights from a folder (feature `local-models`)
//! - `embed` texts into vectors; `rerank` judges question and passage together
//! - `store` chunks, words and vectors on disk
//! - `index` documents and folders into the store
//! - `find` a question's answer: both arms, fusion, rerank, context
//! - `project` the configuration of an index, found from any folder below it
//! - `data` beside them: documents made by seed, questions with known answers, and their figures
//! - `serve` all of it by MCP and HTTP, with health, faults on request, and a life that can crash
//! - `cli` the commands, which `serin reference` and the binary `serin-reference` have alike
//!
//! The invariant: every fault acts inside this path. No answer is ever made up, so what a monitor
//! sees from outside is what it would see of a server that truly has the trouble.

#[cfg(feature = "local-models")]
pub mod bert;
pub mod cli;
pub mod cut;
pub mod data;
pub mod embed;
pub mod lab;
pub mod find;
pub mod index;
pub mod project;
pub mod remote;
pub mod rerank;
pub mod serve;
pub mod store;
pub mod text;
