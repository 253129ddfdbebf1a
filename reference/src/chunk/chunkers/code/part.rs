//! A part of a code file, and how its lines are read; below everything that finds parts.

use crate::chunk::chunkers::code::lexer::COMMENT;

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
