//! Schemas as every client can read them.
//!
//! What is derived from Rust's types is legal, and still trips clients: formats such as `uint32` are of
//! no vocabulary, so that validators complain of each, and a list of types is refused by those who map
//! schemas onto a dialect with one type a place.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

/// Formats that name Rust's types: the bounds beside them say the same in JSON Schema.
const FOREIGN_FORMATS: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "double"];
/// Keywords whose values are data and no schemas.
const DATA: [&str; 4] = ["default", "const", "enum", "examples"];

/// The tool with plain schemas; what they accept stays the same.
pub fn plain(mut tool: Tool) -> Tool {
    tool.input_schema = plain_object(&tool.input_schema);
    tool.output_schema = tool.output_schema.as_ref().map(plain_object);
    tool
}

fn plain_object(schema: &Arc<JsonObject>) -> Arc<JsonObject> {
    let mut schema = JsonObject::clone(schema);
    simplify(&mut schema);
    Arc::new(schema)
}

fn simplify(schema: &mut JsonObject) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| FOREIGN_FORMATS.contains(&format)) {
        schema.remove("format");
    }
    // A property may be called `type` or `format`: what stands there is an object then.
    if let Some(Value::Array(types)) = schema.get("type")
        && !schema.contains_key("anyOf")
    {
        let branches: Vec<Value> = types.iter().map(|one| json!({ "type": one })).collect();
        schema.remove("type");
        schema.insert("anyOf".to_owned(), branches.into());
    }
    for (keyword, value) in schema.iter_mut().filter(|(keyword, _)| !DATA.contains(&keyword.as_str())) {
        match value {
            Value::Object(inside) => simplify(inside),
            Value::Array(all) if keyword != "required" => {
                all.iter_mut().filter_map(Value::as_object_mut).for_each(simplify);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(says: &str, mut schema: Value, expected: Value) {
        simplify(schema.as_object_mut().unwrap());
        assert_eq!(schema, expected, "{says}");
    }

    #[test]
    fn schemas_are_plain() {
        check(
            "a format of Rust goes, its bound stays",
            json!({"properties": {"top_k": {"type": "integer", "format": "uint32", "minimum": 0}}}),
            json!({"properties": {"top_k": {"type": "integer", "minimum": 0}}}),
        );
        check("one of the vocabulary stays", json!({"format": "date-time"}), json!({"format": "date-time"}));
        check(
            "types become branches, in definitions too",
            json!({"$defs": {"Hit": {"properties": {"date": {"type": ["string", "null"], "default": null}}}}}),
            json!({"$defs": {"Hit": {"properties": {"date": {
                "anyOf": [{"type": "string"}, {"type": "null"}], "default": null,
            }}}}}),
        );
        check(
            "names and data are let alone",
            json!({"properties": {"type": {"type": "string", "default": {"format": "uint"}}, "format": {"type": "string"}}}),
            json!({"properties": {"type": {"type": "string", "default": {"format": "uint"}}, "format": {"type": "string"}}}),
        );
        check(
            "branches are looked into",
            json!({"anyOf": [{"type": "number", "format": "double"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "number"}, {"type": "null"}]}),
        );
    }
}
