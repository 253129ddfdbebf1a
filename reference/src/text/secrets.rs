//! Takes secrets out of a text before it is embedded, cached, logged or stored.
//!
//! One scan finds the keywords of all rules; a rule is tried only where its keyword stands, from
//! there on. Every step reads a bounded stretch or moves past what it read, so the work is linear in
//! the text. What is taken out is replaced by the rule's name, and taking out twice changes nothing.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use crate::text::secret_rules::{TOKENS, TokenRule, VALUES, ValueRule};
use crate::text::secret_values;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text with `[REDACTED:rule]` in the place of each secret; the very same where there is none.
    pub text: Cow<'a, str>,
    /// What was taken out, in order.
    pub found: Vec<Finding>,
}

/// Where a secret stood. Never the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule that found it.
    pub rule: &'static str,
    /// Where it began, in characters of the original text.
    pub char_start: usize,
    /// Where it ended, exclusive.
    pub char_end: usize,
}

/// Takes every secret out. Offsets of what is made of the result later refer to the result.
pub fn redact(text: &str) -> Redacted<'_> {
    let mut taken: Vec<Secret> = Vec::new();
    let mut clean = Cow::Borrowed(text);
    // Without one secret the words around it can say that they hold another.
    for _ in 0..PASSES_MAX {
        let new = secrets(&clean);
        if new.is_empty() {
            break;
        }
        taken = joined(&taken, &new);
        clean = Cow::Owned(without(text, &taken));
    }
    let (mut at, mut characters) = (0, 0);
    let found = taken.iter().map(|secret| {
        let char_start = characters + text[at..secret.start].chars().count();
        characters = char_start + text[secret.start..secret.end].chars().count();
        at = secret.end;
        Finding { rule: secret.rule, char_start, char_end: characters }
    });
    let found = found.collect();
    Redacted { text: clean, found }
}

/// Passes over a text; nearly always the second finds nothing.
const PASSES_MAX: usize = 8;
const MARK_START: &str = "[REDACTED:";
const MARK_END: &str = "]";

/// A secret and where it stands, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Secret {
    rule: &'static str,
    start: usize,
    end: usize,
}

fn without(text: &str, taken: &[Secret]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for secret in taken {
        clean.extend([&text[at..secret.start], MARK_START, secret.rule, MARK_END]);
        at = secret.end;
    }
    clean.push_str(&text[at..]);
    clean
}

/// What was taken before and what a pass over the result found, both where they stood in the original.
fn joined(taken: &[Secret], new: &[Secret]) -> Vec<Secret> {
    let mut all: Vec<Secret> = Vec::with_capacity(taken.len() + new.len());
    let mut old = taken.iter().peekable();
    // How far the original is ahead of the result here.
    let mut gone = 0_isize;
    for found in new {
        while let Some(secret) = old.next_if(|secret| mark(secret, gone).end <= found.start) {
            gone += shift(secret);
            all.push(*secret);
        }
        let start = old.peek().filter(|secret| mark(secret, gone).start < found.start).map(|secret| secret.start);
        let start = start.unwrap_or(found.start.wrapping_add_signed(gone));
        let mut last = None;
        while let Some(secret) = old.next_if(|secret| mark(secret, gone).start < found.end) {
            last = Some((secret.end, mark(secret, gone).end));
            gone += shift(secret);
        }
        let end = found.end.wrapping_add_signed(gone);
        let end = last.filter(|(_, mark_end)| *mark_end > found.end).map_or(end, |(original, _)| original);
        all.push(Secret { rule: found.rule, start, end });
    }
    all.extend(old);
    all
}

/// Where a secret's mark stands in the result.
fn mark(secret: &Secret, gone: isize) -> std::ops::Range<usize> {
    let start = secret.start.wrapping_add_signed(-gone);
    start..start + MARK_START.len() + secret.rule.len() + MARK_END.len()
}

/// How much longer a secret is than its mark.
fn shift(secret: &Secret) -> isize {
    (secret.end - secret.start).cast_signed() - mark(secret, 0).len().cast_signed()
}

/// What a keyword may be the beginning of.
#[derive(Debug, Clone, Copy)]
enum Lead {
    Token(usize),
    Value(usize),
    PrivateKey,
    UrlPassword,
    Telegram,
}

struct Rules {
    keywords: AhoCorasick,
    /// What each keyword leads to.
    leads: Vec<Lead>,
    tokens: Vec<Regex>,
    values: Vec<Regex>,
    private_key: Regex,
    url_password: Regex,
    telegram: Regex,
}

#[expect(clippy::expect_used, reason = "the expressions are constants, and a test compiles each")]
static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let from_here = |pattern: &str| Regex::new(&format!(r"\A(?:{pattern})")).expect("a rule's expression is right");
    let mut keywords = vec![PRIVATE_KEY_KEYWORD, URL_KEYWORD, TELEGRAM_KEYWORD];
    let mut leads = vec![Lead::PrivateKey, Lead::UrlPassword, Lead::Telegram];
    for (number, rule) in TOKENS.iter().enumerate() {
        keywords.extend(rule.keywords);
        leads.extend(rule.keywords.iter().map(|_| Lead::Token(number)));
    }
    for (number, rule) in VALUES.iter().enumerate() {
        keywords.extend(rule.keywords);
        leads.extend(rule.keywords.iter().map(|_| Lead::Value(number)));
    }
    Rules {
        keywords: AhoCorasick::builder().ascii_case_insensitive(true).build(keywords).expect("keywords are few"),
        leads,
        tokens: TOKENS.iter().map(|rule| from_here(rule.pattern)).collect(),
        values: VALUES.iter().map(|rule| from_here(&rule.pattern())).collect(),
        private_key: from_here(PRIVATE_KEY),
        url_password: from_here(URL_PASSWORD),
        telegram: from_here(TELEGRAM),
    }
});

/// A block of RFC 7468, or of OpenPGP (RFC 9580, 6.2).
const PRIVATE_KEY_KEYWORD: &str = "-----BEGIN ";
const PRIVATE_KEY: &str = "-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----";
const PRIVATE_KEY_END: &str = "-----END ";
/// The longest block: an RSA key of 16,384 bits has 13 kB.
const PRIVATE_KEY_BYTES_MAX: usize = 16_384;
/// The end line of a block.
const PRIVATE_KEY_END_LINE_BYTES_MAX: usize = 80;
/// RFC 3986, 3.2.1: what stands behind the colon of the user information.
const URL_KEYWORD: &str = "://";
const URL_PASSWORD: &str = r#"://[!$-.0-9;=A-Z_a-z~%]{0,200}:([!$-.0-9;=:@A-Z_a-z~%\[\]{}*^|+<>]{1,200})@"#;
/// `https://core.telegram.org/bots/api#authorizing-your-bot`: the bot's number, a colon, 35 signs.
const TELEGRAM_KEYWORD: &str = ":AA";
const TELEGRAM: &str = ":AA[A-Za-z0-9_-]{33}";
/// Digits of a bot's number.
const TELEGRAM_DIGITS: std::ops::RangeInclusive<usize> = 8..=10;
/// Bits a sign below which a token is a row of `x`.
const TOKEN_ENTROPY_MIN: f64 = 2.5;

/// Every secret, in order, none within another.
fn secrets(text: &str) -> Vec<Secret> {
    let rules = &*RULES;
    let mut hits: Vec<(usize, usize)> = Vec::new();
    for hit in rules.keywords.find_overlapping_iter(text) {
        hits.push((hit.start(), hit.pattern().as_usize()));
    }
    // Rules stand in the list by how special they are, and so are tried in that order.
    hits.sort_unstable();
    let mut found: Vec<Secret> = Vec::new();
    for (start, keyword) in hits {
        let last_end = found.last().map_or(0, |last| last.end);
        if start < last_end {
            continue;
        }
        let secret = match rules.leads[keyword] {
            Lead::Token(number) => token(text, start, last_end, number),
            Lead::Value(number) => value(text, start, last_end, number),
            Lead::PrivateKey => private_key(text, start),
            Lead::UrlPassword => url_password(text, start),
            Lead::Telegram => telegram(text, start, last_end),
        };
        found.extend(secret.filter(|secret| secret.start >= last_end));
    }
    found
}

fn token(text: &str, start: usize, last_end: usize, number: usize) -> Option<Secret> {
    let rule: &TokenRule = &TOKENS[number];
    if start > last_end && goes_on_before(text, start, rule) {
        return None;
    }
    let matched = RULES.tokens[number].find(&text[start..])?.as_str();
    let mut end = start + matched.len();
    let goes_on = text[end..].bytes().next().is_some_and(|byte| is_token(byte) && byte != b'-');
    if rule.exact && goes_on {
        return None;
    }
    let is_real = secret_values::entropy(matched) >= TOKEN_ENTROPY_MIN && !secret_values::is_placeholder(matched);
    if !is_real {
        return None;
    }
    if !rule.exact {
        end += text[end..].bytes().take_while(|byte| is_token(*byte)).count();
    }
    Some(Secret { rule: rule.name, start, end })
}

/// Whether a keyword stands within a word. What escapes a sign does not make it one: `\n`, `%3D`.
fn goes_on_before(text: &str, start: usize, rule: &TokenRule) -> bool {
    let before = &text.as_bytes()[..start];
    let is_escaped = matches!(before, [.., b'\\', b'n' | b'r' | b't'])
        || matches!(before, [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    // The three parts of a JSON web token hold its keyword themselves.
    let joins = |byte: u8| {
        byte.is_ascii_alphanumeric() || byte == b'_' || (rule.name == "json-web-token" && b"-.".contains(&byte))
    };
    !is_escaped && before.last().is_some_and(|byte| joins(*byte))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn value(text: &str, start: usize, last_end: usize, number: usize) -> Option<Secret> {
    let rule: &ValueRule = &VALUES[number];
    let head = RULES.values[number].find(&text[start..])?.as_str();
    let place = secret_values::after(text, start, start + head.len(), rule.value)?;
    // What has a mark of its own is called by it.
    let own = (0..TOKENS.len())
        .filter(|number| TOKENS[*number].keywords.iter().any(|keyword| text[place.start..].starts_with(keyword)))
        .find_map(|number| token(text, place.start, last_end.max(place.start), number));
    let own = own.or_else(|| {
        let colon = place.start + text[place.clone()].find(TELEGRAM_KEYWORD)?;
        telegram(text, colon, place.start).filter(|own| own.start == place.start)
    });
    let (rule, end) = own.map_or((rule.name, place.end), |own| (own.rule, own.end.max(place.end)));
    Some(Secret { rule, start: place.start, end })
}

/// A whole block, or as much of it as is there.
fn private_key(text: &str, start: usize) -> Option<Secret> {
    let head = start + RULES.private_key.find(&text[start..])?.end();
    let limit = text.floor_char_boundary((head + PRIVATE_KEY_BYTES_MAX).min(text.len()));
    let body = &text[head..limit];
    let end = match body.find(PRIVATE_KEY_END) {
        Some(at) => {
            let mark = head + at + PRIVATE_KEY_END.len();
            let line = &text[mark..text.floor_char_boundary((mark + PRIVATE_KEY_END_LINE_BYTES_MAX).min(text.len()))];
            line.find("-----").map_or(mark, |dashes| mark + dashes + "-----".len())
        }
        // The end is missing: everything that can be part of a key goes.
        None => {
            let is_key = |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "+/=\\,:-".contains(c);
            head + body.find(|c| !is_key(c)).unwrap_or(body.len())
        }
    };
    Some(Secret { rule: "private-key", start, end: start + text[start..end].trim_end().len() })
}

fn url_password(text: &str, start: usize) -> Option<Secret> {
    let password = RULES.url_password.captures(&text[start..])?.get(1)?;
    let (start, end) = (start + password.start(), start + password.end());
    let is_real = !secret_values::is_placeholder(password.as_str()) && !secret_values::is_label(password.as_str());
    is_real.then_some(Secret { rule: "url-password", start, end })
}

fn telegram(text: &str, colon: usize, last_end: usize) -> Option<Secret> {
    let digits =
        text[last_end..colon].bytes().rev().take(TELEGRAM_DIGITS.end() + 1).take_while(u8::is_ascii_digit).count();
    let end = colon + RULES.telegram.find(&text[colon..])?.end();
    let goes_on = text[end..].bytes().next().is_some_and(is_token);
    let is_real =
        TELEGRAM_DIGITS.contains(&digits) && !goes_on && secret_values::entropy(&text[colon..end]) >= TOKEN_ENTROPY_MIN;
    is_real.then_some(Secret { rule: "telegram-token", start: colon - digits, end })
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
