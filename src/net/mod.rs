//! The guarded connector: how a connection to the outside comes about, phase by phase.
//!
//! Knows nothing of MCP or of webhooks. Which addresses may be talked to, and which roots are trusted, says
//! `serin-outbound`. Read `files` and `connect_failure`, then `trust`, then `proxy`, then `target`, then
//! `stream` and `alarm`, then `connect`; beside it `document`, for lists that the file names, and `lived`, for whoever must
//! not trust a clock.

pub(crate) mod files;

pub(crate) mod lived;

pub(crate) mod connect_failure;

pub(crate) mod trust;

pub(crate) mod proxy;

pub(crate) mod target;

pub(crate) mod stream;

pub(crate) mod alarm;

pub(crate) mod connect;

pub(crate) mod document;
