//! The laboratory: what can be broken, what is broken now, and what stands around each part of a server to break it.
//!
//! Nothing inside the server knows of it. `kinds` and `switches` first; then the decorators, from the ground up:
//! `store`, `vectors`, `preparing`, `reranker`, `search`, `tools`, `listener`; `decorated` puts them around a server, and
//! `server` runs it through crashes.
//!
//! The invariant: every fault acts where a real one would. No answer is ever made up, so what a monitor sees from
//! outside is what it would see of a server that truly has the trouble.

pub mod kinds;
pub mod switches;

pub mod activation;
pub mod waits;
pub mod store;
pub mod vectors;
pub mod damage;
pub mod preparing;
pub mod reranker;
pub mod search;
pub mod tools;
pub mod listener;
pub mod decorated;

mod admin;
pub mod crash;
pub mod options;
pub mod server;

#[cfg(feature = "figures")]
pub mod signatures;
#[cfg(feature = "figures")]
pub mod measuring;
