//! What one page of a source-listing tool says: its sources, when the newest was indexed, and whether more follow.

use std::hash::{DefaultHasher, Hash, Hasher};

use chrono::{DateTime, Utc};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::fault::FaultKind;
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
/// So many of them speak of indexing wherever they stand; beside a list the others may be the answer's own moment.
const PLAIN_TIMESTAMPS: usize = 6;

/// Where a source's name stands.
const NAMES: [&str; 9] = ["source", "path", "name", "title", "file", "filename", "uri", "url", "id"];
/// Names looked at: a few say what a corpus is about.
const NAMES_MAX: usize = 200;

/// What is said of the whole list stands here.
const PLACES: [&str; 8] =
    ["", "/data", "/pagination", "/data/pagination", "/page_info", "/pageInfo", "/meta", "/metadata"];
/// Where the count of all sources stands. A plain `count` is mostly the page's.
const TOTALS: [&str; 6] = ["total", "total_sources", "total_documents", "total_count", "totalCount", "totalSources"];
/// Where the next page's cursor stands. The last name may hold the page's own, too, which then comes again.
const CURSORS: [&str; 3] = ["next_cursor", "nextCursor", "cursor"];
/// Where a server says yes or no to whether more follows.
const FLAGS: [&str; 5] = ["has_more", "hasMore", "has_next", "hasNext", "hasNextPage"];
/// Other signs of more, with which nothing can be asked for that the tool is known to take.
const SIGNS: [&str; 6] = ["next_page_token", "nextPageToken", "next_page", "nextPage", "next", "truncated"];
/// Bytes of a cursor that is sent back; a longer one is a page of its own.
const CURSOR_BYTES_MAX: usize = 4 * 1024;

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcesPage {
    /// For each source a number by which it is known again.
    pub marks: Vec<u64>,
    /// Their names, bounded and escaped as hits have them, where they have one.
    pub names: Vec<String>,
    /// The latest moment that one of them was indexed.
    pub newest: Option<DateTime<Utc>>,
    /// The same of all sources there are, where the server says it beside the list.
    pub said: Option<DateTime<Utc>>,
    /// How many sources there are, where it says so.
    pub total: Option<u32>,
    /// What follows.
    pub next: NextPage,
}

/// What follows a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextPage {
    /// Nothing, as far as the server says.
    None,
    /// More, to be asked for with this.
    Cursor(String),
    /// More, and nothing with which a tool's `cursor` could ask for it.
    Unreachable,
}

/// Reads a tools/call result.
///
/// # Errors
/// As `open`; `AnswerUnreadable` where there is no list of sources.
pub fn read(result: &RawValue) -> Result<SourcesPage, Misfit> {
    let carried = open(result)?;
    let found = carried.values.iter().find_map(|value| Some((value, list_in(value)?)));
    let Some((value, list)) = found else {
        return Err(Misfit {
            kind: FaultKind::AnswerUnreadable,
            detail: format!("no list of sources in the answer: {}", carried.first_words()),
        });
    };
    let (marks, newest) = match list {
        Value::Array(items) => (items.iter().map(|item| mark("", item)).collect(), latest(items.iter())),
        Value::Object(items) => (items.iter().map(|(key, item)| mark(key, item)).collect(), latest(items.values())),
        _ => (Vec::new(), None),
    };
    let said = |keys: &[&str]| moment(value, keys).or_else(|| moment(value.get("data")?, keys));
    let plain = said(&TIMESTAMPS[..PLAIN_TIMESTAMPS]);
    let places: Vec<&Value> = PLACES.iter().filter_map(|place| value.pointer(place)).collect();
    let total = found_in(&places, &TOTALS).and_then(Value::as_u64);
    Ok(SourcesPage {
        marks,
        names: names_in(list).collect(),
        newest,
        said: plain.or_else(|| if newest.is_none() { said(&TIMESTAMPS) } else { None }),
        total: total.map(|total| u32::try_from(total).unwrap_or(u32::MAX)),
        next: next_page(&places),
    })
}

/// What the server says of what follows; a plain no outweighs a cursor.
fn next_page(places: &[&Value]) -> NextPage {
    let flag = found_in(places, &FLAGS);
    if flag == Some(&Value::Bool(false)) {
        return NextPage::None;
    }
    let has_sign = |sign: &&str| found_in(places, &[*sign]).is_some_and(speaks);
    match found_in(places, &CURSORS) {
        Some(Value::String(cursor)) if !cursor.is_empty() && cursor.len() <= CURSOR_BYTES_MAX => {
            NextPage::Cursor(cursor.clone())
        }
        Some(cursor @ (Value::String(_) | Value::Number(_))) if speaks(cursor) => NextPage::Unreachable,
        _ if flag.is_some_and(speaks) || SIGNS.iter().any(has_sign) => NextPage::Unreachable,
        _ => NextPage::None,
    }
}

/// Whether a value says that there is something.
fn speaks(value: &Value) -> bool {
    match value {
        Value::Bool(yes) => *yes,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => false,
    }
}

/// What stands under the first of these keys that any place has.
fn found_in<'v>(places: &[&'v Value], keys: &[&str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| places.iter().find_map(|place| place.get(*key)))
}

fn mark(key: &str, source: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, source.to_string()).hash(&mut hasher);
    hasher.finish()
}

/// The names of the sources, bounded and escaped as hits have them.
pub(crate) fn names(result: &RawValue) -> Vec<String> {
    let Ok(carried) = open(result) else { return Vec::new() };
    let Some(list) = carried.values.iter().find_map(list_in) else { return Vec::new() };
    names_in(list).take(NAMES_MAX).collect()
}

/// Sources are the items of a list, or the keys of an object.
fn names_in(list: &Value) -> impl Iterator<Item = String> {
    let name = |item: &Value| {
        let text = NAMES.iter().find_map(|key| item.get(*key)?.as_str()).or(item.as_str())?;
        Some(escaped(text, NAME_CHARS_MAX))
    };
    let listed = list.as_array().into_iter().flatten().filter_map(name);
    listed.chain(list.as_object().into_iter().flatten().map(|(key, _)| escaped(key, NAME_CHARS_MAX)))
}

fn list_in(value: &Value) -> Option<&Value> {
    LISTS.iter().find_map(|pointer| value.pointer(pointer).filter(|list| list.is_array() || is_map(list)))
}

/// Sources may be an object by name; the answer itself, which holds the list, is none.
fn is_map(value: &Value) -> bool {
    value.as_object().is_some_and(|map| !map.is_empty() && map.values().all(Value::is_object))
}

fn latest<'v>(sources: impl Iterator<Item = &'v Value>) -> Option<DateTime<Utc>> {
    sources.filter_map(|source| moment(source, &TIMESTAMPS)).max()
}

fn moment(value: &Value, keys: &[&str]) -> Option<DateTime<Utc>> {
    keys.iter().find_map(|key| timestamp(value.get(*key)?))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::{CURSOR_BYTES_MAX, NextPage, SourcesPage, read};

    fn page(answer: &Value) -> Option<SourcesPage> {
        let result = RawValue::from_string(json!({"content": [], "structuredContent": answer}).to_string()).unwrap();
        read(&result).ok()
    }

    fn check(sentence: &str, answer: Value, expected: Option<(usize, Option<&str>)>) {
        let seen = page(&answer).map(|page| {
            let newest = page.newest.or(page.said);
            (page.marks.len(), newest.map(|at| at.format("%F").to_string()))
        });
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

    #[test]
    fn what_is_said_of_the_whole_list_is_told_from_what_is_said_of_the_answer() {
        let dated = json!([{"source": "a", "last_indexed": "2026-11-01"}]);
        let rows = [
            ("beside the list", json!({"sources": dated, "last_indexed": "2026-11-20"}), Some("2026-11-20")),
            (
                "inside an envelope",
                json!({"data": {"sources": dated, "lastIndexedAt": "2026-11-20"}}),
                Some("2026-11-20"),
            ),
            ("the answer's own moment", json!({"sources": dated, "timestamp": "2026-11-20"}), None),
            ("but where no source has one", json!({"sources": ["a"], "updated_at": "2026-11-20"}), Some("2026-11-20")),
            ("nowhere", json!({"sources": dated}), None),
        ];
        for (sentence, answer, expected) in rows {
            let said = page(&answer).unwrap().said.map(|at| at.format("%F").to_string());
            assert_eq!(said.as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn cursors_have_many_shapes() {
        let cursor = |text: &str| NextPage::Cursor(text.to_owned());
        let long = "x".repeat(CURSOR_BYTES_MAX + 1);
        let rows = [
            ("none", json!({}), None, NextPage::None),
            ("as Python writes it", json!({"next_cursor": "c2", "total": 120}), Some(120), cursor("c2")),
            ("as MCP writes it", json!({"nextCursor": "c2", "totalCount": 7}), Some(7), cursor("c2")),
            ("a plain name", json!({"cursor": "c2"}), None, cursor("c2")),
            ("the page's own beside the next one", json!({"cursor": "c1", "next_cursor": "c2"}), None, cursor("c2")),
            ("the page's own on the last page", json!({"cursor": "c1", "next_cursor": null}), None, NextPage::None),
            ("the end, said aloud", json!({"nextCursor": null, "total": 3}), Some(3), NextPage::None),
            ("an empty text is an end", json!({"next_cursor": ""}), None, NextPage::None),
            ("beside the list", json!({"pagination": {"next_cursor": "c2", "total": 9}}), Some(9), cursor("c2")),
            ("no more, whatever the cursor", json!({"has_more": false, "next_cursor": "c2"}), None, NextPage::None),
            ("a number is no text to send back", json!({"next_cursor": 2}), None, NextPage::Unreachable),
            ("nor is a page of text", json!({"next_cursor": long}), None, NextPage::Unreachable),
            ("more without a cursor", json!({"hasMore": true}), None, NextPage::Unreachable),
            ("cut off", json!({"next_page": null, "truncated": true}), None, NextPage::Unreachable),
            ("another way of paging", json!({"nextPageToken": "t"}), None, NextPage::Unreachable),
            ("a total that is no number", json!({"total": "many"}), None, NextPage::None),
            ("one beyond counting", json!({"total": u64::MAX}), Some(u32::MAX), NextPage::None),
            ("an object is no cursor", json!({"cursor": {"a": 1}}), None, NextPage::None),
        ];
        for (sentence, mut answer, total, next) in rows {
            answer["sources"] = json!([{"source": "a"}]);
            for answer in [answer.clone(), json!({"status": "ok", "data": answer})] {
                let page = page(&answer).unwrap();
                assert_eq!((page.total, &page.next), (total, &next), "{sentence}: {answer}");
            }
        }
        let listed = page(&json!({"sources": {"total": {"a": 1}, "cursor": {"a": 2}}})).unwrap();
        assert_eq!((listed.total, listed.next), (None, NextPage::None), "names of sources are no words of the server");
    }

    #[test]
    fn a_source_is_known_again() {
        let marks = |answer: Value| page(&answer).unwrap().marks;
        let one = marks(json!({"sources": [{"source": "a"}, {"source": "b"}]}));
        assert_eq!(one, marks(json!({"sources": [{"source": "a"}, {"source": "b"}], "next_cursor": "x"})));
        assert_ne!(one[0], one[1]);
        let map = marks(json!({"sources": {"a": {"chunks": 1}, "b": {"chunks": 1}}}));
        assert_ne!(map[0], map[1], "by its name, too");
    }
}
