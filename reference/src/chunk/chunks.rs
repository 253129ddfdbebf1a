//! What a document becomes: chunks, each with its place and its role.

use crate::chunk::pack;

/// A stretch of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Headings above it, outermost first, joined by ` > `; of code the types around it and the
    /// function's signature. Empty where there are none. The outermost go where it would be too long.
    pub section: String,
    /// The text as it stands in the source; of a summary its sentences, one a line.
    pub content: String,
    /// Where it begins, in characters from the start of the source.
    pub char_start: usize,
    /// Where it ends, exclusive. A summary spans the whole source.
    pub char_end: usize,
    /// The length of `searched()` in tokens.
    pub tokens: usize,
    /// What it is for.
    pub role: Role,
    /// Of a passage with a parent: the place in the same list of the section it stands in.
    pub parent: Option<usize>,
}

impl Chunk {
    /// What is embedded and what the keyword retriever reads: headings and text.
    pub fn searched(&self) -> String {
        pack::searched(&self.section, &self.content)
    }
}

/// What a chunk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Searched.
    Passage,
    /// A parent: kept to expand a hit, never searched.
    Section,
    /// Says what a long document is about; searched first, the document's passages second.
    Summary,
}

impl Role {
    /// Its name in the store and in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passage => "passage",
            Self::Section => "section",
            Self::Summary => "summary",
        }
    }
}
