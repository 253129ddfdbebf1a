//! `forbid:` of a canary: patterns of the sources that its caller must never see.

use crate::config::check::checker::{Checker, Fields};
use crate::config::read::diagnostic::{Diagnostic, quoted};
use crate::config::read::node::{Node, NodeValue};
use crate::domain::source_pattern::SourcePattern;

/// As many as sources that are expected: each is held against each result.
const FORBID_MAX: usize = 50;

/// Reads `forbid:`, and holds each pattern against what the same canary expects.
pub(in crate::config) fn forbid(
    checker: &mut Checker<'_>,
    what: &str,
    fields: Fields<'_, '_>,
    expect: &[String],
) -> Vec<SourcePattern> {
    let Some(entry) = fields.get("forbid") else { return Vec::new() };
    let node = &entry.value;
    let items = checker.list(format_args!("'forbid' of {what}"), node).unwrap_or_default();
    let is_list = matches!(node.value, NodeValue::List(_));
    if is_list && (items.is_empty() || items.len() > FORBID_MAX) {
        let message = format!("'forbid' of {what} names {} patterns", items.len());
        checker.report(Diagnostic::new(node.place, message).help(format!("one to {FORBID_MAX}")));
    }
    let mut found = Vec::new();
    for item in items.iter().take(FORBID_MAX) {
        let Some(pattern) = pattern(checker, item) else { continue };
        let expected = expect.iter().find(|source| pattern.matches(source));
        if let Some((source, entry)) = expected.zip(fields.get("expect")) {
            let message = format!("{what} expects {} and forbids it", quoted(source));
            let diagnostic = Diagnostic::new(item.place, message).note(entry.place, "expected here");
            checker.report(diagnostic.help("leave one of both out: no answer could be right"));
        }
        found.push(pattern);
    }
    found
}

fn pattern(checker: &mut Checker<'_>, item: &Node<'_>) -> Option<SourcePattern> {
    let text = checker.text("a forbidden source", item)?;
    match SourcePattern::new(&text) {
        Ok(pattern) => Some(pattern),
        Err((why, mend)) => {
            let message = format!("the pattern {} {why}", quoted(&text));
            checker.report(Diagnostic::new(item.place, message).help(mend));
            None
        }
    }
}
