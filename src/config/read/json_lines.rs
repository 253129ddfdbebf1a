//! A file with one JSON object a line (JSON Lines) as nodes that keep their places, so that what it declares is checked as
//! if it stood in YAML.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::config::read::diagnostic::{Collector, Diagnostic, Text, TextSpan, quoted};
use crate::config::read::node::{Child, MapEntry, Node, NodeValue};

/// Lines of one file: twenty times what a monitor may declare, so that its count is said by whoever counts.
const LINES_MAX: usize = 10_000;
/// Bytes of one line: a question of 2,000 characters with all its sources is far below.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// A line holds an object, its lists, and objects in them; what is nested deeper is no declaration.
const DEPTH_MAX: u16 = 8;

/// Reads the objects of a file, a line each; blank lines pass. What is no object is said, and left out.
pub(in crate::config) fn parse<'a>(file: Text<'a>, found: &mut Collector) -> Vec<Node<'a>> {
    let mut nodes = Vec::new();
    let (mut start, mut line) = (file.start, file.line);
    for text in file.text.split('\n') {
        let place = TextSpan { start, end: start.saturating_add(length(text)), line };
        if (line - file.line) as usize >= LINES_MAX {
            let diagnostic = Diagnostic::new(place, format!("the file has more than {LINES_MAX} lines"));
            found.add(diagnostic.help("split it: a monitor may name several files"));
            break;
        }
        if !text.trim().is_empty() {
            nodes.extend(object(text, place, found));
        }
        start = start.saturating_add(length(text)).saturating_add(1);
        line = line.saturating_add(1);
    }
    if nodes.is_empty() && found.errors() == 0 {
        let diagnostic = Diagnostic::new(file.top(), "the file holds no line with a JSON object");
        found.add(diagnostic.help("one canary a line: {\"id\": …, \"query\": …, \"expect\": […]}"));
    }
    nodes
}

fn object<'a>(text: &'a str, place: TextSpan, found: &mut Collector) -> Option<Node<'a>> {
    if text.len() > LINE_BYTES_MAX {
        let diagnostic = Diagnostic::new(place, format!("the line is longer than {LINE_BYTES_MAX} bytes"));
        found.add(diagnostic.help("one canary a line"));
        return None;
    }
    let raw = match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => raw,
        Err(error) => {
            // Its columns are bytes, from 1; an end that comes too early is behind the last.
            let ahead = u32::try_from(error.column().saturating_sub(1)).unwrap_or(u32::MAX).min(length(text));
            let start = place.start.saturating_add(ahead);
            let told = error.to_string();
            let why = told.split(" at line ").next().unwrap_or_default();
            let at = TextSpan { start, end: start.saturating_add(1).min(place.end).max(start), line: place.line };
            let diagnostic = Diagnostic::new(at, format!("this is not JSON: {why}"));
            found.add(diagnostic.help("one JSON object a line, its keys and texts in double quotes"));
            return None;
        }
    };
    let mut reader = Reader { text, place, found };
    if !raw.get().starts_with('{') {
        let at = reader.place_of(raw.get());
        reader.found.add(Diagnostic::new(at, "this line holds no JSON object").help("one canary a line, in `{ }`"));
        return None;
    }
    reader.node(raw, 0)
}

struct Reader<'a, 'c> {
    text: &'a str,
    place: TextSpan,
    found: &'c mut Collector,
}

impl<'a> Reader<'a, '_> {
    /// Where a part of the line stands.
    fn place_of(&self, part: &str) -> TextSpan {
        let ahead = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len());
        let start = self.place.start.saturating_add(u32::try_from(ahead).unwrap_or(u32::MAX));
        TextSpan { start, end: start.saturating_add(length(part)), line: self.place.line }
    }

    fn node(&mut self, raw: &'a RawValue, depth: u16) -> Option<Node<'a>> {
        let place = self.place_of(raw.get());
        if depth > DEPTH_MAX {
            let diagnostic = Diagnostic::new(place, format!("more than {DEPTH_MAX} levels, one inside the other"));
            self.found.add(diagnostic.help("a canary needs three"));
            return None;
        }
        let value = match raw.get().as_bytes().first() {
            Some(b'{') => NodeValue::Map(self.entries(raw, depth)?),
            Some(b'[') => {
                let items: Vec<&'a RawValue> = serde_json::from_str(raw.get()).ok()?;
                let items = items.into_iter().map(|item| Some(Child::Own(self.node(item, depth + 1)?)));
                NodeValue::List(items.collect::<Option<_>>()?)
            }
            Some(b'"') => NodeValue::Scalar { text: text_of(raw.get())?, plain: false },
            _ => NodeValue::Scalar { text: Cow::Borrowed(raw.get()), plain: true },
        };
        // How deep it reaches matters to aliases alone, and JSON has none.
        Some(Node { value, place, depth: 0 })
    }

    fn entries(&mut self, raw: &'a RawValue, depth: u16) -> Option<Vec<MapEntry<'a>>> {
        let Members(members) = serde_json::from_str(raw.get()).ok()?;
        let mut entries: Vec<MapEntry<'a>> = Vec::with_capacity(members.len());
        for (name, value) in members {
            let (key, place) = (text_of(name.get())?, self.place_of(name.get()));
            if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let message = format!("key {} is written twice", quoted(&key));
                let diagnostic = Diagnostic::new(place, message).note(first.place, "first written here");
                self.found.add(diagnostic.help("keep one of the two"));
                continue;
            }
            entries.push(MapEntry { key, place, value: Child::Own(self.node(value, depth + 1)?) });
        }
        Some(entries)
    }
}

/// Keys and values of an object in their order, as they are written.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Pairs).map(Self)
    }
}

/// A JSON text without its quotes, escapes resolved.
fn text_of(raw: &str) -> Option<Cow<'_, str>> {
    let bare = raw.get(1..raw.len().checked_sub(1)?)?;
    if bare.contains('\\') { serde_json::from_str(raw).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(bare)) }
}

fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_places_or_refused_at_theirs() {
        let check = |text: &str, expected: &[&str], sentence: &str| {
            let mut found = Collector::default();
            let file = Text { name: "g.jsonl", text, start: 100, line: 10 };
            let nodes = parse(file, &mut found);
            let mut said: Vec<String> = found
                .finish(&[Text::first("m.yaml", &"x\n".repeat(9)), file], false)
                .list()
                .iter()
                .map(|one| format!("{}:{} {}", one.line, one.column, one.message))
                .collect();
            said.extend(nodes.iter().map(|node| match &node.value {
                NodeValue::Map(entries) => {
                    let shown = |entry: &MapEntry<'_>| match &entry.value.value {
                        NodeValue::Scalar { text, plain } => format!("{}={text} {plain}", entry.key),
                        other => format!("{}={other:?}", entry.key),
                    };
                    format!("{} {}", node.place.line, entries.iter().map(shown).collect::<Vec<_>>().join(", "))
                }
                other => format!("{other:?}"),
            }));
            assert_eq!(said, expected, "{sentence}");
        };
        check(
            "{\"a\": \"x\", \"b\": 2}\n\n {\"a\":null}\n",
            &["10 a=x false, b=2 true", "12 a=null true"],
            "two lines",
        );
        check("{\"a\": \"\\u00e9\\ud83d\\ude00\\n\"}", &["10 a=é😀\n false"], "escapes, also those that YAML has not");
        check("{\"a\": x}", &["1:7 this is not JSON: expected value"], "a word without quotes");
        check("{\"a\": 1", &["1:7 this is not JSON: EOF while parsing an object"], "one that breaks off");
        check("{\"a\": 1}\n[1]", &["2:1 this line holds no JSON object", "10 a=1 true"], "a list; the rest is read");
        check("{\"a\": 1, \"a\": 2}", &["1:10 key 'a' is written twice", "10 a=1 true"], "a key twice");
        check("{\"a\": 1} {\"a\": 2}", &["1:10 this is not JSON: trailing characters"], "two objects on a line");
        check("\n", &["1:1 the file holds no line with a JSON object"], "nothing");
        let deep = format!("{{\"a\": {}1{}}}", "[".repeat(40), "]".repeat(40));
        check(&deep, &["1:15 more than 8 levels, one inside the other"], "nested past reason");
        check(&format!("\"{}\"", "x".repeat(70_000)), &["1:1 the line is longer than 65536 bytes"], "a line too long");
        let many = "{\"a\":1}\n".repeat(LINES_MAX + 1);
        let mut found = Collector::default();
        assert_eq!(parse(Text::first("g.jsonl", &many), &mut found).len(), LINES_MAX, "a file too long");
        assert_eq!(found.errors(), 1);
    }
}
