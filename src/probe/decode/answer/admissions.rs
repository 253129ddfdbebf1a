//! What a server says of its own answer: that it is not whole, or from a cache.

use serde_json::Value;

use crate::domain::answer::CacheWord;
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
    places(value)
        .flat_map(|place| ADMISSIONS.iter().filter_map(move |key| place.get(key).map(|value| (key, value))))
        .filter(|(_, value)| speaks(value))
        .take(SELF_REPORTED_MAX)
        .map(|(key, value)| excerpt(&format!("{key}: {value}"), EXCERPT_CHARS_MAX))
        .collect()
}

/// Where answers speak of themselves.
fn places(value: &Value) -> impl Iterator<Item = &Value> {
    [Some(value), value.get("data"), value.get("metadata"), value.get("meta")].into_iter().flatten()
}

/// Whether it says that a cache answered: `cache: {hit: true}`, `cache: "hit"`, `cached: true` and the like.
pub(super) fn cache_word(value: &Value) -> CacheWord {
    let of = |said: &Value| match said {
        Value::Bool(hit) => Some(*hit),
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "hit" => Some(true),
            "miss" | "bypass" => Some(false),
            _ => None,
        },
        _ => None,
    };
    // A question's vector that was remembered spares the embedder; the index is searched all the same.
    let is_of_vector = |cache: &Value| cache.get("kind").is_some_and(|kind| kind == "vector");
    let said = places(value).find_map(|place| {
        let cache = place
            .get("cache")
            .and_then(|cache| if is_of_vector(cache) { Some(false) } else { of(cache.get("hit").unwrap_or(cache)) });
        cache.or_else(|| ["cached", "from_cache", "cache_hit"].iter().find_map(|key| of(place.get(key)?)))
    });
    match said {
        None => CacheWord::Unsaid,
        Some(false) => CacheWord::Missed,
        Some(true) => CacheWord::Hit,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cache_is_known_by_the_answers_own_word() {
        let rows = [
            (json!({"results": []}), CacheWord::Unsaid, "nothing is said"),
            (json!({"data": {"cache": {"hit": true, "kind": "answer", "age_seconds": 4}}}), CacheWord::Hit, "ours"),
            (json!({"data": {"cache": {"hit": false, "kind": "none"}}}), CacheWord::Missed, "ours, from the index"),
            (
                json!({"data": {"cache": {"hit": true, "kind": "vector"}}}),
                CacheWord::Missed,
                "ours, of the question alone",
            ),
            (json!({"cache": "HIT"}), CacheWord::Hit, "as proxies write it"),
            (json!({"cache": "bypass"}), CacheWord::Missed, "it was gone around"),
            (json!({"cache": "redis"}), CacheWord::Unsaid, "which one there is says nothing"),
            (json!({"cached": true}), CacheWord::Hit, "a flag"),
            (json!({"meta": {"from_cache": false}}), CacheWord::Missed, "a flag beside the data"),
            (json!({"cache_warm": true}), CacheWord::Unsaid, "a warm cache has not answered for that"),
            (json!([{"cached": true}]), CacheWord::Unsaid, "of one document, not of the answer"),
        ];
        for (value, expected, sentence) in rows {
            assert_eq!(cache_word(&value), expected, "{sentence}");
        }
    }
}
