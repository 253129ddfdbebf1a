//! A document on its way into the index.

use chrono::NaiveDate;

use crate::rag::store::records::{Origin, Volatility};

/// What is to be indexed. Its date and kind are facts that filters look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// The name hits will cite; a source indexed again is replaced.
    pub source: &'a str,
    /// Its kind, such as `documentation`, `constraints` or `code`.
    pub source_type: &'a str,
    /// The collection it belongs to; empty is none.
    pub collection: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// The day its content is of.
    pub dated: Option<NaiveDate>,
    /// How soon it is expected to change.
    pub volatility: Volatility,
    /// Who brings it.
    pub origin: Origin,
    /// Its text.
    pub text: &'a str,
}

impl<'a> Document<'a> {
    /// A document with nothing said of it but its name, kind and text.
    pub fn plain(source: &'a str, source_type: &'a str, text: &'a str) -> Self {
        Self {
            source,
            source_type,
            collection: "",
            tags: &[],
            dated: None,
            volatility: Volatility::Normal,
            origin: Origin::Caller,
            text,
        }
    }
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Chunks it was cut into, of which all but sections are searched.
    pub chunks: usize,
    /// Tokens of all its chunks.
    pub tokens: usize,
    /// Secrets taken out of it.
    pub redacted: usize,
    /// Whether the very same text was there already.
    pub unchanged: bool,
}
