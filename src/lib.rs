//! Serin watches a fleet of MCP retrieval servers from the outside and pages a human, with a cause
//! and a runbook, when one is down, slow, changed or quietly wrong.
//!
//! The house, from the ground up; arrows run downward only, between rooms and inside them (`tests/floors.rs`):
//! `domain`, `net` · `untrusted_text`, `live` · `tool_lists`, `deliver`, `store` · `config`, `probe` · `hindsight` ·
//! `daemon`, `web` · `app` · `cli` · `main`. Beside it: the packages `serin-reference`, the server that `serin reference` and the demo
//! run; `serin-outbound`, below both; `serin-bench`.

pub mod domain;
pub mod net;

pub mod untrusted_text;
pub mod live;

pub mod tool_lists;
pub mod deliver;
pub mod store;

pub mod config;
pub mod probe;

pub mod hindsight;

pub mod daemon;
pub mod web;

pub mod app;

pub mod cli;
