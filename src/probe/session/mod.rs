//! A conversation in the era that the server speaks: the handshake, a request, the list of tools, the end.
//!
//! Read `caller` (who speaks) on `declared` (as whom and where) and `message` (what is written), `call` (one request), `carriers` and `sessions` (what it goes
//! through and in), `handshake` on `known_era`, `kept_session`, `refusal`,
//! `initialize` and `discover` (which era), `listing`, then `closing` on `afterwards`.

pub(crate) mod message;
pub(crate) mod declared;
pub(crate) mod caller;
pub(crate) mod call;
pub(crate) mod carriers;
pub(crate) mod sessions;
pub(crate) mod afterwards;
pub(crate) mod unclosed_sessions;
pub(crate) mod initialize;
pub(crate) mod discover;
pub(crate) mod opened;
pub(crate) mod refusal;
pub(crate) mod known_era;
pub(crate) mod kept_session;
pub(crate) mod handshake;
pub(crate) mod process_pool;
pub(crate) mod closing;
pub(crate) mod listing_memory;
pub(crate) mod listing;
pub(crate) mod offload;
pub(crate) mod parameter_headers;
