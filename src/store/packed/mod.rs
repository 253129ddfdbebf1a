//! An hour of a monitor as one pack and a day as one row: how they are coded, where they stand, and what they are cut into.

pub(crate) mod pack;
pub(crate) mod packs;
pub mod sealing;
pub(crate) mod slices;
pub mod roll;
