//! A notification becomes a public message (versioned) and goes out through a channel.
//!
//! What is said is decided elsewhere and frozen once: every receiver and every attempt gets the
//! same bytes, or what is rendered from them. Nothing in here remembers a delivery; the delivery worker and
//! the outbox do. Only Serin's own trouble (`internal`) is sent without them, because it may be
//! about them.
//!
//! Read: `message` (the contract) and `group_message` (several as one), `channel` (one attempt) on `attempt`, `ack_link` (the link each receiver gets), `public_marks` (names and addresses that say nothing), then the ways out, `webhook` with
//! its `signature` and `mail` with its `smtp` conversation, and `slack_bot` (a message and its thread); `services`, which render it for chats and pagers of others
//! from the parts that `briefing` has of it; `internal` with its
//! closed list `internal_alert` and its `queue`; `runbook` and `link`, whether one leads anywhere; and, at the bottom, `plain`, `trust` and `write_permit`.

pub mod ack_link;
pub mod public_marks;
pub(crate) mod briefing;
pub mod attempt;
pub mod channel;
pub mod internal;
pub(crate) mod mail;
pub mod message;
pub(crate) mod group_message;
pub(crate) mod plain;
pub(crate) mod queue;
pub(crate) mod runbook;
pub(crate) mod link;
pub(crate) mod services;
pub(crate) mod signature;
pub(crate) mod smtp;
pub(crate) mod slack_bot;
pub mod internal_alert;
pub(crate) mod trust;
pub(crate) mod webhook;
pub mod write_permit;
