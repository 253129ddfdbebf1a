//! What a server said, made fit to be stored and shown: bounded, without control characters, without our secrets.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use url::form_urlencoded;

use crate::domain::fault::{Fault, FaultKind};
use crate::domain::misleading::misleading;

/// Characters of one line of evidence: a page shows it whole, and a server cannot fill the database with it.
pub const DETAIL_CHARS_MAX: usize = 300;

/// Characters kept of a result's text: enough for a person to recognise the passage.
pub const EXCERPT_CHARS_MAX: usize = 160;

/// Characters of a name, a version, a source: longer ones are no names.
pub const NAME_CHARS_MAX: usize = 200;

/// Bytes of a tool's name that are kept: a name has at most 128 characters, all of them ASCII (MCP, "Tool Names").
const TOOL_NAME_BYTES_MAX: usize = 128;

/// Secrets shorter than this are not searched for: they would hit ordinary words.
const SECRET_CHARS_MIN: usize = 4;

/// Takes our own secrets out of what a server echoes.
#[derive(Debug, Clone, Default)]
pub struct Scrub {
    given: Vec<String>,
    /// The same, in every form in which they are looked for.
    secrets: Vec<String>,
}

impl Scrub {
    /// Hides each of these, wherever it appears.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let given: Vec<String> =
            secrets.into_iter().filter(|secret| secret.chars().count() >= SECRET_CHARS_MIN).collect();
        let mut secrets: Vec<String> = given.iter().flat_map(|secret| forms(secret)).collect();
        // The longest first: one may be a part of another.
        secrets.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self { given, secrets }
    }

    /// Hides these as well.
    #[must_use]
    pub fn and(&self, more: impl IntoIterator<Item = String>) -> Self {
        Self::new(self.given.iter().cloned().chain(more))
    }

    /// Bytes of the longest of them, in its longest form.
    pub fn longest(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }

    /// Where a text may be cut at about `at` bytes without leaving a part of a secret before the cut.
    pub fn cut(&self, text: &str, at: usize) -> usize {
        let mut at = text.floor_char_boundary(at);
        loop {
            let before = at;
            for secret in &self.secrets {
                let from = text.floor_char_boundary(at.saturating_sub(secret.len()));
                // No further than one across the cut can reach: the rest of a long text is not read for every form.
                let to = text.ceil_char_boundary(at.saturating_add(secret.len()));
                let starts = text[from..to].match_indices(secret.as_str()).map(|(start, _)| from + start);
                let mut spanning = starts.take_while(|start| *start < at).filter(|start| at < start + secret.len());
                at = spanning.next().unwrap_or(at);
            }
            // Moved back, it may stand within another.
            if at == before {
                break;
            }
        }
        at
    }

    /// One bounded line of evidence.
    pub fn line(&self, text: &str) -> String {
        escaped(&self.whole(&self.hidden(text)), DETAIL_CHARS_MAX)
    }

    /// Takes out what is left of a secret before a `…`: whoever cut the text did not know of it.
    fn whole<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let begins = |before: &str| {
            let lengths = |secret: &String| {
                (SECRET_CHARS_MIN..secret.len())
                    .rev()
                    .find(|length| secret.get(..*length).is_some_and(|begin| before.ends_with(begin)))
            };
            self.secrets.iter().filter_map(lengths).max()
        };
        let mut parts = text.split('…');
        let Some(mut before) = parts.next().filter(|before| before.len() < text.len()) else {
            return Cow::Borrowed(text);
        };
        let mut whole = String::with_capacity(text.len());
        for after in parts {
            match begins(before) {
                Some(length) => whole.extend([&before[..before.len() - length], "•••…"]),
                None => whole.extend([before, "…"]),
            }
            before = after;
        }
        whole.push_str(before);
        whole.into()
    }

    /// The text without our secrets, neither bounded nor escaped.
    pub fn hidden<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "•••").into();
            }
        }
        text
    }

    /// A fault with its evidence.
    pub fn fault(&self, kind: FaultKind, detail: &str) -> Fault {
        Fault { kind, detail: self.line(detail) }
    }
}

/// A secret as it is, and as a server may write it that repeats it: in JSON, in base64 of both alphabets with its padding
/// and without, in hexadecimal and in percent signs. So many and no more, since each is looked for in every text; most
/// tokens are the same in several of them.
fn forms(secret: &str) -> [String; 13] {
    let json = serde_json::Value::from(secret).to_string();
    let (base64, base64_url) = (STANDARD.encode(secret), URL_SAFE.encode(secret));
    let unpadded = |padded: &str| padded.trim_end_matches('=').to_owned();
    let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    // What RFC 3986 writes, and then what `encodeURIComponent` does: forms know a sign for the blank, and each leaves
    // other signs as they are.
    let strict = form.replace('+', "%20").replace('*', "%2A").replace("%7E", "~");
    let component = [("%21", "!"), ("%27", "'"), ("%28", "("), ("%29", ")"), ("%2A", "*")]
        .iter()
        .fold(strict.clone(), |text, (written, sign)| text.replace(written, sign));
    [
        secret.to_owned(),
        json[1..json.len() - 1].to_owned(),
        unpadded(&base64),
        unpadded(&base64_url),
        base64,
        base64_url,
        hex::encode(secret),
        hex::encode_upper(secret),
        in_small_letters(&form),
        in_small_letters(&strict),
        form,
        strict,
        component,
    ]
}

/// A text in percent signs, with small letters in them.
fn in_small_letters(percent: &str) -> String {
    let mut parts = percent.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(part.len().min(2));
        text.extend(["%", &digits.to_ascii_lowercase(), rest]);
    }
    text
}

/// At most `chars` characters; control and direction-changing characters are shown as escapes, so that one line stays one line.
pub fn escaped(text: &str, chars: usize) -> String {
    let mut out = String::with_capacity(text.len().min(chars * 2));
    let mut kept = 0;
    for c in text.chars() {
        // An escape is several characters, kept or cut whole.
        let long = if !is_plain(c) && misleading(c) { c.escape_default().len() } else { 1 };
        kept += long;
        if kept > chars {
            out.push('…');
            break;
        }
        if long > 1 { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// At most `bytes` of a text as it is laid out: its lines and tabs stay; other control and direction-changing
/// characters are shown as escapes.
pub fn laid_out(text: &str, bytes: usize) -> String {
    let mut out = String::with_capacity(text.len().min(bytes));
    for c in text.chars() {
        let end = out.len();
        if is_plain(c) || matches!(c, '\n' | '\t') || !misleading(c) {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
        // An escape is several bytes, kept or cut whole.
        if out.len() > bytes {
            out.truncate(end);
            break;
        }
    }
    out
}

/// At most `chars` characters of running text: stretches of white space become one blank, other control characters vanish.
pub fn excerpt(text: &str, chars: usize) -> String {
    let mut out = String::with_capacity(chars.min(text.len()) + '…'.len_utf8());
    let (mut kept, mut blank) = (0, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // A word of plain letters is one step.
        let word = rest.bytes().take_while(|byte| is_plain(char::from(*byte))).count();
        let (step, after) = rest.split_at(if word > 0 { word } else { c.len_utf8() });
        rest = after;
        if word == 0 && c.is_whitespace() {
            blank = kept > 0;
            continue;
        }
        if word == 0 && misleading(c) {
            continue;
        }
        if kept >= chars {
            out.push('…');
            break;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
            kept += 1;
        }
        // The blank may have taken the last place; the first letter behind it is kept all the same.
        let fits = word.min(chars.saturating_sub(kept).max(1));
        out.push_str(if word > 0 { &step[..fits] } else { step });
        kept += fits.max(1);
        if fits < word {
            out.push('…');
            break;
        }
    }
    out
}

/// Bytes that may not be text, as a line of evidence.
pub fn readable(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(DETAIL_CHARS_MAX * 4)];
    escaped(String::from_utf8_lossy(head).trim(), DETAIL_CHARS_MAX / 2)
}

/// Most of what any text is made of: neither white space nor misleading, and told by two comparisons.
const fn is_plain(c: char) -> bool {
    matches!(c, '!'..='~')
}

/// A tool's name as it is kept.
pub(crate) fn short_name(name: &str) -> String {
    let mut short = escaped(name, NAME_CHARS_MAX);
    short.truncate(short.floor_char_boundary(TOOL_NAME_BYTES_MAX));
    short
}

#[cfg(test)]
mod tests {
    use super::{Scrub, escaped, excerpt, laid_out};

    #[test]
    fn a_cut_leaves_no_part_of_a_secret() {
        let scrub = Scrub::new(["tok-12345".to_owned(), "tok-12345-and-more".to_owned(), "say \"so\"".to_owned()]);
        let rows = [
            ("at tok-12345-and-more!", 8, 3, "within the longer of two"),
            ("at tok-12345, ok", 12, 12, "right behind one"),
            ("nothing here", 4, 4, "where none is"),
            ("äöü", 3, 2, "between characters"),
        ];
        for (text, at, expected, sentence) in rows {
            assert_eq!(scrub.cut(text, at), expected, "{sentence}");
        }
        assert_eq!(scrub.hidden("x tok-12345-and-more tok-12345 say \\\"so\\\""), "x ••• ••• •••");
    }

    #[test]
    fn evidence_is_one_bounded_line_without_secrets() {
        let scrub = Scrub::new(["tok-12345".to_owned(), "ab".to_owned()]);
        assert_eq!(scrub.line("got tok-12345\r\nabout"), "got •••\\r\\nabout");
        assert_eq!(scrub.line("twice tok-12… and tok… 5"), "twice •••… and tok… 5", "a cut one, where it can be told");
        assert_eq!(scrub.line(&"x".repeat(400)).chars().count(), super::DETAIL_CHARS_MAX + 1);
        assert_eq!(escaped("a\u{202e}b", 10), "a\\u{202e}b");
        assert_eq!(escaped("a\u{202e}b", 8), "a…", "an escape counts as what it shows");
        assert_eq!(excerpt("  one\n\ttwo\u{7} three", 8), "one two t…");
        assert_eq!(excerpt("\u{0}", 8), "");
        let rows = [
            ("one two", 3, "one…", "cut behind a word"),
            ("one two", 4, "one t…", "a blank in the last place brings a letter with it"),
            ("one two", 5, "one t…", "cut within one"),
            ("one two", 7, "one two", "nothing to cut"),
            ("one two ", 7, "one two", "nor behind it"),
            ("äöü ß", 4, "äöü ß", "letters that are not plain"),
            ("aäbö\u{200b}c", 4, "aäbö…", "mixed with those that are"),
            ("ab", 0, "…", "nothing is wanted"),
        ];
        for (text, chars, expected, sentence) in rows {
            assert_eq!(excerpt(text, chars), expected, "{sentence}");
        }
    }

    #[test]
    fn a_text_keeps_its_lines_and_nothing_that_misleads() {
        let rows = [
            ("# One\n\tTwo", 20, "# One\n\tTwo", "lines and tabs"),
            ("a\r\n\u{1b}[2J\u{202e}b", 40, "a\\r\n\\u{1b}[2J\\u{202e}b", "what moves a cursor or turns a line"),
            ("äöü", 5, "äö", "cut between characters"),
            ("a\u{202e}b", 8, "a", "an escape is cut whole"),
        ];
        for (text, bytes, expected, sentence) in rows {
            assert_eq!(laid_out(text, bytes), expected, "{sentence}");
        }
    }
}
