//! Whether what is assigned to a secret's name is a secret, and where it ends.
//!
//! Most of what stands behind `token:` is none: a type, a placeholder, a call, a word of prose. A
//! secret is drawn, so it mixes kinds of signs and repeats few of them.

use std::ops::Range;

use crate::rag::text::secret_rules::Value;

/// The value behind a head that begins at `name` and ends at `at`, where it is a secret of this kind.
pub(crate) fn after(text: &str, name: usize, at: usize, kind: Value) -> Option<Range<usize>> {
    let head = &text[name..at];
    if kind != Value::Base64(0) && NO_SECRETS.contains(&last_word(head).as_str()) {
        return None;
    }
    let (place, is_quoted) = place(text, name, at)?;
    let value = &text[place.clone()];
    if is_placeholder(value) {
        return None;
    }
    let is_secret = match kind {
        Value::Base64(least) => {
            let key = value.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte)).count();
            key >= least && key == value.len() && entropy(value) >= DRAWN_ENTROPY_MIN
        }
        Value::Chosen => {
            is_varied(value, CHOSEN_LEAST, CHOSEN_ENTROPY_MIN) && (is_quoted || !is_expression(head, value))
        }
        Value::Drawn => is_varied(value, DRAWN_LEAST, DRAWN_ENTROPY_MIN) && (is_quoted || !is_expression(head, value)),
    };
    is_secret.then_some(place)
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
/// The longest value; a longer one is data.
const VALUE_BYTES_MAX: usize = 4_096;
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

/// Where the value stands, and whether in quotes.
fn place(text: &str, name: usize, at: usize) -> Option<(Range<usize>, bool)> {
    let limit = text.floor_char_boundary((at + VALUE_BYTES_MAX).min(text.len()));
    let rest = &text[at..limit];
    let escaped = rest.starts_with("\\\"");
    let rest_of = if escaped { &rest[1..] } else { rest };
    let start = at + usize::from(escaped);
    if let Some(quote) = rest_of.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        let length = quoted(&rest_of[1..], quote, escaped)?;
        return Some((start + 1..start + 1 + length, true));
    }
    let is_whole_line = is_line_of_settings(text, name) && text[name..at].ends_with('=');
    let length = rest
        .char_indices()
        .find(|(offset, c)| c.is_whitespace() || c.is_control() || (!is_whole_line && ends(&rest[*offset..], *c)))
        .map_or(rest.len(), |(offset, _)| offset);
    let value = rest[..length].trim_end_matches([',', ';']);
    // In a document's element the next sign is the end tag.
    let is_element = !text[name..at].ends_with('>') || text[at + value.len()..].starts_with("</");
    (!value.is_empty() && is_element).then_some((at..at + value.len(), false))
}

/// The length up to the closing quote on the same line.
fn quoted(rest: &str, quote: char, is_escaped: bool) -> Option<usize> {
    let mut after_backslash = false;
    for (offset, c) in rest.char_indices() {
        match c {
            '\n' => return None,
            _ if after_backslash => {
                after_backslash = false;
                if is_escaped && c == quote {
                    return Some(offset - 1);
                }
            }
            '\\' => after_backslash = true,
            _ if c == quote => return Some(offset),
            _ => {}
        }
    }
    None
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
