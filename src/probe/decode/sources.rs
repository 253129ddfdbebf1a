//! What a source-listing tool answered: how many sources, and when the newest was indexed.

use chrono::{DateTime, Utc};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::fault::FaultKind;
use crate::domain::observation::SourcesSeen;
use crate::probe::decode::answer::open;
use crate::probe::decode::rpc::Misfit;
use crate::probe::decode::timestamp::timestamp;
use crate::untrusted_text::{NAME_CHARS_MAX, escaped};

/// Names of a tool that lists sources.
pub const TOOL_NAMES: [&str; 3] = ["list_sources", "list_documents", "get_sources"];

const LISTS: [&str; 9] =
    ["/sources", "/data/sources", "/documents", "/data/documents", "/items", "/results", "/result", "/data", ""];
/// Where the moment of indexing stands, the plainest first. A file's own date is none.
const TIMESTAMPS: [&str; 9] = [
    "last_indexed",
    "last_indexed_at",
    "lastIndexed",
    "lastIndexedAt",
    "indexed_at",
    "indexedAt",
    "updated_at",
    "last_updated",
    "timestamp",
];

/// Where a source's name stands.
const NAMES: [&str; 9] = ["source", "path", "name", "title", "file", "filename", "uri", "url", "id"];
/// Names looked at: a few say what a corpus is about.
const NAMES_MAX: usize = 200;

/// Reads a tools/call result.
///
/// # Errors
/// As `open`; `AnswerUnreadable` where there is no list of sources.
pub fn read(result: &RawValue) -> Result<SourcesSeen, Misfit> {
    let carried = open(result)?;
    let found = carried.values.iter().find_map(|value| Some((value, list_in(value)?)));
    let Some((value, list)) = found else {
        return Err(Misfit {
            kind: FaultKind::AnswerUnreadable,
            detail: format!("no list of sources in the answer: {}", carried.first_words()),
        });
    };
    let (count, newest) = match list {
        Value::Array(items) => (items.len(), items.iter().filter_map(indexed_at).max()),
        Value::Object(items) => (items.len(), items.values().filter_map(indexed_at).max()),
        _ => (0, None),
    };
    let whole = newest.or_else(|| indexed_at(value)).or_else(|| indexed_at(value.get("data")?));
    Ok(SourcesSeen { count: u32::try_from(count).unwrap_or(u32::MAX), last_indexed_at: whole })
}

/// The names of the sources, bounded and escaped as hits have them.
pub(crate) fn names(result: &RawValue) -> Vec<String> {
    let Ok(carried) = open(result) else { return Vec::new() };
    let Some(list) = carried.values.iter().find_map(list_in) else { return Vec::new() };
    let name = |item: &Value| {
        let text = NAMES.iter().find_map(|key| item.get(*key)?.as_str()).or(item.as_str())?;
        Some(escaped(text, NAME_CHARS_MAX))
    };
    match list {
        Value::Array(items) => items.iter().take(NAMES_MAX).filter_map(name).collect(),
        Value::Object(items) => items.keys().take(NAMES_MAX).map(|key| escaped(key, NAME_CHARS_MAX)).collect(),
        _ => Vec::new(),
    }
}

fn list_in(value: &Value) -> Option<&Value> {
    LISTS.iter().find_map(|pointer| value.pointer(pointer).filter(|list| list.is_array() || is_map(list)))
}

/// Sources may be an object by name; the answer itself, which holds the list, is none.
fn is_map(value: &Value) -> bool {
    value.as_object().is_some_and(|map| !map.is_empty() && map.values().all(Value::is_object))
}

fn indexed_at(source: &Value) -> Option<DateTime<Utc>> {
    TIMESTAMPS.iter().find_map(|key| timestamp(source.get(*key)?))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::read;

    fn check(sentence: &str, answer: Value, expected: Option<(u32, Option<&str>)>) {
        let result = RawValue::from_string(json!({"content": [], "structuredContent": answer}).to_string()).unwrap();
        let seen =
            read(&result).ok().map(|seen| (seen.count, seen.last_indexed_at.map(|at| at.format("%F").to_string())));
        let expected = expected.map(|(count, at)| (count, at.map(str::to_owned)));
        assert_eq!(seen, expected, "{sentence}");
    }

    #[test]
    fn the_newest_date_is_found() {
        let two = json!([{"source": "a", "last_indexed": "2026-11-01T00:00:00Z"}, {"source": "b", "last_indexed": "2026-11-20"}]);
        check("a list under sources", json!({"sources": two}), Some((2, Some("2026-11-20"))));
        check("inside an envelope", json!({"status": "ok", "data": {"sources": two}}), Some((2, Some("2026-11-20"))));
        check("a bare list", json!({"result": two}), Some((2, Some("2026-11-20"))));
        check(
            "an object by name",
            json!({"sources": {"a": {"indexed_at": 1_795_252_443}}}),
            Some((1, Some("2026-11-21"))),
        );
        check("no dates", json!({"sources": [{"source": "a"}]}), Some((1, None)));
        check("texts", json!({"sources": ["a", "b"], "last_indexed": "2026-11-02"}), Some((2, Some("2026-11-02"))));
        check("none", json!({"sources": []}), Some((0, None)));
        check("no list", json!({"message": "x"}), None);
    }
}
