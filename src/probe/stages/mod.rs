//! A probe, whole: its steps in order, and the looks beside them.

pub mod steps;
pub mod look;
pub mod ladder;
pub mod reach;
pub mod cross;
