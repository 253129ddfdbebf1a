//! How large chunks may be.

/// How large chunks are. Only `checked` makes them, so they can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSettings {
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

impl Default for ChunkSettings {
    fn default() -> Self {
        Self { tokens_max: 200, overlap: 1, characters: 512, character_overlap: 64 }
    }
}

impl ChunkSettings {
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
