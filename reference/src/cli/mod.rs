//! `serin reference`: the server that ships with the monitor, and fails on request.

pub mod command;
pub mod figures;
pub mod lifecycle;
pub mod lookups;
pub mod model;
pub mod serving;
pub mod wheel;
pub mod wipe;

pub use command::{ReferenceArgs, run};
