//! A code file as its functions and what stands between them.
//!
//! Works on the text that `lexer` has blanked, so that braces and keywords in strings and comments
//! count for nothing. A decorator, an attribute and the comment lines right above belong to their
//! function; so do closing braces that nothing else claims. Functions within functions stay there.

use crate::rag::cut::braces;
use crate::rag::cut::dialect::{self, Dialect};
use crate::rag::cut::indents;
use crate::rag::cut::lexer::{self, COMMENT};

/// A stretch of the file, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The types and modules around it, and of a function its signature, outermost first.
    pub(crate) titles: Vec<String>,
    /// Whether it is a function, to be kept whole.
    pub(crate) is_function: bool,
}

/// The longest signature that is shown above a chunk, in bytes.
const SIGNATURE_BYTES_MAX: usize = 160;
/// Comment lines above a function that are its own; more are the file's licence.
const COMMENT_LINES_MAX: usize = 60;

/// The whole file in parts, in order, without holes.
pub(crate) fn parts(text: &str) -> Vec<Part> {
    let dialect = dialect::guess(text);
    let mask = lexer::mask(text, dialect);
    let functions = match dialect {
        Dialect::Python => indents::functions(text, &mask),
        Dialect::Rust | Dialect::Braces | Dialect::Script => braces::functions(text, &mask, dialect),
        Dialect::Plain => Vec::new(),
    };
    with_what_is_between(text, functions)
}

fn with_what_is_between(text: &str, functions: Vec<Part>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut at = 0;
    for function in functions {
        between(text, at, function.start, &function, &mut parts);
        at = function.end;
        parts.push(function);
    }
    let end = Part { start: text.len(), end: text.len(), titles: Vec::new(), is_function: false };
    between(text, at, text.len(), &end, &mut parts);
    parts
}

/// Adds what lies before a function: to the one before where it only closes braces, else as a part.
fn between(text: &str, start: usize, end: usize, next: &Part, parts: &mut Vec<Part>) {
    let gap = &text[start..end];
    if gap.trim().is_empty() {
        return;
    }
    let closes = gap.chars().all(|c| c.is_whitespace() || matches!(c, '}' | ')' | ']' | ';' | ','));
    match parts.last_mut() {
        Some(last) if closes => last.end = end,
        last => {
            // What both neighbours stand in, this stands in too.
            let around = |part: &Part| part.titles[..part.titles.len().saturating_sub(1)].to_vec();
            let before = last.map(|part| around(part)).unwrap_or_default();
            let shared = before.iter().zip(around(next)).take_while(|(a, b)| **a == *b).count();
            let titles = before[..shared].to_vec();
            parts.push(Part { start, end, titles, is_function: false });
        }
    }
}

/// A header as one line: comments out, white space single, no longer than a signature may be.
pub(crate) fn signature(text: &str, mask: &[u8], start: usize, end: usize) -> String {
    let bare: String = text[start..end]
        .char_indices()
        .map(|(at, c)| if mask[start + at] == COMMENT || c.is_control() { ' ' } else { c })
        .collect();
    let mut line = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    line.truncate(line.floor_char_boundary(SIGNATURE_BYTES_MAX));
    line
}

/// The start of the line a byte stands in, or `bound` where the line began before it.
pub(crate) fn line_start(mask: &[u8], at: usize, bound: usize) -> usize {
    mask[bound..at].iter().rposition(|byte| *byte == b'\n').map_or(bound, |newline| bound + newline + 1)
}

/// Steps up over comment lines, and lines that begin with `sign`, right above a line; not past `bound`.
pub(crate) fn with_lines_above(mask: &[u8], line: usize, bound: usize, sign: u8) -> usize {
    let mut start = line;
    for _ in 0..COMMENT_LINES_MAX {
        if start <= bound {
            break;
        }
        let above = line_start(mask, start - 1, bound);
        let is_whole = above == 0 || mask[above - 1] == b'\n';
        let bare = mask[above..start].trim_ascii();
        let is_comment =
            bare.contains(&COMMENT) && bare.iter().all(|byte| *byte == COMMENT || byte.is_ascii_whitespace());
        if !is_whole || !(is_comment || bare.first() == Some(&sign)) {
            break;
        }
        start = above;
    }
    start
}
