//! The reference RAG server: a model to copy, and a laboratory that fails on request.
//!
//! Of Serin it uses nothing but `serin-outbound`, and its core not even that. The core is what is compiled without
//! features: a document of prose is cut, indexed, found by its words and answered, on SQLite. Read it in this order;
//! arrows run downward only, so each room is to be understood from those before it:
//!
//! 1. `text` words, tokens, reproducible draws
//! 2. `chunk` documents into chunks: `chunk::split`, then `headings`, `markdown` and `pack`
//! 3. `embed` texts into vectors, where there is an embedder: the trait, then `provider`
//! 4. `store` chunks, words and vectors on disk: `contract` and `records`, then `sqlite`
//! 5. `index` documents into the store: `library`
//! 6. `search` for a question's answer, both retrievers, their order and scores, context: `retrieval`, then `score`
//! 7. `serve` all of it by MCP and HTTP, with health: `server`, then `tools` and `work`
//!
//! Beside it, each a feature of `Cargo.toml`, all but `local-models` on by default: more ways to cut (`chunkers`), to
//! rank (`weights`, `rerank`) and to remember (`memory`), models of others (`remote`, `generator`, `bert`) and the
//! laboratory's own (`builtin`), stores (`postgres`, `chroma`), texts out of HTML, PDF and DOCX (`documents`, the room
//! `extract`), secrets taken out (`secrets`), unknown names refused (`names`), older clients (`sessions`), broken ones
//! (`strict`), counters (`metrics`, `census`) and one more tool (`vectors`); `project`, its codebase and its `tenants`;
//! `data` and figures; `lab`, which stands around all of them and breaks them on
//! request; and `cli`, the commands that `serin reference` and the binary `serin-reference` have alike.

#[cfg(feature = "local-models")]
pub mod bert;
#[cfg(feature = "cli")]
pub mod cli;
pub mod chunk;
#[cfg(feature = "figures")]
pub mod data;
pub mod embed;
#[cfg(feature = "documents")]
pub mod extract;
#[cfg(feature = "lab")]
pub mod lab;
pub mod search;
pub mod index;
#[cfg(feature = "project")]
pub mod project;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "rerank")]
pub mod rerank;
pub mod serve;
pub mod store;
#[cfg(feature = "tenants")]
pub mod tenants;
pub mod text;
