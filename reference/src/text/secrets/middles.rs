//! Tokens whose mark stands in their middle: the vendor's part comes second.

use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use crate::text::secrets::forms::{entropy, is_blank};
use crate::text::secrets::rules::{Expression, from_here};

/// A format with a mark of its own behind its beginning.
#[derive(Debug)]
pub(crate) struct MiddleRule {
    /// What a finding is called.
    pub(crate) name: &'static str,
    /// The mark.
    pub(crate) keywords: &'static [&'static str],
    /// What stands before it.
    before: fn(u8) -> bool,
    /// How many signs stand before it.
    before_length: RangeInclusive<usize>,
    /// What the token begins with, if not with anything.
    first: &'static str,
    /// The token from its mark on.
    pattern: &'static str,
    /// Where the format is described.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers and the test"))]
    pub(crate) source: &'static str,
}

/// Tokens that are told by their middle.
pub(crate) const MIDDLES: &[MiddleRule] = &[
    MiddleRule {
        name: "telegram-token",
        keywords: &[":AA", "%3AAA"],
        before: |byte| byte.is_ascii_digit(),
        before_length: 8..=10,
        first: "",
        pattern: "(?::|%3[Aa])AA[A-Za-z0-9_-]{33}",
        source: "https://core.telegram.org/bots/api#authorizing-your-bot",
    },
    MiddleRule {
        name: "terraform-token",
        keywords: &[".atlasv1."],
        before: |byte| byte.is_ascii_alphanumeric(),
        before_length: 14..=14,
        first: "",
        pattern: r"\.atlasv1\.[A-Za-z0-9_-]{60,70}",
        source: "https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens",
    },
    MiddleRule {
        // The bot's number in base64, whose first byte is a digit.
        name: "discord-token",
        keywords: &[".G", ".X", ".Y", ".Z"],
        before: |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
        before_length: 23..=28,
        first: "MNO",
        pattern: r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        source: "https://docs.discord.com/developers/reference#authentication",
    },
];

/// Bits a sign below which a token is a row of `x`.
const ENTROPY_MIN: f64 = 2.5;

static EXPRESSIONS: LazyLock<Vec<Expression>> =
    LazyLock::new(|| MIDDLES.iter().map(|rule| from_here(rule.pattern.to_owned())).collect());

/// The token around a mark at `mark`, not before `last_end`.
pub(crate) fn token(text: &str, mark: usize, last_end: usize, number: usize) -> Option<Range<usize>> {
    let rule = &MIDDLES[number];
    let before = &text.as_bytes()[last_end..mark];
    let is_in = |byte: &&u8| (rule.before)(**byte);
    let length = before.iter().rev().take(rule.before_length.end() + 1).take_while(is_in).count();
    let start = mark - length;
    if !rule.before_length.contains(&length)
        || !(rule.first.is_empty() || text[start..].starts_with(|c| rule.first.contains(c)))
    {
        return None;
    }
    let end = mark + EXPRESSIONS[number].find(&text[mark..])?.end();
    let goes_on =
        text[end..].bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    let token = &text[start..end];
    (!goes_on && entropy(token) >= ENTROPY_MIN && !is_blank(token)).then_some(start..end)
}
