//! What a bad chunker makes of a document, on request.
//!
//! Each works on real chunks of the real text and gives chunks whose offsets and tokens are true, so
//! that everything behind it (embedding, store, both retrievers) acts as it would on such an index.

use crate::chunk::{Chunk, Role, pack};
use crate::text::tokens;

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Damage {
    /// The text is cut every so many characters, through words and sentences, headings lost.
    MidSentence,
    /// Chunks without text below their headings.
    Emptied,
    /// Chunks stand in the list twice.
    Duplicated,
    /// Passages are cut in three: as many again, twice over.
    Small,
    /// Letters and digits are others, as out of a PDF whose fonts say the wrong ones.
    Garbled,
}

/// Characters of a chunk that is cut mid-sentence: no multiple of a line's or a word's usual length.
const MID_SENTENCE_CHARACTERS: usize = 397;
/// How many a small chunk's passage becomes.
const SMALL_PARTS: usize = 3;

/// Damages the chunks of a text. `affected` picks by place in the list which passages are hit; under
/// `MidSentence` the whole text is, if any passage is. Sections and summaries are left alone, and every
/// `parent` points at its section afterwards.
pub fn apply(damage: Damage, text: &str, chunks: Vec<Chunk>, affected: impl Fn(usize) -> bool) -> Vec<Chunk> {
    match damage {
        Damage::MidSentence if (0..chunks.len()).any(&affected) => mid_sentence(text),
        Damage::MidSentence => chunks,
        Damage::Emptied => replaced(chunks, affected, |chunk| vec![emptied(chunk)]),
        Damage::Duplicated => replaced(chunks, affected, |chunk| vec![chunk.clone(), chunk]),
        Damage::Small => replaced(chunks, affected, thirds),
        Damage::Garbled => replaced(chunks, affected, |chunk| vec![garbled(chunk)]),
    }
}

/// A text cut every so many characters, with no regard for words and no headings.
pub fn mid_sentence(text: &str) -> Vec<Chunk> {
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let stretches = characters.chunks(MID_SENTENCE_CHARACTERS).enumerate();
    let chunks = stretches.map(|(number, stretch)| {
        let content: String = stretch.iter().map(|(_, c)| c).collect();
        let char_start = number * MID_SENTENCE_CHARACTERS;
        let tokens = tokens::count(&pack::searched("", &content));
        let char_end = char_start + stretch.len();
        Chunk { section: String::new(), content, char_start, char_end, tokens, role: Role::Passage, parent: None }
    });
    chunks.filter(|chunk| !chunk.content.trim().is_empty()).collect()
}

/// Puts what `become` gives in the place of each struck passage, and moves the parents along.
fn replaced(chunks: Vec<Chunk>, affected: impl Fn(usize) -> bool, becomes: impl Fn(Chunk) -> Vec<Chunk>) -> Vec<Chunk> {
    let mut now: Vec<Chunk> = Vec::with_capacity(chunks.len());
    let mut places = Vec::with_capacity(chunks.len());
    for (place, chunk) in chunks.into_iter().enumerate() {
        places.push(now.len());
        if chunk.role == Role::Passage && affected(place) { now.extend(becomes(chunk)) } else { now.push(chunk) }
    }
    for chunk in &mut now {
        chunk.parent = chunk.parent.and_then(|parent| places.get(parent).copied());
    }
    now
}

fn emptied(chunk: Chunk) -> Chunk {
    let tokens = tokens::count(&pack::searched(&chunk.section, ""));
    Chunk { content: String::new(), char_end: chunk.char_start, tokens, ..chunk }
}

/// A subset of a font whose table is off by a few places: each letter and digit is one further on.
fn garbled(chunk: Chunk) -> Chunk {
    const FURTHER: u8 = 3;
    let moved = |first: u8, c: char, many: u8| char::from(first + (c as u8 - first + FURTHER) % many);
    let other = |c: char| match c {
        'a'..='z' => moved(b'a', c, 26),
        'A'..='Z' => moved(b'A', c, 26),
        '0'..='9' => moved(b'0', c, 10),
        _ => c,
    };
    let [section, content] = [&chunk.section, &chunk.content].map(|text| text.chars().map(other).collect::<String>());
    let tokens = tokens::count(&pack::searched(&section, &content));
    Chunk { section, content, tokens, ..chunk }
}

/// Three parts of about a length, cut at spaces where there are any.
fn thirds(chunk: Chunk) -> Vec<Chunk> {
    let letters: Vec<char> = chunk.content.chars().collect();
    let mut parts = Vec::with_capacity(SMALL_PARTS);
    let mut start = 0;
    for part in 1..=SMALL_PARTS {
        let wanted = letters.len() * part / SMALL_PARTS;
        let space = letters[start..wanted].iter().rposition(|c| c.is_whitespace()).filter(|_| part < SMALL_PARTS);
        let end = space.map_or(wanted, |space| start + space + 1);
        let content: String = letters[start..end].iter().collect();
        if !content.trim().is_empty() {
            parts.push(Chunk {
                tokens: tokens::count(&pack::searched(&chunk.section, &content)),
                char_start: chunk.char_start + start,
                char_end: chunk.char_start + end,
                section: chunk.section.clone(),
                content,
                ..chunk
            });
        }
        start = end;
    }
    parts
}
