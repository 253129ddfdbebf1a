//! One file a command.

pub mod probe;
