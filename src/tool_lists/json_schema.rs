//! What a JSON Schema says, read for comparing. Schemas are hostile: references are followed only so far.

use serde_json::Value;

/// Levels that a schema is followed down, references included.
pub(super) const DEPTH_MAX: u32 = 24;

/// The keys of two objects, each once; none where neither is one.
pub(super) fn keys<'v>(old: &'v Value, new: &'v Value) -> Vec<&'v str> {
    let objects = [old.as_object(), new.as_object()];
    let mut keys: Vec<&str> = objects.into_iter().flatten().flat_map(|map| map.keys().map(String::as_str)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What a local reference leads to; the schema itself where it is none, or leads nowhere.
pub(super) fn resolved<'v>(schema: &'v Value, root: &'v Value) -> &'v Value {
    let mut at = schema;
    for _ in 0..DEPTH_MAX {
        let Some(next) = at["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?)) else { break };
        at = next;
    }
    at
}

/// Whether something inside leads elsewhere, so that equal texts may mean different schemas.
pub(super) fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("$ref") || map.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

pub(super) fn alternatives<'v>(schema: &'v Value, root: &'v Value) -> Vec<&'v Value> {
    let listed = ["anyOf", "oneOf"].into_iter().find_map(|key| schema[key].as_array().filter(|list| !list.is_empty()));
    listed.map_or_else(|| vec![schema], |list| list.iter().map(|one| resolved(one, root)).collect())
}

/// The types a schema names; none where it takes any.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn choices(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), &schema["enum"]) {
        (Some(only), _) => Some(vec![only]),
        (None, Value::Array(choices)) => Some(choices.iter().collect()),
        _ => None,
    }
}

pub(super) fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().map(|names| names.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

pub(super) fn says_nothing(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false))
}
