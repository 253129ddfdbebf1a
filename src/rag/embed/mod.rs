//! Turns texts into vectors.

pub mod concepts;
pub mod hashing;
