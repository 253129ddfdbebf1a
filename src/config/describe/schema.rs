//! The JSON Schema of monitors.yaml, got by asking the checker itself.
//!
//! A small document is checked again and again, and the readers note what they ask of each place (`shape`). Every key
//! they name is then put into the document and asked in its turn, alone and beside the others, until nothing new is
//! heard. So there is no second list of keys: one that a section's reader gains is in the schema with its type, its
//! range and its words, and only its description is written by hand (`check::keys`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use crate::config::check::checker::{Checker, Unset};
use crate::config::check::document::document;
use crate::config::check::keys;
use crate::config::check::numbers::AUTO;
use crate::config::check::scalars::ID_CHARS_MAX;
use crate::config::check::shape::ValueShape;
use crate::config::read::diagnostic::{Collector, Text, TextSpan};
use crate::config::read::node::{Node, NodeValue, Tree};
use crate::config::read::source::ConfigSource;
use crate::config::read::tree::{self, Budget};
use crate::domain::wording::as_written;

/// Passes over all places; each goes one level deeper, and the file has fewer.
const PASSES_MAX: usize = 16;
/// Missing keys that are put in before a place is asked, one after another.
const MENDS_MAX: usize = 12;
/// Stands for the key of a map that names its keys itself.
const NAME: &str = "k";

/// A step from a place to one inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaStep {
    Key(String),
    Name,
    Item,
}

type SchemaPath = Vec<SchemaStep>;

/// The schema of the file that Serin is started with, as JSON.
pub fn schema() -> Json {
    let heard = Explorer::explore();
    let mut root = heard.schema(&Vec::new());
    if let Json::Object(root) = &mut root {
        root.insert("patternProperties".to_owned(), json!({ "^x-": {} }));
        root.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
        root.insert("title".to_owned(), json!("Serin: monitors.yaml"));
    }
    root
}

/// The schema of a file that another one includes.
pub fn included_schema() -> Json {
    let mut root = schema();
    if let Json::Object(root) = &mut root {
        root.remove("required");
        root.remove("anyOf");
        root.insert("title".to_owned(), json!("Serin: a file that monitors.yaml includes"));
        if let Some(Json::Object(properties)) = root.get_mut("properties") {
            properties.retain(|key, _| keys::INCLUDED.contains(&key.as_str()));
        }
    }
    root
}

/// What was heard of each place.
#[derive(Debug, Default)]
struct Explorer {
    heard: BTreeMap<SchemaPath, Vec<ValueShape>>,
    /// Keys that were missed in a map, in one document or another.
    missed: BTreeMap<SchemaPath, BTreeSet<String>>,
}

impl Explorer {
    fn explore() -> Self {
        let mut explorer = Self::default();
        explorer.hear(json!({}), None);
        for _ in 0..PASSES_MAX {
            let unheard: Vec<SchemaPath> =
                explorer.paths().into_iter().filter(|path| !explorer.heard.contains_key(path)).collect();
            let before = explorer.heard.len();
            for path in &unheard {
                explorer.ask(path);
            }
            if explorer.heard.len() == before {
                break;
            }
        }
        explorer
    }

    /// Every place that is known or follows from one that is.
    fn paths(&self) -> Vec<SchemaPath> {
        let mut paths: BTreeSet<SchemaPath> = self.heard.keys().cloned().collect();
        for (path, shapes) in &self.heard {
            for shape in shapes {
                let steps = match shape {
                    ValueShape::Keys(keys) => keys.iter().cloned().map(SchemaStep::Key).collect(),
                    ValueShape::Names => vec![SchemaStep::Name],
                    ValueShape::List => vec![SchemaStep::Item],
                    _ => Vec::new(),
                };
                paths.extend(steps.into_iter().map(|step| [&path[..], &[step]].concat()));
            }
        }
        paths.into_iter().filter(|path| !path.is_empty()).collect()
    }

    /// Puts each kind of value at a place, alone; beside all others of its map where nobody asks for it so.
    fn ask(&mut self, path: &SchemaPath) {
        for value in [json!("x"), json!(["x"]), json!({ NAME: "x" })] {
            let mut file = json!({});
            place(&mut file, path, value.clone());
            self.hear(file, None);
            if !self.heard.contains_key(path) {
                let mut file = json!({});
                self.fill(&mut file, &path[..path.len() - 1], |_| true);
                place(&mut file, path, value);
                self.hear(file, None);
            }
        }
    }

    /// Puts the keys of a map into a document, as far as their samples are known.
    fn fill(&self, file: &mut Json, map: &[SchemaStep], holds: impl Fn(&str) -> bool) {
        place(file, map, json!({}));
        for shape in self.heard.get(map).into_iter().flatten() {
            let ValueShape::Keys(keys) = shape else { continue };
            for key in keys.iter().filter(|key| holds(key)) {
                let path = [map, &[SchemaStep::Key(key.clone())]].concat();
                place(file, &path, self.sample(&path));
            }
        }
    }

    /// Checks a document, with what it lacks put in, and remembers what was asked of each place in it. `but` is a key
    /// that is left out all the same; answers whether it was missed.
    fn hear(&mut self, mut file: Json, but: Option<(&SchemaPath, &str)>) -> bool {
        let mut but_missed = false;
        for _ in 0..MENDS_MAX {
            let mut mended = false;
            for (path, shape) in asked(&file) {
                if let ValueShape::Missing(key) = shape {
                    if but == Some((&path, key.as_str())) {
                        but_missed = true;
                        continue;
                    }
                    let key_path = [&path[..], &[SchemaStep::Key(key.clone())]].concat();
                    mended |= place_new(&mut file, &key_path, self.sample(&key_path));
                    self.missed.entry(path).or_default().insert(key);
                    continue;
                }
                let shapes = self.heard.entry(path).or_default();
                if !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
            if !mended {
                break;
            }
        }
        but_missed
    }

    /// The shapes a place has, without those that others say more of: a single value, a list, a map.
    fn shapes(&self, path: &SchemaPath) -> Vec<&ValueShape> {
        let all = self.heard.get(path).map(Vec::as_slice).unwrap_or_default();
        let most =
            |fits: fn(&ValueShape) -> bool| all.iter().filter(|shape| fits(shape)).max_by_key(|shape| shape.rank());
        let scalar = most(ValueShape::is_scalar);
        let listed = [&path[..], &[SchemaStep::Item]].concat();
        // A reader that takes one or several asks the items without asking for a list.
        let list =
            most(|shape| *shape == ValueShape::List).or(self.heard.contains_key(&listed).then_some(&ValueShape::List));
        let map = most(|shape| matches!(shape, ValueShape::Keys(_) | ValueShape::Names));
        [scalar, list, map]
            .into_iter()
            .flatten()
            .filter(|_| !matches!(scalar, Some(ValueShape::Any)))
            .chain(scalar.filter(|shape| **shape == ValueShape::Any))
            .collect()
    }

    /// Something that its reader takes.
    fn sample(&self, path: &SchemaPath) -> Json {
        match self.shapes(path).first() {
            None => json!("x"),
            Some(ValueShape::Keys(_)) => json!({}),
            Some(ValueShape::Names) => json!({ NAME: self.sample(&[&path[..], &[SchemaStep::Name]].concat()) }),
            Some(ValueShape::List) => json!([self.sample(&[&path[..], &[SchemaStep::Item]].concat())]),
            Some(ValueShape::Word(words)) => json!(words.first()),
            Some(ValueShape::Whole(range) | ValueShape::WholeOrAuto(range)) => json!(range.start()),
            Some(ValueShape::Decimal) => json!(0.5),
            Some(ValueShape::Duration(range)) => json!(as_written((*range.start()).max(Duration::from_secs(60)))),
            Some(ValueShape::Share) => json!("5%"),
            Some(ValueShape::Address) => json!("https://h.example/"),
            Some(ValueShape::Secret) => json!("${env:X}"),
            Some(ValueShape::Text | ValueShape::Id | ValueShape::Any | ValueShape::Missing(_)) => json!("x"),
        }
    }

    fn schema(&self, path: &SchemaPath) -> Json {
        let mut alternatives: Vec<Json> = self.shapes(path).into_iter().map(|shape| self.of(path, shape)).collect();
        let mut schema = match alternatives.len() {
            0 => json!({}),
            1 => alternatives.remove(0),
            _ => json!({ "anyOf": alternatives }),
        };
        if let (Json::Object(schema), Some(text)) = (&mut schema, keys::about(&name(path))) {
            schema.insert("description".to_owned(), json!(text));
        }
        schema
    }

    fn of(&self, path: &SchemaPath, shape: &ValueShape) -> Json {
        const REFERENCE: &str = "\\$\\{(env|file):";
        let child = |step: SchemaStep| self.schema(&[&path[..], &[step]].concat());
        let text = |pattern: &str| json!({ "type": "string", "pattern": format!("{pattern}|{REFERENCE}") });
        let number = |schema: Json| json!({ "anyOf": [schema, { "type": "string", "pattern": REFERENCE }] });
        match shape {
            ValueShape::Keys(keys) => self.of_keys(path, keys),
            ValueShape::Names => json!({ "type": "object", "additionalProperties": child(SchemaStep::Name) }),
            ValueShape::List => json!({ "type": "array", "items": child(SchemaStep::Item) }),
            // A plain word that looks like a number is a text to us, and a number to others.
            ValueShape::Text => json!({ "type": ["string", "number", "boolean"] }),
            ValueShape::Id => {
                let pattern = format!("^[a-z0-9][a-z0-9._-]{{0,{}}}$", ID_CHARS_MAX - 1);
                json!({ "type": ["string", "number", "boolean"], "pattern": pattern })
            }
            ValueShape::Word(words) if words.iter().any(|word| word == "true") => json!({ "type": "boolean" }),
            ValueShape::Word(words) => json!({ "enum": words }),
            ValueShape::Whole(range) if range.start() == range.end() => json!({ "const": range.start() }),
            ValueShape::Whole(range) => {
                number(json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() }))
            }
            ValueShape::WholeOrAuto(range) => {
                let whole = json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() });
                json!({ "anyOf": [{ "const": AUTO }, whole, { "type": "string", "pattern": REFERENCE }] })
            }
            ValueShape::Decimal => number(json!({ "type": "number" })),
            ValueShape::Duration(range) => {
                let mut schema = text("^[0-9]+(ms|s|m|h|d)$");
                let bounds = format!("{} to {}", as_written(*range.start()), as_written(*range.end()));
                schema["$comment"] = json!(bounds);
                schema
            }
            ValueShape::Share => text("^[0-9]+(\\.[0-9]+)?%$"),
            ValueShape::Address => text("^[hH][tT][tT][pP][sS]?://"),
            ValueShape::Secret => json!({ "type": "string", "pattern": format!("^{REFERENCE}") }),
            ValueShape::Any | ValueShape::Missing(_) => json!({}),
        }
    }

    fn of_keys(&self, path: &SchemaPath, keys: &[String]) -> Json {
        let mut properties = Map::new();
        for key in keys {
            properties.insert(key.clone(), self.schema(&[&path[..], &[SchemaStep::Key(key.clone())]].concat()));
        }
        let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        let mut required = Vec::new();
        let mut one_of = Vec::new();
        for key in self.missed.get(path).into_iter().flatten() {
            if self.misses(path, key, |other| other != key) {
                required.push(json!(key));
                continue;
            }
            let instead = keys.iter().filter(|other| *other == key || !self.misses(path, key, |one| one == *other));
            one_of.push(json!(instead.map(|other| json!({ "required": [other] })).collect::<Vec<_>>()));
        }
        if !required.is_empty() {
            schema["required"] = Json::Array(required);
        }
        if let Some(one_of) = one_of.pop() {
            schema["anyOf"] = one_of;
        }
        schema
    }

    /// Whether a map that holds these of its keys is said to lack that one.
    fn misses(&self, path: &SchemaPath, key: &str, holds: impl Fn(&str) -> bool) -> bool {
        let mut file = json!({});
        self.fill(&mut file, path, holds);
        let mut listener = Self { heard: self.heard.clone(), missed: BTreeMap::new() };
        listener.hear(file, Some((path, key)))
    }
}

/// A place as the descriptions name it: its keys with dots between them.
fn name(path: &SchemaPath) -> String {
    let keys = path.iter().filter_map(|step| match step {
        SchemaStep::Key(key) => Some(key.as_str()),
        SchemaStep::Name => Some("*"),
        SchemaStep::Item => None,
    });
    keys.collect::<Vec<_>>().join(".")
}

/// Puts a value at a place, and whatever leads there.
fn place(file: &mut Json, path: &[SchemaStep], value: Json) {
    let Some((step, rest)) = path.split_first() else {
        *file = value;
        return;
    };
    let key = match step {
        SchemaStep::Item => {
            if file.as_array().is_none_or(Vec::is_empty) {
                *file = json!([{}]);
            }
            return place(&mut file[0], rest, value);
        }
        SchemaStep::Key(key) => key.as_str(),
        SchemaStep::Name => NAME,
    };
    if !file.is_object() {
        *file = json!({});
    }
    place(&mut file[key], rest, value);
}

/// The same where nothing stands there yet; false where something does.
fn place_new(file: &mut Json, path: &[SchemaStep], value: Json) -> bool {
    let mut at = Some(&*file);
    for step in path {
        at = match step {
            SchemaStep::Key(key) => at.and_then(|at| at.get(key)),
            SchemaStep::Name => at.and_then(|at| at.get(NAME)),
            SchemaStep::Item => at.and_then(|at| at.get(0)),
        };
    }
    let free = at.is_none();
    if free {
        place(file, path, value);
    }
    free
}

/// What the checker asks of each place of a document.
fn asked(file: &Json) -> Vec<(SchemaPath, ValueShape)> {
    // JSON is YAML, and its numbers stay without quotes.
    let written = file.to_string();
    let mut found = Collector::default();
    let Some(tree) = tree::parse(Text::first("", &written), &mut Budget::default(), &mut found) else {
        return Vec::new();
    };
    let (mut paths, mut keys) = (SchemaPaths::new(), SchemaPaths::new());
    walk(&tree.root, &mut Vec::new(), &mut paths, &mut keys);
    // What is missing at the top is said at the first byte, and in some maps at the map's key.
    keys.insert((0, 0), Vec::new());
    let source = ConfigSource::new(Path::new(""), Vec::new(), None);
    let set = |_: &str| Some("set".to_owned());
    let mut checker = Checker::new(found, &set, Unset::Warn, Vec::new());
    checker.asked = Some(Vec::new());
    let trees: [Tree<'_>; 1] = [tree];
    let _what_it_declares = document(&mut checker, &trees, &source, None);
    let asked = checker.asked.take().unwrap_or_default();
    let at = |place: TextSpan, shape: &ValueShape| {
        let span = (place.start, place.end);
        let key = keys.get(&span).filter(|_| matches!(shape, ValueShape::Missing(_)));
        paths.get(&span).or(key).cloned()
    };
    asked.into_iter().filter_map(|(place, shape)| Some((at(place, &shape)?, shape))).collect()
}

/// Places by their first byte and the one after the last.
type SchemaPaths = BTreeMap<(u32, u32), SchemaPath>;

fn walk(node: &Node<'_>, path: &mut SchemaPath, paths: &mut SchemaPaths, keys: &mut SchemaPaths) {
    paths.insert((node.place.start, node.place.end), path.clone());
    match &node.value {
        NodeValue::Scalar { .. } => {}
        NodeValue::List(items) => {
            path.push(SchemaStep::Item);
            items.iter().for_each(|item| walk(item, path, paths, keys));
            path.pop();
        }
        NodeValue::Map(entries) => {
            for entry in entries {
                let step = if entry.key == NAME { SchemaStep::Name } else { SchemaStep::Key(entry.key.to_string()) };
                path.push(step);
                keys.insert((entry.place.start, entry.place.end), path.clone());
                walk(&entry.value, path, paths, keys);
                path.pop();
            }
        }
    }
}
