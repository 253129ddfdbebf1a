//! One file a command.

pub mod reference;
