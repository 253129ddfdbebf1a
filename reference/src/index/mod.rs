//! Puts documents into the store.

pub mod corpus;
pub mod document;
#[cfg(feature = "documentation")]
pub mod documentation;
pub mod embedding;
#[cfg(feature = "fetch")]
pub mod fetch;
pub mod library;
pub mod lock;
pub mod preparing;
#[cfg(feature = "project")]
pub mod run;
#[cfg(feature = "project")]
pub mod walk;
