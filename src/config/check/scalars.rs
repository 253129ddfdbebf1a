//! Single values: texts, words out of a closed list, numbers, durations, shares, addresses, secrets.
//!
//! Each reader says what is wrong and gives none. None without a fault means that a variable is
//! not set and this run only warns of that; the caller's default stands in.

use std::fmt::Display;

use crate::config::check::checker::{Checker, similar};
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{Node, NodeValue};
use crate::config::read::reference::{ReferencePart, is_reference, parts, read_file};
use crate::domain::secret::Secret;

/// Names, labels and the like; they stand in pages and mails.
const TEXT_CHARS_MAX: usize = 2_000;
/// An id becomes part of addresses, metrics and file names.
pub(crate) const ID_CHARS_MAX: usize = 64;

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
}
