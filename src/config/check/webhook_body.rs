//! `body` of a webhook: JSON of any shape whose texts have places for parts of a message.

use crate::config::check::checker::{Checker, similar};
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::{Node, NodeValue};
use crate::config::read::reference::is_reference;
use crate::domain::body_template::{BodyTemplate, MessageField, PLACE_CHARS_MAX, TemplateFault};

/// Values in one body: with what a text may hold at most, it stays below what receivers read.
const VALUES_MAX: usize = 100;
/// Characters of one text, as it is written.
const TEXT_CHARS_MAX: usize = 2_000;

/// Reads a body. None where anything in it is wrong, which is said.
pub(in crate::config) fn body(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Option<BodyTemplate> {
    checker.ask(node.place, || ValueShape::Any);
    if matches!(node.value, NodeValue::Scalar { .. }) {
        checker.wrong_shape(what, node, "a map or a list");
        return None;
    }
    let mut values = 0;
    let body = part(checker, what, node, &mut values);
    if values > VALUES_MAX {
        let diagnostic = Diagnostic::new(node.place, format!("{what} has more than {VALUES_MAX} values"));
        checker.report(diagnostic.help("have less of it said, or leave it out and take Serin's own"));
        return None;
    }
    body
}

/// One value; counts it, and stops where there are too many: aliases could make a tree of any size.
fn part(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, values: &mut usize) -> Option<BodyTemplate> {
    *values += 1;
    if *values > VALUES_MAX {
        return None;
    }
    match &node.value {
        NodeValue::Scalar { .. } if node.is_null() => Some(BodyTemplate::Plain("null".to_owned())),
        NodeValue::Scalar { text, plain: true } if matches!(&**text, "true" | "false") => {
            Some(BodyTemplate::Plain(text.to_string()))
        }
        NodeValue::Scalar { text, plain: true } if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
            Some(BodyTemplate::Plain(text.to_string()))
        }
        NodeValue::Scalar { text, .. } if is_reference(text) => {
            checker.secret(format_args!("a text of {what}"), node).map(BodyTemplate::Secret)
        }
        NodeValue::Scalar { text, .. } => template(checker, what, node, text),
        // What is wrong in one does not keep the others from being looked at.
        NodeValue::List(items) => {
            let items: Vec<_> = items.iter().map(|item| part(checker, what, item, values)).collect();
            Some(BodyTemplate::List(items.into_iter().collect::<Option<_>>()?))
        }
        NodeValue::Map(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|entry| Some((entry.key.to_string(), part(checker, what, &entry.value, values)?)))
                .collect();
            Some(BodyTemplate::Map(entries.into_iter().collect::<Option<_>>()?))
        }
    }
}

fn template(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, text: &str) -> Option<BodyTemplate> {
    if text.chars().nth(TEXT_CHARS_MAX).is_some() {
        let message = format!("a text of {what} is longer than {TEXT_CHARS_MAX} characters");
        checker.report(Diagnostic::new(node.place, message).help("shorten it"));
        return None;
    }
    let diagnostic = match BodyTemplate::text(text) {
        Ok(template) => return Some(template),
        Err(TemplateFault::Unknown(name)) => {
            let mend = match similar(&name, MessageField::NAMES.into_iter()) {
                Some(word) => format!("did you mean '{{{word}}}'?"),
                None => format!(
                    "known: {}, monitor.labels.NAME; a brace itself is written twice",
                    MessageField::NAMES.join(", ")
                ),
            };
            let message = format!("{what} has a place for {}, of which no message tells", quoted(&name));
            Diagnostic::new(node.place, message).help(mend)
        }
        Err(TemplateFault::Brace) => {
            let message = format!("{what} has a brace that begins or ends no place");
            Diagnostic::new(node.place, message)
                .help("write `{summary}`, or the brace twice where it stands for itself")
        }
        Err(TemplateFault::Limit(limit)) => {
            let message = format!("{what} cuts a place to {}, which is no number of characters", quoted(&limit));
            Diagnostic::new(node.place, message).help(format!("such as `{{summary:130}}`, at most {PLACE_CHARS_MAX}"))
        }
    };
    checker.report(diagnostic);
    None
}
