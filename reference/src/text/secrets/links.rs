//! What ties a value to its name: a sign, a table's cell, words of prose, a call, the next line.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::secrets::rules::{Expression, from_here};

/// How a value follows its name. The weaker the tie, the more the value has to look drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// At once.
    None,
    /// `name = value`, `"name": "value"`, `<name>value`, `name: String = "value"`.
    Sign,
    /// `name: |` or `name = """`, and the value on the next line.
    Block,
    /// `key="name" value="value"`, and `name: NAME` with `value: …` below.
    Entry,
    /// `name("value")`, `("name", "value")`.
    Argument,
    /// `name || "value"`.
    Default,
    /// `| name | value |`.
    Cell,
    /// `--name value`.
    Flag,
    /// `ENV NAME value`, `login me password value`, `PASSWORD 'value'`.
    Space,
    /// `the name is value`.
    Prose,
}

impl Link {
    /// Whether only form tells the value from a word of prose.
    pub(crate) fn is_weak(self) -> bool {
        matches!(self, Self::Cell | Self::Flag | Self::Space | Self::Prose)
    }
}

/// Each tie from the name's end (or what closes it) to the value's beginning or its quote, with the signs that its
/// first one behind blanks may be; the first tie that leads to a secret counts.
const LINKS: &[(Link, &str, &str)] = &[
    (
        Link::Block,
        ":=",
        r#"[ \t]{0,8}(?::=|=|:)[ \t]{0,8}(?:[|>][+-]?[ \t]{0,4}\r?\n|\\\r?\n|r?"""\\?\r?\n?|'''\\?\r?\n?)[ \t>]{0,40}"#,
    ),
    (Link::Block, "=:>", r"(?:=|:|>)[ \t]{0,4}\r?\n[ \t>]{1,40}"),
    // Types: `password: String = "…"`, `const TOKEN: &'static str = "…"`, Go's `var token string = "…"`.
    (Link::Sign, ":", r"[ \t]?:[ \t]?[&A-Za-z_][A-Za-z0-9_<>'&.\[\]?| ]{0,40}[ \t]=[ \t]"),
    (Link::Sign, "s[", r" (?:string|\[\]byte) = "),
    // What holds if there is none: `process.env.TOKEN || "…"`, `${TOKEN:-…}`.
    (Link::Default, "|?o", r"[ \t]{0,4}(?:\|\||\?\?|\?:|or)[ \t]{1,4}"),
    (Link::Sign, ":", r":[-=]"),
    (Link::Sign, "=:?>", r"[ \t]{0,24}(?:=>|:=|==|\?=|=|:|>)(?:\*{1,2}[ \t]{1,24}|[ \t]{0,24})"),
    (
        Link::Entry,
        ",;vVdD\"'\\",
        r#"[,;]?[ \t\r\n>]{1,40}\\?["']?(?i:value|defaultValue|default)\\?["']?[ \t]{0,4}[=:][ \t]{0,4}"#,
    ),
    (Link::Argument, "(", r"[ \t]?\([ \t]{0,4}"),
    (Link::Argument, ",", r"[ \t]?,[ \t]{0,4}"),
    (Link::Cell, "|", r"[ \t]{0,40}\|[ \t]{0,40}"),
    (
        Link::Prose,
        "fotiwa",
        r"(?: (?:for|of|to|on) [ -\-/-9;<>-{}~]{1,40}?)? (?:is(?: now| set to)?|was(?: set to)?|will be|to|as|of)(?: now)?:? ",
    ),
    (Link::Prose, "fto", r" (?:for|of|to|on) [ -\-/-9;<>-{}~]{1,40}?: "),
    (Link::Space, "", r"[ \t]{1,24}"),
];

static EXPRESSIONS: LazyLock<Vec<Expression>> =
    LazyLock::new(|| LINKS.iter().map(|(_, _, pattern)| from_here((*pattern).to_owned())).collect());

/// The end of what closes a name: quotes, also escaped ones, a bracket, emphasis.
fn closed(text: &str, name_end: usize) -> usize {
    let rest = &text.as_bytes()[name_end..];
    let stars = |at: usize| rest[at..].iter().take(2).take_while(|byte| **byte == b'*').count();
    let length = match rest {
        [b'\\', b'"' | b'\'' | b'`', b']', ..] => 3,
        [b'\\', b'"' | b'\'' | b'`', ..] | [b'"' | b'\'' | b'`', b']', ..] => 2,
        [b'`', ..] => 1 + stars(1),
        [b'"' | b'\'' | b')' | b']', ..] => 1,
        _ => stars(0),
    };
    name_end + length
}

/// Every way on from a name that ends at `name_end`, with the place where its value would begin.
pub(crate) fn links(text: &str, word: usize, name_end: usize) -> impl Iterator<Item = (Link, usize)> {
    let from = closed(text, name_end);
    let first = text[from..].bytes().take(FIRST_BYTES_MAX).find(|byte| !byte.is_ascii_whitespace());
    let may = move |begins: &str| begins.is_empty() || first.is_some_and(|first| begins.as_bytes().contains(&first));
    LINKS.iter().zip(EXPRESSIONS.iter()).filter_map(move |((link, begins, _), expression)| {
        let at = from + may(begins).then(|| expression.find(&text[from..]))??.end();
        let link = match link {
            Link::Space => spaced(text, word, at)?,
            Link::Argument if !text[at..].trim_start_matches('\\').starts_with(['"', '\'', '`']) => return None,
            // The next line holds a value if it holds nothing else.
            Link::Block if !is_alone(text, word, name_end, at) => return None,
            // `def login(password):` has code on its next line.
            Link::Block if is_closed(&text[name_end..]) && !is_quoted(&text[at..]) => return None,
            Link::Default if !is_quoted(&text[at..]) => return None,
            // A row of arguments is one if the name is a text of it.
            Link::Argument if text[name_end..at].contains(',') && !text[name_end..].starts_with(['"', '\'']) => {
                return None;
            }
            link => *link,
        };
        Some((link, at))
    })
}

fn is_quoted(rest: &str) -> bool {
    rest.starts_with(['"', '\''])
}

/// Whether a value on the next line stands there alone; behind `>`, whether an element holds it.
fn is_alone(text: &str, word: usize, name_end: usize, at: usize) -> bool {
    let near = &text[at..text.floor_char_boundary((at + LINE_BYTES_MAX).min(text.len()))];
    let line = near.split('\n').next().unwrap_or_default().trim();
    let tie = text[name_end..at].trim_end();
    let is_element = !tie.ends_with('>') || tie.contains(':') || text[..word].ends_with('<');
    is_element && !line.contains([' ', '\t'])
}

/// The longest line that is read for that.
const LINE_BYTES_MAX: usize = 256;

fn is_closed(rest: &str) -> bool {
    rest.starts_with([')', ']', '"', '\''])
}

/// Whether a name is a noun, by the article one or two words before it.
pub(crate) fn has_article(text: &str, word: usize) -> bool {
    let before = &text[text.ceil_char_boundary(word.saturating_sub(BEFORE_BYTES_MAX))..word];
    let mut words = before.split_ascii_whitespace().rev().take(2);
    words.any(|word| ["the", "a", "my", "our", "your", "its"].contains(&word.to_ascii_lowercase().as_str()))
}

/// How far behind a name its tie begins.
const FIRST_BYTES_MAX: usize = 48;

/// Bytes before a name in which a command, a keyword or a login may stand.
const BEFORE_BYTES_MAX: usize = 120;

/// What stands before a line that is quoted in a mail or in Markdown, and blanks.
pub(crate) const QUOTES: [char; 3] = ['>', ' ', '\t'];

/// Whether a space alone can tie: behind a flag, in a Dockerfile, in `.netrc`, in SQL, or in prose that uses it.
fn spaced(text: &str, word: usize, at: usize) -> Option<Link> {
    let before = &text[text.ceil_char_boundary(word.saturating_sub(BEFORE_BYTES_MAX))..word];
    if before.ends_with('-') || text[word..].starts_with('-') {
        return Some(Link::Flag);
    }
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start_matches(QUOTES);
    let last = before.split_ascii_whitespace().next_back().unwrap_or_default();
    let is_setting = ["ENV ", "ARG ", "setx "].contains(&line) || line == "#define " && text[at..].starts_with('"');
    let is_netrc = before.split_ascii_whitespace().filter(|word| *word != ">").rev().nth(1) == Some("login");
    let is_sql =
        text[at..].starts_with('\'') && (last.eq_ignore_ascii_case("with") || text[word..at].contains("PASSWORD"));
    let is_used = ["with", "using", "use", "token", "the", "secret", "access", "api", "and"]
        .contains(&last.to_ascii_lowercase().as_str());
    match () {
        () if is_setting || is_netrc || is_sql => Some(Link::Space),
        () if is_used => Some(Link::Prose),
        () => None,
    }
}

/// The text in quotes before "as the", which stands right before a name.
const QUOTED_BEFORE: &str =
    r#"[`"']([!#-&(-_a-~]{6,160})[`"'] as (?:the|your|a|an|our|my|its)(?: [A-Za-z0-9]{1,20}){0,4} $"#;

#[expect(clippy::expect_used, reason = "the expression is a constant, and a test compiles it")]
static BEFORE: LazyLock<Regex> = LazyLock::new(|| Regex::new(QUOTED_BEFORE).expect("the expression is right"));

/// Bytes before a name that can hold its value.
const QUOTED_BYTES_MAX: usize = 240;

/// The place of a text in quotes of which the name says what it is: "use `value` as the password".
pub(crate) fn quoted_before(text: &str, word: usize) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(word.saturating_sub(QUOTED_BYTES_MAX));
    let near = &text[from..word];
    let near = near.contains(" as ").then_some(near)?;
    let value = BEFORE.captures(near)?.get(1)?;
    Some(from + value.start()..from + value.end())
}
