//! The body of a webhook in the shape that its receiver wants: JSON whose texts have places for parts of the message.
//!
//! Only texts have places, and never keys: whatever is put in, the body stays the JSON that the file declares.

use crate::domain::secret::Secret;

/// A body, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum BodyTemplate {
    /// A text with places in it.
    Text(Vec<TextPiece>),
    /// A text from outside the file, which is a secret.
    Secret(Secret),
    /// A number, `true`, `false` or `null`, as JSON writes it.
    Plain(String),
    /// A list, in order.
    List(Vec<Self>),
    /// Keys, each once, and what stands under them.
    Map(Vec<(String, Self)>),
}

/// A stretch of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece {
    /// As the file writes it.
    Literal(String),
    /// What a message says here.
    Place {
        /// Which part of the message.
        field: MessageField,
        /// Characters of it at most; none: as many as a text may have.
        chars_max: Option<usize>,
    },
}

/// A part of a message that a text may have a place for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageField {
    /// One of [`MessageField::NAMES`].
    Named(&'static str),
    /// The value of a monitor's label, `{monitor.labels.NAME}`; empty where the monitor has none of the name.
    Label(String),
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateFault {
    /// No part of a message has this name.
    Unknown(String),
    /// A brace that begins no place, or ends none.
    Brace,
    /// What stands behind the colon is no number of characters.
    Limit(String),
}

/// Characters that a place may be given at most.
pub const PLACE_CHARS_MAX: usize = 4_000;

/// What begins a label's name.
const LABEL: &str = "monitor.labels.";

impl MessageField {
    /// Every part with a name of its own.
    pub const NAMES: [&'static str; 32] = [
        "id",
        "event",
        "sequence",
        "at",
        "dedup_key",
        "severity",
        "action",
        "status",
        "title",
        "tag",
        "summary",
        "details",
        "facts",
        "evidence",
        "failure_reason",
        "failed_stage",
        "resolves_when",
        "reproduce",
        "runbook_url",
        "acknowledge_url",
        "monitor.id",
        "monitor.name",
        "monitor.url",
        "incident.id",
        "incident.signal",
        "incident.subject",
        "incident.severity",
        "incident.opened_at",
        "incident.resolved_at",
        "incident.resolve_cause",
        "incident.acknowledged_by",
        "incident.url",
    ];

    /// The part of this name.
    fn from_name(name: &str) -> Option<Self> {
        if let Some(label) = name.strip_prefix(LABEL).filter(|label| !label.is_empty()) {
            return Some(Self::Label(label.to_owned()));
        }
        Self::NAMES.into_iter().find(|known| *known == name).map(Self::Named)
    }
}

impl BodyTemplate {
    /// A text with places: `{name}`, or `{name:N}` for at most N characters of it. `{{` and `}}` stand for the braces.
    ///
    /// # Errors
    /// What is wrong with the first place that is none.
    pub fn text(written: &str) -> Result<Self, TemplateFault> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = written;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let (brace, behind) = rest[at..].split_at(1);
            if let Some(behind) = behind.strip_prefix(brace) {
                literal.push_str(brace);
                rest = behind;
                continue;
            }
            let (inside, behind) = behind.split_once('}').filter(|_| brace == "{").ok_or(TemplateFault::Brace)?;
            if !literal.is_empty() {
                pieces.push(TextPiece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(place(inside)?);
            rest = behind;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(TextPiece::Literal(literal));
        }
        Ok(Self::Text(pieces))
    }

    /// The secrets in it.
    pub fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::Text(_) | Self::Plain(_) => Vec::new(),
            Self::Secret(secret) => vec![secret],
            Self::List(items) => items.iter().flat_map(Self::secrets).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, value)| value.secrets()).collect(),
        }
    }
}

fn place(inside: &str) -> Result<TextPiece, TemplateFault> {
    let (name, limit) = inside.split_once(':').map_or((inside, None), |(name, limit)| (name, Some(limit)));
    let field = MessageField::from_name(name).ok_or_else(|| TemplateFault::Unknown(name.to_owned()))?;
    let chars = |limit: &str| limit.parse().ok().filter(|chars| (1..=PLACE_CHARS_MAX).contains(chars));
    let chars_max = match limit {
        Some(limit) => Some(chars(limit).ok_or_else(|| TemplateFault::Limit(limit.to_owned()))?),
        None => None,
    };
    Ok(TextPiece::Place { field, chars_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart_at_its_places() {
        let literal = |text: &str| TextPiece::Literal(text.to_owned());
        let named = |name, chars_max| TextPiece::Place { field: MessageField::Named(name), chars_max };
        let label = TextPiece::Place { field: MessageField::Label("team".to_owned()), chars_max: None };
        let rows = [
            ("plain", Ok(vec![literal("plain")]), "no place at all"),
            ("", Ok(vec![]), "nothing"),
            ("{summary}", Ok(vec![named("summary", None)]), "nothing but a place"),
            (
                "a {monitor.id}: {summary:130}.",
                Ok(vec![
                    literal("a "),
                    named("monitor.id", None),
                    literal(": "),
                    named("summary", Some(130)),
                    literal("."),
                ]),
                "places between words, one with a limit",
            ),
            ("{monitor.labels.team}", Ok(vec![label]), "a label"),
            ("{{\"a\": {{}}}}", Ok(vec![literal("{\"a\": {}}")]), "braces written twice are braces"),
            ("{sumary}", Err(TemplateFault::Unknown("sumary".to_owned())), "no such part"),
            ("{monitor.labels.}", Err(TemplateFault::Unknown("monitor.labels.".to_owned())), "a label without a name"),
            ("{ summary }", Err(TemplateFault::Unknown(" summary ".to_owned())), "spaces belong to a name"),
            ("{summary", Err(TemplateFault::Brace), "a place without an end"),
            ("summary}", Err(TemplateFault::Brace), "an end without a place"),
            ("{summary:0}", Err(TemplateFault::Limit("0".to_owned())), "of which nothing would be left"),
            ("{summary:many}", Err(TemplateFault::Limit("many".to_owned())), "no number"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(BodyTemplate::text(text), expected.map(BodyTemplate::Text), "{sentence}");
        }
    }
}
