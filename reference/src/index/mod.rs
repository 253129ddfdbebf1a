//! Puts documents into the store.

pub mod corpus;
pub mod document;
pub mod embedding;
pub mod fetch;
pub mod library;
pub mod lock;
pub mod preparing;
pub mod run;
pub mod walk;
