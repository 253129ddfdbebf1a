//! Splits a document by a method.

#[cfg(feature = "chunkers")]
use crate::chunk::chunkers::{fixed, methods};
use crate::chunk::chunks::{Chunk, Role};
use crate::chunk::headings::{self, Piece};
use crate::chunk::method::Method;
use crate::chunk::offsets::Offsets;
use crate::chunk::settings::ChunkSettings;

/// Changes with every change of what `split` gives, or of the words it is found by, so that an index knows what it must
/// cut again.
/// The core alone cuts otherwise, so its indexes are cut again by whoever has all methods.
pub const PARSER_VERSION: &str = if cfg!(feature = "chunkers") { "4" } else { "4-core" };

/// Cuts a text. Passages and sections come in order, each section before its passages; a summary,
/// where there is one, is the last. A text without anything to read gives nothing.
pub fn split(method: Method, text: &str, settings: &ChunkSettings) -> Vec<Chunk> {
    let (max, overlap) = (settings.tokens_max(), settings.overlap());
    let pieces = match method {
        Method::Markdown => headings::markdown(text, max, overlap),
        #[cfg(feature = "chunkers")]
        Method::Code => methods::code(text, max),
        #[cfg(feature = "chunkers")]
        Method::Topics => methods::topics(text, max),
        #[cfg(feature = "chunkers")]
        Method::Fixed => fixed::pieces(text, settings.characters(), settings.character_overlap(), max),
        #[cfg(feature = "chunkers")]
        Method::ParentChild => methods::parent_child(text, max, overlap),
    };
    let offsets = Offsets::new(text);
    #[cfg_attr(not(feature = "chunkers"), expect(unused_mut, reason = "summaries are a feature"))]
    let mut chunks: Vec<Chunk> = pieces.into_iter().map(|piece| chunk(text, &offsets, piece)).collect();
    #[cfg(feature = "chunkers")]
    let length = offsets.characters(text.len());
    #[cfg(feature = "chunkers")]
    if length > methods::SUMMARY_CHARS_MIN && method != Method::Fixed {
        chunks.extend(methods::summary(method, text, max, length));
    }
    chunks
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
