//! standing.
