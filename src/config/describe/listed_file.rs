//! The file in which the list of a source is kept: what is watched because of it, a monitor a line, to be read as any file is.

use serde_json::{Map, Value, json};

use crate::config::read::diagnostic::{Collector, Text};
use crate::config::read::node::{Node, NodeValue};
use crate::config::read::tree::{self, Budget};
use crate::domain::discovery::target::Target;

/// The text of the file. JSON is YAML, and its texts cannot break out of their quotes.
pub fn written<'t>(source: &str, targets: impl Iterator<Item = &'t Target>) -> String {
    let mut text = format!(
        "# What the source '{source}' of `discover` lists, and what is gone from it and still fails. Serin writes it.\nmonitors:"
    );
    let mut is_empty = true;
    for Target { id, name, url, labels, gone_since, held_since } in targets {
        let mut entry = Map::from_iter([("id".to_owned(), json!(id)), ("url".to_owned(), json!(url))]);
        entry.extend(name.as_ref().map(|name| ("name".to_owned(), json!(name))));
        if !labels.is_empty() {
            entry.insert("labels".to_owned(), json!(labels));
        }
        entry.extend(gone_since.map(|since| ("gone_since".to_owned(), json!(since))));
        entry.extend(held_since.map(|since| ("held_since".to_owned(), json!(since))));
        text.push_str(&format!("\n- {}", Value::Object(entry)));
        is_empty = false;
    }
    text.push_str(if is_empty { " []\n" } else { "\n" });
    text
}

/// What a file of [`written`] holds; none where it is no such file.
pub fn read(text: &str) -> Option<Vec<Target>> {
    let tree = tree::parse(Text::first("", text), &mut Budget::default(), &mut Collector::default())?;
    let NodeValue::List(items) = &tree.root.get("monitors")?.value else { return None };
    Some(items.iter().filter_map(|item| target(item)).collect())
}

fn target(item: &Node<'_>) -> Option<Target> {
    let text = |node: &Node<'_>| match &node.value {
        NodeValue::Scalar { text, .. } => Some(text.to_string()),
        _ => None,
    };
    let of = |key: &str| item.get(key).and_then(text);
    let labels = match item.get("labels").map(|node| &node.value) {
        Some(NodeValue::Map(entries)) => {
            entries.iter().filter_map(|entry| Some((entry.key.to_string(), text(&entry.value)?))).collect()
        }
        _ => Default::default(),
    };
    let since = |key: &str| of(key).and_then(|since| since.parse().ok());
    let (gone_since, held_since) = (since("gone_since"), since("held_since"));
    Some(Target { id: of("id")?, name: of("name"), url: of("url")?, labels, gone_since, held_since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_whatever_it_holds() {
        let target = |id: &str, name: &str, gone_since| Target {
            id: id.to_owned(),
            name: (!name.is_empty()).then(|| name.to_owned()),
            url: format!("https://{id}.example.org/mcp"),
            labels: [("team".to_owned(), "docs: \"a\" # no comment".to_owned())].into(),
            gone_since,
            held_since: gone_since.map(|since| since + 1),
        };
        let rows = [
            Vec::new(),
            vec![target("a", "", None), target("b", "Dokumente – \u{1f600} 'x' *y &z !w", Some(1_700_000_000))],
        ];
        for targets in rows {
            let text = written("prod", targets.iter());
            assert_eq!(read(&text), Some(targets), "{text}");
        }
        assert_eq!(read("monitors: none"), None);
    }
}
