//! Cuts documents into chunks. The door is `cut`; each method has a file below.
//!
//! What holds for every method: a passage is a verbatim stretch of its document and its offsets, in
//! characters, point at the very text; passages come in order; none has more tokens than the limit,
//! its heading path included; nothing but white space and headings is lost between them. All work is
//! linear in the text, whatever the text is.

#[cfg(feature = "chunkers")]
mod braces;
#[cfg(feature = "chunkers")]
mod dialect;
#[cfg(feature = "chunkers")]
mod ends;
#[cfg(feature = "chunkers")]
mod fixed;
#[cfg(feature = "chunkers")]
mod headers;
#[cfg(feature = "chunkers")]
mod heredoc;
#[cfg(feature = "chunkers")]
mod indents;
#[cfg(feature = "chunkers")]
mod lexer;
mod markdown;
#[cfg(feature = "chunkers")]
mod chunkers;
mod methods;
mod offsets;
#[cfg(feature = "chunkers")]
mod outline;
pub(crate) mod pack;
#[cfg(feature = "chunkers")]
mod part;
mod sentences;
#[cfg(feature = "chunkers")]
mod summary;
#[cfg(feature = "chunkers")]
mod topics;
mod units;

use std::fmt;
use std::str::FromStr;

use crate::cut::methods::Piece;
use crate::cut::offsets::Offsets;

/// Changes with every change of what `cut` gives, so that an index knows what it must cut again.
/// The core alone cuts otherwise, so its indexes are cut again by whoever has all methods.
pub const PARSER_VERSION: &str = if cfg!(feature = "chunkers") { "3" } else { "3-core" };

/// Cuts a text. Passages and sections come in order, each section before its passages; a summary,
/// where there is one, is the last. A text without anything to read gives nothing.
pub fn cut(method: Method, text: &str, settings: &Settings) -> Vec<Chunk> {
    let (max, overlap) = (settings.tokens_max, settings.overlap);
    let pieces = match method {
        Method::Markdown => methods::markdown(text, max, overlap),
        #[cfg(feature = "chunkers")]
        Method::Code => chunkers::code(text, max),
        #[cfg(feature = "chunkers")]
        Method::Topics => chunkers::topics(text, max),
        #[cfg(feature = "chunkers")]
        Method::Fixed => fixed::pieces(text, settings.characters, settings.character_overlap, max),
        #[cfg(feature = "chunkers")]
        Method::ParentChild => chunkers::parent_child(text, max, overlap),
    };
    let offsets = Offsets::new(text);
    #[cfg_attr(not(feature = "chunkers"), expect(unused_mut, reason = "summaries are a feature"))]
    let mut chunks: Vec<Chunk> = pieces.into_iter().map(|piece| chunk(text, &offsets, piece)).collect();
    #[cfg(feature = "chunkers")]
    let length = offsets.characters(text.len());
    #[cfg(feature = "chunkers")]
    if length > chunkers::SUMMARY_CHARS_MIN && method != Method::Fixed {
        chunks.extend(chunkers::summary(method, text, max, length));
    }
    chunks
}

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
    /// What is embedded and what the keyword arm reads: headings and text.
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

/// How a document is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// By headings, then by sentences, four to six a chunk; code blocks whole while they fit.
    #[default]
    Markdown,
    /// By function; what stands between functions makes chunks of its own.
    #[cfg(feature = "chunkers")]
    Code,
    /// Where the words change from one stretch of sentences to the next.
    #[cfg(feature = "chunkers")]
    Topics,
    /// By characters, whatever stands there: the naive alternative.
    #[cfg(feature = "chunkers")]
    Fixed,
    /// As Markdown, each passage within the section it is a part of.
    #[cfg(feature = "chunkers")]
    ParentChild,
}

impl Method {
    /// Every method, in the order of the help.
    #[cfg(feature = "chunkers")]
    pub const ALL: &'static [Self] = &[Self::Markdown, Self::Code, Self::Topics, Self::Fixed, Self::ParentChild];
    /// The only method.
    #[cfg(not(feature = "chunkers"))]
    pub const ALL: &'static [Self] = &[Self::Markdown];

    /// The method that suits a source of this name where none is asked for.
    #[cfg_attr(not(feature = "chunkers"), expect(unused_variables, reason = "all documents are prose"))]
    pub fn of(source: &str) -> Self {
        #[cfg(feature = "chunkers")]
        if chunkers::is_code(source) {
            return Self::Code;
        }
        Self::Markdown
    }

    /// Whether chunks are measured in characters, and not in tokens.
    pub const fn counts_characters(self) -> bool {
        #[cfg(feature = "chunkers")]
        return matches!(self, Self::Fixed);
        #[cfg(not(feature = "chunkers"))]
        false
    }

    /// Its name on the command line and in a tool's arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            #[cfg(feature = "chunkers")]
            Self::Code => "code",
            #[cfg(feature = "chunkers")]
            Self::Topics => "topics",
            #[cfg(feature = "chunkers")]
            Self::Fixed => "fixed",
            #[cfg(feature = "chunkers")]
            Self::ParentChild => "parent_child",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|method| method.name() == name).ok_or_else(|| {
            let known = Self::ALL.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ");
            format!("`{name}` is no way to cut a document: say one of {known}")
        })
    }
}

/// How large chunks are. Only `checked` makes them, so they can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    tokens_max: usize,
    overlap: usize,
    characters: usize,
    character_overlap: usize,
}

/// The fewest tokens a chunk may be limited to: a heading path and a short sentence.
pub const TOKENS_LEAST: usize = 32;
/// The most: what `health` lets a chunk have.
pub const TOKENS_MOST: usize = 500;
/// The most sentences that neighbours share: one less than the fewest a chunk has.
pub const OVERLAP_MOST: usize = 3;
/// The fewest characters of `Method::Fixed`.
pub const CHARACTERS_LEAST: usize = 64;
/// The most: about what the most tokens hold.
pub const CHARACTERS_MOST: usize = 2_000;

impl Default for Settings {
    fn default() -> Self {
        Self { tokens_max: 200, overlap: 1, characters: 512, character_overlap: 64 }
    }
}

impl Settings {
    /// `tokens_max` of a chunk with its headings, `overlap` in sentences; of `Method::Fixed` the
    /// `characters` of a chunk and `character_overlap` between neighbours.
    ///
    /// # Errors
    /// Which limit is passed, and what is allowed.
    pub fn checked(
        tokens_max: usize,
        overlap: usize,
        characters: usize,
        character_overlap: usize,
    ) -> Result<Self, String> {
        if !(TOKENS_LEAST..=TOKENS_MOST).contains(&tokens_max) {
            return Err(format!("a chunk of {tokens_max} tokens: say {TOKENS_LEAST} to {TOKENS_MOST}"));
        }
        if overlap > OVERLAP_MOST {
            return Err(format!("an overlap of {overlap} sentences: say 0 to {OVERLAP_MOST}"));
        }
        if !(CHARACTERS_LEAST..=CHARACTERS_MOST).contains(&characters) {
            return Err(format!("a chunk of {characters} characters: say {CHARACTERS_LEAST} to {CHARACTERS_MOST}"));
        }
        if character_overlap > characters / 2 {
            let most = characters / 2;
            return Err(format!("an overlap of {character_overlap} of {characters} characters: say 0 to {most}"));
        }
        Ok(Self { tokens_max, overlap, characters, character_overlap })
    }

    /// The most tokens of a chunk.
    pub const fn tokens_max(&self) -> usize {
        self.tokens_max
    }

    /// Sentences that neighbours share.
    pub const fn overlap(&self) -> usize {
        self.overlap
    }

    /// Characters of a chunk of `Method::Fixed`.
    pub const fn characters(&self) -> usize {
        self.characters
    }

    /// Characters that its neighbours share.
    pub const fn character_overlap(&self) -> usize {
        self.character_overlap
    }
}

fn chunk(text: &str, offsets: &Offsets<'_>, piece: Piece) -> Chunk {
    Chunk {
        content: text[piece.start..piece.end].to_owned(),
        char_start: offsets.characters(piece.start),
        char_end: offsets.characters(piece.end),
        tokens: piece.tokens,
        role: if piece.is_section { Role::Section } else { Role::Passage },
        parent: piece.parent,
        section: piece.section,
    }
}

#[cfg(feature = "lab")]
#[cfg(test)]
mod tests;
