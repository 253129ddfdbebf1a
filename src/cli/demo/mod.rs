//! The demo: a fleet, faults on schedule, and an inbox that shows what reached a human.
//!
//! Its receivers are real: a webhook that verifies signatures and an SMTP server, both on loopback
//! only. Tests use them too, because what a receiver sees is what counts.

pub mod inbox;
pub mod smtp_sink;
