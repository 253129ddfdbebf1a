//! Schemas as every client can read them, and as short as they can be: a model pays for them with every question.
//!
//! What is derived from Rust's types is legal, and still trips clients: formats such as `uint32` are of
//! no vocabulary, so that validators complain of each, a list of types is refused by those who map
//! schemas onto a dialect with one type a place, and references by those who resolve none. What is taken away
//! makes a schema say less, and nothing wrong: whoever keeps to it is understood, whatever is answered fits it.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

/// Formats that name Rust's types: the bounds beside them say the same in JSON Schema.
const FOREIGN_FORMATS: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "double"];
/// What names a schema or repeats it, and means nothing to a caller.
const NAMES: [&str; 3] = ["$schema", "$defs", "title"];
/// What is of no use to whoever reads an answer: it is there, under a name that says it, as it is.
const OF_REQUESTS: [&str; 6] = ["default", "description", "format", "maximum", "minimum", "required"];
/// Members of answers that explain one to whoever looks into it, and that nobody needs to know of beforehand.
const UNANNOUNCED: [&str; 17] = [
    "cache",
    "char_end",
    "char_start",
    "chunk_id",
    "degraded_scopes",
    "error_code",
    "error_message",
    "final_score",
    "fused_score",
    "ignored_arguments",
    "operation_id",
    "query",
    "rank",
    "rewritten",
    "seen_before",
    "semantic_score",
    "through",
];

/// Whom a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Whoever asks.
    Input,
    /// Whoever reads the answer.
    Output,
}

/// The tool with lean schemas.
pub fn plain(mut tool: Tool) -> Tool {
    tool.input_schema = lean_object(&tool.input_schema, Side::Input);
    tool.output_schema = tool.output_schema.as_ref().map(|schema| lean_object(schema, Side::Output));
    tool
}

fn lean_object(schema: &Arc<JsonObject>, side: Side) -> Arc<JsonObject> {
    let mut whole = JsonObject::clone(schema);
    // The type's own docstring is for those who read the code.
    whole.remove("description");
    let definitions = whole.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    Arc::new(lean(&whole, &definitions, side))
}

/// A schema and those within it, references replaced by what they name. No type of ours holds itself.
fn lean(schema: &JsonObject, definitions: &JsonObject, side: Side) -> JsonObject {
    let mut schema = resolved(schema, definitions);
    schema.retain(|keyword, value| is_told(keyword, value, side));
    one_type(&mut schema);
    one_list(&mut schema);
    let within = |value: &mut Value| {
        if let Some(inside) = value.as_object() {
            *value = lean(inside, definitions, side).into();
        }
    };
    for (keyword, value) in &mut schema {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(all)) => {
                all.retain(|name, _| side == Side::Input || !UNANNOUNCED.contains(&name.as_str()));
                all.values_mut().for_each(within);
                // A choice of one is none.
                all.retain(|_, member| member["enum"].as_array().is_none_or(|words| words.len() > 1));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => all.iter_mut().for_each(within),
            ("items" | "additionalProperties", value) => within(value),
            _ => {}
        }
    }
    schema
}

/// A schema with what it refers to, and without the null of members that may be left out: for ours that is the same.
fn resolved(schema: &JsonObject, definitions: &JsonObject) -> JsonObject {
    let mut schema = schema.clone();
    let named = schema.remove("$ref");
    let name = named.as_ref().and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    if let Some(definition) = name.and_then(|name| definitions.get(name)?.as_object()) {
        // What stands beside a reference is said of this very place.
        schema = definition.clone().into_iter().chain(schema).collect();
    }
    let required: Vec<String> =
        schema.get("required").and_then(|all| serde_json::from_value(all.clone()).ok()).unwrap_or_default();
    for (name, member) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(member) = member.as_object_mut().filter(|_| !required.contains(name)) {
            without_null(member);
        }
    }
    schema
}

fn without_null(schema: &mut JsonObject) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        branches.retain(|one| *one != json!({ "type": "null" }));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            schema.extend(only);
        }
    }
}

fn is_told(keyword: &str, value: &Value, side: Side) -> bool {
    let is_foreign = keyword == "format" && FOREIGN_FORMATS.iter().any(|format| value == format);
    // A default that is nothing is what leaving out means anyway.
    let is_nothing = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        _ => false,
    };
    let is_of_others = side == Side::Output && OF_REQUESTS.contains(&keyword);
    let is_empty_default = keyword == "default" && is_nothing;
    ![NAMES.contains(&keyword), is_foreign, is_of_others, is_empty_default].contains(&true)
}

/// One type a place: a list of types becomes branches.
fn one_type(schema: &mut JsonObject) {
    let Some(Value::Array(types)) = schema.get("type") else { return };
    let types = types.clone();
    if let [only] = types.as_slice() {
        schema.insert("type".to_owned(), only.clone());
    } else if !schema.contains_key("anyOf") {
        let branches: Vec<Value> = types.iter().map(|one| json!({ "type": one })).collect();
        schema.remove("type");
        schema.insert("anyOf".to_owned(), branches.into());
    }
}

/// Words that were described one by one become a list of words.
fn one_list(schema: &mut JsonObject) {
    let Some(Value::Array(branches)) = schema.get("oneOf") else { return };
    let words: Option<Vec<Value>> = branches.iter().map(|branch| branch.get("const").cloned()).collect();
    if let Some(words) = words.filter(|words| words.iter().all(Value::is_string)) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), "string".into());
        schema.insert("enum".to_owned(), words.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(feature = "project", feature = "vectors"))]
    #[test]
    fn the_core_tools_cost_little() {
        use crate::project::subject::{NAME_CHARS_MAX, SUMMARY_CHARS_MAX};
        use crate::serve::tools::listed;
        use crate::text::tokens;

        const CORE: [&str; 4] = ["search_documents", "index_document", "list_sources", "generate_embedding"];
        // With schemas of answers and the longest name and summary: every question pays it, whatever tool it uses.
        const CORE_TOKENS_MAX: usize = 1_500;
        let words = |chars: usize| "retrieval servers watched from the outside ".repeat(9)[..chars].to_owned();
        let subject = format!("{}: {}", words(NAME_CHARS_MAX), words(SUMMARY_CHARS_MAX));
        let cost = |tool: &Tool| tokens::count(&serde_json::to_string(tool).unwrap());
        let (core, others): (Vec<Tool>, Vec<Tool>) =
            listed(&subject).into_iter().partition(|tool| CORE.contains(&tool.name.as_ref()));
        for tool in core.iter().chain(&others) {
            println!("{:<20} {:>5} tokens", tool.name, cost(tool));
        }
        let whole = tokens::count(&serde_json::to_string(&core).unwrap());
        println!("{:<20} {whole:>5} tokens", "the core");
        assert_eq!(core.len(), CORE.len());
        assert!(whole <= CORE_TOKENS_MAX, "the core tools cost {whole} tokens");
    }

    fn check(says: &str, side: Side, schema: Value, expected: Value) {
        let lean = lean_object(&Arc::new(schema.as_object().unwrap().clone()), side);
        assert_eq!(Value::Object(JsonObject::clone(&lean)), expected, "{says}");
    }

    #[test]
    fn requests_are_told_what_they_may_say() {
        let check = |says, schema, expected| check(says, Side::Input, schema, expected);
        check(
            "a format of Rust goes, its bound, its default and its description stay",
            json!({"description": "Arguments.", "properties": {"top_k":
                {"type": "integer", "format": "uint32", "minimum": 1, "default": 5, "description": "Hits."}}}),
            json!({"properties": {"top_k": {"type": "integer", "minimum": 1, "default": 5, "description": "Hits."}}}),
        );
        check("one of the vocabulary stays", json!({"format": "date-time"}), json!({"format": "date-time"}));
        check(
            "what may be left out need not be null, and nothing is the default anyway",
            json!({"properties": {"day": {"type": ["string", "null"], "default": null}, "tags": {"default": []}}}),
            json!({"properties": {"day": {"type": "string"}, "tags": {}}}),
        );
        check(
            "what must be sent may be null where the server takes it",
            json!({"required": ["day"], "properties": {"day": {"type": ["string", "null"]}}}),
            json!({"required": ["day"], "properties": {"day": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}),
        );
        check(
            "a reference is replaced, and what stands beside it counts",
            json!({"$schema": "x", "title": "A", "$defs": {"Soon": {"description": "General.", "oneOf":
                [{"const": "now", "type": "string", "description": "At once."}, {"const": "later", "type": "string"}]}},
                "properties": {"when": {"$ref": "#/$defs/Soon", "description": "Here.", "default": "now"}}}),
            json!({"properties": {"when":
                {"type": "string", "enum": ["now", "later"], "description": "Here.", "default": "now"}}}),
        );
        check(
            "a choice of one is none",
            json!({"properties": {"model": {"enum": ["index"]}}}),
            json!({"properties": {}}),
        );
        check(
            "names are let alone",
            json!({"properties": {"type": {"type": "string"}, "title": {"type": "string"}, "format": {"type": "string"}}}),
            json!({"properties": {"type": {"type": "string"}, "title": {"type": "string"}, "format": {"type": "string"}}}),
        );
    }

    #[test]
    fn answers_are_told_by_their_names() {
        let check = |says, schema, expected| check(says, Side::Output, schema, expected);
        check(
            "types stay, words about them and what only explains go, in branches and items too",
            json!({"required": ["data"], "$defs": {"Hit": {"type": "object", "properties": {"rank": {"type": "integer"},
                "score": {"type": "number", "format": "double", "minimum": 0, "description": "How near."}}}},
                "properties": {"data": {"description": "Hits.", "anyOf":
                    [{"type": "array", "items": {"$ref": "#/$defs/Hit"}}, {"type": "null"}]}}}),
            json!({"properties": {"data": {"anyOf": [
                {"type": "array", "items": {"type": "object", "properties": {"score": {"type": "number"}}}},
                {"type": "null"}]}}}),
        );
    }
}
