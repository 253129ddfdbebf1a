//! Puts documents into the store.

#[cfg(feature = "project")]
mod again;
pub mod corpus;
pub mod document;
#[cfg(feature = "documentation")]
pub mod documentation;
#[cfg(feature = "remote")]
pub mod embedding;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "remote")]
pub mod later;
pub mod library;
#[cfg(feature = "project")]
pub mod lock;
pub mod preparing;
#[cfg(feature = "remote")]
pub mod progress;
pub mod vectors;
#[cfg(feature = "project")]
pub mod run;
#[cfg(feature = "fetch")]
pub mod walk;
