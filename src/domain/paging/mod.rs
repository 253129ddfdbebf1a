//! Who is told what, when, and how often it is tried.
//!
//! Read: `notification` (one thing to say), `route` (to whom), `delivery` (the promise to bring it).

pub mod notification;
pub mod route;
pub mod audience;
pub mod delivery;
