//! A probe, whole: its steps in order, and the looks beside them.

pub mod steps;
pub mod health_check;
pub mod connectivity;
pub mod reach;
pub mod cross;
