//! Whether a search tool takes an argument by which it answers past its caches, by its schema alone.

use serde_json::Value;

use crate::domain::search::{Fresh, FreshWay, Search};
use crate::tool_lists::json_schema::{alternatives, choices, resolved, types};

/// Arguments known to keep caches out, with the value that does: only names that can mean nothing else.
const KNOWN: [(&str, &str); 6] = [
    ("cache", r#""bypass""#),
    ("use_cache", "false"),
    ("bypass_cache", "true"),
    ("skip_cache", "true"),
    ("disable_cache", "true"),
    ("no_cache", "true"),
];

/// By which arguments a search gets past the caches of a tool with this schema; none where it takes none that we know, or
/// none is to be used. What the file says of such an argument stands.
pub(crate) fn way(schema: &Value, search: &Search) -> Option<FreshWay> {
    match &search.fresh {
        Fresh::Off => None,
        Fresh::Given(_) => Some(FreshWay::Given),
        Fresh::Found => {
            let is_ours = |name: &str| {
                let pointer = format!("/{name}");
                search.arguments.contains_key(name) || search.query.iter().any(|place| place.starts_with(&pointer))
            };
            let known = KNOWN.iter().find(|(name, json)| takes(schema, name, json) && !is_ours(name));
            known.map(|(name, json)| FreshWay::Known(name, json))
        }
    }
}

/// Whether a schema names the argument and says that it may have this value: a text among its choices, or a truth.
fn takes(schema: &Value, name: &str, json: &str) -> bool {
    let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) else { return false };
    let value: Value = serde_json::from_str(json).unwrap_or(Value::Null);
    alternatives(resolved(property, schema), schema).into_iter().any(|one| match choices(one) {
        Some(choices) => choices.contains(&&value),
        None => value.is_boolean() && types(one).contains(&"boolean"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_way_past_caches_is_taken_only_where_the_schema_offers_it() {
        let schema = |properties: Value| json!({ "type": "object", "properties": properties });
        let bypass = Some(FreshWay::Known("cache", r#""bypass""#));
        let given = |name: &str| BTreeMap::from([(name.to_owned(), "1".to_owned())]);
        let found = Search::default();
        let rows = [
            (json!({}), &found, None, "no schema, no way"),
            (schema(json!({ "cache": { "enum": ["use", "bypass"] } })), &found, bypass, "a choice of its own"),
            (
                schema(json!({ "cache": { "anyOf": [{ "enum": ["bypass"] }, { "type": "null" }] } })),
                &found,
                bypass,
                "or nothing",
            ),
            (schema(json!({ "cache": { "type": "string" } })), &found, None, "any text may mean anything"),
            (schema(json!({ "cache": { "type": "boolean" } })), &found, None, "true is no `bypass`"),
            (
                schema(json!({ "use_cache": { "type": ["boolean", "null"] } })),
                &found,
                Some(FreshWay::Known("use_cache", "false")),
                "a switch",
            ),
            (schema(json!({ "no_cache": { "type": "string" } })), &found, None, "a switch that is none"),
            (
                schema(json!({ "cache": { "enum": ["bypass"] } })),
                &Search { arguments: given("cache"), ..Search::default() },
                None,
                "what the file says of it stands",
            ),
            (
                schema(json!({ "cache": { "enum": ["bypass"] } })),
                &Search { fresh: Fresh::Off, ..Search::default() },
                None,
                "nobody wants it",
            ),
            (
                schema(json!({})),
                &Search { fresh: Fresh::Given(given("fresh")), ..Search::default() },
                Some(FreshWay::Given),
                "the file knows better than the schema",
            ),
        ];
        for (schema, search, expected, sentence) in rows {
            assert_eq!(way(&schema, search), expected, "{sentence}");
        }
    }
}
