//! Going out into the network: what the monitor and the reference server both need before they connect anywhere.
//!
//! Knows nothing of MCP or of webhooks. Who follows an address that a file did not declare passes it through
//! [`guard`] first. Read `guard`, then `names`, then `tls`; `retry_after` is one header.

pub mod guard;
pub mod names;
pub mod retry_after;
pub mod tls;
