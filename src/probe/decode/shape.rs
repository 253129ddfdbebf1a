//! Where a stranger's answer keeps its results, found by walking it: the pointers that `search:` then takes.
//!
//! Only for answers whose usual places hold nothing (`answer`). A guess: whoever uses it reads an answer with it.

mod tables;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::domain::search::SearchFields;
use crate::tool_lists::callable::words;

/// Nesting looked into: an envelope in an envelope, and a result's metadata.
const DEPTH_MAX: usize = 6;
/// Lists and fields weighed; an answer of more is a dump.
const PLACES_MAX: usize = 500;
/// Results looked at for what their fields hold.
const ITEMS_MAX: usize = 10;
/// Characters from which a text can be a passage.
const PASSAGE_CHARS_MIN: f64 = 20.0;
/// Characters up to which a text can be a source's name.
const NAME_CHARS_MAX: f64 = 200.0;
/// Parts of a field's name that tell what it holds.
const SOURCE_PARTS: [&str; 9] = ["source", "path", "file", "url", "uri", "doc", "title", "name", "id"];
const SCORE_PARTS: [&str; 3] = ["score", "similar", "relevan"];

/// Pointers to the list of results and to the parts of one, or to columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerShape {
    /// The list, from the answer's root; none: the root itself, or there are columns.
    pub results: Option<String>,
    /// The parts, from one result, or from the root where they are columns; `total` stays empty.
    pub fields: SearchFields,
    /// Whether the parts of all results stand side by side.
    pub by_columns: bool,
}

/// The likeliest list of results among the values that an answer carries.
pub(crate) fn find(values: &[Value]) -> Option<AnswerShape> {
    let objects = values
        .iter()
        .find_map(|value| {
            let mut lists = Vec::new();
            lists_in(value, String::new(), 0, &mut lists);
            let read = lists.into_iter().filter_map(|(pointer, items)| {
                let fields = fields_of(items)?;
                let known = usize::from(fields.source.is_some()) * 2 + usize::from(fields.score.is_some());
                let results = Some(pointer).filter(|pointer| !pointer.is_empty());
                Some((known, AnswerShape { results, fields, by_columns: false }))
            });
            // The first of equals: answers come before what belongs to them.
            read.fold(None, |best: Option<(usize, AnswerShape)>, next| match best {
                Some(best) if best.0 >= next.0 => Some(best),
                _ => Some(next),
            })
        })
        .map(|(_, shape)| shape);
    objects.or_else(|| values.iter().find_map(tables::find))
}

/// Pointers to lists of an answer, full or empty, from which a person can choose.
pub(crate) fn lists(values: &[Value]) -> Vec<String> {
    let Some(Value::Object(members)) = values.first() else { return Vec::new() };
    let plain = members.iter().filter(|(key, value)| is_plain(key) && value.is_array());
    plain.take(ITEMS_MAX).map(|(key, _)| format!("/{}", part(key))).collect()
}

fn lists_in<'a>(value: &'a Value, pointer: String, depth: usize, found: &mut Vec<(String, &'a [Value])>) {
    if depth > DEPTH_MAX || found.len() >= PLACES_MAX {
        return;
    }
    match value {
        Value::Array(items) => {
            if items.iter().any(Value::is_object) {
                found.push((pointer.clone(), items));
            }
            if let Some(first) = items.first() {
                lists_in(first, format!("{pointer}/0"), depth + 1, found);
            }
        }
        Value::Object(map) => {
            for (key, inner) in map.iter().filter(|(key, _)| is_plain(key)).take(PLACES_MAX) {
                lists_in(inner, format!("{pointer}/{}", part(key)), depth + 1, found);
            }
        }
        _ => {}
    }
}

/// What the items of a list have in common, where it reads like results: each has a text.
fn fields_of(items: &[Value]) -> Option<SearchFields> {
    let items: Vec<&Value> = items.iter().take(ITEMS_MAX).collect();
    let mut leaves = Vec::new();
    leaves_in(items.first()?, String::new(), 0, &mut leaves);
    let texts =
        |pointer: &String| -> Option<Vec<&str>> { items.iter().map(|item| item.pointer(pointer)?.as_str()).collect() };
    let mean = |texts: &[&str]| texts.iter().map(|text| text.chars().count() as f64).sum::<f64>() / texts.len() as f64;
    let content = leaves
        .iter()
        .filter_map(|pointer| Some((mean(&texts(pointer)?), pointer)))
        .filter(|(length, _)| *length >= PASSAGE_CHARS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))?
        .1;
    let told = |pointer: &String, parts: &[&str]| place(pointer.rsplit('/').next().unwrap_or_default(), parts);
    let sources: Vec<(usize, &String, Vec<&str>)> = leaves
        .iter()
        .filter(|pointer| *pointer != content)
        .filter_map(|pointer| Some((told(pointer, &SOURCE_PARTS)?, pointer, texts(pointer)?)))
        .filter(|(_, _, texts)| mean(texts) <= NAME_CHARS_MAX)
        .collect();
    let score = leaves.iter().find(|pointer| {
        told(pointer, &SCORE_PARTS).is_some()
            && items.iter().all(|item| item.pointer(pointer).is_some_and(Value::is_number))
    });
    Some(SearchFields {
        source: Some(likeliest(&sources)?.clone()),
        content: Some(content.clone()),
        score: score.cloned(),
        total: None,
    })
}

/// The first of these parts that a field's name has among its words: `provider` and `width` are no `id`.
fn place(name: &str, parts: &[&str]) -> Option<usize> {
    let words = words(name);
    let is_told = |word: &str, part: &str| match part {
        "name" | "id" => word.strip_suffix('s').unwrap_or(word) == part,
        // `profile` is none.
        "file" => word.starts_with(part),
        _ => word.starts_with(part) || word.ends_with(part),
    };
    parts.iter().position(|part| words.iter().any(|word| is_told(word, part)))
}

/// The likeliest source: places among [`SOURCE_PARTS`], what is there, and its values. A path of one machine is left for
/// a name that tells as many apart; an id is none, since the next index has others.
fn likeliest<P: Copy>(candidates: &[(usize, P, Vec<&str>)]) -> Option<P> {
    let is_bound = |texts: &[&str]| texts.iter().any(|text| is_of_one_machine(text));
    let distinct = |texts: &[&str]| texts.iter().collect::<BTreeSet<_>>().len();
    let (_, usual, paths) = candidates.iter().min_by_key(|(place, ..)| *place)?;
    if !is_bound(paths) {
        return Some(*usual);
    }
    let names = candidates.iter().filter(|(place, _, texts)| {
        let is_name = SOURCE_PARTS.get(*place).is_some_and(|part| *part != "id");
        is_name && !is_bound(texts) && texts.iter().all(|text| !text.is_empty()) && distinct(texts) >= distinct(paths)
    });
    Some(names.min_by_key(|(place, ..)| *place).map_or(*usual, |(_, name, _)| *name))
}

/// Whether a source's name holds on one machine alone: an absolute path, or the address of a file.
pub(crate) fn is_of_one_machine(name: &str) -> bool {
    let drive = name.as_bytes().get(1..3);
    // `obsidian:////home/anna/notes/boilers`: an address without a host.
    let is_hostless = name.split_once(':').is_some_and(|(_, rest)| rest.starts_with("///"));
    let is_drive = drive.is_some_and(|drive| drive == b":\\" || drive == b":/");
    name.starts_with('/') || name.starts_with("file:") || is_hostless || is_drive
}

fn leaves_in(value: &Value, pointer: String, depth: usize, found: &mut Vec<String>) {
    if depth > DEPTH_MAX || found.len() >= PLACES_MAX {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter().filter(|(key, _)| is_plain(key)) {
                leaves_in(inner, format!("{pointer}/{}", part(key)), depth + 1, found);
            }
        }
        // Of several texts the first tells enough.
        Value::Array(items) if items.first().is_some_and(Value::is_string) => found.push(format!("{pointer}/0")),
        Value::String(_) | Value::Number(_) if !pointer.is_empty() => found.push(pointer),
        _ => {}
    }
}

/// A key that a file can hold as it is.
fn is_plain(key: &str) -> bool {
    key.chars().count() <= 60 && !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.@:~/ ".contains(c))
}

/// A key as a part of a JSON pointer (RFC 6901).
fn part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{find, lists};

    fn check(sentence: &str, value: Value, expected: Option<[&str; 4]>) {
        let seen = find(&[value]).map(|shape| {
            let fields = shape.fields;
            let results = if shape.by_columns { Some("columns".to_owned()) } else { shape.results };
            [results, fields.source, fields.content, fields.score].map(Option::unwrap_or_default)
        });
        assert_eq!(seen, expected.map(|parts| parts.map(str::to_owned)), "{sentence}");
    }

    #[test]
    fn the_list_and_its_parts_are_found_by_what_they_hold() {
        let words = "words enough to be a passage of text";
        check(
            "a list two envelopes down",
            json!({"answer": {"found": [{"where": {"file": "a.md"}, "what": words, "match_score": 0.5}]}}),
            Some(["/answer/found", "/where/file", "/what", "/match_score"]),
        );
        check(
            "tags beside it are none",
            json!({"tags": [{"name": "x"}], "found": [{"doc": "a.md", "said": words}]}),
            Some(["/found", "/doc", "/said", ""]),
        );
        check(
            "the longest text is the passage",
            json!({"x": [{"title": "a title that is long itself", "body_md": format!("{words} {words}")}]}),
            Some(["/x", "/title", "/body_md", ""]),
        );
        check("a slash in a key", json!({"a/b": [{"url": "u", "said": words}]}), Some(["/a~1b", "/url", "/said", ""]));
        check(
            "a list that is the whole answer",
            json!([{"uri": "note://a.md", "ex": words}]),
            Some(["", "/uri", "/ex", ""]),
        );
        check(
            "a text that is the first of several",
            json!({"entities": [{"name": "boilers", "entityType": "note", "observations": [words, "x"]}], "relations": []}),
            Some(["/entities", "/name", "/observations/0", ""]),
        );
        check(
            "columns, a question each",
            json!({"ids": [["a.md", "b.md"]], "documents": [[words, words]], "distances": [[0.1, 0.2]], "uris": null}),
            Some(["columns", "/ids/0", "/documents/0", ""]),
        );
        check(
            "columns with scores",
            json!({"found": {"urls": ["a"], "texts": [words], "scores": [0.5], "took": [1, 2]}}),
            Some(["columns", "/found/urls", "/found/texts", "/found/scores"]),
        );
        check(
            "rows under names",
            json!({"columns": ["id", "title", "body"], "rows": [[1, "Boilers", words], [2, "Vents", words]], "rowCount": 2}),
            Some(["/rows", "/1", "/2", ""]),
        );
        check(
            "a part of a word is no field's name",
            json!({"x": [{"profile": "p", "title": "Boilers", "said": words}]}),
            Some(["/x", "/title", "/said", ""]),
        );
        check("a provider has no id", json!({"x": [{"provider": "acme", "said": words}]}), None);
        check(
            "words run together",
            json!({"x": [{"relpath": "a.md", "said": words, "finalScore": 0.5}]}),
            Some(["/x", "/relpath", "/said", "/finalScore"]),
        );
        check(
            "a name beside a path of one machine",
            json!({"x": [{"name": "boilers", "uri": "file:///home/anna/boilers.md", "said": words}]}),
            Some(["/x", "/name", "/said", ""]),
        );
        check(
            "a name that tells less than the path, and an id",
            json!({"x": [
                {"name": "notes", "id": "1", "path": "/srv/a.md", "said": words},
                {"name": "notes", "id": "2", "path": "/srv/b.md", "said": words},
            ]}),
            Some(["/x", "/path", "/said", ""]),
        );
        check(
            "a title beside paths, in rows",
            json!({"columns": ["path", "title", "body"], "rows": [["/srv/a.md", "Boilers", words], ["/srv/b.md", "Vents", words]]}),
            Some(["/rows", "/1", "/2", ""]),
        );
        check("rows without a text", json!({"rows": [[1, 2], [3, 4]]}), None);
        check("no source, no results", json!({"x": [{"said": words}]}), None);
        check("no text, no results", json!({"x": [{"id": "a"}]}), None);
        check("a list of texts has no parts", json!({"x": [words]}), None);
        check("no list", json!({"x": words}), None);
        let deep = (0..100).fold(json!([{"url": "u", "said": words}]), |inner, _| json!({"x": inner}));
        check("too deep", deep, None);
    }

    #[test]
    fn lists_are_named_though_they_are_empty() {
        let seen = lists(&[json!({"entities": [], "relations": [], "took": 5, "a/b": []})]);
        assert_eq!(seen, ["/a~1b", "/entities", "/relations"]);
    }
}
