//! Who is told what, when, and how often it is tried.
//!
//! Read: `notification` (one thing to say), `audience` (to whom, by `route`), `delivery` (the promise to bring it).

pub mod notification;
pub(crate) mod audience;
pub mod delivery;
