//! Whether what is assigned to a secret's name is a secret, and where it ends.
//!
//! Most of what stands behind `token:` is none: a type, a placeholder, a call, a word of prose. A
//! secret is drawn, so it mixes kinds of signs and repeats few of them.

use std::ops::Range;

use crate::text::secret_rules::Value;

/// The value behind a head that begins at `name` and ends at `at`, where it is a secret of this kind.
pub(crate) fn after(text: &str, name: usize, at: usize, kind: Value) -> Option<Range<usize>> {
    let head = &text[name..at];
    if NO_SECRETS.contains(&last_word(head).as_str()) {
        return None;
    }
    let (start, style) = opening(text, name, at, kind);
    // The beginning decides, so that a text of nothing but names is not read over and over.
    let near = &text[start..text.floor_char_boundary((start + JUDGED_BYTES_MAX).min(text.len()))];
    let value = match style.end(near) {
        End::At(length) => &near[..length],
        End::Open if style.needs_an_end() && start + near.len() == text.len() => return None,
        End::Open => near,
        End::Broken => return None,
    };
    if !is_secret(head, value, kind, style) {
        return None;
    }
    let length = match style.end(&text[start..]) {
        End::At(length) => length,
        End::Open if style.needs_an_end() => return None,
        End::Open => text.len() - start,
        End::Broken => return None,
    };
    // Of an element in angle brackets the next thing is its end tag.
    let is_element = !head.ends_with('>') || text[start + length..].starts_with("</");
    is_element.then_some(start..start + length)
}

fn is_secret(head: &str, value: &str, kind: Value, style: Style) -> bool {
    let is_drawn = match kind {
        Value::Base64(least) => value.len() >= least && entropy(value) >= DRAWN_ENTROPY_MIN,
        Value::Chosen => is_varied(value, CHOSEN_LEAST, CHOSEN_ENTROPY_MIN),
        Value::Drawn => is_varied(value, DRAWN_LEAST, DRAWN_ENTROPY_MIN),
    };
    let may_be_code = matches!(style, Style::Line | Style::Bare);
    is_drawn && !is_placeholder(value) && !(may_be_code && is_expression(head, value))
}

/// How a value is written, which says where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// In quotes; `true`: quotes that are escaped, within another string.
    Quoted(char, bool),
    /// All of a line of settings.
    Line,
    /// A word among others.
    Bare,
    /// As long as it is base64.
    Base64,
}

/// Where a value ends within what was looked at.
enum End {
    At(usize),
    /// Not there yet.
    Open,
    /// It is none.
    Broken,
}

impl Style {
    fn needs_an_end(self) -> bool {
        matches!(self, Self::Quoted(..))
    }

    fn end(self, rest: &str) -> End {
        let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let found = match self {
            Self::Quoted(quote, is_escaped) => return quoted(rest, quote, is_escaped),
            Self::Line => rest.find(|c: char| c.is_whitespace() || c.is_control()),
            Self::Bare => {
                let is_end = |(at, c): &(usize, char)| c.is_whitespace() || c.is_control() || ends(&rest[*at..], *c);
                rest.char_indices().find(is_end).map(|(at, _)| at)
            }
            Self::Base64 => rest.find(|c| !is_base64(c)),
        };
        found.map_or(End::Open, |at| End::At(rest[..at].trim_end_matches([',', ';']).len()))
    }
}

/// What a name ends with that names no secret but something about one.
const NO_SECRETS: &[&str] = &[
    "count", "type", "url", "uri", "endpoint", "file", "path", "name", "id", "limit", "length", "len", "max", "min",
    "ttl", "expires", "expiry", "at", "env", "hint", "budget", "policy", "field", "header", "prefix", "hash", "dir",
    "model", "version", "class", "ref", "arn",
];
/// Signs of a password at least.
const CHOSEN_LEAST: usize = 8;
/// Signs of a drawn token at least.
const DRAWN_LEAST: usize = 16;
/// Bits a sign of a password, about eight signs of which two repeat.
const CHOSEN_ENTROPY_MIN: f64 = 2.5;
/// Bits a sign of a drawn token; sixteen hexadecimal digits have 3.2 on average.
const DRAWN_ENTROPY_MIN: f64 = 2.9;
/// A value made of letters alone is a secret from here on, if its case changes often enough.
const LETTERS_LEAST: usize = 20;
/// Changes from a small letter to a capital in such a value.
const CASE_CHANGES_MIN: usize = 4;
/// Digits that an unquoted value in spaced code needs, since names have few.
const DIGITS_MIN: usize = 3;
/// The beginning of a value by which it is judged.
const JUDGED_BYTES_MAX: usize = 256;
/// The longest name after a separator in `a=1;b=2`.
const NEXT_NAME_BYTES_MAX: usize = 40;

/// Shannon's entropy of the bytes, in bits a byte.
pub(crate) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether a value stands for one that is to be filled in, or was taken out.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let low = value.to_lowercase();
    let marks = [
        "redacted",
        "example",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "xxxx",
        "****",
        "....",
        "dummy",
        "${",
        "{{",
        "$(",
        "your-",
        "your_",
        "<your",
        "%s",
        "1234567890abcdef",
    ];
    let is_framed =
        (value.starts_with('<') && value.ends_with('>')) || (value.starts_with('{') && value.ends_with('}'));
    is_framed
        || marks.iter().any(|mark| low.contains(mark))
        || value.starts_with('$')
        || (value.starts_with('%') && value.ends_with('%'))
}

/// Whether a password is the word for one.
pub(crate) fn is_label(value: &str) -> bool {
    let low = value.to_lowercase();
    ["password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "port"].contains(&low.as_str())
        || low.chars().all(|c| c == '*' || c == 'x' || c == '.')
}

/// The last word of the name in a head, in small letters.
fn last_word(head: &str) -> String {
    let name: String = head.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
    name.rsplit(['_', '-']).next().unwrap_or_default().to_lowercase()
}

/// Where the value begins, and how it is written.
fn opening(text: &str, name: usize, at: usize, kind: Value) -> (usize, Style) {
    let rest = &text[at..];
    let is_escaped = rest.starts_with("\\\"");
    let quote = rest[usize::from(is_escaped)..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let start = quote.map_or(at, |_| at + usize::from(is_escaped) + 1);
    let style = match (kind, quote) {
        (Value::Base64(_), _) => Style::Base64,
        (_, Some(quote)) => Style::Quoted(quote, is_escaped),
        (_, None) if text[name..at].ends_with('=') && is_line_of_settings(text, name) => Style::Line,
        (_, None) => Style::Bare,
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

/// Whether the name begins its line, as in `.env`: `DB_PASSWORD=…`, `export TOKEN=…`.
fn is_line_of_settings(text: &str, name: usize) -> bool {
    let before = text[..name].bytes().rev().take(NEXT_NAME_BYTES_MAX);
    let word = before.take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let line = &text[..name - word];
    line.is_empty() || line.ends_with('\n') || line.ends_with("\nexport ") || line == "export "
}

/// Whether an unquoted value ends before this sign.
fn ends(rest: &str, sign: char) -> bool {
    match sign {
        '"' | '\'' | '`' | '(' | ')' | '{' | '}' | '[' | ']' | '<' | '>' => true,
        ',' | ';' | '&' => {
            let next = rest[1..].bytes().take(NEXT_NAME_BYTES_MAX);
            let name = next.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte)).count();
            name == 0 || rest[1..].starts_with(char::is_whitespace) || rest[1 + name..].starts_with('=')
        }
        _ => false,
    }
}

/// Whether a value mixes kinds of signs as drawn ones do.
fn is_varied(value: &str, least: usize, entropy_min: f64) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let length = value.chars().count();
    if length < least || entropy(value) < entropy_min || value.contains(char::is_whitespace) || value.contains("://") {
        return false;
    }
    let kinds = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
        has(|byte| byte.is_ascii_punctuation() && !b"-_./\\,:;".contains(byte)) || !value.is_ascii(),
    ];
    let is_letters = !kinds[2] && !kinds[3];
    if is_letters {
        let changes =
            value.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        return length >= LETTERS_LEAST && changes.count() >= CASE_CHANGES_MIN;
    }
    kinds.iter().filter(|is_there| **is_there).count() >= 2
}

/// Whether an unquoted value is code: a path of names, or a name where code has spaces around the sign.
fn is_expression(head: &str, value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let value = value.trim_start_matches(['&', '*', '!']);
    let parts: Vec<&str> = value.split(['.', ':', '/']).filter(|part| !part.is_empty()).collect();
    let is_path = parts.len() > 1 && parts.iter().all(|part| is_name(part));
    let is_spaced = head.ends_with("= ") || head.ends_with(": ");
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    is_path
        || value.starts_with(['/', '.', '~'])
        || (is_spaced && is_name(value) && (digits < DIGITS_MIN || value.contains('_')))
}
