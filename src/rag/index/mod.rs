//! Puts documents into the store.

pub mod corpus;
pub mod library;
