//! A conversation in the era that the server speaks: the handshake, a request, the list of tools, the end.
//!
//! Read `caller` (who speaks) on `message` (what is written), `call` (one request), `carriers` and `sessions` (what it goes
//! through and in), `handshake` on `initialize` and `discover` (which era), `listing`, then `closing` on `afterwards`.

pub(crate) mod message;
pub(crate) mod caller;
pub mod call;
pub(crate) mod carriers;
pub(crate) mod sessions;
pub(crate) mod afterwards;
pub mod unclosed_sessions;
pub mod initialize;
pub mod discover;
pub mod handshake;
pub mod process_pool;
pub mod closing;
pub mod listing;
pub(crate) mod offload;
pub mod parameter_headers;
