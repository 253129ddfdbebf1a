//! The guarded connector and TLS roots: how a connection to the outside comes about, phase by phase.
//!
//! Knows nothing of MCP or of webhooks. Who follows an address that a file did not declare passes it through
//! [`guard`] first. Read `guard`, `files` and `trouble`, then `tls` and
//! `trust`, then `proxy`, then `stream`, then `connect`.

pub mod guard;
pub mod names;

pub mod files;

pub mod trouble;
pub mod retry_after;

pub mod tls;
pub mod trust;

pub mod proxy;

pub mod stream;

pub mod connect;
