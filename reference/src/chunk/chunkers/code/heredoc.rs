//! Texts that stand below the line that opens them (`<<END`), and quotes that go over lines: of Ruby and
//! shell.

use std::collections::HashMap;

/// The longest word that ends such a text.
const WORD_BYTES_MAX: usize = 64;

/// The word that ends a text, where one is opened at the beginning of these bytes: `<<END`, `<<-END`,
/// `<<~END`, its word perhaps in quotes. A small letter without quotes is a shift, and `<<<` is a string.
pub(crate) fn opened(rest: &[u8]) -> Option<Vec<u8>> {
    let rest = rest.strip_prefix(b"<<")?;
    let rest = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"~")).unwrap_or(rest);
    let (quote, rest) = match rest.first() {
        Some(quote @ (b'"' | b'\'')) => (Some(*quote), &rest[1..]),
        _ => (None, rest),
    };
    let length =
        rest.iter().take(WORD_BYTES_MAX).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let (word, after) = rest.split_at(length);
    let is_name = word.first().is_some_and(|byte| byte.is_ascii_uppercase() || *byte == b'_' || quote.is_some());
    (is_name && quote.is_none_or(|quote| after.first() == Some(&quote))).then(|| word.to_vec())
}

/// Lines that are one word and may end such a text. They are found once, so that a file full of texts
/// that never end costs no more than another.
#[derive(Debug, Default)]
pub(crate) struct Ends<'a>(HashMap<&'a [u8], Vec<usize>>);

impl<'a> Ends<'a> {
    /// Those of a text.
    pub(crate) fn of(text: &'a [u8]) -> Self {
        let mut ends = HashMap::<&[u8], Vec<usize>>::new();
        let mut start = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let word = line.trim_ascii();
            if word.len() <= WORD_BYTES_MAX && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                ends.entry(word).or_default().push(start + line.trim_ascii_end().len());
            }
            start += line.len();
        }
        Self(ends)
    }

    /// Where the first line ends, after a place, that is nothing but this word; its newline not included.
    pub(crate) fn after(&self, at: usize, word: &[u8]) -> Option<usize> {
        let places = self.0.get(word)?;
        places.get(places.partition_point(|place| *place <= at)).copied()
    }
}

/// The length of a quoted string of shell, which may cross lines; where it is never closed, up to the end
/// of its line.
pub(crate) fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            byte if byte == quote => return at + 1,
            b'\\' if quote == b'"' => at += 2,
            _ => at += 1,
        }
    }
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}
