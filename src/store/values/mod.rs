//! What is remembered, and how it stands in columns: moments and durations as microseconds, words as their slugs.
//!
//! Read `record` (what a turn wants remembered), `past` (a beat as it is remembered), then `column`, `course`, `rows` and `error`.

pub(in crate::store) mod error;
pub(in crate::store) mod column;
pub(in crate::store) mod incident_memory;
pub(in crate::store) mod rows;
pub mod change_set;
pub mod past;
