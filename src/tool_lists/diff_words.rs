//! Places, values and texts of a schema in words, bounded and escaped.

use serde_json::Value;

use crate::tool_lists::json_schema::{choices, types};
use crate::untrusted_text::escaped;

/// Characters of a value or a text that a line shows.
const SHOWN_CHARS_MAX: usize = 60;

/// Which way values flow through a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSide {
    Given,
    Answered,
}

/// Where a schema stands, in words.
pub(super) fn place(path: &str, way: SchemaSide) -> String {
    match (path, way) {
        ("", SchemaSide::Given) => "the arguments".to_owned(),
        ("", SchemaSide::Answered) => "the answer".to_owned(),
        (path, SchemaSide::Given) => format!("argument `{path}`"),
        (path, SchemaSide::Answered) => format!("output field `{path}`"),
    }
}

pub(super) fn unlisted(path: &str, way: SchemaSide, what: &str) -> String {
    match (path, way) {
        ("", SchemaSide::Given) => format!("arguments that are not listed {what}"),
        (path, way) => format!("{}: fields that are not listed {what}", place(path, way)),
    }
}

/// A schema by its type, for a sentence.
pub(super) fn kind(schema: &Value) -> String {
    match types(schema).as_slice() {
        [] => choices(schema).map_or_else(|| value(schema), |choices| list(&choices)),
        names => shown(&names.join(" or ")),
    }
}

pub(super) fn list(values: &[&Value]) -> String {
    const SHOWN: usize = 5;
    let mut said: Vec<String> = values.iter().take(SHOWN).map(|one| value(one)).collect();
    if values.len() > SHOWN {
        said.push(format!("{} more", values.len() - SHOWN));
    }
    said.join(", ")
}

pub(super) fn value(value: &Value) -> String {
    if value.is_null() { "none".to_owned() } else { shown(&value.to_string()) }
}

pub(super) fn shown(text: &str) -> String {
    escaped(text, SHOWN_CHARS_MAX)
}

/// Both texts from shortly before the place where they part.
pub(super) fn from_difference(old: &str, new: &str) -> (String, String) {
    const BEFORE: usize = 12;
    let same = old.chars().zip(new.chars()).take_while(|(one, other)| one == other).count();
    let skip = if same > BEFORE * 2 { same - BEFORE } else { 0 };
    let cut = |text: &str| {
        let dots = if skip > 0 { "…" } else { "" };
        format!("{dots}{}", shown(&text.chars().skip(skip).collect::<String>()))
    };
    (cut(old), cut(new))
}
