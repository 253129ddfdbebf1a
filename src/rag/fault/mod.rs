//! What can be broken, and what is broken now.

pub mod kinds;
pub mod switches;
