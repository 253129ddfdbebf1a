//! Whether what is assigned to a secret's name is a secret, and where it ends.
//!
//! Most of what stands behind `token:` is none: a type, a placeholder, a call, a word of prose. A
//! secret is drawn, so it mixes kinds of signs and repeats few of them.

use std::ops::Range;

use crate::text::secrets::forms::{
    DIGITS_MIN, DRAWN_LEAST, DRAWN_RUN_MAX, WORDY_RUN_MIN, entropy, is_known, is_mixed, is_named_so, is_of_words,
    is_pair, is_placeholder, is_scattered, is_varied, run,
};
use crate::text::secrets::links::{self, Link};
use crate::text::secrets::names::{Value, ValueRule};
use crate::text::secrets::styles::{self, End, Style};

/// The value of a name that stands at `name`, where it is a secret of this rule's kind.
pub(crate) fn after(text: &str, name: Range<usize>, rule: &ValueRule) -> Option<Range<usize>> {
    if rule.at_once {
        return value(text, name.start, name.end, name.end, Link::None, rule.value);
    }
    let word = name.start - styles::word_before(&text[..name.start]).len();
    if is_about_secrets(&text[word..name.start], &text[name.clone()]) {
        return None;
    }
    // `pass` is a verb too.
    let is_verb = text[name.clone()].eq_ignore_ascii_case("pass") && !links::has_article(text, word);
    links::links(text, word, name.end)
        .filter(|(link, _)| !(is_verb && *link == Link::Prose))
        .find_map(|(link, at)| value(text, word, name.end, at, link, rule.value))
        .or_else(|| before(text, word, rule.value))
}

fn value(text: &str, word: usize, name_end: usize, at: usize, link: Link, kind: Value) -> Option<Range<usize>> {
    let (start, style) = styles::opening(text, word, name_end, at, link, kind);
    // The beginning decides, so that a text of nothing but names is not read over and over.
    let near = &text[start..text.floor_char_boundary((start + JUDGED_BYTES_MAX).min(text.len()))];
    let judged = match style.end(near) {
        End::At(length) => &near[..length],
        End::Open if style.needs_an_end() && start + near.len() == text.len() => return None,
        End::Open => near,
        End::Broken => return None,
    };
    let tie = Tie { link, style, is_spaced: text[..at].ends_with([' ', '\t']) };
    if !is_secret(&tie, judged, kind) || tie.is_bare() && is_called(judged, &text[start + judged.len()..]) {
        return None;
    }
    let length = match style.end(&text[start..]) {
        End::At(length) => length,
        End::Open if style.needs_an_end() => return None,
        End::Open => text.len() - start,
        End::Broken => return None,
    };
    // Of an element in angle brackets the next thing is its end tag.
    (style != Style::Element || text[start + length..].trim_start().starts_with("</")).then_some(start..start + length)
}

/// The value of "use `value` as the password".
fn before(text: &str, word: usize, kind: Value) -> Option<Range<usize>> {
    let place = links::quoted_before(text, word)?;
    let tie = Tie { link: Link::Prose, style: Style::Quoted('`', false), is_spaced: true };
    is_secret(&tie, &text[place.clone()], kind).then_some(place)
}

/// How a value stands behind its name.
struct Tie {
    link: Link,
    style: Style,
    /// Whether a blank stands before the value.
    is_spaced: bool,
}

impl Tie {
    /// Whether the value may be code, and not a text.
    fn is_bare(&self) -> bool {
        !matches!(self.style, Style::Quoted(..) | Style::Base64 | Style::Element)
    }
}

fn is_secret(tie: &Tie, value: &str, kind: Value) -> bool {
    let is_drawn = match kind {
        Value::Base64(least) => return value.len() >= least && entropy(value) >= BASE64_ENTROPY_MIN,
        Value::Pair => return is_pair(value),
        Value::Chosen => is_varied(value, CHOSEN_LEAST, CHOSEN_ENTROPY_MIN) && !is_of_words(value),
        Value::Drawn => is_varied(value, DRAWN_LEAST, DRAWN_ENTROPY_MIN) && is_mixed(value),
    };
    is_drawn
        && !is_placeholder(value)
        && !is_known(value)
        && !is_named_so(value)
        && (tie.link != Link::Argument || value.len() >= WEAK_LEAST)
        && (!tie.link.is_weak() || stands_out(value, tie.is_bare()))
        && !(tie.is_bare() && is_expression(tie, value))
}

/// Whether a name names something about secrets, a place in a list or a public part.
fn is_about_secrets(before: &str, name: &str) -> bool {
    let before = before.trim_end_matches(['_', '-', '.', ' ']).to_ascii_lowercase();
    let last = name.rsplit(['_', '-', ' ']).next().unwrap_or_default().to_ascii_lowercase();
    ABOUT.split(' ').any(|word| word == last) || PUBLIC.split(' ').any(|word| before.ends_with(word))
}

/// Whether a value tells itself from words of prose and of tables.
fn stands_out(value: &str, is_bare: bool) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let signs = value.bytes().filter(|byte| b"!@#$%^&*+?~=".contains(byte)).count();
    let last = value.rsplit(['-', '_', '/', '.']).next().unwrap_or_default();
    let has_suffix = last.len() < value.len() && last.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_term = ["base64url", "argon2id", "pbkdf2", "utf8mb4"].iter().any(|term| value.eq_ignore_ascii_case(term));
    value.chars().count() >= WEAK_LEAST
        && has_letter
        && (digits > 0 || (signs > 0 && !value.ends_with(['?', '!'])))
        && !is_term
        && !(is_bare && has_suffix && run(value) > DRAWN_RUN_MAX)
}

/// Whether an unquoted value goes on as a call or an index.
fn is_called(value: &str, behind: &str) -> bool {
    behind.starts_with(['(', '['])
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:$>-".contains(&byte))
}

/// Whether an unquoted value is code: a path of names, a call, or a name where code has spaces around the sign.
fn is_expression(tie: &Tie, value: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let value = value.trim_start_matches(['&', '*', '!', '@']);
    let parts: Vec<&str> = value.split(['.', ':', '/']).filter(|part| !part.is_empty()).collect();
    let is_wordy = run(value) > WORDY_RUN_MIN && !is_scattered(value);
    let is_path = is_wordy && parts.len() > 1 && parts.iter().all(|part| is_name(part)) && !ends_in_a_number(value);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let digits_min = if tie.link.is_weak() { DIGITS_MIN - 1 } else { DIGITS_MIN };
    let is_word = tie.style == Style::Line && value.len() >= WEAK_LEAST && digits > 0 && !is_secret_word(value);
    let bracket = value.find(['(', '[', '{', '<']);
    let is_behind_name = |at: usize| value[..at].split(['.', ':']).filter(|part| !part.is_empty()).all(is_name);
    let is_call = bracket.is_some_and(is_behind_name)
        && (value.ends_with(['(', ')', '[', ']', '{', '}', '>']) || value.contains(['"', '\'']));
    is_path
        || is_call
        || value.starts_with(['/', '.', '~', '<', '(', '['])
        || value.contains("='")
        || (value.starts_with(':') && value.contains('`'))
        || value.contains("=\"")
        || (tie.is_spaced && is_wordy && is_name(value) && (value.contains('_') || (digits < digits_min && !is_word)))
}

/// Whether a row of names ends in two digits or more, as passwords do: `marble.velvet_68`, but not `crypto.sha256`.
fn ends_in_a_number(value: &str) -> bool {
    let last = value.rsplit(['.', ':', '/', '_', '-']).next().unwrap_or_default();
    let letters = last.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
    let terms = ["sha", "base", "utf", "int", "uint", "float", "md", "b", "x", "v", "ed", "p", "rs", "hs", "es"];
    last.len() - letters.len() >= 2 && !terms.contains(&letters.as_str())
}

/// Whether the letters of a name are a word for a secret or a type, so that it is a variable: `password2`, `uint256`.
fn is_secret_word(value: &str) -> bool {
    let low = value.to_ascii_lowercase();
    let words = [
        "pass", "secret", "token", "key", "hash", "string", "int", "text", "value", "user", "base", "arg", "param",
        "auth", "cred",
    ];
    words.iter().any(|word| low.contains(word))
}

/// The password behind a command's option, which ends with its quote or at a blank.
pub(crate) fn option(text: &str, at: usize, quote: Option<char>) -> Option<Range<usize>> {
    let near = &text[at..text.floor_char_boundary((at + JUDGED_BYTES_MAX).min(text.len()))];
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
    let length = match quote {
        Some(quote) => near.find([quote, '\n'])?,
        None => near.find(is_end).unwrap_or(near.len()),
    };
    let value = &near[..length];
    let is_real = is_varied(value, CHOSEN_LEAST, CHOSEN_ENTROPY_MIN) && !is_placeholder(value) && !is_known(value);
    (is_real && !value.starts_with('/')).then_some(at..at + length)
}

/// What a name ends with that names no secret but something about one.
const ABOUT: &str = "\
    count encryption type types url uri endpoint file filename path paths name names id ids limit length len max \
    min ttl expires expiry expiration at env hint budget policy field fields header headers prefix suffix hash \
    hasher hashers digest checksum fingerprint thumbprint sha1 sha256 sha512 md5 dir directory model version \
    class ref arn algorithm alg format regex pattern validator validators label title text status state size \
    bytes chars date created updated issuer scope scopes audience store provider providers manager generator \
    element selector index position start end rotation strategy lifetime timeout location source encoding config \
    startswith endswith contains exact iexact mode method command program prompt function callback error errors \
    vault";
/// What stands before such a name that makes it no secret: places in a list, signs of a language, public parts.
const PUBLIC: &str = "\
    next page continuation sync cancel cancellation stop eos bos pad unk cls sep mask lexer parser previous prev \
    last public publishable idempotency primary foreign partition cache sort";
/// Signs of a password at least.
const CHOSEN_LEAST: usize = 6;
/// Bits a sign of a password: four signs that differ and a few that repeat.
const CHOSEN_ENTROPY_MIN: f64 = 1.9;
/// Bits a sign of a drawn token; sixteen hexadecimal digits have 3.2 on average.
const DRAWN_ENTROPY_MIN: f64 = 2.9;
/// Bits a sign of forty or more in base64.
const BASE64_ENTROPY_MIN: f64 = 3.5;
/// Signs that a password in prose, in a table or among arguments has at least.
const WEAK_LEAST: usize = 8;
/// The beginning of a value by which it is judged.
const JUDGED_BYTES_MAX: usize = 256;
