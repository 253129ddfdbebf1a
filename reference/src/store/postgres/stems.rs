//! A chunk as the keyword retriever keeps it: every stem with its weight and its places.
//!
//! Texts are taken apart at every sign first, as FTS5's `unicode61` does, so that `pool.size` is found
//! by *pool*; a term with a sign inside is a phrase, and its places tell whether it is truly there.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::text::words;

/// How much more a word of the heading counts than one of the text.
const HEADING_WEIGHT: f32 = 2.0;
/// The longest stem kept, in bytes: an index row of PostgreSQL takes 2,704 at most, and what is longer
/// than this is a key or a picture, not a word.
const STEM_BYTES_MAX: usize = 256;
/// Stems of one term that are looked for; a longer one is told apart by its first.
const PARTS_MAX: usize = 16;

/// A stem within a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Posting {
    /// The stem.
    pub stem: String,
    /// How often it is there, the heading's counted double.
    pub weight: f32,
    /// Where it is, counted in stems: below 0 in the heading, above 0 in the text. No place is 0, so
    /// that no phrase runs from one into the other.
    pub positions: Vec<i32>,
}

/// A chunk's stems and how many there are, repeats counted.
pub fn postings(names: &str, content: &str) -> (Vec<Posting>, i32) {
    let (heading, text) = (stems(names), stems(content));
    let whole = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let length = whole(heading.len()).saturating_add(whole(text.len()));
    let mut found: BTreeMap<String, (f32, Vec<i32>)> = BTreeMap::new();
    let places = (-whole(heading.len())..0).zip(heading).chain((1..).zip(text));
    for (position, stem) in places {
        let entry = found.entry(stem).or_default();
        entry.0 += if position < 0 { HEADING_WEIGHT } else { 1.0 };
        entry.1.push(position);
    }
    let list = found.into_iter().map(|(stem, (weight, positions))| Posting { stem, weight, positions }).collect();
    (list, length)
}

/// What a term is made of: one stem, or several that must follow one another.
pub fn parts(term: &str) -> Vec<String> {
    let mut parts = stems(term);
    parts.truncate(PARTS_MAX);
    parts
}

/// A text as PostgreSQL can keep it: it has no sign 0. The replacement is one sign too, so places
/// within the text stay right.
pub fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{FFFD}")) } else { Cow::Borrowed(text) }
}

fn stems(text: &str) -> Vec<String> {
    let spaced: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let mut stems = words::content_stems(&spaced);
    for stem in &mut stems {
        stem.truncate(stem.floor_char_boundary(STEM_BYTES_MAX));
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, section: &str, content: &str, expected: &[(&str, f32, &[i32])]) {
        let (postings, length) = postings(section, content);
        let found: Vec<_> = postings.iter().map(|p| (p.stem.as_str(), p.weight, p.positions.as_slice())).collect();
        assert_eq!(found, expected, "{says}");
        assert_eq!(length as usize, expected.iter().map(|(_, _, places)| places.len()).sum::<usize>(), "{says}");
    }

    #[test]
    fn chunks_become_postings() {
        check("forms of a word meet", "", "indexed indexes", &[("index", 2.0, &[1, 2])]);
        check("a heading counts double", "Pool", "pool", &[("pool", 3.0, &[-1, 1])]);
        check("nothing stays nothing", "", " ?! ", &[]);
        check("small words take no place", "", "the pool of pumps", &[("pool", 1.0, &[1]), ("pump", 1.0, &[2])]);
        check("signs part words", "", "pool.size", &[("pool", 1.0, &[1]), ("siz", 1.0, &[2])]);
        check("a sign 0 is a sign", "", "pool\0pump", &[("pool", 1.0, &[1]), ("pump", 1.0, &[2])]);
    }

    fn check_parts(says: &str, term: &str, expected: &[&str]) {
        assert_eq!(parts(term), expected, "{says}");
    }

    #[test]
    fn terms_have_parts() {
        check_parts("a word", "Pools", &["pool"]);
        check_parts("a code", "RAG-1107", &["rag", "1107"]);
        check_parts("nothing that can be found", "--", &[]);
        assert_eq!(parts(&"é".repeat(1_000))[0].len(), STEM_BYTES_MAX, "a long one is cut");
        assert_eq!(parts(&"a1-".repeat(100)).len(), PARTS_MAX, "many are too");
    }

    #[test]
    fn texts_can_be_kept() {
        assert_eq!(storable("a\0b"), "a\u{FFFD}b");
        assert!(matches!(storable("ab"), Cow::Borrowed("ab")));
    }
}
