//! What can be broken, and what is broken now.

pub mod kinds;
pub mod strikes;
pub mod switches;
pub(crate) mod admin;
pub mod damage;
