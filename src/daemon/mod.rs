//! The loops. They alone read the clock, once a turn.

pub mod courier;
