//! Does the call that a monitor declares fit the tool's schema?
//!
//! No validator of all of JSON Schema: it says *no* only where the schema is plain, because a wrong *no* would page.

use serde_json::Value;

use crate::domain::search::Search;
use crate::tool_lists::asked;
use crate::tool_lists::json_schema::{alternatives, resolved, types};
use crate::untrusted_text::{DETAIL_CHARS_MAX, escaped};

/// Names of arguments in one line of evidence.
const NAMED_MAX: usize = 5;

/// Why a declared call does not fit, whatever it asks; none where it does, or where the schema is beyond judging.
pub fn misfit(schema: &Value, search: &Search) -> Option<String> {
    misfit_with(schema, search, None)
}

/// Why the call that asks this very question does not fit.
pub fn misfit_asking(schema: &Value, search: &Search, question: &str) -> Option<String> {
    misfit_with(schema, search, Some(question))
}

fn misfit_with(schema: &Value, search: &Search, question: Option<&str>) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let arguments = asked::arguments(search, question.unwrap_or("a question"));
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|name| !arguments.contains_key(*name)).collect();
    if !missing.is_empty() {
        let asks = |pointer: &String| properties.is_none_or(|known| known.contains_key(&argument_of(pointer)));
        return Some(said(lacking(&missing, search.query.iter().all(asks))));
    }
    for (name, value) in &arguments {
        let Some(property) = properties.and_then(|properties| properties.get(name)) else {
            if schema.get("additionalProperties") == Some(&Value::Bool(false))
                && schema.get("patternProperties").is_none()
            {
                return Some(said(format!("the tool does not take `{name}`, which the call gives")));
            }
            continue;
        };
        // Any text may be the question where none is given, so no list can be said to lack it.
        let any_text = question.is_none() && search.query.iter().any(|pointer| pointer[1..] == **name);
        if let Some(why) = value_misfit(property, value, any_text) {
            return Some(said(format!("`{name}` {why}")));
        }
    }
    None
}

/// Whether a tool declares an argument of this name, and that it takes a text.
pub(crate) fn takes_text(schema: &Value, name: &str) -> bool {
    let property = schema.get("properties").and_then(|properties| properties.get(name));
    let is_text = |one: &Value| types(one).contains(&"string");
    property.is_some_and(|property| alternatives(resolved(property, schema), schema).into_iter().any(is_text))
}

/// What the call lacks, and where it is written; `asks`: the tool knows the arguments that take the question.
fn lacking(missing: &[&str], asks: bool) -> String {
    let mut names = missing.iter().take(NAMED_MAX).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if missing.len() > NAMED_MAX {
        names.push_str(&format!(" and {} more", missing.len() - NAMED_MAX));
    }
    let mend = match missing {
        [only] => format!("write it as `search.arguments.{only}`"),
        _ => "write them under `search.arguments`".to_owned(),
    };
    let question = if asks { "" } else { ", or name what takes the question by `search.query`" };
    format!("the tool requires {names}, which the call does not give: {mend}{question}")
}

/// The argument that a pointer leads into.
fn argument_of(pointer: &str) -> String {
    pointer.split('/').nth(1).unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

fn said(text: String) -> String {
    escaped(&text, DETAIL_CHARS_MAX)
}

fn value_misfit(property: &Value, value: &Value, any_text: bool) -> Option<String> {
    if let Some(types) = property.get("type") {
        let names: Vec<&str> = match types {
            Value::String(name) => vec![name.as_str()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !names.is_empty() && !names.iter().any(|name| is_of(name, value)) {
            return Some(format!("must be {}, and the call gives {}", names.join(" or "), kind(value)));
        }
    }
    if any_text {
        return None;
    }
    if let Some(choices) = property.get("enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| same(choice, value))
    {
        return Some(format!("must be one of {}, and the call gives {value}", Value::Array(choices.clone())));
    }
    if let Some(text) = value.as_str() {
        return length_misfit(property, text);
    }
    let number = value.as_f64()?;
    let bound = |key: &str| property.get(key).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return Some(format!("must be at least {least}, and the call gives {value}"));
    }
    if let Some(most) = bound("maximum").filter(|most| number > *most) {
        return Some(format!("must be at most {most}, and the call gives {value}"));
    }
    None
}

/// Patterns are left alone: they are written in another language than ours.
fn length_misfit(property: &Value, text: &str) -> Option<String> {
    let length = text.chars().count() as u64;
    let bound = |key: &str| property.get(key).and_then(Value::as_u64);
    if let Some(least) = bound("minLength").filter(|least| length < *least) {
        return Some(format!("must have at least {least} characters, and the call gives {length}"));
    }
    let most = bound("maxLength").filter(|most| length > *most)?;
    Some(format!("must have at most {most} characters, and the call gives {length}"))
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// 5 and 5.0 are one number.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{misfit, misfit_asking};
    use crate::domain::search::Search;

    fn check(sentence: &str, schema: &Value, expected: Option<&str>) {
        let arguments = [("top_k", "5"), ("mode", "\"fast\"")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let search = Search { arguments, ..Search::default() };
        let seen = misfit(schema, &search);
        match expected {
            None => assert_eq!(seen, None, "{sentence}"),
            Some(part) => assert!(seen.as_deref().is_some_and(|why| why.contains(part)), "{sentence}: {seen:?}"),
        }
    }

    #[test]
    fn a_call_is_called_invalid_only_where_the_schema_says_so_plainly() {
        check("no schema", &Value::Null, None);
        check("everything required is given", &json!({"required": ["query", "top_k"]}), None);
        check("something else is required", &json!({"required": ["query", "index"]}), Some("requires `index`"));
        check("unknown arguments are tolerated", &json!({"properties": {"query": {}}}), None);
        check(
            "unless they are forbidden",
            &json!({"properties": {"query": {}, "mode": {}}, "additionalProperties": false}),
            Some("does not take `top_k`"),
        );
        check("a renamed question", &json!({"properties": {"q": {}}, "required": ["q"]}), Some("requires `q`"));
        check(
            "the question may go there",
            &json!({"properties": {"q": {}}, "required": ["q"]}),
            Some("give: write it as `search.arguments.q`, or name what takes the question by `search.query`"),
        );
        check(
            "several are required, and the question has its place",
            &json!({"properties": {"query": {}}, "required": ["a", "query", "b", "c", "d", "e", "f"]}),
            Some(
                "`a`, `b`, `c`, `d`, `e` and 1 more, which the call does not give: write them under `search.arguments`",
            ),
        );
        let property = |name: &str, schema: Value| json!({"properties": {name: schema}});
        check("the question is a text", &property("query", json!({"type": "string"})), None);
        check("the question became a list", &property("query", json!({"type": "array"})), Some("must be array"));
        check("one of several types", &property("top_k", json!({"type": ["integer", "null"]})), None);
        check("a number where a text is asked", &property("top_k", json!({"type": "string"})), Some("gives number"));
        check("a choice", &property("mode", json!({"enum": ["fast", "deep"]})), None);
        check("a choice that is gone", &property("mode", json!({"enum": ["deep"]})), Some("must be one of"));
        check("above the maximum", &property("top_k", json!({"maximum": 3})), Some("at most 3"));
        check("a reference is beyond judging", &property("top_k", json!({"$ref": "#/x"})), None);
        check("no object at all", &json!([1, 2]), None);
    }

    #[test]
    fn a_question_is_held_against_what_it_may_be() {
        let rows = [
            ("short enough", json!({"maxLength": 9}), "OC-31", None),
            ("too long", json!({"maxLength": 4}), "OC-31", Some("at most 4 characters")),
            ("too short", json!({"minLength": 9}), "OC-31", Some("at least 9 characters")),
            ("none of the choices", json!({"enum": ["a", "b"]}), "OC-31", Some("must be one of")),
            ("a pattern is left alone", json!({"pattern": "^x"}), "OC-31", None),
        ];
        let search = Search::default();
        for (sentence, property, question, expected) in rows {
            let seen = misfit_asking(&json!({"properties": {"query": property}}), &search, question);
            match expected {
                None => assert_eq!(seen, None, "{sentence}"),
                Some(part) => assert!(seen.as_deref().is_some_and(|why| why.contains(part)), "{sentence}: {seen:?}"),
            }
        }
    }
}
