//! A text of an answer as people read it: a line that ends is no `\n`, and a word with an accent is a word.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::de::IgnoredAny;
use serde_json::Value;

/// What an escape of JSON is; halves of one character stand side by side.
static ESCAPE: LazyLock<Result<Regex, regex::Error>> =
    LazyLock::new(|| Regex::new(r#"(?:\\u[0-9A-Fa-f]{4})+|\\["\\/bfnrt]"#));

/// What a block says that is JSON; none where it says just what stands there.
///
/// A text alone is that text, also where it is the `result` of a tool that returns a text.
pub(super) fn as_read(block: &str) -> Option<String> {
    let alone = match serde_json::from_str(block).ok()? {
        Value::String(said) => said,
        Value::Object(mut members) if members.len() == 1 => match members.remove("result") {
            Some(Value::String(said)) => said,
            _ => return without_escapes(block),
        },
        _ => return without_escapes(block),
    };
    Some(as_read(&alone).unwrap_or(alone))
}

/// All blocks as people read them, or the structured content where there is none; none where nothing differs.
pub(super) fn blocks_as_read(blocks: &[&str], whole: &str) -> Option<String> {
    if blocks.len() < 2 {
        return as_read(whole);
    }
    let read: Vec<Option<String>> = blocks.iter().map(|block| as_read(block)).collect();
    let as_it_came = |(read, block): (&Option<String>, &&str)| read.clone().unwrap_or_else(|| (*block).to_owned());
    read.iter().any(Option::is_some).then(|| read.iter().zip(blocks).map(as_it_came).collect::<Vec<_>>().join("\n"))
}

/// A text that was kept as it came, as people read it; the inner one is none where that is how it came. None at all where it
/// may be of several blocks of which one is JSON: each was read for itself, and nobody knows where it began.
pub(crate) fn read_again(text: &str) -> Option<Option<String>> {
    let begins_json =
        |line: &str| ["{\"", "[\"", "[{", "\""].iter().any(|opening| line.trim_start().starts_with(opening));
    let is_one = !text.lines().any(begins_json) || serde_json::from_str::<IgnoredAny>(text).is_ok();
    is_one.then(|| as_read(text))
}

fn without_escapes(json: &str) -> Option<String> {
    let escape = ESCAPE.as_ref().ok().filter(|_| json.contains('\\'))?;
    let meant = |found: &Captures<'_>| {
        serde_json::from_str(&format!("\"{}\"", &found[0])).unwrap_or_else(|_| found[0].to_owned())
    };
    Some(escape.replace_all(json, meant).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{as_read, read_again};

    #[test]
    fn json_is_read_as_people_read_it_and_all_else_stays() {
        let rows = [
            (
                r#"{"said": "Stra\u00dfe \"9\"\nC:\\new \ud83e\udd80"}"#,
                Some("{\"said\": \"Straße \"9\"\nC:\\new 🦀\"}"),
                "an object",
            ),
            (r#"["caf\u00e9", -1.5e3, null]"#, Some(r#"["café", -1.5e3, null]"#), "a list"),
            (r#""No results found\nfor it""#, Some("No results found\nfor it"), "a text alone"),
            (r#"{"result":"No results found"}"#, Some("No results found"), "the result of a tool that returns a text"),
            (r#"{"result":"{\"said\": \"caf\\u00e9\"}"}"#, Some(r#"{"said": "café"}"#), "JSON as such a result"),
            (r#"{"result": ["plain"]}"#, None, "nothing to read otherwise"),
            (r"C:\new", None, "no JSON"),
            (r#"{"path": "C:\User"}"#, None, "an escape that there is not"),
        ];
        for (text, expected, sentence) in rows {
            assert_eq!(as_read(text).as_deref(), expected, "{sentence}");
        }
    }

    #[test]
    fn a_kept_text_is_read_again_where_it_was_read_as_one() {
        let rows = [
            ("Boilers, each quarter", Some(None), "a text"),
            ("[1] Boilers (see {2})", Some(None), "a text with signs of JSON"),
            (r#"{"said": "caf\u00e9"}"#, Some(Some("{\"said\": \"café\"}")), "JSON"),
            ("{\"a\": 1}\n{\"a\": 2}", None, "JSON in two blocks, or a text that holds such lines"),
            ("found:\n\"a b\"", None, "a text alone behind another one"),
        ];
        for (text, expected, sentence) in rows {
            let read = read_again(text);
            assert_eq!(read.as_ref().map(Option::as_deref), expected, "{sentence}");
        }
    }
}
