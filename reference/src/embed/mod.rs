//! Turns texts into vectors: what every embedder promises, and how an index knows its own again.
//!
//! Read `embedder`, then `remote` (an OpenAI-compatible server), `local` (weights from a folder, feature
//! `local-models`) and `hashing` (the laboratory's, feature `builtin`; its words for the same thing are in `concepts`),
//! then `provider`, which is one of them or none, `fingerprint` and `cache_key`.
//!
//! The invariant: an embedder answers with vectors of its own model or with an error. Nothing here
//! ever puts another model, a zero or an older vector in the place of one that could not be made.

pub mod embedder;
#[cfg(feature = "remote")]
pub mod length;
#[cfg(feature = "builtin")]
pub mod concepts;
#[cfg(feature = "builtin")]
pub mod hashing;
#[cfg(feature = "remote")]
pub mod inputs;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "local-models")]
pub mod local;
pub mod provider;
#[cfg(feature = "remote")]
pub mod fingerprint;
#[cfg(feature = "remote")]
pub mod cache_key;

pub use embedder::{EmbedError, Embedder, Model, Purpose};
#[cfg(feature = "remote")]
pub use fingerprint::{Fingerprint, Probe, fingerprint};
#[cfg(feature = "remote")]
pub use length::{LENGTH_MIN, length, normalise};
