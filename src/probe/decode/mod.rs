//! What servers send, read without a socket: each decoder is bounded, and no bytes make it panic.

pub mod answer;
pub(crate) mod kept_text;
pub mod rpc;
pub mod sse;
pub(crate) mod coding;
pub mod sources;
pub(crate) mod source_pages;
pub mod timestamp;
pub(crate) mod shape;
pub mod health;
pub(crate) mod challenge;
pub mod era;
pub mod identity;
