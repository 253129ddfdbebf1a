//! Documents made by seed, questions whose answers are known, and what their answers amount to.
//!
//! It stands beside the server and knows it only by its public tool, so any MCP server with the same
//! answers can be measured. In reading order: `question` the truth file; `plan`, `passage`, `asked`
//! and `manuals` the generator; `figures` and `judging` the arithmetic; `asking` the client.

pub mod question;
pub mod plan;
pub mod passage;
pub mod asked;
pub mod manuals;
pub mod figures;
pub mod judging;
pub mod asking;
