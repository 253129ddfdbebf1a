//! Exact lengths in tokens of the `o200k_base` vocabulary, which is inside the program.
//!
//! Counts of parts do not add up to that of the whole, so whoever has a budget counts the final text.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes a text is cut into where the vocabulary's patterns give up on the whole of it.
const PIECE_BYTES: usize = 4_096;

/// A text's length in tokens. The vocabulary is read at the first call (80 ms, 46 MB) and kept.
pub fn count(text: &str) -> usize {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    let count = |text: &str| catch_unwind(AssertUnwindSafe(|| vocabulary.encode_ordinary(text).len())).ok();
    // A megabyte of blanks exhausts the patterns' patience; in pieces it is counted to within a token a piece.
    count(text).unwrap_or_else(|| pieces(text).map(|piece| count(piece).unwrap_or(piece.len())).sum())
}

/// The longest beginning of a text that has at most so many tokens, cut between characters: bytes.
pub fn fitting(text: &str, limit: usize) -> usize {
    if count(text) <= limit {
        return text.len();
    }
    // A token has a byte at least, so the answer lies between these; counting halves what is open.
    let (mut fits, mut over) = (0, text.len());
    while over - fits > 1 {
        let mut middle = fits + (over - fits) / 2;
        while !text.is_char_boundary(middle) {
            middle -= 1;
        }
        if middle <= fits {
            break;
        }
        if count(&text[..middle]) <= limit { fits = middle } else { over = middle }
    }
    fits
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut at = rest.len().min(PIECE_BYTES);
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, left) = rest.split_at(at);
        rest = left;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, expected: usize) {
        assert_eq!(count(text), expected, "{says}");
    }

    #[test]
    fn counts_are_those_of_the_vocabulary() {
        check("nothing costs nothing", "", 0);
        check("a common word is one", "hello", 1);
        check("a greeting", "hello world", 2);
        check("what looks special is plain text", "<|endoftext|>", 7);
        assert!(count(&" ".repeat(1_000_000)) > 0, "a megabyte of blanks is counted, and breaks nothing");
    }

    #[test]
    fn a_beginning_fits_its_limit() {
        let text = "Füße und Hände, twelve words or so of a sentence that goes on.";
        for limit in 0..20 {
            let end = fitting(text, limit);
            assert!(count(&text[..end]) <= limit, "{limit}");
        }
        assert_eq!(fitting("short", 10), 5);
    }
}
