//! Who is told what, when, and how often it is tried.
//!
//! Read: `notification` (one thing to say), `explains` (one cause, one page), `hold` (what keeps an incident from being
//! told), `parent` (what a monitor depends on), `silence` (somebody wants to hear nothing of it) and `quiet` (that, and `maintenance` of the file), `follow_up` (what is told by time), `tell` (what is said of an incident,
//! if anything), `audience` (to whom, by `route`), `gathering` (what goes to people in one
//! message) and `common_cause` (what many have in common), `delivery` (the promise to bring it), `drill` (a rehearsal of all that), `replay` (what may be told once more).

pub mod notification;
pub mod explains;
pub mod hold;
pub mod parent;
pub mod silence;
pub mod quiet;
pub mod follow_up;
pub mod tell;
pub(crate) mod audience;
pub mod gathering;
pub mod common_cause;
pub mod delivery;
pub mod drill;
pub mod replay;
