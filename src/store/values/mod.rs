//! What is remembered, and how it stands in columns: timestamps and durations as microseconds, words as their slugs.
//!
//! Read `change_set` (what a turn wants remembered), `past` (a beat as it is remembered), `beat_rows` (where a
//! monitor's rows stand), `drill_rows` (drills), `known_texts` (which texts are kept already), `lease_turn` (what machines that share the fleet say and are told), then `column`, `dialect` (what SQLite says otherwise than PostgreSQL), `incident_memory`, `claims` (what is lent out of the outbox), `matchers`, `standing_text` (what machines publish), `rows`, `whose` (whose
//! rows are read back) and `error`.

pub(in crate::store) mod error;
pub(in crate::store) mod column;
pub(in crate::store) mod incident_memory;
pub mod claims;
pub(in crate::store) mod standing_text;
pub(crate) mod matchers;
pub(in crate::store) mod beat_rows;
pub(in crate::store) mod known_texts;
pub mod lease_turn;
pub mod change_set;
pub mod drill_rows;
pub mod past;
pub mod whose;
