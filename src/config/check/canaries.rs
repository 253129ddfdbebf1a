//! `canaries:`: searches whose right answer is known.

use std::collections::HashMap;
use std::fmt::Display;

use crate::config::check::answer_text;
use crate::config::check::checker::{Checker, Fields};
use crate::config::check::definition;
use crate::config::check::forbidden_sources;
use crate::config::check::keys;
use crate::config::check::near_misses::{self, WrittenPair};
use crate::config::check::rules::within;
use crate::config::check::wordings;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node, NodeValue};
use crate::domain::monitor::{Canary, CanaryKind};
use crate::domain::near_miss::NearMiss;
use crate::domain::schedule::ASKS_MAX;

/// A good set is 24 (RETRIEVAL §2); a round over more would take hours.
const CANARIES_MAX: usize = 500;
/// Sources of which any is right.
const EXPECT_MAX: usize = 50;
const KINDS: &[(&str, CanaryKind)] = &[
    ("keyword", CanaryKind::Keyword),
    ("meaning", CanaryKind::Meaning),
    ("mixed", CanaryKind::Mixed),
    ("self", CanaryKind::Verbatim),
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

/// How many canaries a monitor declares, before they are looked at.
pub(in crate::config) fn count(checker: &Checker<'_>, node: Option<&Node<'_>>) -> usize {
    // What cannot be read is said where it is named, and not once more by whoever counts.
    let of = |item: &Node<'_>| match item.get("file").map(|file| (&file.value, file.place)) {
        Some((NodeValue::Scalar { text, .. }, place)) => checker.golden(place, text).map_or(ASKS_MAX, |set| set.len()),
        _ => 1,
    };
    match node.map(|node| (node, &node.value)) {
        Some((_, NodeValue::List(items))) => items.iter().map(|item| of(item)).sum(),
        Some((node, NodeValue::Map(_))) if node.get("file").is_some() => of(node),
        _ => 0,
    }
}

/// Reads `canaries:` of a monitor: a list, whose items may be golden sets, or one golden set.
pub(in crate::config) fn canaries(
    checker: &mut Checker<'_>,
    what: &str,
    node: Option<&Node<'_>>,
    defaults: CanaryDefaults,
) -> (Vec<Canary>, Vec<NearMiss>) {
    let Some(node) = node else { return (Vec::new(), Vec::new()) };
    let count = count(checker, Some(node));
    if count > CANARIES_MAX {
        let message = format!("{what} has {count} canaries");
        checker.report(Diagnostic::new(node.place, message).help(format!("at most {CANARIES_MAX}; 24 are a good set")));
    }
    let mut read = CanariesRead {
        what,
        defaults,
        left: CANARIES_MAX,
        places: HashMap::new(),
        found: Vec::new(),
        pairs: Vec::new(),
        is_faulty: count > CANARIES_MAX,
    };
    let is_canary = |node: &Node<'_>| ["id", "query"].iter().any(|key| node.get(key).is_some());
    if matches!(node.value, NodeValue::Map(_)) && !is_canary(node) {
        read.golden(checker, format_args!("'canaries' of {what}"), node, &["file"]);
        return read.paired(checker);
    }
    for item in checker.list(format_args!("'canaries' of {what}"), node).unwrap_or_default() {
        if item.get("file").is_some() {
            read.golden(checker, "a golden set", item, keys::known("monitors.canaries"));
        } else {
            read.one(checker, item, Written::Yaml);
        }
    }
    read.paired(checker)
}

/// What has been read of a monitor's canaries.
struct CanariesRead<'w> {
    what: &'w str,
    defaults: CanaryDefaults,
    /// How many more are looked at.
    left: usize,
    places: HashMap<String, TextSpan>,
    found: Vec<Canary>,
    pairs: Vec<WrittenPair>,
    /// Whether some canary is not among those found, so that it cannot be said of an id that nobody has it.
    is_faulty: bool,
}

/// Where a canary is written; a golden set has the keys of judged questions besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Yaml,
    GoldenSet,
}

impl CanariesRead<'_> {
    /// Reads the golden set that a map names by `file`; nothing else may stand beside that.
    fn golden(&mut self, checker: &mut Checker<'_>, what: impl Display + Copy, node: &Node<'_>, known: &[&str]) {
        let Some(fields) = checker.fields_among(what, node, "monitors.canaries", known) else { return };
        for entry in known.iter().filter(|key| **key != "file").filter_map(|key| fields.get(key)) {
            let diagnostic = Diagnostic::new(entry.place, format!("{} stands beside 'file'", quoted(&entry.key)));
            checker.report(diagnostic.help("write it into the lines of that file, or begin another item"));
        }
        let Some(entry) = fields.get("file") else {
            checker.missing(what, node.place, "file", "or a list of canaries");
            return;
        };
        let Some(name) = checker.text("'file'", &entry.value) else { return };
        match checker.golden(entry.value.place, &name) {
            Ok(lines) => lines.iter().for_each(|line| self.one(checker, line, Written::GoldenSet)),
            Err((message, mend)) => checker.report(Diagnostic::new(entry.value.place, message).help(mend)),
        }
    }

    /// What was read, once each canary can be named by another one.
    fn paired(self, checker: &mut Checker<'_>) -> (Vec<Canary>, Vec<NearMiss>) {
        let pairs = near_misses::near_misses(checker, (self.what, &self.found), self.pairs, self.is_faulty);
        (self.found, pairs)
    }

    fn one(&mut self, checker: &mut Checker<'_>, item: &Node<'_>, written: Written) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        let Some(canary) = canary(checker, self.what, item, written, self.defaults) else {
            self.is_faulty = true;
            return;
        };
        if let Some(named) = item.get("pair") {
            let other = checker.text(format_args!("'pair' of canary '{}'", canary.id), named);
            let pair = |other| WrittenPair { canary: canary.id.clone(), other, place: named.place };
            self.pairs.extend(other.map(pair));
        }
        match self.places.get(&canary.id) {
            Some(first) => {
                let message = format!("canary '{}' is declared twice in {}", canary.id, self.what);
                checker.report(
                    Diagnostic::new(item.place, message)
                        .note(*first, "first declared here")
                        .help("give each its own id"),
                );
            }
            None => {
                self.places.insert(canary.id.clone(), item.place);
                self.found.push(canary);
            }
        }
    }
}

fn canary(
    checker: &mut Checker<'_>,
    monitor: &str,
    node: &Node<'_>,
    written: Written,
    defaults: CanaryDefaults,
) -> Option<Canary> {
    let what = Checker::named("canary", node);
    let more: &[&str] = if written == Written::GoldenSet { &["expected"] } else { &[] };
    let fields = checker.fields_and(&what, node, "monitors.canaries", more)?;
    if let Some(entry) = fields.get("file") {
        let diagnostic = Diagnostic::new(entry.place, "a golden set names no other one");
        checker.report(diagnostic.help("name both in the YAML file, an item each"));
    }
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
    let kind = fields.get("kind").and_then(|entry| checker.choice("'kind'", &entry.value, KINDS));
    let expect = match (fields.get("expect"), fields.get("expected")) {
        (Some(_), Some(entry)) => {
            let diagnostic = Diagnostic::new(entry.place, format!("{what} has both 'expect' and 'expected'"));
            checker.report(diagnostic.help("keep one of the two"));
            Vec::new()
        }
        (Some(entry), None) => expect(checker, &what, &entry.value),
        (None, Some(entry)) => graded(checker, &what, &entry.value, kind),
        (None, None) => Vec::new(),
    };
    let rank = fields.get("within").and_then(|entry| within(checker, entry, defaults.results_asked, true));
    let max_score = fields.get("max_score").and_then(|entry| checker.decimal("'max_score'", &entry.value));
    let text = answer_text::expected(checker, &what, fields, query.as_deref());
    let forbid = forbidden_sources::forbid(checker, &what, fields, &expect);
    let also = wordings::also(checker, &what, fields, (query.as_deref(), text.as_deref()));
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
        also,
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

/// Sources as a golden set grades them: those of the best grade are right, and what is graded below is not.
fn graded(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, kind: Option<CanaryKind>) -> Vec<String> {
    /// What a source is graded that answers in full, where nothing is said.
    const FULL: u32 = 2;
    const GRADES: std::ops::RangeInclusive<u32> = 1..=255;
    let items = checker.list(format_args!("'expected' of {what}"), node).unwrap_or_default();
    let least = usize::from(kind != Some(CanaryKind::Negative));
    if matches!(node.value, NodeValue::List(_)) && !(least..=EXPECT_MAX).contains(&items.len()) {
        let message = format!("'expected' of {what} names {} sources", items.len());
        checker.report(
            Diagnostic::new(node.place, message).help(format!("one to {EXPECT_MAX}, none where it is negative")),
        );
    }
    let mut sources = Vec::new();
    for item in items.iter().take(EXPECT_MAX) {
        let what = "an expected source";
        let Some(fields) = checker.fields_among(what, item, "", &["source", "grade"]) else { continue };
        let grade = fields.get("grade").map(|entry| checker.whole("'grade'", &entry.value, GRADES));
        match fields.get("source") {
            Some(entry) => {
                let source = checker.text("an expected source", &entry.value);
                sources.extend(source.zip(grade.unwrap_or(Some(FULL))));
            }
            None => checker.missing("an expected source", item.place, "source", "its name, as answers give it"),
        }
    }
    let best = sources.iter().map(|(_, grade)| *grade).max();
    sources.into_iter().filter(|(_, grade)| Some(*grade) == best).map(|(source, _)| source).collect()
}

/// Whether what a canary expects fits its kind.
fn agreement(checker: &mut Checker<'_>, what: &str, fields: Fields<'_, '_>, kind: Option<CanaryKind>) {
    let negative = kind == Some(CanaryKind::Negative);
    let unread = kind.is_none() && fields.get("kind").is_some();
    if unread {
        return;
    }
    if !negative && ["expect", "expected", "contains", "forbid"].iter().all(|key| fields.get(key).is_none()) {
        let diagnostic =
            Diagnostic::new(fields.place, format!("{what} expects nothing, so that no answer is right or wrong"));
        checker.report(diagnostic.help(
            "add `expect: [ … ]`, `contains: [ … ]` where the tool answers with text, `kind: negative` where nothing may be found, or `forbid: [ … ]` for sources that may never be",
        ));
    }
    // Judged questions write that they expect nothing.
    let names_none = |entry: &MapEntry<'_>| matches!(&entry.value.value, NodeValue::List(items) if items.is_empty());
    let keys = [("expect", negative), ("expected", negative), ("within", negative), ("max_score", !negative)];
    for (key, wrong) in keys {
        let entry = fields.get(key).filter(|entry| wrong && !(key == "expected" && names_none(entry)));
        let Some(entry) = entry else { continue };
        let message = if negative {
            format!("{what} is negative: nothing may be found, and '{key}' says otherwise")
        } else {
            format!("'{key}' of {what} holds for negative canaries only")
        };
        checker.report(Diagnostic::new(entry.place, message).help(format!("leave '{key}' out, or change 'kind'")));
    }
}
