//! An hour of a monitor as one pack and a day as one row: how they are coded, where they stand, and what they are cut into.

pub mod pack;
pub mod packs;
pub mod slices;
pub mod roll;
