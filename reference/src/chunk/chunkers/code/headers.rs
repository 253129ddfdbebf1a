//! What a brace opens, told by the words before it.

use crate::chunk::chunkers::code::dialect::Dialect;
use crate::chunk::chunkers::code::lexer::{COMMENT, LITERAL};
use crate::chunk::chunkers::code::part;

/// What a block stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// The file.
    Nothing,
    /// A type or module.
    Type,
    /// Other braces: data, or a condition.
    Block,
}

/// What a block is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// A function: where its own lines begin, and its signature.
    Function {
        /// In bytes; comment lines above not included.
        start: usize,
        /// One line.
        signature: String,
    },
    /// A type or module, within which functions are looked for.
    Container {
        /// One line.
        signature: String,
    },
    /// Anything else; functions within are found, it has no title.
    Other,
}

/// The longest header; a brace after more than that opens data.
const HEADER_BYTES_MAX: usize = 2_000;
/// Words that name a type or module.
const CONTAINER_WORDS: &[&str] = &[
    "impl",
    "trait",
    "mod",
    "class",
    "struct",
    "enum",
    "union",
    "interface",
    "namespace",
    "module",
    "object",
    "record",
    "protocol",
    "extension",
    "extern",
];
/// Words that begin a statement which has its braces without being a function.
const CONTROL_WORDS: &[&str] = &[
    "if",
    "for",
    "foreach",
    "while",
    "switch",
    "catch",
    "do",
    "else",
    "try",
    "finally",
    "return",
    "new",
    "throw",
    "using",
    "lock",
    "synchronized",
    "match",
    "when",
    "guard",
    "defer",
    "go",
    "select",
    "case",
    "default",
    "with",
    "yield",
    "await",
];

/// Reads the statement from `start` to the brace at `brace`.
pub(crate) fn read(text: &str, mask: &[u8], start: usize, brace: usize, dialect: Dialect, around: Around) -> Header {
    let start = after_blank_line(mask, near(mask, start, brace), brace);
    let code = Code { mask, start, end: brace };
    let line = |at: usize| part::line_start(mask, at, start);
    let signature = |line: usize| part::signature(text, mask, line, brace);
    // Rust's and C's statements end with a sign, those of the others often with their line.
    let function = |line: usize, by_line: bool| {
        let from = if by_line { line.max(code.first()) } else { code.first() };
        Header::Function { start: line_of(mask, from, start), signature: signature(line) }
    };
    let words = code.words();
    let last = |wanted: &[&str]| words.iter().rev().find(|(word, _)| wanted.contains(word)).copied();
    let keyword = last(function_words(dialect)).map(|(_, at)| line(at));
    let container = last(CONTAINER_WORDS).filter(|(word, _)| {
        // A function of C may give back a struct.
        !(matches!(*word, "struct" | "enum" | "union") && code.bare().ends_with(b")"))
    });
    let container = container.map(|(_, at)| line(at));
    match (keyword, container) {
        (Some(keyword), Some(container)) if dialect != Dialect::Script || keyword >= container => {
            function(keyword, dialect != Dialect::Rust)
        }
        (_, Some(container)) => Header::Container { signature: signature(container) },
        (Some(keyword), None) => function(keyword, dialect != Dialect::Rust),
        (None, None) if dialect == Dialect::Script => match code.nameless_or_method(around) {
            Some(at) => function(line(at), true),
            None => Header::Other,
        },
        (None, None) => match code.last_call() {
            Some(call) if dialect == Dialect::Braces && around != Around::Block && code.is_declaration() => {
                function(line(call), false)
            }
            _ => Header::Other,
        },
    }
}

/// Words that name a function wherever they stand.
fn function_words(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Rust => &["fn"],
        Dialect::Braces => &["func", "fun"],
        Dialect::Script => &["function"],
        Dialect::Python | Dialect::Ruby | Dialect::Lua | Dialect::Shell | Dialect::Plain => &[],
    }
}

/// Where to begin reading: of a long statement with a whole line, so that no half one is misread.
fn near(mask: &[u8], start: usize, brace: usize) -> usize {
    if brace - start <= HEADER_BYTES_MAX {
        return start;
    }
    let near = brace - HEADER_BYTES_MAX;
    mask[near..brace].iter().position(|byte| *byte == b'\n').map_or(brace, |newline| near + newline + 1)
}

/// The start of the line, where only white space lies before, so that indentation is kept.
fn line_of(mask: &[u8], at: usize, bound: usize) -> usize {
    let line = part::line_start(mask, at, bound);
    if mask[line..at].trim_ascii().is_empty() { line } else { at }
}

/// What follows the last empty line: a header has none.
fn after_blank_line(mask: &[u8], start: usize, end: usize) -> usize {
    let mut after = start;
    let mut at = start;
    for line in mask[start..end].split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if line.trim_ascii().is_empty() && at < end {
            after = at;
        }
    }
    after
}

struct Code<'a> {
    mask: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> Code<'a> {
    fn bytes(&self) -> &'a [u8] {
        &self.mask[self.start..self.end]
    }

    /// The first byte that is neither white space nor comment.
    fn first(&self) -> usize {
        let found = self.bytes().iter().position(|byte| !byte.is_ascii_whitespace() && *byte != COMMENT);
        found.map_or(self.end, |at| self.start + at)
    }

    /// Without white space and comments at its end.
    fn bare(&self) -> &'a [u8] {
        let bytes = self.bytes();
        let last = bytes.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != COMMENT);
        last.map_or(&[], |last| &bytes[..=last])
    }

    /// Words outside brackets, each with its place. What stands in brackets names no block.
    fn words(&self) -> Vec<(&'a str, usize)> {
        let (mut words, mut depth, mut from) = (Vec::new(), 0_usize, None);
        let mask = self.mask;
        for at in self.start..=self.end {
            let byte = if at < self.end { mask[at] } else { b' ' };
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
            if is_word && depth == 0 {
                from.get_or_insert(at);
                continue;
            }
            if let Some(from) = from.take()
                && let Ok(word) = std::str::from_utf8(&mask[from..at])
            {
                words.push((word, from));
            }
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        words
    }

    /// Of JavaScript: where an arrow function is given its name, or a method its arguments.
    fn nameless_or_method(&self, around: Around) -> Option<usize> {
        if self.bare().ends_with(b"=>") {
            return self.assignment();
        }
        let call = self.last_call().filter(|_| around != Around::Nothing)?;
        let line = Code { start: part::line_start(self.mask, call, self.start), ..*self };
        line.is_declaration().then_some(call)
    }

    /// Whether it is neither a condition or loop nor a value.
    fn is_declaration(&self) -> bool {
        let words = self.words();
        let is_control = words.first().is_none_or(|(first, _)| CONTROL_WORDS.contains(first));
        let is_operator = words.iter().any(|(word, _)| *word == "operator");
        !is_control && (is_operator || self.assignment().is_none())
    }

    /// The opening bracket of the last arguments, if only what may stand between them and a body follows:
    /// `const`, a type, `throws`, a list of initialisers.
    fn last_call(&self) -> Option<usize> {
        let bytes = self.bare();
        let close = bytes.iter().rposition(|byte| *byte == b')')?;
        let is_tail = |byte: &u8| {
            byte.is_ascii_alphanumeric()
                || byte.is_ascii_whitespace()
                || b"_:,.<>&*|?[]-\"$".contains(byte)
                || *byte == LITERAL
                || *byte == COMMENT
        };
        if !bytes[close + 1..].iter().all(is_tail) {
            return None;
        }
        let mut depth = 0_usize;
        for (at, byte) in bytes[..=close].iter().enumerate().rev() {
            match byte {
                b')' => depth += 1,
                b'(' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let is_named = bytes[..at]
                    .trim_ascii_end()
                    .last()
                    .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_$>])=+-*/<!~".contains(byte));
                return is_named.then_some(self.start + at);
            }
        }
        None
    }

    /// The last place outside brackets where a value is assigned.
    fn assignment(&self) -> Option<usize> {
        let bytes = self.bytes();
        let (mut depth, mut found) = (0_usize, None);
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                b'=' if depth == 0 && !is_part_of_a_sign(bytes, at) => found = Some(self.start + at),
                _ => {}
            }
        }
        found
    }
}

/// Whether an equals sign belongs to `==`, `=>`, `<=` or the like.
fn is_part_of_a_sign(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |at| bytes[at]);
    let after = bytes.get(at + 1).copied().unwrap_or(b' ');
    b"=!<>".contains(&before) || b"=>".contains(&after)
}
