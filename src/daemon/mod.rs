//! The loops. They alone read the clock, once a turn; each may die anywhere and goes on where it stood.
//!
//! Read: `hands` (what they work with), `clock` (is it set), `seat` (one monitor's place), `watch` (one beat, whole),
//! `keeping` (which transcripts stay),
//! `telling` (from a decision to what is queued), `tick` (how many start together), `permits` (who may
//! be in flight), `scheduler` (who is due), `courier` (claim, send,
//! record), `resume` (where the last run stood), `begin` (the database, open), `reload` (the file, whenever it changes), `gauge`
//! (what nobody else would notice), `heartbeat` (that we are well, to somebody outside),
//! `janitor` (forgets what is over).

pub mod hands;
pub mod clock;
pub mod seat;
pub mod uplink;
pub mod climb;
pub mod doubt;
pub mod listing;
pub mod watch;
pub mod accepting;
pub mod keeping;
pub mod telling;
pub mod tick;
pub mod permits;
pub mod scheduler;
pub mod courier;
pub mod resume;
pub mod begin;
pub mod reload;
pub mod gauge;
pub mod heartbeat;
pub mod janitor;
