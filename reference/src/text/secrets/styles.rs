//! How a value is written, which says where it begins and where it ends.

use crate::text::secrets::links::{Link, QUOTES};
use crate::text::secrets::names::Value;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// In quotes; `true`: quotes that are escaped, within another string.
    Quoted(char, bool),
    /// Within quotes that opened before its name: `"NAME=value"`.
    Inside(char),
    /// All of a line of settings.
    Line,
    /// As far as no blank stands.
    Word,
    /// A word of code among others.
    Bare,
    /// All of an element in angle brackets.
    Element,
    /// As long as it is base64.
    Base64,
}

/// Where a value ends within what was looked at.
pub(crate) enum End {
    At(usize),
    /// Not there yet.
    Open,
    /// It is none.
    Broken,
}

impl Style {
    /// Whether the value counts only if its end is there.
    pub(crate) fn needs_an_end(self) -> bool {
        matches!(self, Self::Quoted(..))
    }

    /// Where the value ends, if it began at the beginning of `rest`.
    pub(crate) fn end(self, rest: &str) -> End {
        let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_' | '%');
        let is_blank = |c: char| c.is_whitespace() || c.is_control();
        let found = match self {
            Self::Quoted(quote, is_escaped) => return quoted(rest, quote, is_escaped),
            Self::Inside(quote) => {
                let is_next = |at: usize, c: char| matches!(c, ',' | ';' | '&') && ends(&rest[at..], c);
                let is_end = |(at, c): &(usize, char)| is_blank(*c) || *c == quote || is_next(*at, *c);
                rest.char_indices().find(is_end).map(|(at, _)| at)
            }
            Self::Line => {
                let line = &rest[..rest.find(is_blank).unwrap_or(rest.len())];
                let value = line.trim_end_matches([',', ';']);
                let is_closed = value.ends_with([')', ']', '}']) && !value.contains(['(', '[', '{']);
                let value = if is_closed { value.trim_end_matches([')', ']', '}', ',', ';']) } else { value };
                return if line.len() == rest.len() { End::Open } else { End::At(value.len()) };
            }
            Self::Word => {
                let length = rest.find(|c: char| is_blank(c) || matches!(c, '|' | '`' | '"')).unwrap_or(rest.len());
                let word = rest[..length].trim_end_matches(['.', ',', ';', ':', '\'', '*']);
                let is_closed = word.ends_with(')') && !word.contains('(');
                let word = if is_closed { word.trim_end_matches([')', '.', ',']) } else { word };
                return if length == rest.len() { End::Open } else { End::At(word.len()) };
            }
            Self::Element => rest.find(|c: char| is_blank(c) || c == '<'),
            Self::Bare => bare(rest),
            Self::Base64 => rest.find(|c| !is_base64(c)),
        };
        found.map_or(End::Open, |at| End::At(rest[..at].trim_end_matches([',', ';']).len()))
    }
}

/// The longest name after a separator in `a=1;b=2`, and before a secret's own words.
const NEXT_NAME_BYTES_MAX: usize = 40;

/// Where the value begins, and how it is written.
pub(crate) fn opening(text: &str, word: usize, name_end: usize, at: usize, link: Link, kind: Value) -> (usize, Style) {
    let rest = &text[at..];
    // Letters before a string of Python or Rust, and `@` of C# and Objective-C.
    let prefix = usize::from(rest.starts_with(['r', 'b', 'u', 'f', '@']) && rest[1..].starts_with(['"', '\'']));
    let rest = &rest[prefix..];
    let is_escaped = rest.starts_with("\\\"") || rest.starts_with("\\'");
    let quote = rest[usize::from(is_escaped)..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let marks = rest.len() - rest.trim_start_matches('*').len();
    let start = match quote {
        Some(_) => at + prefix + usize::from(is_escaped) + 1,
        None if link.is_weak() && marks == 2 => at + marks,
        None => at,
    };
    let before = text[..word].chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    let is_closed = text[name_end..at].contains(['"', '\'', '`', '\n']);
    let style = match (kind, quote, before) {
        (Value::Base64(_) | Value::Pair, ..) => Style::Base64,
        (_, Some(quote), _) => Style::Quoted(quote, is_escaped),
        _ if link.is_weak() => Style::Word,
        (_, None, Some(quote)) if !is_closed => Style::Inside(quote),
        _ if text[name_end..at].trim_end().ends_with('>') && text[..word].ends_with(['<', ':']) => Style::Element,
        _ if link == Link::Block || is_line_of_settings(text, word, at) => Style::Line,
        _ => Style::Bare,
    };
    (start, style)
}

/// Where a closing quote stands on the same line.
fn quoted(rest: &str, quote: char, is_escaped: bool) -> End {
    let mut after_backslash = false;
    for (at, c) in rest.char_indices() {
        match c {
            '\n' => return End::Broken,
            _ if after_backslash && is_escaped && c == quote => return End::At(at - 1),
            _ if after_backslash => after_backslash = false,
            '\\' => after_backslash = true,
            _ if c == quote => return End::At(at),
            _ => {}
        }
    }
    End::Open
}

/// The part of a name before its telling word: `DB_` of `DB_PASSWORD`.
pub(crate) fn word_before(before: &str) -> &str {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = before.bytes().rev().take(NEXT_NAME_BYTES_MAX).take_while(is_name).count();
    &before[before.len() - length..]
}

/// What may stand before a name that begins its line: `export TOKEN=…`, `- TOKEN=…`, `ENV TOKEN=…`.
const LINE_OPENS: &[&str] = &["", "export", "ENV", "ARG", "-", "set", "SET", "declare -x", "#", "+"];

/// Whether the name begins its line and the value is all of the rest, or follows its sign at once.
fn is_line_of_settings(text: &str, word: usize, at: usize) -> bool {
    let before = &text[text.ceil_char_boundary(word.saturating_sub(NEXT_NAME_BYTES_MAX))..word];
    let opens = match before.rsplit_once('\n') {
        Some((_, opens)) => opens,
        None if before.len() == word => before,
        None => return false,
    };
    if !LINE_OPENS.contains(&opens.trim_start_matches(QUOTES).trim_end()) {
        return false;
    }
    let line = text[at..].bytes().take(LINE_BYTES_MAX).position(|byte| byte == b'\n');
    let line = text[at..].get(..line.unwrap_or(LINE_BYTES_MAX)).unwrap_or(&text[at..]);
    text[..at].ends_with('=') || !line.trim_end().contains([' ', '\t'])
}

/// The longest value that is taken for all of a line.
const LINE_BYTES_MAX: usize = 256;

/// Where an unquoted word of code ends. Brackets end it behind a name, since then it is a call.
fn bare(rest: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut is_name = true;
    for (at, c) in rest.char_indices() {
        match c {
            _ if c.is_whitespace() || c.is_control() || ends(&rest[at..], c) => return Some(at),
            '(' | '[' | '{' if is_name => return Some(at),
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' if open == 0 => return Some(at),
            ')' | ']' | '}' => open -= 1,
            _ => {}
        }
        is_name &= c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '$');
    }
    None
}

/// Whether an unquoted value ends before this sign.
fn ends(rest: &str, sign: char) -> bool {
    match sign {
        '"' | '\'' | '`' | '<' | '>' => true,
        ',' | ';' | '&' => {
            let next = rest[1..].bytes().take(NEXT_NAME_BYTES_MAX);
            let name = next.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte)).count();
            name == 0 || rest[1..].starts_with(char::is_whitespace) || rest[1 + name..].starts_with(['=', ':'])
        }
        _ => false,
    }
}
