//! One file a command.

pub mod check;
pub mod probe;
pub mod reference;
pub mod demo;
