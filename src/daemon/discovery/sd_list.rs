//! Lists in the format of Prometheus' service discovery, over HTTP and in files alike:
//! `[{ "targets": ["host:port", …], "labels": { … } }]` (Prometheus documentation, "HTTP SD").
//!
//! A list is hostile: whatever it holds costs no more than these limits, and says where it goes wrong.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::daemon::discovery::at_most::AtMost;
use crate::domain::discovery::relabel::Labels;
use crate::domain::discovery::target::ADDRESS;

/// Bytes of one list: 50,000 servers with twenty labels each take half of it.
pub(crate) const LIST_BYTES_MAX: usize = 32 * 1024 * 1024;
/// As many as one Serin watches.
const TARGETS_MAX: usize = 50_000;
/// Bytes of all labels, each counted with every target that carries it: a group's are written once for all of its targets.
const CARRIED_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Bytes that a label takes besides those of its texts, in memory.
const LABEL_COST: usize = 80;
/// Labels of one group, those for rules among them.
const LABELS_MAX: usize = 128;
const LABEL_BYTES_MAX: usize = 4 * 1024;

/// Each target with its labels; its address is one of them.
///
/// # Errors
/// Where the list goes wrong, with line and column, and how.
pub(crate) fn parsed(bytes: &[u8]) -> Result<Vec<Labels>, String> {
    let List(listed) = serde_json::from_slice(bytes).map_err(|error| format!("it is no list of targets: {error}"))?;
    Ok(listed)
}

struct List(Vec<Labels>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Groups)
    }
}

struct Groups;

impl<'de> Visitor<'de> for Groups {
    type Value = List;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of groups of targets")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut groups: A) -> Result<List, A::Error> {
        let (mut all, mut carried) = (Vec::new(), 0);
        while let Some(Group { targets, labels }) = groups.next_element()? {
            let bytes: usize = labels.iter().map(|(name, value)| name.len() + value.len() + LABEL_COST).sum();
            carried += bytes * targets.len();
            if carried > CARRIED_BYTES_MAX {
                let most = CARRIED_BYTES_MAX / 1024 / 1024;
                return Err(A::Error::custom(format_args!("more than {most} MiB of labels over all targets")));
            }
            if all.len() + targets.len() > TARGETS_MAX {
                return Err(A::Error::custom(format_args!("more than {TARGETS_MAX} targets")));
            }
            for target in targets {
                let mut labels = labels.clone();
                labels.insert(ADDRESS.to_owned(), target);
                all.push(labels);
            }
        }
        Ok(List(all))
    }
}

#[derive(serde::Deserialize)]
struct Group {
    #[serde(deserialize_with = "targets")]
    targets: Vec<String>,
    #[serde(default, deserialize_with = "labels")]
    labels: Labels,
}

fn targets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let AtMost(targets) = AtMost::<String, TARGETS_MAX>::deserialize(deserializer)?;
    match targets.iter().find(|target| target.len() > LABEL_BYTES_MAX) {
        Some(_) => Err(D::Error::custom(format_args!("a target of more than {LABEL_BYTES_MAX} bytes"))),
        None => Ok(targets),
    }
}

fn labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
    struct OfGroup;
    impl<'de> Visitor<'de> for OfGroup {
        type Value = Labels;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("labels with texts as values")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Labels, A::Error> {
            let mut all = Labels::new();
            while let Some((name, value)) = entries.next_entry::<String, String>()? {
                if name.len() + value.len() > LABEL_BYTES_MAX {
                    return Err(A::Error::custom(format_args!("a label of more than {LABEL_BYTES_MAX} bytes")));
                }
                if all.len() == LABELS_MAX {
                    return Err(A::Error::custom(format_args!("a group with more than {LABELS_MAX} labels")));
                }
                all.insert(name, value);
            }
            Ok(all)
        }

        // Go writes an empty map as null.
        fn visit_unit<E: serde::de::Error>(self) -> Result<Labels, E> {
            Ok(Labels::new())
        }
    }
    deserializer.deserialize_any(OfGroup)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_or_says_where_it_is_wrong() {
        let rows = [
            (r#"[]"#.to_owned(), Ok(0), "an empty list is one"),
            (
                r#"[{"targets":["a:80","b:80"],"labels":{"env":"prod"}},{"targets":["c:80"]}]"#.to_owned(),
                Ok(3),
                "groups",
            ),
            (r#"[{"targets":["a:80"],"labels":null}]"#.to_owned(), Ok(1), "no labels, as Go says it"),
            (r#"[{"targets":[],"more":{"a":[1]}}]"#.to_owned(), Ok(0), "keys that mean nothing to us"),
            (r#"[{"target":["a:80"]}]"#.to_owned(), Err("missing field `targets`"), "a key that is almost right"),
            (r#"{"targets":[]}"#.to_owned(), Err("line 1 column 0"), "a group that is no list of groups"),
            ("[\n {\"targets\": [80]}\n]".to_owned(), Err("line 2"), "an address that is a number"),
            (
                r#"[{"targets":["a"],"labels":{"n":1}}]"#.to_owned(),
                Err("expected a string"),
                "a label that is a number",
            ),
            ("[".repeat(100_000), Err("line 1"), "nesting without an end"),
            (format!(r#"[{{"targets":[{}"a"]}}]"#, "\"a\",".repeat(50_000)), Err("more than 50000 items"), "too many"),
            (
                format!(
                    r#"[{{"labels":{{{}"z":""}}}}]"#,
                    (0..200).map(|n| format!("\"l{n}\":\"\",")).collect::<String>()
                ),
                Err("more than 128 labels"),
                "too many labels",
            ),
            (format!(r#"[{{"targets":["{}"]}}]"#, "a".repeat(5_000)), Err("more than 4096 bytes"), "a long address"),
            (
                format!(r#"[{{"labels":{{"a":"{}"}},"targets":[{}"a"]}}]"#, "x".repeat(4_000), "\"a\",".repeat(40_000)),
                Err("MiB of labels"),
                "a long label on many targets",
            ),
            (
                format!(
                    r#"[{{"labels":{{{}"z":""}},"targets":[{}"a"]}}]"#,
                    (0..100).map(|n| format!("\"{n}\":\"\",")).collect::<String>(),
                    "\"a\",".repeat(40_000)
                ),
                Err("MiB of labels"),
                "many short ones on many targets",
            ),
            ("<html>".to_owned(), Err("line 1 column 1"), "a page"),
        ];
        for (text, expected, sentence) in rows {
            match (parsed(text.as_bytes()), expected) {
                (Ok(listed), Ok(count)) => assert_eq!(listed.len(), count, "{sentence}"),
                (Err(why), Err(word)) => assert!(why.contains(word), "{sentence}: {why}"),
                (seen, _) => panic!("{sentence}: {seen:?}"),
            }
        }
        let listed = parsed(br#"[{"targets":["a:80"],"labels":{"env":"prod","__address__":"mine"}}]"#).unwrap();
        assert_eq!(listed[0][ADDRESS], "a:80", "an address is the target's, whatever a label says");
    }
}
