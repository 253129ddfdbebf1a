//! `canaries:`: searches whose right answer is known.

use std::collections::HashMap;

use crate::config::check::answer_text;
use crate::config::check::checker::{Checker, Fields};
use crate::config::check::definition;
use crate::config::check::forbidden_sources;
use crate::config::check::rules::within;
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::{Node, NodeValue};
use crate::domain::monitor::{Canary, CanaryKind};

/// A good set is 24 (RETRIEVAL §2); a round over more would take hours.
const CANARIES_MAX: usize = 500;
/// Sources of which any is right.
const EXPECT_MAX: usize = 50;
const KINDS: &[(&str, CanaryKind)] = &[
    ("keyword", CanaryKind::Keyword),
    ("meaning", CanaryKind::Meaning),
    ("mixed", CanaryKind::Mixed),
    ("negative", CanaryKind::Negative),
];

/// What holds for canaries that say nothing else.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct CanaryDefaults {
    /// The rank of canaries that name none.
    pub within: u32,
    /// Results a search asks for, where it says so.
    pub results_asked: Option<u32>,
}

/// How many canaries a monitor lists, before they are looked at.
pub(in crate::config) fn count(node: Option<&Node<'_>>) -> usize {
    match node.map(|node| &node.value) {
        Some(NodeValue::List(items)) => items.len(),
        _ => 0,
    }
}

/// Reads `canaries:` of a monitor.
pub(in crate::config) fn canaries(
    checker: &mut Checker<'_>,
    what: &str,
    node: Option<&Node<'_>>,
    defaults: CanaryDefaults,
) -> Vec<Canary> {
    let Some(node) = node else { return Vec::new() };
    let items = checker.list(format_args!("'canaries' of {what}"), node).unwrap_or_default();
    if items.len() > CANARIES_MAX {
        let message = format!("{what} has {} canaries", items.len());
        checker.report(Diagnostic::new(node.place, message).help(format!("at most {CANARIES_MAX}; 24 are a good set")));
    }
    let mut places: HashMap<String, TextSpan> = HashMap::new();
    let mut found = Vec::new();
    for item in items.iter().take(CANARIES_MAX) {
        let Some(canary) = canary(checker, what, item, defaults) else { continue };
        match places.get(&canary.id) {
            Some(first) => {
                let message = format!("canary '{}' is declared twice in {what}", canary.id);
                checker.report(
                    Diagnostic::new(item.place, message)
                        .note(*first, "first declared here")
                        .help("give each its own id"),
                );
            }
            None => {
                places.insert(canary.id.clone(), item.place);
                found.push(canary);
            }
        }
    }
    found
}

fn canary(checker: &mut Checker<'_>, monitor: &str, node: &Node<'_>, defaults: CanaryDefaults) -> Option<Canary> {
    let what = Checker::named("canary", node);
    let fields = checker.fields(&what, node, "monitors.canaries")?;
    let id = match fields.get("id") {
        Some(entry) => {
            let text = checker.text("a canary's id", &entry.value);
            text.and_then(|text| checker.id("canary", &text, entry.value.place))
        }
        None => {
            checker.missing(
                format_args!("a canary of {monitor}"),
                node.place,
                "id",
                "such as `id: token-life`; history follows it",
            );
            None
        }
    };
    let query = match fields.get("query") {
        Some(entry) => checker.text(format_args!("the query of {what}"), &entry.value),
        None => {
            checker.missing(&what, node.place, "query", "the question it asks");
            None
        }
    };
    let expect = fields.get("expect").map(|entry| expect(checker, &what, &entry.value)).unwrap_or_default();
    let kind = fields.get("kind").and_then(|entry| checker.choice("'kind'", &entry.value, KINDS));
    let rank = fields.get("within").and_then(|entry| within(checker, entry, defaults.results_asked, true));
    let max_score = fields.get("max_score").and_then(|entry| checker.decimal("'max_score'", &entry.value));
    let text = answer_text::expected(checker, &what, fields, query.as_deref());
    let forbid = forbidden_sources::forbid(checker, &what, fields, &expect);
    agreement(checker, &what, fields, kind);
    let mut canary = Canary {
        id: id?,
        query: query?,
        kind: kind.unwrap_or(CanaryKind::Mixed),
        expect,
        within: rank.unwrap_or(defaults.within),
        max_score,
        text,
        forbid,
        line: node.place.line,
        definition_hash: String::new(),
    };
    canary.definition_hash = definition::of_canary(&canary).hash();
    Some(canary)
}

fn expect(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Vec<String> {
    let items = checker.list(format_args!("'expect' of {what}"), node).unwrap_or_default();
    let is_list = matches!(node.value, NodeValue::List(_));
    if is_list && (items.is_empty() || items.len() > EXPECT_MAX) {
        let message = format!("'expect' of {what} names {} sources", items.len());
        checker
            .report(Diagnostic::new(node.place, message).help(format!("one to {EXPECT_MAX}, of which any is right")));
    }
    items.iter().take(EXPECT_MAX).filter_map(|item| checker.text("an expected source", item)).collect()
}

/// Whether what a canary expects fits its kind.
fn agreement(checker: &mut Checker<'_>, what: &str, fields: Fields<'_, '_>, kind: Option<CanaryKind>) {
    let negative = kind == Some(CanaryKind::Negative);
    let unread = kind.is_none() && fields.get("kind").is_some();
    if unread {
        return;
    }
    if !negative && ["expect", "contains", "forbid"].iter().all(|key| fields.get(key).is_none()) {
        let diagnostic =
            Diagnostic::new(fields.place, format!("{what} expects nothing, so that no answer is right or wrong"));
        checker.report(diagnostic.help(
            "add `expect: [ … ]`, `contains: [ … ]` where the tool answers with text, `kind: negative` where nothing may be found, or `forbid: [ … ]` for sources that may never be",
        ));
    }
    for (key, wrong) in [("expect", negative), ("within", negative), ("max_score", !negative)] {
        let Some(entry) = fields.get(key).filter(|_| wrong) else { continue };
        let message = if negative {
            format!("{what} is negative: nothing may be found, and '{key}' says otherwise")
        } else {
            format!("'{key}' of {what} holds for negative canaries only")
        };
        checker.report(Diagnostic::new(entry.place, message).help(format!("leave '{key}' out, or change 'kind'")));
    }
}
