//! `serin demo`: a fleet, faults on schedule, and an inbox that shows what reached a human.
//!
//! Nothing in here is staged but the faults: reference servers, monitor, webhook receiver and SMTP
//! server are the real ones, all on loopback, on ports that are free. Tests use inbox and sink
//! too, because what a receiver sees is what counts. Read: `theatre` (what breaks, and when),
//! `inbox` with `inbox_web`, `smtp_sink`.

pub(crate) mod theatre;
pub mod inbox;
pub(crate) mod inbox_web;
pub mod smtp_sink;

pub(crate) mod command;

pub use command::{DemoArgs, run};
