//! Cuts by characters, whatever stands there: what a naive chunker does.

use crate::chunk::headings::Piece;
use crate::chunk::pack;
use crate::text::tokens;

/// Pieces of so many characters, the given number shared with the neighbour. A piece is shorter where
/// its script needs more tokens than the limit; white space alone is no piece.
pub(crate) fn pieces(text: &str, characters: usize, overlap: usize, tokens_max: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let (end, tokens) = fitting(text, start, after(text, start, characters), tokens_max);
        if !text[start..end].trim().is_empty() {
            pieces.push(Piece { section: String::new(), start, end, tokens, is_section: false, parent: None });
        }
        if end == text.len() {
            break;
        }
        // At least one character further, however short the piece came out.
        start = before(text, end, overlap).max(after(text, start, 1));
    }
    pieces
}

fn fitting(text: &str, start: usize, end: usize, tokens_max: usize) -> (usize, usize) {
    let counted = |end: usize| tokens::count(&pack::searched("", &text[start..end]));
    let mut end = end;
    let mut tokens = counted(end);
    while tokens > tokens_max && end > after(text, start, 1) {
        let length = ((end - start) * tokens_max / tokens).min(end - start - 1);
        end = text.floor_char_boundary(start + length).max(after(text, start, 1));
        tokens = counted(end);
    }
    (end, tokens)
}

/// The place so many characters after another.
fn after(text: &str, start: usize, characters: usize) -> usize {
    text[start..].char_indices().nth(characters).map_or(text.len(), |(at, _)| start + at)
}

/// The place so many characters before another.
fn before(text: &str, end: usize, characters: usize) -> usize {
    if characters == 0 {
        return end;
    }
    text[..end].char_indices().rev().nth(characters - 1).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, expected: &[&str]) {
        let got: Vec<&str> = pieces(text, 4, 1, 50).iter().map(|piece| &text[piece.start..piece.end]).collect();
        assert_eq!(got, expected, "{says}");
    }

    #[test]
    fn characters_are_counted_and_nothing_else() {
        check("nothing", "", &[]);
        check("a short text is one", "abc", &["abc"]);
        check("words are cut", "abcdefg", &["abcd", "defg"]);
        check("characters of several bytes", "äöüßéèê", &["äöüß", "ßéèê"]);
        check("white space is left out", "    \n\n\n\na", &["\n\na"]);
    }

    #[test]
    fn a_dense_script_stays_within_its_tokens() {
        let text = "🙂漢\u{1}".repeat(300);
        let pieces = pieces(&text, 512, 64, 100);
        assert!(pieces.iter().all(|piece| piece.tokens <= 100));
        assert_eq!(pieces.last().map(|piece| piece.end), Some(text.len()));
    }
}
