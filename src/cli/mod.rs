//! One file a command.

pub mod check;
pub mod demo;
