//! Who is told what, when, and how often it is tried.
//!
//! Read: `notification` (one thing to say), `explains` (one cause, one page), `hold` (what keeps an incident from being
//! told) and `tell` (what is said of it, if anything), `audience` (to whom, by `route`), `delivery` (the promise to bring it).

pub mod notification;
pub mod explains;
pub mod hold;
pub mod tell;
pub(crate) mod audience;
pub mod delivery;
