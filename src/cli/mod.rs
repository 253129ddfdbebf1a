//! One file a command.

pub mod demo;
