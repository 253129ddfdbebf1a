//! `also:` of a canary: its question in other words, each with the same right answer.

use std::collections::HashMap;

use crate::config::check::checker::{Checker, Fields};
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::NodeValue;
use crate::domain::wanted::{ExpectedText, Searched};

/// A doubt is confirmed by three to eight answers in a row, each in words of its own where there are so many.
const ALSO_MAX: usize = 8;

/// Reads `also:`. Each wording has to be a text of its own, and may not hold what the canary looks for in a text.
pub(in crate::config) fn also(
    checker: &mut Checker<'_>,
    what: &str,
    fields: Fields<'_, '_>,
    (query, text): (Option<&str>, Option<&ExpectedText>),
) -> Vec<String> {
    let Some(entry) = fields.get("also") else { return Vec::new() };
    let node = &entry.value;
    let items = checker.list(format_args!("'also' of {what}"), node).unwrap_or_default();
    let is_list = matches!(node.value, NodeValue::List(_));
    if is_list && (items.is_empty() || items.len() > ALSO_MAX) {
        let message = format!("'also' of {what} names {} wordings", items.len());
        checker.report(Diagnostic::new(node.place, message).help(format!("one to {ALSO_MAX}")));
    }
    let query = query.zip(fields.get("query").map(|entry| entry.value.place));
    let mut known: HashMap<String, TextSpan> =
        query.map(|(text, place)| (text.to_owned(), place)).into_iter().collect();
    let mut found = Vec::new();
    for item in items.iter().take(ALSO_MAX) {
        let Some(wording) = checker.text("a wording", item) else { continue };
        let looked_for = text.into_iter().flat_map(|text| text.contains.iter().chain(&text.not_contains));
        let mut held = looked_for.filter(|wanted| Searched::new(&wording, "").holds(wanted));
        if let Some(wanted) = held.next() {
            let message = format!("a wording of {what} itself holds {}, and servers repeat it", wanted.shown());
            checker.report(Diagnostic::new(item.place, message).help("say it in words that only the question has"));
        } else if let Some(first) = known.get(&wording) {
            let diagnostic = Diagnostic::new(item.place, format!("{what} asks {} twice", quoted(&wording)));
            let mend = "a cache knows what was asked before: leave it out, or say it in other words";
            checker.report(diagnostic.note(*first, "first here").help(mend));
        } else {
            known.insert(wording.clone(), item.place);
            found.push(wording);
        }
    }
    found
}
