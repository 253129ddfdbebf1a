//! A notification becomes a public message (versioned) and goes out through a channel.

pub mod channel;
pub mod message;
pub mod runbook;
