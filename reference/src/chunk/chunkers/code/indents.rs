//! Functions of a language whose blocks are indented: Python.

use crate::chunk::chunkers::code::lexer::COMMENT;
use crate::chunk::chunkers::code::part::{self, Part};

/// What a logical line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Comment,
    Decorator,
    Function,
    Class,
    Code,
}

/// A line, or several that brackets or a backslash join.
#[derive(Debug)]
struct IndentedLine {
    start: usize,
    end: usize,
    indent: usize,
    kind: LineKind,
}

/// Columns of a tab stop, by Python's reference (2.1.8).
const TAB: usize = 8;

/// Every function and method, in order.
pub(crate) fn functions(text: &str, mask: &[u8]) -> Vec<Part> {
    let lines = lines(mask);
    let mut found: Vec<Part> = Vec::new();
    let mut classes: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = &lines[at];
        at += 1;
        if matches!(line.kind, LineKind::Blank | LineKind::Comment) {
            continue;
        }
        classes.retain(|(indent, _)| *indent < line.indent);
        let signature = || part::signature(text, mask, line.start, line.end).trim_end_matches(':').to_owned();
        match line.kind {
            LineKind::Class => classes.push((line.indent, signature())),
            LineKind::Function => {
                let body = body(&lines[at..], line.indent);
                let end = if body == 0 { line.end } else { lines[at + body - 1].end };
                let bound = found.last().map_or(0, |part| part.end);
                let start = start(&lines[..at], bound);
                let titles = classes.iter().map(|(_, title)| title.clone()).chain([signature()]).collect();
                found.push(Part { start, end, titles, is_function: true });
                at += body;
            }
            LineKind::Blank | LineKind::Comment | LineKind::Decorator | LineKind::Code => {}
        }
    }
    found
}

/// How many lines belong to a function that is indented so: up to the last one of code further in.
fn body(lines: &[IndentedLine], indent: usize) -> usize {
    let mut count = 0;
    for (number, line) in lines.iter().enumerate() {
        match line.kind {
            LineKind::Blank | LineKind::Comment => {}
            _ if line.indent > indent => count = number + 1,
            _ => break,
        }
    }
    count
}

/// Where a function begins whose line is the last of these: at its decorators and comments.
fn start(lines: &[IndentedLine], bound: usize) -> usize {
    let above = lines.iter().rev().skip(1);
    let own = above
        .take_while(|line| matches!(line.kind, LineKind::Comment | LineKind::Decorator) && line.start >= bound)
        .count();
    lines[lines.len() - 1 - own].start
}

fn lines(mask: &[u8]) -> Vec<IndentedLine> {
    let mut lines: Vec<IndentedLine> = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_usize);
    for physical in mask.split_inclusive(|byte| *byte == b'\n') {
        // An open bracket that nobody closed must not swallow the rest of the file.
        if depth > 0 && is_statement(physical) {
            lines.push(line(mask, start, at));
            (start, depth) = (at, 0);
        }
        at += physical.len();
        for byte in physical {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        let goes_on = physical.trim_ascii_end().ends_with(b"\\") || depth > 0;
        if !goes_on || at == mask.len() {
            lines.push(line(mask, start, at));
            start = at;
        }
    }
    lines
}

/// Whether a line can only begin a statement of the outermost level.
fn is_statement(line: &[u8]) -> bool {
    [&b"def "[..], b"class ", b"async def ", b"@"].iter().any(|word| line.starts_with(word))
}

fn line(mask: &[u8], start: usize, end: usize) -> IndentedLine {
    let code = &mask[start..end];
    let indent = code.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    let indent = indent.fold(0, |column, byte| if *byte == b'\t' { (column / TAB + 1) * TAB } else { column + 1 });
    let bare = code.trim_ascii();
    let kind = match bare.first() {
        None => LineKind::Blank,
        Some(&COMMENT) => LineKind::Comment,
        Some(b'@') => LineKind::Decorator,
        _ if bare.starts_with(b"def ") || bare.starts_with(b"async def ") => LineKind::Function,
        _ if bare.starts_with(b"class ") => LineKind::Class,
        _ => LineKind::Code,
    };
    IndentedLine { start, end, indent, kind }
}
