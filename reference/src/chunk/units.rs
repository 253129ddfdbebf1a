//! The smallest stretches that are kept together: sentences, rows, code blocks, lines of code.
//!
//! A unit that is longer than a chunk may be is cut: at the end of a line, else at a space, else
//! between two characters. Each is counted in tokens once; nothing here is more than linear.

use crate::text::tokens;

/// A stretch of the text, in bytes, that is not empty and has no white space around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Of this stretch alone.
    pub(crate) tokens: usize,
    /// Whether a neighbour may repeat it: a sentence, not a code block.
    pub(crate) prose: bool,
}

/// Bytes a token can have on average before a stretch is cut without being counted whole: indented
/// code reaches ten, so only runs of blanks or of one letter are denser.
const BYTES_PER_TOKEN_MAX: usize = 16;
/// The widest indentation that is kept before the first line of code.
const INDENT_BYTES_MAX: usize = 64;

/// Appends a stretch as one unit, or as several where it has more than `budget` tokens.
pub(crate) fn push(text: &str, start: usize, end: usize, prose: bool, budget: usize, units: &mut Vec<Unit>) {
    let mut rest = if prose { start } else { line_of_first(text, start, end) };
    while let Some((from, to)) = trimmed(text, rest, end, prose) {
        let (cut, tokens) = fitting(&text[from..to], budget);
        units.push(Unit { start: from, end: from + text[from..from + cut].trim_end().len(), tokens, prose });
        rest = from + cut;
    }
}

/// Where a stretch of code begins once empty lines are gone: at its first line's indentation.
fn line_of_first(text: &str, start: usize, end: usize) -> usize {
    let stretch = &text[start..end];
    let lead = stretch.len() - stretch.trim_start().len();
    let at_line = start == 0 || text.as_bytes()[start - 1] == b'\n';
    let line = match text[start..start + lead].rfind('\n') {
        Some(newline) => start + newline + 1,
        None if at_line => start,
        None => start + lead,
    };
    if start + lead - line > INDENT_BYTES_MAX { start + lead } else { line }
}

/// The stretch without white space around it, but for the indentation of code; none where nothing is left.
fn trimmed(text: &str, start: usize, end: usize, prose: bool) -> Option<(usize, usize)> {
    let stretch = &text[start..end];
    let to = start + stretch.trim_end().len();
    let from = start + (stretch.len() - stretch.trim_start().len());
    (from < to).then(|| (if prose { from } else { line_of_first(text, start, end) }, to))
}

/// The length in bytes of a beginning that fits the budget, cut where it hurts least, and its tokens.
/// At least one character, since a budget below a character's tokens cannot be held.
fn fitting(stretch: &str, budget: usize) -> (usize, usize) {
    let mut limit = boundary_below(stretch, budget * BYTES_PER_TOKEN_MAX);
    loop {
        let end = if limit == stretch.len() { limit } else { gentle(&stretch[..limit]) };
        let tokens = tokens::count(stretch[..end].trim_end());
        let first = stretch.chars().next().map_or(0, char::len_utf8);
        if tokens <= budget || end <= first {
            return (end, tokens);
        }
        // As many bytes as the budget buys at this stretch's own price; a little less each time.
        let bought = (end * budget / tokens).min(end - end.div_ceil(50));
        limit = boundary_below(stretch, bought).max(first);
    }
}

/// The last end of a line in the second half of a beginning, else the last space there, else all of it.
fn gentle(beginning: &str) -> usize {
    let half = boundary_below(beginning, beginning.len() / 2);
    let second = &beginning[half..];
    if let Some(newline) = second.rfind('\n') {
        return half + newline + 1;
    }
    second.char_indices().rfind(|(_, c)| c.is_whitespace()).map_or(beginning.len(), |(at, c)| half + at + c.len_utf8())
}

/// The last place between two characters that is no further than `limit`.
fn boundary_below(text: &str, limit: usize) -> usize {
    text.floor_char_boundary(limit.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, text: &str, prose: bool, budget: usize, expected: &[&str]) {
        let mut units = Vec::new();
        push(text, 0, text.len(), prose, budget, &mut units);
        let got: Vec<&str> = units.iter().map(|unit| &text[unit.start..unit.end]).collect();
        assert_eq!(got, expected, "{says}");
        for unit in &units {
            assert_eq!(unit.tokens, tokens::count(&text[unit.start..unit.end]), "{says}: counted as it stands");
        }
    }

    #[test]
    fn long_stretches_are_cut_where_it_hurts_least() {
        check("white space alone is nothing", " \n\t", true, 9, &[]);
        check("what fits stays whole", " one two. ", true, 9, &["one two."]);
        check("prose is cut at spaces", "one two three four", true, 2, &["one two", "three four"]);
        check("code is cut at the ends of lines", "a = 1\nb = 2\n", false, 5, &["a = 1", "b = 2"]);
        check("code keeps the indentation of its first line", "\n\n    a = 1\n", false, 9, &["    a = 1"]);
        check("white space of three bytes", "\u{3000}a\u{3000}", true, 9, &["a"]);
    }

    #[test]
    fn a_word_without_end_is_cut_between_characters() {
        for word in ["x".repeat(5_000), "漢".repeat(5_000), "🙂".repeat(2_000), "\u{0}".repeat(2_000)] {
            let mut units = Vec::new();
            push(&word, 0, word.len(), true, 30, &mut units);
            assert!(units.iter().all(|unit| unit.tokens <= 30));
            assert_eq!(units.iter().map(|unit| unit.end - unit.start).sum::<usize>(), word.len(), "nothing is lost");
        }
    }
}
