//! Every fault a probe tells apart, met on a real socket.

#[expect(dead_code, reason = "other tests need more of it")]
#[path = "../common/mod.rs"]
mod common;
mod fault_server;
mod scripts;
mod probing;
mod tls;
mod table;
mod conversation;
mod codings;
mod eras;
mod older;
mod programs;
mod learning;
mod harm;
mod diagnosis;
mod control;
#[expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests may")]
mod way;
mod traces;
mod transcripts;
mod noise;
mod source_pages;
mod relations;
mod harvest;
