//! A conversation in the era that the server speaks: the handshake, a request, the list of tools, the end.

pub mod call;
pub mod unclosed_sessions;
pub mod initialize;
pub mod discover;
pub mod handshake;
pub mod process_pool;
pub mod closing;
pub mod listing;
pub(crate) mod offload;
pub mod parameter_headers;
