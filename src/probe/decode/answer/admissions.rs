//! What a server admits of its own answer.

use serde_json::Value;

use crate::untrusted_text::{EXCERPT_CHARS_MAX, excerpt};

/// What a server says of itself in an answer: kept so many, a handful.
const SELF_REPORTED_MAX: usize = 8;

/// Words by which a server admits to less than a whole answer. `truncated` and `cache_warm` are normal life (RETRIEVAL §3).
const ADMISSIONS: [&str; 6] =
    ["degraded", "partial", "fallback", "fallback_mode", "degraded_scopes", "unresponsive_engines"];

/// Each with what it says, bounded.
pub(super) fn admissions(value: &Value) -> Vec<String> {
    let speaks = |value: &Value| match value {
        Value::Bool(yes) => *yes,
        Value::Array(items) => !items.is_empty(),
        Value::Object(items) => !items.is_empty(),
        Value::String(text) => !matches!(text.as_str(), "" | "none" | "false" | "off"),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Null => false,
    };
    let places = [Some(value), value.get("data"), value.get("metadata"), value.get("meta")];
    places
        .into_iter()
        .flatten()
        .flat_map(|place| ADMISSIONS.iter().filter_map(move |key| place.get(key).map(|value| (key, value))))
        .filter(|(_, value)| speaks(value))
        .take(SELF_REPORTED_MAX)
        .map(|(key, value)| excerpt(&format!("{key}: {value}"), EXCERPT_CHARS_MAX))
        .collect()
}
