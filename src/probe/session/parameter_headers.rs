//! `Mcp-Param-*`: arguments that a tool's schema wants in headers too (2026-07-28, "Custom Headers from Tool Parameters").

use std::collections::HashSet;

use http::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::probe::session::message::header_value;

/// The mark in a schema; its value is the header's name behind `Mcp-Param-`.
const MARK: &str = "x-mcp-header";

/// What HTTP allows in a field's name beside letters and digits (RFC 9110, 5.6.2).
const TOKEN_MARKS: &[u8] = b"!#$%&'*+-.^_`|~";

/// The headers of a call: one for each argument that is marked and given. A null is not sent.
pub(crate) fn parameter_headers(schema: &Value, arguments: &str) -> Vec<(HeaderName, HeaderValue)> {
    let mut marks = Vec::new();
    collect(schema, &mut Vec::new(), &mut marks);
    if marks.is_empty() {
        return Vec::new();
    }
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let header = |mark: &HeaderMark<'_>| {
        let given = mark.path.iter().try_fold(&arguments, |value, name| value.get(name))?;
        let text = match given {
            Value::String(text) => text.clone(),
            plain @ (Value::Number(_) | Value::Bool(_)) => plain.to_string(),
            _ => return None,
        };
        let name = HeaderName::from_bytes(format!("mcp-param-{}", mark.header.as_str()?).as_bytes()).ok()?;
        Some((name, header_value(&text)?))
    };
    marks.iter().filter_map(header).collect()
}

/// Whether a schema wants any argument in a header.
pub(crate) fn mirrors_arguments(schema: &Value) -> bool {
    let mut marks = Vec::new();
    collect(schema, &mut Vec::new(), &mut marks);
    !marks.is_empty()
}

/// Why clients of 2026-07-28 must not use a tool with this schema; none where they may.
///
/// A mark is a non-empty token, no two marks differ by case only, and it stands on a text, a whole number or a truth
/// value that is reached by `properties` alone.
pub(crate) fn unfit(schema: &Value) -> Option<String> {
    let mut marks = Vec::new();
    collect(schema, &mut Vec::new(), &mut marks);
    if marks.len() < marks_anywhere(schema) {
        return Some(format!("`{MARK}` stands where no call can be mirrored from"));
    }
    let mut names = HashSet::new();
    for mark in marks {
        let at = mark.path.join(".");
        let Some(name) = mark.header.as_str() else {
            return Some(format!("`{MARK}` of `{at}` is no text"));
        };
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || TOKEN_MARKS.contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Some(format!("`{MARK}` of `{at}` is no header name: {name:?}"));
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Some(format!("`{MARK}` {name} is given twice"));
        }
        if !is_plain(mark.property) {
            return Some(format!("`{MARK}` of `{at}` stands on a {}", mark.property["type"]));
        }
    }
    None
}

struct HeaderMark<'s> {
    path: Vec<&'s str>,
    property: &'s Value,
    header: &'s Value,
}

// serde_json refuses input nested deeper than 128, which bounds this recursion and the next.
fn collect<'s>(schema: &'s Value, path: &mut Vec<&'s str>, marks: &mut Vec<HeaderMark<'s>>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name);
        if let Some(header) = property.get(MARK) {
            marks.push(HeaderMark { path: path.clone(), property, header });
        }
        collect(property, path, marks);
        path.pop();
    }
}

/// Marks at any depth. Values of the caller's world, such as an `enum`, hold none that count.
fn marks_anywhere(schema: &Value) -> usize {
    match schema {
        Value::Array(items) => items.iter().map(marks_anywhere).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| match (key.as_str(), value) {
                (MARK, _) => 1,
                ("enum" | "const" | "default" | "examples", _) => 0,
                // Below these, keys are names somebody chose: a property may be called as the mark is.
                ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                    named.values().map(marks_anywhere).sum()
                }
                _ => marks_anywhere(value),
            })
            .sum(),
        _ => 0,
    }
}

/// Whether the property is a text, a whole number or a truth value. Where it names no type, that is beyond judging.
fn is_plain(property: &Value) -> bool {
    let plain = |name: &Value| matches!(name.as_str(), Some("string" | "integer" | "boolean"));
    match property.get("type") {
        None => true,
        Some(Value::Array(names)) => names.iter().any(plain) && names.iter().all(|name| plain(name) || name == "null"),
        Some(name) => plain(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{parameter_headers, unfit};

    fn check(sentence: &str, schema: &Value, arguments: &Value, expected: &[&str]) {
        let seen: Vec<String> = parameter_headers(schema, &arguments.to_string())
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(seen, expected, "{sentence}");
    }

    #[test]
    fn marked_arguments_travel_in_headers_too() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"}, "top_k": {"type": "integer", "x-mcp-header": "Count"},
            "query": {"type": "string"},
            "where": {"type": "object", "properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}}}
        }});
        check("a text", &schema, &json!({"region": "eu", "query": "x"}), &["mcp-param-region: eu"]);
        check("a number", &schema, &json!({"top_k": 5}), &["mcp-param-count: 5"]);
        check("below another argument", &schema, &json!({"where": {"deep": true}}), &["mcp-param-deep: true"]);
        check("a null is left out", &schema, &json!({"region": null}), &[]);
        check("an empty text is not", &schema, &json!({"region": ""}), &["mcp-param-region: "]);
        check("more than plain ASCII", &schema, &json!({"region": "a\nb"}), &["mcp-param-region: =?base64?YQpi?="]);
        check("no schema", &Value::Null, &json!({"region": "eu"}), &[]);
    }

    fn judged(sentence: &str, properties: Value, expected: Option<&str>) {
        let seen = unfit(&json!({"type": "object", "properties": properties}));
        match expected {
            None => assert_eq!(seen, None, "{sentence}"),
            Some(part) => assert!(seen.as_deref().is_some_and(|why| why.contains(part)), "{sentence}: {seen:?}"),
        }
    }

    #[test]
    fn a_tool_that_clients_must_drop_is_known() {
        let on = |kind: &str, name: &str| json!({"type": kind, "x-mcp-header": name});
        judged("no mark", json!({"a": {"type": "object"}}), None);
        judged("a good mark", json!({"a": on("string", "Region")}), None);
        judged("one that may be null", json!({"a": {"type": ["string", "null"], "x-mcp-header": "A"}}), None);
        judged("an argument called as the mark is", json!({"x-mcp-header": {"type": "array"}}), None);
        judged("a mark in an example", json!({"a": {"examples": [{"x-mcp-header": 1}]}}), None);
        judged("empty", json!({"a": on("string", "")}), Some("no header name"));
        judged("a blank", json!({"a": on("string", "My Region")}), Some("no header name"));
        judged("a colon", json!({"a": on("string", "A:B")}), Some("no header name"));
        judged("no ASCII", json!({"a": on("string", "Région")}), Some("no header name"));
        judged("a number", json!({"a": {"type": "string", "x-mcp-header": 7}}), Some("no text"));
        judged("twice, by case", json!({"a": on("string", "R"), "b": on("string", "r")}), Some("twice"));
        judged("on an object", json!({"a": on("object", "R")}), Some("stands on a"));
        judged("on a fraction", json!({"a": on("number", "R")}), Some("stands on a"));
        judged("on a null", json!({"a": on("null", "R")}), Some("stands on a"));
        judged("in a list", json!({"a": {"type": "array", "items": on("string", "R")}}), Some("no call"));
    }
}
