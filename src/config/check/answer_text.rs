//! What the text of an answer says: the words and patterns by which canaries are judged where there is no list of results.

use std::fmt::Display;

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::layers::Layers;
use crate::config::read::diagnostic::{Diagnostic, TextSpan};
use crate::config::read::node::{Node, NodeValue};
use crate::domain::wanted::{ExpectedText, Pattern, Searched, TextSigns, Wanted};

/// Words and patterns under one key of a canary.
const WANTED_MAX: usize = 20;
/// Bytes of a pattern.
const PATTERN_BYTES_MAX: usize = 1000;
/// Answers that have nothing in common: a sign that stands in each of them tells none apart.
const UNLIKE: [&str; 5] = [
    "x",
    "0",
    "No results",
    "# Boilers\n\n1. Each quarter somebody looks at the copper valve and the pipes behind it.\n2. A leak is told at once.",
    "{\"results\": [{\"title\": \"Boilers\", \"score\": 0.5}]}",
];
const TELL_APART: &str = "name what stands in the answers that are meant, and in no others";

/// Reads `contains:` and `not_contains:` of a canary.
pub(in crate::config) fn expected(
    checker: &mut Checker<'_>,
    what: &str,
    fields: Fields<'_, '_>,
    question: Option<&str>,
) -> Option<Box<ExpectedText>> {
    let mut read = |key: &str| {
        let entry = fields.get(key)?;
        Some(wanted(checker, what, key, &entry.value, question.unwrap_or_default()))
    };
    let (contains, not_contains) = (read("contains"), read("not_contains"));
    (contains.is_some() || not_contains.is_some()).then(|| {
        let (contains, not_contains) = (contains.unwrap_or_default(), not_contains.unwrap_or_default());
        Box::new(ExpectedText { contains, not_contains })
    })
}

/// Reads `error:` and `empty:` of a search.
pub(in crate::config) fn signs(checker: &mut Checker<'_>, layers: Layers<'_, '_>) -> Option<Box<TextSigns>> {
    let mut read = |key: &str| {
        let entry = layers.get(key)?;
        let pattern = pattern(checker, format_args!("'{key}' of search"), &entry.value)?;
        if pattern.is_in("") {
            checker.report(matches_anything(key, entry.value.place));
        } else if UNLIKE.iter().all(|text| pattern.is_in(text)) {
            let diagnostic = Diagnostic::new(entry.value.place, format!("the pattern of '{key}' matches any answer"));
            checker.report(diagnostic.help(TELL_APART));
        }
        Some(pattern)
    };
    let (error, empty) = (read("error"), read("empty"));
    if let (true, Some(error), Some(empty)) =
        (error.is_some() && error == empty, layers.get("error"), layers.get("empty"))
    {
        let diagnostic = Diagnostic::new(empty.value.place, "'empty' of search is the same pattern as 'error'");
        let diagnostic = diagnostic.note(error.value.place, "the error is here");
        checker.report(diagnostic.help("an answer that both match is an error: name what only the other says"));
    }
    (error.is_some() || empty.is_some()).then(|| Box::new(TextSigns { error, empty }))
}

fn wanted(checker: &mut Checker<'_>, what: &str, key: &str, node: &Node<'_>, question: &str) -> Vec<Wanted> {
    let items = checker.list(format_args!("'{key}' of {what}"), node).unwrap_or_default();
    let is_list = matches!(node.value, NodeValue::List(_));
    if is_list && (items.is_empty() || items.len() > WANTED_MAX) {
        let message = format!("'{key}' of {what} names {} texts", items.len());
        checker.report(Diagnostic::new(node.place, message).help(format!("one to {WANTED_MAX}")));
    }
    let mut found = Vec::new();
    for item in items.iter().take(WANTED_MAX) {
        let Some(one) = one(checker, item) else { continue };
        if matches!(&one, Wanted::Pattern(pattern) if pattern.is_in("")) {
            checker.report(matches_anything(key, item.place));
        } else if Searched::new(question, "").holds(&one) {
            let message = format!("the question of {what} itself holds {}, and servers repeat it", one.shown());
            let mend = "name what only the right answer says";
            checker.report(Diagnostic::new(item.place, message).help(mend));
        } else {
            found.push(one);
        }
    }
    found
}

fn one(checker: &mut Checker<'_>, item: &Node<'_>) -> Option<Wanted> {
    let NodeValue::Map(_) = &item.value else {
        return checker.text("words of an answer", item).map(Wanted::Words);
    };
    let fields = checker.fields("words of an answer", item, "monitors.canaries.contains")?;
    match fields.get("pattern") {
        Some(entry) => pattern(checker, "'pattern'", &entry.value).map(Wanted::Pattern),
        None => {
            checker.missing("a map of words", item.place, "pattern", "or write the words themselves as a text");
            None
        }
    }
}

fn pattern(checker: &mut Checker<'_>, what: impl Display + Copy, node: &Node<'_>) -> Option<Pattern> {
    let text = checker.literal(what, node)?;
    if text.len() > PATTERN_BYTES_MAX {
        let diagnostic = Diagnostic::new(node.place, format!("{what} is longer than {PATTERN_BYTES_MAX} bytes"));
        checker.report(diagnostic.help("a few words tell an answer apart"));
        return None;
    }
    match Pattern::new(&text) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            let message = format!("{what} is no pattern: {why}");
            let mend = "patterns are those of the Rust crate regex: no look-around, no back-references";
            checker.report(Diagnostic::new(node.place, message).help(mend));
            None
        }
    }
}

fn matches_anything(key: &str, place: TextSpan) -> Diagnostic {
    Diagnostic::new(place, format!("the pattern of '{key}' matches any text, even none")).help(TELL_APART)
}
