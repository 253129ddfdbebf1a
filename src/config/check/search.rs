//! `search:`: how a monitor's search tool is called, and where its answers keep what is judged.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::check::answer_text;
use crate::config::check::checker::{Checker, Fields};
use crate::config::check::layers::Layers;
use crate::config::check::reach::flag;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Diagnostic, TextSpan, quoted};
use crate::config::read::node::{MapEntry, Node, NodeValue};
use crate::domain::search::{Fresh, Search, SearchFields};
use crate::domain::wanted::TextSigns;
use crate::tool_lists::asked::{self, QUESTION};

/// Each canary asked is a paid call on somebody's server (RETRIEVAL §2).
const PER_BEAT_MAX: u32 = 8;
const PER_BEAT_DEFAULT: u32 = 2;
/// The argument's name in most tools.
const QUERY_DEFAULT: &str = "/query";
/// What `fresh` may say, and whether that is off. Programs that write YAML of an older version make `false` of `off`.
const FRESH: [(&str, bool); 3] = [("auto", false), ("off", true), ("false", true)];
/// Places that take the question.
const PLACES_MAX: usize = 8;
/// Arguments go out with every call.
const ARGUMENTS_BYTES_MAX: usize = 16 * 1024;
const ARGUMENTS_MAX: usize = 64;
/// Names under which tools take the number of results.
const COUNT_ARGUMENTS: &[&str] = &["top_k", "k", "limit", "n_results", "max_results", "num_results"];

/// `search:` and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::config) struct SearchRead {
    pub search: Search,
    /// Results asked for, where an argument says so.
    pub results_asked: Option<u32>,
}

/// Reads `search:` of a monitor over that of `defaults`; `canaries` is how many there are to ask.
pub(in crate::config) fn search(
    checker: &mut Checker<'_>,
    what: &str,
    layers: Layers<'_, '_>,
    canaries: usize,
) -> SearchRead {
    let tool = layers.get("tool").and_then(|entry| checker.text("the tool's name", &entry.value));
    let places = layers.get("query").map(|entry| question_places(checker, &entry.value)).unwrap_or_default();
    let mut query: Vec<String> = places.iter().map(|(pointer, _)| pointer.clone()).collect();
    if query.is_empty() {
        query.push(QUERY_DEFAULT.to_owned());
    }
    let results = layers.get("results").and_then(|entry| pointer(checker, "'results'", &entry.value));
    let (arguments, results_asked) = match layers.get("arguments") {
        Some(entry) => arguments(checker, format_args!("'arguments' of {what}"), &entry.value, &query),
        None => (BTreeMap::new(), None),
    };
    let fresh = fresh(checker, what, layers, &query);
    reachable(checker, &places, &arguments);
    let (fields, by_columns, said) = answers(checker, layers);
    let per_beat = per_beat(checker, layers, canaries);
    let harvest = harvest(checker, layers, &fresh, canaries);
    let search = Search { tool, query, arguments, results, fields, by_columns, said, per_beat, fresh, harvest };
    SearchRead { search, results_asked }
}

/// `query`: a name, a JSON pointer into the arguments, or several of them; each with where it is written.
fn question_places(checker: &mut Checker<'_>, node: &Node<'_>) -> Vec<(String, TextSpan)> {
    checker.ask(node.place, || ValueShape::List);
    let items: Vec<&Node<'_>> = match &node.value {
        NodeValue::List(items) => items.iter().map(|item| &**item).collect(),
        _ => vec![node],
    };
    if items.is_empty() || items.len() > PLACES_MAX {
        let message = format!("'query' names {} places for the question", items.len());
        checker.report(Diagnostic::new(node.place, message).help(format!("one to {PLACES_MAX}")));
    }
    let mut place = |item: &Node<'_>| {
        let text = checker.text("the argument that takes the question", item)?;
        if text.starts_with('/') { pointer(checker, "'query'", item) } else { Some(format!("/{}", escaped(&text))) }
    };
    items.into_iter().take(PLACES_MAX).filter_map(|item| Some((place(item)?, item.place))).collect()
}

/// Whether the question gets to each place; where it does not, the same call would go out whatever is asked.
fn reachable(checker: &mut Checker<'_>, places: &[(String, TextSpan)], arguments: &BTreeMap<String, String>) {
    let given = |(name, json): (&String, &String)| (name.clone(), serde_json::from_str(json).unwrap_or(Value::Null));
    let mut call = Value::Object(arguments.iter().map(given).collect());
    let put: Vec<_> = places.iter().map(|(pointer, _)| asked::put(&mut call, pointer, QUESTION.into())).collect();
    for ((pointer, written), put) in places.iter().zip(put) {
        let is_there = || call.pointer(pointer).is_some_and(|value| value == QUESTION);
        let why = put.err().or_else(|| (!is_there()).then(|| "another place above it takes the question".to_owned()));
        if let Some(why) = why {
            let message = format!("the question cannot stand at {}: {why}", quoted(pointer));
            let mend = "leave out what stands in the way, or name another place by `query`";
            checker.report(Diagnostic::new(*written, message).help(mend));
        }
    }
}

/// A name as a part of a pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// `fresh` and `fresh_arguments`: how caches are passed. The monitor's own word stands before that of `defaults`.
fn fresh(checker: &mut Checker<'_>, what: &str, layers: Layers<'_, '_>, query: &[String]) -> Fresh {
    let says_off = |checker: &mut Checker<'_>, entry: &MapEntry<'_>| {
        checker.choice(format_args!("'fresh' of {what}"), &entry.value, &FRESH).unwrap_or(false)
    };
    let is_off = layers.get("fresh").is_some_and(|entry| says_off(checker, entry));
    let given = layers.get("fresh_arguments").map(|entry| {
        let (given, _) = arguments(checker, format_args!("'fresh_arguments' of {what}"), &entry.value, query);
        if given.is_empty() {
            let mend = "such as `{ cache: bypass }`, or `fresh: off` where caches are to be left alone";
            checker.report(Diagnostic::new(entry.value.place, "'fresh_arguments' names no argument").help(mend));
        }
        given
    });
    match (layers.own("fresh"), layers.own("fresh_arguments")) {
        (Some(off), Some(given)) if is_off => {
            let diagnostic = Diagnostic::new(given.place, "'fresh: off' sends no 'fresh_arguments'");
            checker.report(diagnostic.note(off.place, "it is off here").help("leave one of them out"));
            Fresh::Off
        }
        (None, Some(_)) => given.map_or(Fresh::Found, Fresh::Given),
        _ if is_off => Fresh::Off,
        _ => given.map_or(Fresh::Found, Fresh::Given),
    }
}

/// `harvest`: whether sentences out of answers are asked back, of a server that minds no further questions.
fn harvest(checker: &mut Checker<'_>, layers: Layers<'_, '_>, fresh: &Fresh, canaries: usize) -> bool {
    let is_on = layers.get("harvest").and_then(|entry| flag(checker, "'harvest'", entry)).unwrap_or(false);
    if let Some(own) = layers.own("harvest").filter(|_| is_on && (canaries == 0 || *fresh == Fresh::Off)) {
        let (message, mend) = match fresh {
            Fresh::Off => ("'fresh: off' asks nothing but canaries", "leave one of them out"),
            _ => {
                ("there are no canaries, and so no answers to take sentences from", "declare canaries, or leave it out")
            }
        };
        checker.report(Diagnostic::new(own.value.place, message).help(mend));
    }
    is_on && canaries > 0 && *fresh != Fresh::Off
}

fn per_beat(checker: &mut Checker<'_>, layers: Layers<'_, '_>, canaries: usize) -> u32 {
    let there = u32::try_from(canaries).unwrap_or(u32::MAX);
    let written = layers.get("per_beat");
    let Some(per_beat) = written.and_then(|entry| checker.whole("'per_beat'", &entry.value, 1..=PER_BEAT_MAX)) else {
        return PER_BEAT_DEFAULT.min(there);
    };
    // What `defaults` says is meant for many monitors; only a monitor's own word has to fit its own canaries.
    if let Some(own) = layers.own("per_beat").filter(|_| per_beat > there) {
        let message = format!("{per_beat} canaries a beat are wanted, and there are {there}");
        let mend = if there == 0 { "leave it out, or declare canaries".to_owned() } else { format!("at most {there}") };
        checker.report(Diagnostic::new(own.value.place, message).help(mend));
    }
    per_beat.min(there)
}

fn arguments(
    checker: &mut Checker<'_>,
    what: std::fmt::Arguments<'_>,
    node: &Node<'_>,
    query: &[String],
) -> (BTreeMap<String, String>, Option<u32>) {
    let entries = checker.map(what, node).unwrap_or_default();
    if let Some(entry) = entries.get(ARGUMENTS_MAX) {
        checker.report(
            Diagnostic::new(entry.place, format!("more than {ARGUMENTS_MAX} arguments")).help("no tool takes so many"),
        );
    }
    let mut found = BTreeMap::new();
    let mut results_asked = None;
    for entry in entries.iter().take(ARGUMENTS_MAX) {
        if query.iter().any(|pointer| pointer[1..] == escaped(&entry.key)) {
            let message = format!("argument {} is the one that takes the canary's question", quoted(&entry.key));
            checker.report(Diagnostic::new(entry.place, message).help("leave it out, or name another one by `query`"));
        }
        checker.ask(entry.value.place, || ValueShape::Any);
        let mut json = String::new();
        if !write_json(checker, &entry.value, &mut json) {
            continue;
        }
        if COUNT_ARGUMENTS.contains(&&*entry.key) {
            results_asked = json.parse().ok();
            if results_asked == Some(0) {
                let diagnostic = Diagnostic::new(entry.value.place, "a search for 0 results finds nothing");
                checker.report(diagnostic.help("at least 1"));
            }
        }
        found.insert(entry.key.to_string(), json);
    }
    (found, results_asked)
}

/// A value of YAML's core schema as JSON. False where it was refused; aliases make it a tree again, so its size is bounded.
fn write_json(checker: &mut Checker<'_>, node: &Node<'_>, json: &mut String) -> bool {
    let own = if let NodeValue::Scalar { text, .. } = &node.value { text.len() } else { 0 };
    if json.len() + own > ARGUMENTS_BYTES_MAX {
        let diagnostic =
            Diagnostic::new(node.place, format!("an argument is larger than {} KiB", ARGUMENTS_BYTES_MAX / 1024));
        checker.report(diagnostic.help("arguments go out with every call"));
        return false;
    }
    match &node.value {
        NodeValue::Scalar { .. } if node.is_null() => json.push_str("null"),
        NodeValue::Scalar { text, plain: true } if matches!(&**text, "true" | "false") => json.push_str(text),
        NodeValue::Scalar { text, plain: true } if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
            json.push_str(text)
        }
        NodeValue::Scalar { .. } => match checker.literal("an argument", node) {
            Some(text) => json.push_str(&serde_json::Value::String(text).to_string()),
            None => return false,
        },
        NodeValue::List(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                json.push_str(if at > 0 { "," } else { "" });
                if !write_json(checker, item, json) {
                    return false;
                }
            }
            json.push(']');
        }
        NodeValue::Map(entries) => {
            json.push('{');
            for (at, entry) in entries.iter().enumerate() {
                json.push_str(if at > 0 { "," } else { "" });
                json.push_str(&serde_json::Value::String(entry.key.to_string()).to_string());
                json.push(':');
                if !write_json(checker, &entry.value, json) {
                    return false;
                }
            }
            json.push('}');
        }
    }
    true
}

/// Where answers keep the parts of results, whether these are columns, and what texts say.
pub(in crate::config) fn answers(
    checker: &mut Checker<'_>,
    layers: Layers<'_, '_>,
) -> (SearchFields, bool, Option<Box<TextSigns>>) {
    let mut fields = layers.get("fields").map(|entry| places(checker, &entry.value)).unwrap_or_default();
    let by_columns = layers.get("columns");
    if let Some(entry) = by_columns {
        agreement(checker, layers, entry);
        fields = SearchFields { total: fields.total, ..columns(checker, &entry.value) };
    }
    (fields, by_columns.is_some(), answer_text::signs(checker, layers))
}

fn places(checker: &mut Checker<'_>, node: &Node<'_>) -> SearchFields {
    let fields = checker.fields("'fields' of search", node, "monitors.search.fields");
    let mut read = |key: &str| {
        let entry = fields.and_then(|fields: Fields<'_, '_>| fields.get(key))?;
        pointer(checker, &format!("'{key}'"), &entry.value)
    };
    SearchFields { source: read("source"), content: read("content"), score: read("score"), total: read("total") }
}

/// `columns`: lists of all results' parts, side by side.
fn columns(checker: &mut Checker<'_>, node: &Node<'_>) -> SearchFields {
    let fields = checker.fields("'columns' of search", node, "monitors.search.columns");
    let mut read = |key: &str| {
        let entry = fields.and_then(|fields: Fields<'_, '_>| fields.get(key))?;
        pointer(checker, &format!("'{key}'"), &entry.value)
    };
    let columns = SearchFields { source: read("source"), content: read("content"), score: read("score"), total: None };
    if fields.is_some_and(|fields| fields.get("source").is_none() && fields.get("content").is_none()) {
        let message = "'columns' of search names neither 'source' nor 'content'";
        checker.report(
            Diagnostic::new(node.place, message).help("such as `columns: { source: /ids/0, content: /documents/0 }`"),
        );
    }
    columns
}

/// A list of results and columns exclude each other.
fn agreement(checker: &mut Checker<'_>, layers: Layers<'_, '_>, columns: &MapEntry<'_>) {
    let inside = |key: &str| match &layers.get("fields")?.value.value {
        NodeValue::Map(entries) => entries.iter().find(|entry| entry.key == key),
        _ => None,
    };
    let others = [layers.get("results"), inside("source"), inside("content"), inside("score")];
    for other in others.into_iter().flatten() {
        let message = format!("'columns' stands instead of {}", quoted(&other.key));
        let diagnostic = Diagnostic::new(other.place, message).note(columns.place, "the columns are here");
        checker.report(diagnostic.help("leave one of them out"));
    }
}

/// A JSON pointer (RFC 6901): empty, or parts that each start with `/`.
fn pointer(checker: &mut Checker<'_>, what: &str, node: &Node<'_>) -> Option<String> {
    let text = checker.text(what, node)?;
    let escapes = text.replace("~0", "").replace("~1", "");
    if text.starts_with('/') && !escapes.contains('~') {
        return Some(text);
    }
    let diagnostic = Diagnostic::new(node.place, format!("{what} takes a JSON pointer, and this is {}", quoted(&text)));
    checker.report(
        diagnostic.help(format!(
            "write `/{}`",
            text.trim_start_matches(['$', '.', '/']).replace('.', "/").replace('~', "~0")
        )),
    );
    None
}
