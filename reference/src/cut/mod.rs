//! Cuts documents into chunks. The door is `cut`; each method has a file below.
//!
//! What holds for every method: a passage is a verbatim stretch of its document and its offsets, in
//! characters, point at the very text; passages come in order; none has more tokens than the limit,
//! its heading path included; nothing but white space and headings is lost between them. All work is
//! linear in the text, whatever the text is.

mod braces;
mod dialect;
mod ends;
mod fixed;
mod headers;
mod heredoc;
mod indents;
mod lexer;
mod markdown;
mod methods;
mod offsets;
mod outline;
pub(crate) mod pack;
mod part;
mod sentences;
mod summary;
mod topics;
mod units;

use std::fmt;
use std::str::FromStr;

use crate::cut::methods::Piece;
use crate::cut::offsets::Offsets;
use crate::text::tokens;

/// Changes with every change of what `cut` gives, so that an index knows what it must cut again.
pub const PARSER_VERSION: &str = "3";

/// A text of more characters than this also gets a summary.
pub const SUMMARY_CHARS_MIN: usize = 50_000;

/// Cuts a text. Passages and sections come in order, each section before its passages; a summary,
/// where there is one, is the last. A text without anything to read gives nothing.
pub fn cut(method: Method, text: &str, settings: &Settings) -> Vec<Chunk> {
    let (max, overlap) = (settings.tokens_max, settings.overlap);
    let pieces = match method {
        Method::Markdown => methods::markdown(text, max, overlap),
        Method::Code => methods::code(text, max),
        Method::Topics => methods::topics(text, max),
        Method::Fixed => fixed::pieces(text, settings.characters, settings.character_overlap, max),
        Method::ParentChild => methods::parent_child(text, max, overlap),
    };
    let offsets = Offsets::new(text);
    let mut chunks: Vec<Chunk> = pieces.into_iter().map(|piece| chunk(text, &offsets, piece)).collect();
    let length = offsets.characters(text.len());
    if length > SUMMARY_CHARS_MIN && method != Method::Fixed {
        chunks.extend(summary(method, text, max, length));
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

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Passage, Self::Section, Self::Summary]
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| format!("`{name}` is no role of a chunk: say passage, section or summary"))
    }
}

/// How a document is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// By headings, then by sentences, four to six a chunk; code blocks whole while they fit.
    #[default]
    Markdown,
    /// By function; what stands between functions makes chunks of its own.
    Code,
    /// Where the words change from one stretch of sentences to the next.
    Topics,
    /// By characters, whatever stands there: the naive alternative.
    Fixed,
    /// As Markdown, each passage within the section it is a part of.
    ParentChild,
}

/// Ends of names whose files are code, or in which a hash is no heading.
const CODE_ENDINGS: &[&str] = &[
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "go", "java", "kt", "kts", "c", "h", "cc", "cpp", "cxx",
    "hpp", "cs", "swift", "scala", "php", "dart", "groovy", "rb", "rake", "sh", "bash", "zsh", "pl", "lua", "sql",
    "yaml", "yml", "toml", "json", "ini", "css", "scss",
];

impl Method {
    /// Every method, in the order of the help.
    pub const ALL: [Self; 5] = [Self::Markdown, Self::Code, Self::Topics, Self::Fixed, Self::ParentChild];

    /// The method that suits a source of this name where none is asked for.
    pub fn of(source: &str) -> Self {
        let ending = source.rsplit(['/', '\\']).next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        let is_code = ending.is_some_and(|ending| CODE_ENDINGS.contains(&ending.to_lowercase().as_str()));
        if is_code { Self::Code } else { Self::Markdown }
    }

    /// Its name on the command line and in a tool's arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Code => "code",
            Self::Topics => "topics",
            Self::Fixed => "fixed",
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
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
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

fn summary(method: Method, text: &str, tokens_max: usize, length: usize) -> Option<Chunk> {
    let (section, units) = methods::statements(text, tokens_max, method == Method::Code);
    let budget = tokens_max.saturating_sub(tokens::count(&section) + 1);
    let fits = |content: &str| Some(tokens::count(&pack::searched(&section, content))).filter(|sum| *sum <= tokens_max);
    let (content, tokens) = summary::extract(text, &units, budget, fits)?;
    Some(Chunk { section, content, char_start: 0, char_end: length, tokens, role: Role::Summary, parent: None })
}

#[cfg(test)]
mod tests;
