//! The guarded connector and TLS roots: how a connection to the outside comes about, phase by phase.
//!
//! Knows nothing of MCP or of webhooks. Who follows an address that a file did not declare passes it through
//! [`guard`] first. Read `guard`, then `tls`, then `stream`, then `connect`.

pub mod guard;

pub mod tls;

pub mod stream;

pub mod connect;
