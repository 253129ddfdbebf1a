//! The reference RAG server: a model to copy, and a laboratory that fails on request.
//!
//! A house of its own: of Serin it uses nothing but `net`, and only `cli` opens its door. A
//! document is cut (`chunk`), turned into vectors (`embed`, with the words of `concepts`), kept
//! (`store`, `index`) and found again both ways (`keyword`, `vector`), fused (`fusion`) and put
//! together for a caller (`retrieval`, `context`, `answer`). `tools` says all of it over MCP,
//! `health` says how it is, `server` gives it an address and a life, `admin` breaks it.
//!
//! The invariant: every fault of `fault` acts inside this path. No answer is ever made up, so what
//! a monitor sees from outside is what it would see of a server that truly has the trouble.

pub mod orders;
pub mod admin;
pub mod answer;
pub mod chunk;
pub mod concepts;
pub mod context;
pub mod corpus;
pub mod door;
pub mod embed;
pub mod fault;
pub mod fusion;
pub mod health;
pub mod index;
pub mod keyword;
pub mod library;
pub mod life;
pub mod retrieval;
pub mod server;
pub mod store;
pub mod switches;
pub mod text;
pub mod tools;
pub mod vector;
pub mod warmth;
