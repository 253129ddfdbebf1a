//! The only room that knows HTTP, TLS, SSE, JSON-RPC and stdio on the probing side; it turns what it meets into faults.
//!
//! What a server sends is hostile: every decoder here is bounded and gives evidence without control characters or our
//! own secrets, and no bytes make it panic. From the top: `prober` is what the loops hold and `explore` a first look;
//! `stages` a probe, whole; `access` credentials; `session` a conversation; `wire` one exchange; `standstill` whether we ran
//! meanwhile; `assignment` what is to be done; `decode` what was sent, read without a socket.

pub mod decode;

pub mod assignment;
pub(crate) mod standstill;
pub mod wire;

pub(crate) mod session;

pub(crate) mod access;
pub(crate) mod stages;

pub mod prober;
pub(crate) mod explore;
