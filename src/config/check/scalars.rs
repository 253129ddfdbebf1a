//! Single values: texts, words out of a closed list, numbers, durations, shares, addresses, secrets.
//!
//! Each reader says what is wrong and gives none. None without a fault means that a variable is
//! not set and this run only warns of that; the caller's default stands in.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use url::Url;

use crate::config::check::checker::{Checker, similar};
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::reference::{ReferencePart, holds_password, is_reference, parts, read_file, redacted};
use crate::config::read::tree::{Node, NodeValue};
use crate::domain::secret::{Address, Secret};
use crate::domain::wording::as_written;

/// Names, labels and the like; they stand in pages and mails.
const TEXT_CHARS_MAX: usize = 2_000;
/// What browsers and proxies carry at most.
const URL_BYTES_MAX: usize = 2_048;
/// An id becomes part of addresses, metrics and file names.
pub(crate) const ID_CHARS_MAX: usize = 64;
const DURATION_MEND: &str = "a whole number and a unit: 500ms, 60s, 20m, 72h or 1d";
/// Stands in for an address whose variable is not set; `.invalid` never resolves (RFC 2606).
const STAND_IN_URL: &str = "http://unset.invalid/";

/// A text with its references resolved. It may be a secret: never put `value` into a message.
#[derive(Debug, Clone)]
pub(in crate::config) struct Resolved {
    /// As it stands in the file.
    pub written: String,
    /// Resolved; none where a variable is not set and this run only warns.
    pub value: Option<String>,
}

impl Checker<'_> {
    /// A single value as written.
    pub(in crate::config) fn scalar<'n>(
        &mut self,
        what: impl Display + Copy,
        node: &'n Node<'_>,
    ) -> Option<(&'n str, bool)> {
        match &node.value {
            NodeValue::Scalar { text, plain } if !node.is_null() => Some((text, *plain)),
            _ => {
                self.wrong_shape(what, node, "a single value");
                None
            }
        }
    }

    /// A text that pages show, so that nothing may be resolved into it.
    pub(in crate::config) fn text(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<String> {
        let text = self.literal(what, node)?;
        self.bounded(what, node.place, text)
    }

    /// A text that a server is sent as it stands, whatever its characters, and that may be empty; it is shown, too.
    pub(in crate::config) fn literal(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<String> {
        self.ask(node.place, || ValueShape::Text);
        let (text, _) = self.scalar(what, node)?;
        if is_reference(text) {
            let message = format!("{what} is shown on pages and in messages, so that it may not refer to anything");
            self.report(
                Diagnostic::new(node.place, message).help("write it out; `$${` stands for the characters `${`"),
            );
            return None;
        }
        Some(if text.contains('$') { text.replace("$${", "${") } else { text.to_owned() })
    }

    fn bounded(&mut self, what: impl Display + Copy, place: TextSpan, text: String) -> Option<String> {
        let diagnostic = if text.trim().is_empty() {
            Diagnostic::new(place, format!("{what} is empty")).help("give it a text, or leave it out")
        } else if text.chars().any(char::is_control) {
            Diagnostic::new(place, format!("{what} holds a line break or another control character"))
                .help("keep it on one line")
        } else if text.chars().nth(TEXT_CHARS_MAX).is_some() {
            Diagnostic::new(place, format!("{what} is longer than {TEXT_CHARS_MAX} characters")).help("shorten it")
        } else {
            return Some(text);
        };
        self.report(diagnostic);
        None
    }

    /// An identity: `[a-z0-9][a-z0-9._-]*`, 64 characters at most.
    pub(in crate::config) fn id(&mut self, what: impl Display + Copy, text: &str, place: TextSpan) -> Option<String> {
        self.ask(place, || ValueShape::Id);
        let shaped = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let first = text.bytes().next().is_some_and(shaped);
        let all = text.bytes().all(|byte| shaped(byte) || matches!(byte, b'.' | b'_' | b'-'));
        if first && all && text.len() <= ID_CHARS_MAX {
            return Some(text.to_owned());
        }
        let mend: String = text
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
            .skip_while(|c| !c.is_ascii_alphanumeric())
            .take(ID_CHARS_MAX)
            .collect();
        let rule =
            format!("lowercase letters, digits, `.`, `_` and `-`, a letter or digit first, at most {ID_CHARS_MAX}");
        let mend = if mend.is_empty() { rule } else { format!("{rule}: such as '{mend}'") };
        self.report(
            Diagnostic::new(place, format!("{what} {} has a shape that ids may not have", quoted(text))).help(mend),
        );
        None
    }

    /// A text with references in it.
    pub(in crate::config) fn resolved(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<Resolved> {
        self.ask(node.place, || ValueShape::Text);
        let (text, _) = self.scalar(what, node)?;
        let written = text.to_owned();
        if !text.contains('$') {
            return Some(Resolved { value: Some(written.clone()), written });
        }
        let parts = match parts(text) {
            Ok(parts) => parts,
            Err(mend) => {
                self.report(
                    Diagnostic::new(node.place, format!("{what} refers to something that cannot be understood"))
                        .help(mend),
                );
                return None;
            }
        };
        let mut value = Some(String::new());
        for part in parts {
            let piece = match part {
                ReferencePart::Text(text) => Some(text.to_owned()),
                ReferencePart::Env { name, default } => {
                    self.variable(name).or(default.map(str::to_owned)).or_else(|| {
                        let mend = format!("set it, or write a default: `${{env:{name}:-…}}`");
                        self.missing_outside(node.place, format!("the variable {name} is not set"), mend);
                        None
                    })
                }
                ReferencePart::File { path } => match read_file(path) {
                    Ok(text) => Some(text),
                    Err(why) => {
                        let message = format!("the file {} cannot be read: {why}", quoted(path));
                        self.missing_outside(node.place, message, "create it, readable for this user".to_owned());
                        None
                    }
                },
            };
            value = value.zip(piece).map(|(value, piece)| value + &piece);
        }
        Some(Resolved { written, value })
    }

    /// One line of text with references in it; for settings that are used and not kept secret.
    pub(in crate::config) fn setting(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<String> {
        let value = self.resolved(what, node)?.value?;
        self.bounded(what, node.place, value)
    }

    /// A secret: a reference and nothing else, since the file lies in git.
    pub(in crate::config) fn secret(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<Secret> {
        self.ask(node.place, || ValueShape::Secret);
        let (text, _) = self.scalar(what, node)?;
        let whole = parts(text)
            .is_ok_and(|parts| matches!(parts[..], [ReferencePart::Env { .. } | ReferencePart::File { .. }]));
        if !whole && !text.starts_with("${") {
            let message = format!("{what} stands in the file, where everybody with the repository reads it");
            self.report(
                Diagnostic::new(node.place, message)
                    .help("write `${env:NAME}` or `${file:/run/secrets/x}`, and change the secret"),
            );
            return None;
        }
        // Something that is plainly not a secret stands in, so that what depends on its being there is still checked.
        let value = self.resolved(what, node)?.value.unwrap_or_else(|| "unset".to_owned());
        if value.trim().is_empty() || value.chars().any(char::is_control) {
            let message = format!("{what} is empty, or holds a line break or another control character");
            self.report(Diagnostic::new(node.place, message).help("look at where it comes from"));
            return None;
        }
        Some(Secret::new(&value))
    }

    /// A word out of a closed list.
    pub(in crate::config) fn choice<T: Copy>(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        self.ask(node.place, || ValueShape::Word(words.iter().map(|(word, _)| (*word).to_owned()).collect()));
        let (text, _) = self.scalar(what, node)?;
        if let Some((_, choice)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*choice);
        }
        let mend = match similar(text, words.iter().map(|(word, _)| *word)) {
            Some(word) => format!("did you mean '{word}'?"),
            None => format!("one of: {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")),
        };
        self.report(Diagnostic::new(node.place, format!("{what} cannot be {}", quoted(text))).help(mend));
        None
    }

    pub(in crate::config) fn whole(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        self.ask(node.place, || ValueShape::Whole(range.clone()));
        let (written, value) = self.number_text(what, node)?;
        let diagnostic = match value.parse::<u64>() {
            Ok(number) => match u32::try_from(number).ok().filter(|number| range.contains(number)) {
                Some(number) => return Some(number),
                None => Diagnostic::new(node.place, format!("{what} is out of its range: {}", quoted(&written)))
                    .help(format!("between {} and {}", range.start(), range.end())),
            },
            Err(_) => {
                Diagnostic::new(node.place, format!("{what} takes a whole number, and this is {}", quoted(&written)))
                    .help(format!("between {} and {}", range.start(), range.end()))
            }
        };
        self.report(diagnostic);
        None
    }

    /// A number with a fraction.
    pub(in crate::config) fn decimal(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<f64> {
        self.ask(node.place, || ValueShape::Decimal);
        let (written, value) = self.number_text(what, node)?;
        match value.parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => Some(number),
            None => {
                let message = format!("{what} takes a number, and this is {}", quoted(&written));
                self.report(Diagnostic::new(node.place, message).help("such as `0.3`"));
                None
            }
        }
    }

    /// A number's text as written and resolved. Quotes make a text, save around a reference, which needs them inside `{ }`.
    fn number_text(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<(String, String)> {
        let (text, plain) = self.scalar(what, node)?;
        if !plain && !is_reference(text) {
            let message = format!("{what} takes a number, and quotes make this a text");
            self.report(Diagnostic::new(node.place, message).help("leave the quotes out"));
            return None;
        }
        let Resolved { written, value } = self.resolved(what, node)?;
        Some((written, value?))
    }

    /// A duration: a whole number and `ms`, `s`, `m`, `h` or `d`.
    pub(in crate::config) fn duration(
        &mut self,
        what: impl Display + Copy,
        node: &Node<'_>,
        range: RangeInclusive<Duration>,
    ) -> Option<Duration> {
        self.ask(node.place, || ValueShape::Duration(range.clone()));
        let Resolved { written, value } = self.resolved(what, node)?;
        let value = value?;
        match duration_of(&value) {
            Ok(duration) if range.contains(&duration) => Some(duration),
            Ok(_) => {
                let mend = format!("between {} and {}", as_written(*range.start()), as_written(*range.end()));
                self.report(
                    Diagnostic::new(node.place, format!("{what} is out of its range: {}", quoted(&written))).help(mend),
                );
                None
            }
            Err(mend) => {
                // A mend repeats digits of the value, which may have been resolved from anywhere.
                let mend = if value == written { mend } else { DURATION_MEND.to_owned() };
                let message = format!("{what} takes a duration, and this is {}", quoted(&written));
                self.report(Diagnostic::new(node.place, message).help(mend));
                None
            }
        }
    }

    /// A share such as `5%`, as a number in 0–1; above 0 and below 100.
    pub(in crate::config) fn share(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<f64> {
        self.ask(node.place, || ValueShape::Share);
        let Resolved { written, value } = self.resolved(what, node)?;
        let value = value?;
        let percent = value.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let diagnostic = match percent {
            Some(percent) if percent > 0.0 && percent < 100.0 => return Some(percent / 100.0),
            Some(_) => {
                Diagnostic::new(node.place, format!("{what} can never be exceeded, or always is: {}", quoted(&written)))
                    .help("above 0% and below 100%")
            }
            None => {
                let number =
                    value.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 100.0 && value == written);
                let percent = number.map(|number| if number < 1.0 { number * 100.0 } else { number });
                let mend = percent.map_or("such as `5%`".to_owned(), |percent| {
                    format!("write `{}%`", (percent * 1000.0).round() / 1000.0)
                });
                Diagnostic::new(node.place, format!("{what} takes a share, and this is {}", quoted(&written)))
                    .help(mend)
            }
        };
        self.report(diagnostic);
        None
    }

    /// A place to connect to: http or https, without a fragment. Never none without a fault.
    pub(in crate::config) fn address(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<Address> {
        self.ask(node.place, || ValueShape::Address);
        let Resolved { written, value } = self.resolved(what, node)?;
        let shown = redacted(&written);
        self.no_password(what, node.place, &written)?;
        let Some(value) = value else { return Some(Address { shown, resolved: Secret::new(STAND_IN_URL) }) };
        self.url(what, node.place, &value, false)?;
        Some(Address { shown, resolved: Secret::new(&value) })
    }

    /// A URL that people follow, which may have a fragment.
    pub(in crate::config) fn link(&mut self, what: impl Display + Copy, node: &Node<'_>) -> Option<String> {
        self.ask(node.place, || ValueShape::Address);
        let (written, _) = self.scalar(what, node)?;
        self.no_password(what, node.place, written)?;
        let value = self.setting(what, node)?;
        self.url(what, node.place, &value, true)?;
        Some(value)
    }

    /// A URL without a password that is written out in the file, since the file lies in git.
    pub(in crate::config) fn no_password(
        &mut self,
        what: impl Display + Copy,
        place: TextSpan,
        written: &str,
    ) -> Option<()> {
        if !holds_password(written) {
            return Some(());
        }
        let message = format!("{what} holds a password, which everybody with the repository reads");
        let mend = "put it outside the file, such as `https://${env:USER}:${env:PASSWORD}@…`, and change it";
        self.report(Diagnostic::new(place, message).help(mend));
        None
    }

    /// The message names no part of the value: it may have been resolved from a secret.
    fn url(&mut self, what: impl Display + Copy, place: TextSpan, value: &str, fragment: bool) -> Option<Url> {
        const MEND: &str = "write a whole address, such as `https://docs.example.org/mcp`";
        // The parser takes white space out in silence, so it is looked for first.
        let plain = !value.chars().any(|c| c.is_whitespace() || c.is_control()) && value.len() <= URL_BYTES_MAX;
        let url = Url::parse(value).ok().filter(|url| plain && url.has_host() && url.port() != Some(0));
        let diagnostic = match url {
            None => Diagnostic::new(place, format!("{what} is no URL")).help(MEND),
            Some(url) if !matches!(url.scheme(), "http" | "https") => {
                Diagnostic::new(place, format!("{what} is neither http nor https")).help(MEND)
            }
            Some(url) if !fragment && url.fragment().is_some() => {
                Diagnostic::new(place, format!("{what} has a fragment, which is never sent")).help("leave `#…` out")
            }
            Some(url) => return Some(url),
        };
        self.report(diagnostic);
        None
    }
}

/// Reads a duration; the error is the mend.
fn duration_of(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| DURATION_MEND.to_owned())?;
    let unit_ms: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err(format!("a duration needs its unit: '{number}s', or '{number}ms'?")),
        _ => {
            let known = match unit.trim().to_lowercase().as_str() {
                "sec" | "secs" | "second" | "seconds" | "s" => "s",
                "min" | "mins" | "minute" | "minutes" => "m",
                "hr" | "hrs" | "hour" | "hours" | "h" => "h",
                "day" | "days" | "d" => "d",
                "msec" | "millis" | "ms" => "ms",
                _ => return Err(DURATION_MEND.to_owned()),
            };
            return Err(format!("write '{number}{known}'"));
        }
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or_else(|| DURATION_MEND.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        let rows = [
            ("60s", Ok(60_000), "seconds"),
            ("500ms", Ok(500), "milliseconds"),
            ("20m", Ok(1_200_000), "minutes"),
            ("72h", Ok(259_200_000), "hours"),
            ("1d", Ok(86_400_000), "days"),
            ("60", Err("a duration needs its unit: '60s', or '60ms'?"), "a bare number"),
            ("5min", Err("write '5m'"), "another word for it"),
            ("1h30m", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "two units"),
            ("1.5h", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "a fraction"),
            ("-5s", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "negative"),
            ("99999999999999999999s", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "beyond counting"),
            ("18446744073709551615d", Err("a whole number and a unit: 500ms, 60s, 20m, 72h or 1d"), "overflowing"),
        ];
        for (text, expected, sentence) in rows {
            let found = duration_of(text).map(|duration| duration.as_millis());
            assert_eq!(found, expected.map_err(str::to_owned), "{sentence}");
        }
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["60s", "90s", "500ms", "20m", "72h", "1d", "1500ms"] {
            let duration = duration_of(text).expect("it is one");
            assert_eq!(duration_of(&as_written(duration)), Ok(duration), "{text}");
        }
    }
}
