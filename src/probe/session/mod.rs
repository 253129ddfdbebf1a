//! A conversation in the era that the server speaks: the handshake, a request, the list of tools, the end.

pub mod call;
pub mod owed;
pub mod initialize;
pub mod discover;
pub mod handshake;
pub mod kept;
pub mod closing;
pub mod listing;
pub(crate) mod aside;
pub mod promoted;
