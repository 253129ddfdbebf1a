//! `serin pin`: how servers answer now, looked at many times and written down for people to approve.
//!
//! Read: `runs` (asking) and `relations` (asking otherwise), `record` (what is pinned of it), `moves` (what of a pin it would
//! move), `written` (into the lock), `shown` (what a person reads).

mod runs;
mod relations;
mod record;
mod moves;
mod written;
mod shown;

pub(crate) mod command;

pub(crate) use command::{PinArgs, of_stranger, run};
