//! The arguments of a search: what the file gives, with the question at the places it names.

use serde_json::{Map, Value};

use crate::domain::search::Search;
use crate::tool_lists::json_text::write_text;

/// Stands where the question goes while arguments are prepared; no file can hold it, since YAML has no such character.
pub(crate) const QUESTION: &str = "\u{1}";

/// The arguments of the call that asks this question.
pub(crate) fn arguments(search: &Search, question: &str) -> Value {
    let given = |(name, json): (&String, &String)| (name.clone(), serde_json::from_str(json).unwrap_or(Value::Null));
    let mut arguments = Value::Object(search.arguments.iter().map(given).collect());
    for pointer in &search.query {
        // A file is refused whose question could not get there (`config::check::search`).
        let _reached = put(&mut arguments, pointer, question.into());
    }
    arguments
}

/// Puts a question at a place, and makes what leads there.
///
/// # Errors
/// What stands in the way, such as `'/body' is a text`.
pub(crate) fn put(arguments: &mut Value, pointer: &str, question: Value) -> Result<(), String> {
    let (mut place, mut way) = (arguments, String::new());
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        if place.is_null() {
            *place = if name == "0" { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
        }
        place = match place {
            Value::Object(members) => members.entry(name).or_insert(Value::Null),
            Value::Array(items) => {
                let length = items.len();
                if name.parse() == Ok(length) {
                    items.push(Value::Null);
                }
                let nth = name.parse().ok().and_then(|nth: usize| items.get_mut(nth));
                nth.ok_or_else(|| format!("'{way}' is a list of {length}"))?
            }
            other => return Err(format!("'{way}' is {}", kind(other))),
        };
        way.extend(["/", part]);
    }
    *place = question;
    Ok(())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(text) if text == QUESTION => "the question itself",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        _ => "true or false",
    }
}

/// A search's arguments with gaps for the question: what is the same each time is written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreparedArguments(Vec<Box<str>>);

impl PreparedArguments {
    pub(crate) fn of(search: &Search) -> Self {
        let text = arguments(search, QUESTION).to_string();
        let gap = Value::from(QUESTION).to_string();
        Self(text.split(&gap).map(Box::from).collect())
    }

    /// As JSON text, with this question.
    pub(crate) fn asking(&self, question: &str) -> String {
        let known: usize = self.0.iter().map(|piece| piece.len()).sum();
        let mut text = String::with_capacity(known + self.0.len() * (question.len() + 2));
        for (nth, piece) in self.0.iter().enumerate() {
            if nth > 0 {
                write_text(question, &mut text);
            }
            text.push_str(piece);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::monitor::Monitor;
    use crate::domain::secret::{Address, Secret};

    #[test]
    fn a_question_stands_where_a_tool_wants_it() {
        type Row<'r> = (&'r [&'r str], &'r [(&'r str, &'r str)], &'r str, &'r str);
        let rows: [Row<'_>; 7] = [
            (&["/query"], &[("top_k", "5")], r#"{"query":"q \"1\"","top_k":5}"#, "a name"),
            (&["/query_texts/0"], &[("n", "2")], r#"{"n":2,"query_texts":["q \"1\""]}"#, "in a list that is not there"),
            (
                &["/body/query/match/text"],
                &[("body", r#"{"size":3}"#)],
                r#"{"body":{"query":{"match":{"text":"q \"1\""}},"size":3}}"#,
                "in an object that the file begins",
            ),
            (&["/texts/1"], &[("texts", r#"["a"]"#)], r#"{"texts":["a","q \"1\""]}"#, "behind what stands in a list"),
            (&["/a", "/b/c"], &[], r#"{"a":"q \"1\"","b":{"c":"q \"1\""}}"#, "at two places"),
            (&["/a~1b"], &[], r#"{"a/b":"q \"1\""}"#, "under an odd name"),
            (&["/query"], &[("query", "null")], r#"{"query":"q \"1\""}"#, "in place of what the file gives"),
        ];
        for (query, given, expected, sentence) in rows {
            let address = Address { shown: String::new(), resolved: Secret::new("") };
            let search = Search {
                query: query.iter().map(|pointer| (*pointer).to_owned()).collect(),
                arguments: given.iter().map(|(name, json)| ((*name).to_owned(), (*json).to_owned())).collect(),
                ..Monitor::undeclared("m", address).search
            };
            assert_eq!(PreparedArguments::of(&search).asking("q \"1\""), expected, "{sentence}");
            assert_eq!(arguments(&search, "q \"1\"").to_string(), expected, "{sentence}");
        }
        let in_the_way = |json: &str, pointer: &str| put(&mut serde_json::from_str(json).unwrap(), pointer, "q".into());
        assert_eq!(in_the_way(r#"{"a":5}"#, "/a/b"), Err("'/a' is a number".to_owned()));
        for pointer in ["/a/b/x", "/a/b/2"] {
            assert_eq!(in_the_way(r#"{"a":{"b":["c"]}}"#, pointer), Err("'/a/b' is a list of 1".to_owned()));
        }
    }
}
