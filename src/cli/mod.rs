//! One file a command.

pub mod check;
