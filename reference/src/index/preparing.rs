//! What is done to a document before it is embedded: secrets are taken out, and it is cut.

use std::borrow::Cow;
use std::fmt::Debug;

use crate::chunk::{self, Chunk, ChunkSettings, Method};
use crate::text::cleaning;

// Laboratory: bad chunks are made between cutting and embedding, and the index must know its sources as cut so.
/// What is done to a document before it is embedded. What it leaves behind in the index says how it was done, so that
/// another way of doing it asks for the document again.
pub trait Preparing: Debug + Send + Sync {
    /// A text without its secrets, and how many were taken out.
    fn cleaned<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize);

    /// A word before the digest that a text is recognised by.
    fn cleaned_how(&self) -> &'static str {
        ""
    }

    /// A source's text in chunks.
    fn cut(&self, source: &str, method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk>;

    /// What stands behind the parser's name and settings.
    fn cut_how(&self) -> String {
        String::new()
    }
}

/// As it ought to be done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usual;

impl Preparing for Usual {
    fn cleaned<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        cleaning::cleaned(text)
    }

    fn cut(&self, _source: &str, method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk> {
        chunk::split(method, text, settings)
    }
}
