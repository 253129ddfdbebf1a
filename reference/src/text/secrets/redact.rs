//! Takes secrets out of a text before it is embedded, cached, logged or stored.
//!
//! One scan finds the keywords of all rules; a rule is tried only where its keyword stands, from
//! there on. Every step reads a bounded stretch or moves past what it read, so the work is linear in
//! the text. What is taken out is replaced by the rule's name, and taking out twice changes nothing.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use crate::text::secrets::blocks;
use crate::text::secrets::forms;
use crate::text::secrets::manifests;
use crate::text::secrets::middles::{self, MIDDLES};
use crate::text::secrets::names::{VALUES, ValueRule};
use crate::text::secrets::rules::{Expression, TOKENS, TokenRule, from_here};
use crate::text::secrets::values;
use aho_corasick::{AhoCorasick, AhoCorasickKind};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Token(usize),
    Value(usize),
    Middle(usize),
    PrivateKey,
    PuttyKey,
    UrlPassword,
    UserOption,
    PasswordOption,
    ManifestKind,
    ManifestData,
}

struct Rules {
    keywords: AhoCorasick,
    /// What each keyword leads to.
    leads: Vec<Lead>,
    tokens: Vec<Expression>,
    values: Vec<Expression>,
}

#[expect(clippy::expect_used, reason = "the keywords are constants")]
static RULES: LazyLock<Rules> = LazyLock::new(|| {
    // Rules stand in the list by how special they are, and so are tried in that order.
    let mut all: Vec<(Lead, &[&str])> = vec![
        (Lead::PrivateKey, &[blocks::PRIVATE_KEY_KEYWORD]),
        (Lead::PuttyKey, &[blocks::PUTTY_KEYWORD]),
        (Lead::UrlPassword, &[blocks::URL_KEYWORD]),
        (Lead::ManifestKind, manifests::KIND_KEYWORDS),
        (Lead::ManifestData, manifests::DATA_KEYWORDS),
        (Lead::UserOption, blocks::USER_KEYWORDS),
        (Lead::PasswordOption, blocks::OPTION_KEYWORDS),
    ];
    all.extend(MIDDLES.iter().enumerate().map(|(number, rule)| (Lead::Middle(number), rule.keywords)));
    all.extend(TOKENS.iter().enumerate().map(|(number, rule)| (Lead::Token(number), rule.keywords)));
    all.extend(VALUES.iter().enumerate().map(|(number, rule)| (Lead::Value(number), rule.keywords)));
    // With more than a hundred keywords the crate would choose a smaller automaton, of half the speed.
    let builder = AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).clone();
    let keywords = all.iter().flat_map(|(_, keywords)| keywords.iter());
    Rules {
        keywords: builder.build(keywords).expect("keywords are few"),
        leads: all.iter().flat_map(|(lead, keywords)| keywords.iter().map(|_| *lead)).collect(),
        tokens: TOKENS.iter().map(|rule| from_here(rule.pattern.to_owned())).collect(),
        values: VALUES.iter().map(|rule| from_here(rule.pattern())).collect(),
    }
});

/// Bits a sign below which a token is a row of `x`.
const TOKEN_ENTROPY_MIN: f64 = 2.5;

/// Every secret, in order, none within another.
fn secrets(text: &str) -> Vec<Secret> {
    let rules = &*RULES;
    let mut hits: Vec<(usize, usize)> = Vec::new();
    let mut kinds: Vec<Range<usize>> = Vec::new();
    for hit in rules.keywords.find_overlapping_iter(text) {
        match rules.leads[hit.pattern().as_usize()] {
            Lead::ManifestKind => kinds.push(hit.range()),
            _ => hits.push((hit.start(), hit.pattern().as_usize())),
        }
    }
    hits.sort_unstable();
    let manifests = manifests::stretches(text, kinds.into_iter());
    let mut found: Vec<Secret> = Vec::new();
    for (start, keyword) in hits {
        let last_end = found.last().map_or(0, |last| last.end);
        if start < last_end {
            continue;
        }
        let lead = rules.leads[keyword];
        let named = |rule: &'static str, range: Range<usize>| Secret { rule, start: range.start, end: range.end };
        let secret = match lead {
            Lead::Token(number) => token(text, start, last_end, number),
            Lead::Value(number) => value(text, start, last_end, number),
            Lead::Middle(number) => middle(text, start, last_end, number),
            Lead::PrivateKey => blocks::private_key(text, start).map(|at| named("private-key", at)),
            Lead::PuttyKey => blocks::putty(text, start).map(|at| named("private-key", at)),
            Lead::UrlPassword => blocks::url_password(text, start).map(|at| named("url-password", at)),
            Lead::UserOption => blocks::user_option(text, start).map(|at| named("login-option", at)),
            Lead::PasswordOption => blocks::password_option(text, start).map(|at| named("login-option", at)),
            Lead::ManifestData => {
                let manifest = manifests.get(manifests.partition_point(|manifest| manifest.end <= start));
                let manifest = manifest.filter(|manifest| manifest.contains(&start));
                let values = manifest.map(|manifest| manifests::values(text, start, manifest.end));
                found.extend(values.into_iter().flatten().map(|at| named("kubernetes-secret", at)));
                None
            }
            Lead::ManifestKind => None,
        };
        let Some(secret) = secret.filter(|secret| secret.start >= last_end) else { continue };
        found.push(secret);
        if secret.rule == "aws-access-key-id" {
            found.extend(blocks::aws_secret_behind(text, secret.end).map(|at| named("aws-secret-key", at)));
        }
    }
    found
}

fn middle(text: &str, mark: usize, last_end: usize, number: usize) -> Option<Secret> {
    let Range { start, end } = middles::token(text, mark, last_end, number)?;
    Some(Secret { rule: MIDDLES[number].name, start, end })
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
    // A vendor's published example is taken out like any other.
    if forms::entropy(matched) < TOKEN_ENTROPY_MIN || forms::is_blank(matched) {
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
    let joins = |byte: u8| match rule.name {
        // Its marks begin with signs that no word holds.
        "password-hash" => false,
        // The three parts of a JSON web token hold its keyword themselves.
        "json-web-token" => byte.is_ascii_alphanumeric() || b"_-.".contains(&byte),
        // Letters that base64 holds by chance.
        "square-token" | "twilio-key" => byte.is_ascii_alphanumeric() || b"_-+/".contains(&byte),
        _ => byte.is_ascii_alphanumeric() || byte == b'_',
    };
    !is_escaped && before.last().is_some_and(|byte| joins(*byte))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn value(text: &str, start: usize, last_end: usize, number: usize) -> Option<Secret> {
    let rule: &ValueRule = &VALUES[number];
    if rule.is_word && is_within_word(text, start) {
        return None;
    }
    let head = RULES.values[number].find(&text[start..])?.as_str();
    let place = values::after(text, start..start + head.len(), rule)?;
    // What has a mark of its own is called by it.
    let own = (0..TOKENS.len())
        .filter(|number| TOKENS[*number].keywords.iter().any(|keyword| text[place.start..].starts_with(keyword)))
        .find_map(|number| token(text, place.start, last_end.max(place.start), number));
    let own = own.or_else(|| {
        let of_middle = |number: usize| {
            let mark = MIDDLES[number].keywords.iter().find_map(|keyword| text[place.clone()].find(keyword))?;
            middle(text, place.start + mark, place.start, number).filter(|own| own.start == place.start)
        };
        (0..MIDDLES.len()).find_map(of_middle)
    });
    let (rule, end) = own.map_or((rule.name, place.end), |own| (own.rule, own.end.max(place.end)));
    Some(Secret { rule, start: place.start, end })
}

/// Whether a word goes on at a keyword: `compass`, but neither `DB_PASS` nor `dbPass`.
fn is_within_word(text: &str, start: usize) -> bool {
    let starts_a_hump = text.as_bytes().get(start).is_some_and(u8::is_ascii_uppercase);
    let last = text[..start].bytes().next_back();
    last.is_some_and(|last| last.is_ascii_uppercase() || last.is_ascii_lowercase() && !starts_a_hump)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
