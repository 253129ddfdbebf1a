//! Cuts documents into chunks. `split` is where to begin; `headings` is the method of the core, the others are in `chunkers`.
//!
//! What holds for every method: a passage is a verbatim stretch of its document and its offsets, in characters, point at
//! the very text; passages come in order; none has more tokens than the limit, its heading path included; nothing but
//! white space and headings is lost between them. All work is linear in the text, whatever the text is.

#[cfg(feature = "chunkers")]
mod chunkers;
mod chunks;
#[cfg(feature = "chunkers")]
mod endings;
mod headings;
mod markdown;
mod method;
mod offsets;
pub(crate) mod pack;
pub(crate) mod sentences;
mod settings;
mod split;
mod units;
#[cfg(feature = "lab")]
#[cfg(test)]
mod tests;

pub use chunks::{Chunk, Role};
pub use method::Method;
pub use settings::{CHARACTERS_LEAST, CHARACTERS_MOST, ChunkSettings, OVERLAP_MOST, TOKENS_LEAST, TOKENS_MOST};
pub use split::{PARSER_VERSION, split};
