//! Beats in little space: an hour of one monitor in some 500 bytes, a day's percentiles in some 300.
//!
//! What is written is read back by any later version: the first number of a pack says how. Nothing here knows
//! SQL. Read: `layout` (which there were), `hour` (beats as columns), `asks` and `answer` (what was asked and what came back), `tables`
//! (values that repeat), `bits` (numbers in as few bits as they are likely), `words` (slugs by number), `day`
//! (a day's percentiles), `heat` (its hours).

mod layout;
pub(in crate::store) mod hour;
pub(in crate::store) mod asks;
pub(in crate::store) mod answer;
pub(in crate::store) mod numbers;
mod tables;
mod times;
mod looks;
mod timestamps;
pub(in crate::store) mod bits;
pub(in crate::store) mod words;
pub(crate) mod day;
pub(in crate::store) mod heat;
#[cfg(test)]
mod hour_tests;
