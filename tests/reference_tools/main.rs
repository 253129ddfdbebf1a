//! Every tool of the reference server as a caller meets it: the real program, asked by MCP and by plain
//! `POST /search`, which must find the same.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]

mod codebase;
mod cutting;
mod fetching;
mod filters;
mod served;
mod talking;
