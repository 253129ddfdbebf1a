//! Two lists of tools, old and new, and what a person has to know of the difference.
//!
//! Two directions: what is *given* (arguments) breaks where it narrows, what is *answered* (output schemas) breaks where
//! it loosens. Where a part of JSON Schema is beyond judging, a change of it counts as breaking: whether it breaks a call
//! that is really made, the known calls say. Both lists are hostile, so depth and work are bounded.
//! A third of the file are its tables of tests.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::domain::tools::{ChangeClass, GONE, NEW, ToolChange};
use crate::tool_lists::instructions;
use crate::untrusted_text::{escaped, short_name};

/// Places compared in one list: a real one has a few hundred, and a schema of references can be made to unfold without end.
const PLACES_MAX: u32 = 20_000;
/// Levels that a schema is followed down, references included.
const DEPTH_MAX: u32 = 24;
/// Characters of a line: a place many levels down, and two texts.
const WHAT_CHARS_MAX: usize = 480;
/// Characters of a value or a text that a line shows.
const SHOWN_CHARS_MAX: usize = 60;

/// Everything that changed from one list to the next. Tools are matched by name.
pub(crate) fn changes(before: &[Value], now: &[Value]) -> Vec<ToolChange> {
    let (old, new) = (by_name(before), by_name(now));
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let mut found: Vec<ToolChange> = gone.map(|name| change(ChangeClass::Breaking, name, GONE.to_owned())).collect();
    let mut left = PLACES_MAX;
    for (name, tool) in &new {
        let Some(was) = old.get(name) else {
            found.push(change(ChangeClass::Compatible, name, NEW.to_owned()));
            found.extend(turned(name, &Value::Null, tool));
            continue;
        };
        if was == tool {
            continue;
        }
        let mut differ = Differ { tool: name, found: Vec::new(), left };
        differ.tools(was, tool);
        left = differ.left;
        if differ.found.is_empty() {
            differ.say(ChangeClass::Compatible, "something changed that is neither a text nor a schema".to_owned());
        }
        found.extend(differ.found);
        found.extend(turned(name, was, tool));
    }
    found
}

fn by_name(tools: &[Value]) -> BTreeMap<&str, &Value> {
    // The first of a name counts, as it does for callers.
    tools.iter().rev().map(|tool| (tool["name"].as_str().unwrap_or_default(), tool)).collect()
}

fn change(class: ChangeClass, tool: &str, what: String) -> ToolChange {
    // A sentence may hold what a server wrote, such as the name of a type.
    ToolChange::new(class, &short_name(tool), escaped(&what, WHAT_CHARS_MAX))
}

/// Texts that newly read like instructions.
fn turned(name: &str, was: &Value, tool: &Value) -> Vec<ToolChange> {
    let before = instructions::in_tool(was);
    let known = |place: &str, excerpt: &str| before.iter().any(|one| one.place == place && one.excerpt == excerpt);
    let new = instructions::in_tool(tool).into_iter().filter(|one| !known(&one.place, &one.excerpt));
    new.map(|one| {
        let what = format!("{} now {}: “{}”", one.place, one.sign, one.excerpt);
        change(ChangeClass::Instruction, name, what)
    })
    .collect()
}

/// Which way values flow through a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaSide {
    Given,
    Answered,
}

/// What happened to the values that a schema allows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Narrower,
    Wider,
    /// Another room, and nobody can say whether the old values fit into it.
    Other,
}

/// Where in a tool a schema stands.
#[derive(Clone, Copy)]
struct Roots<'v> {
    old: &'v Value,
    new: &'v Value,
    way: SchemaSide,
}

struct Differ<'t> {
    tool: &'t str,
    found: Vec<ToolChange>,
    left: u32,
}

impl Differ<'_> {
    fn say(&mut self, class: ChangeClass, what: String) {
        self.found.push(change(class, self.tool, what));
    }

    fn room(&mut self, way: SchemaSide, room: Room, what: String) {
        let breaks = match (room, way) {
            (Room::Other, _) | (Room::Narrower, SchemaSide::Given) | (Room::Wider, SchemaSide::Answered) => true,
            (Room::Wider, SchemaSide::Given) | (Room::Narrower, SchemaSide::Answered) => false,
        };
        self.say(if breaks { ChangeClass::Breaking } else { ChangeClass::Compatible }, what);
    }

    fn tools(&mut self, old: &Value, new: &Value) {
        for key in keys(old, new) {
            let (was, is) = (&old[key], &new[key]);
            match key {
                _ if was == is => {}
                "title" | "description" => self.text(key, was, is),
                "inputSchema" => {
                    self.schema("", was, is, Roots { old: was, new: is, way: SchemaSide::Given }, DEPTH_MAX);
                }
                "outputSchema" if is.is_null() => {
                    self.say(ChangeClass::Breaking, "the output schema is gone".to_owned());
                }
                "outputSchema" if was.is_null() => {
                    self.say(ChangeClass::Compatible, "an output schema is new".to_owned());
                }
                "outputSchema" => {
                    self.schema("", was, is, Roots { old: was, new: is, way: SchemaSide::Answered }, DEPTH_MAX);
                }
                "annotations" => self.annotations(was, is),
                "icons" => self.say(ChangeClass::Wording, "icons changed".to_owned()),
                _ => self.say(ChangeClass::Compatible, format!("`{}` changed", shown(key))),
            }
        }
    }

    fn annotations(&mut self, old: &Value, new: &Value) {
        for key in keys(old, new).into_iter().filter(|key| old[*key] != new[*key]) {
            if key == "title" {
                self.text("annotated title", &old[key], &new[key]);
            } else {
                let what = format!("hint `{}`: {} → {}", shown(key), value(&old[key]), value(&new[key]));
                self.say(ChangeClass::Compatible, what);
            }
        }
    }

    fn text(&mut self, what: &str, old: &Value, new: &Value) {
        let (old, new) = (old.as_str().unwrap_or_default(), new.as_str().unwrap_or_default());
        let (from, to) = from_difference(old, new);
        self.say(ChangeClass::Wording, format!("{what} changed: “{from}” → “{to}”"));
    }

    /// Compares two schemas of one place; `path` is empty for the arguments or the answer as a whole.
    fn schema(&mut self, path: &str, old: &Value, new: &Value, roots: Roots<'_>, depth: u32) {
        if self.left == 0 || depth == 0 {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.say(ChangeClass::Breaking, "the schemas are too intricate to be compared to their end".to_owned());
            return;
        }
        let (old, new) = (resolved(old, roots.old), resolved(new, roots.new));
        if old == new && !refers(old) {
            return;
        }
        let (were, are) = (alternatives(old, roots.old), alternatives(new, roots.new));
        if were.len() > 1 || are.len() > 1 {
            self.alternatives(path, &were, &are, roots, depth);
            self.texts(path, old, new, roots.way);
            return;
        }
        self.types(path, old, new, roots.way);
        self.choices(path, old, new, roots.way);
        self.bounds(path, old, new, roots.way);
        self.conditions(path, old, new, roots.way);
        self.texts(path, old, new, roots.way);
        self.properties(path, old, new, roots, depth);
        if !old["items"].is_null() || !new["items"].is_null() {
            self.schema(&format!("{path}[]"), &old["items"], &new["items"], roots, depth - 1);
        }
    }

    /// `anyOf` and `oneOf`: alternatives of the same type belong together.
    fn alternatives(&mut self, path: &str, old: &[&Value], new: &[&Value], roots: Roots<'_>, depth: u32) {
        let alike = |one: &Value, list: &[&Value]| {
            list.iter().position(|other| *other == one).or_else(|| {
                let same = |other: &&Value| one["type"].is_string() && other["type"] == one["type"];
                list.iter().position(same)
            })
        };
        for was in old {
            match alike(was, new) {
                Some(at) => self.schema(path, was, new[at], roots, depth - 1),
                None => {
                    let what = format!("{} no longer takes {}", place(path, roots.way), kind(was));
                    self.room(roots.way, Room::Narrower, what);
                }
            }
        }
        for is in new.iter().filter(|is| alike(is, old).is_none()) {
            let what = format!("{} now also takes {}", place(path, roots.way), kind(is));
            self.room(roots.way, Room::Wider, what);
        }
    }

    fn types(&mut self, path: &str, old: &Value, new: &Value, way: SchemaSide) {
        let (were, are) = (types(old), types(new));
        let place = place(path, way);
        match (were.is_empty(), are.is_empty()) {
            (true, true) => {}
            (true, false) => {
                self.room(way, Room::Narrower, format!("{place} is now of type {}, any before", are.join(" or ")));
            }
            (false, true) => self.room(way, Room::Wider, format!("{place} may now be of any type")),
            (false, false) => {
                let within =
                    |kind: &&str, list: &[&str]| list.contains(kind) || *kind == "integer" && list.contains(&"number");
                let lost: Vec<&str> = were.iter().copied().filter(|kind| !within(kind, &are)).collect();
                let won: Vec<&str> = are.iter().copied().filter(|kind| !within(kind, &were)).collect();
                let said = format!("{place} is now of type {}, {} before", are.join(" or "), were.join(" or "));
                match (lost.is_empty(), won.is_empty()) {
                    (true, true) => {}
                    (false, true) => self.room(way, Room::Narrower, said),
                    (true, false) => self.room(way, Room::Wider, said),
                    (false, false) => self.room(way, Room::Other, said),
                }
            }
        }
    }

    fn choices(&mut self, path: &str, old: &Value, new: &Value, way: SchemaSide) {
        let place = place(path, way);
        match (choices(old), choices(new)) {
            (None, None) => {}
            (None, Some(are)) => {
                let what = format!("{place} has to be one of {} now", list(&are));
                self.room(way, Room::Narrower, what);
            }
            (Some(_), None) => self.room(way, Room::Wider, format!("{place} is no longer held to a list of values")),
            (Some(were), Some(are)) => {
                let lost: Vec<&Value> = were.iter().copied().filter(|one| !are.contains(one)).collect();
                let won: Vec<&Value> = are.iter().copied().filter(|one| !were.contains(one)).collect();
                if !lost.is_empty() {
                    self.room(way, Room::Narrower, format!("{place} no longer takes {}", list(&lost)));
                }
                if !won.is_empty() {
                    self.room(way, Room::Wider, format!("{place} now also takes {}", list(&won)));
                }
            }
        }
    }

    fn bounds(&mut self, path: &str, old: &Value, new: &Value, way: SchemaSide) {
        const LEAST: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
        const MOST: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
        let keys = LEAST.iter().map(|key| (*key, true)).chain(MOST.iter().map(|key| (*key, false)));
        for (key, is_least) in keys {
            let (was, is) = (old[key].as_f64(), new[key].as_f64());
            let room = match (was, is) {
                _ if old[key] == new[key] => continue,
                (Some(was), Some(is)) if was == is => continue,
                (Some(was), Some(is)) if (is > was) == is_least => Room::Narrower,
                (Some(_), Some(_)) => Room::Wider,
                (None, Some(_)) if old[key].is_null() => Room::Narrower,
                (Some(_), None) if new[key].is_null() => Room::Wider,
                _ => Room::Other,
            };
            let what = format!("{}: {key} {} → {}", place(path, way), value(&old[key]), value(&new[key]));
            self.room(way, room, what);
        }
    }

    /// Keys whose presence narrows and whose change nobody can judge.
    fn conditions(&mut self, path: &str, old: &Value, new: &Value, way: SchemaSide) {
        const KEYS: [&str; 19] = [
            "pattern",
            "format",
            "multipleOf",
            "uniqueItems",
            "contentEncoding",
            "contentMediaType",
            "allOf",
            "not",
            "if",
            "then",
            "else",
            "contains",
            "prefixItems",
            "propertyNames",
            "patternProperties",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
            "x-mcp-header",
        ];
        for key in KEYS.into_iter().filter(|key| old[*key] != new[*key]) {
            let room = match (says_nothing(&old[key]), says_nothing(&new[key])) {
                (true, true) => continue,
                (true, false) => Room::Narrower,
                (false, true) => Room::Wider,
                (false, false) => Room::Other,
            };
            let what = format!("{}: {key} {} → {}", place(path, way), value(&old[key]), value(&new[key]));
            self.room(way, room, what);
        }
    }

    fn texts(&mut self, path: &str, old: &Value, new: &Value, way: SchemaSide) {
        let place = place(path, way);
        for key in ["title", "description"].into_iter().filter(|key| old[*key] != new[*key]) {
            self.text(&format!("{place}: {key}"), &old[key], &new[key]);
        }
        if old["examples"] != new["examples"] || old["$comment"] != new["$comment"] {
            self.say(ChangeClass::Wording, format!("{place}: examples or comments changed"));
        }
        if old["default"] != new["default"] {
            let what = format!("{place}: default {} → {}", value(&old["default"]), value(&new["default"]));
            self.say(ChangeClass::Compatible, what);
        }
        if old["deprecated"] != new["deprecated"] {
            let what = if new["deprecated"] == Value::Bool(true) { "now deprecated" } else { "no longer deprecated" };
            self.say(ChangeClass::Compatible, format!("{place} is {what}"));
        }
    }

    fn properties(&mut self, path: &str, old: &Value, new: &Value, roots: Roots<'_>, depth: u32) {
        let way = roots.way;
        let (had, has) = (&old["properties"], &new["properties"]);
        let (needed, needs) = (required(old), required(new));
        for name in keys(had, has) {
            let inner = if path.is_empty() { shown(name) } else { format!("{path}.{}", shown(name)) };
            let place = place(&inner, way);
            let (was, is) = (had.get(name), has.get(name));
            let (was_needed, is_needed) = (needed.contains(&name), needs.contains(&name));
            match (was, is) {
                (Some(_), None) => self.say(ChangeClass::Breaking, format!("{place} is gone")),
                (None, Some(_)) if is_needed => match way {
                    SchemaSide::Given => self.say(ChangeClass::Breaking, format!("{place} is new and required")),
                    SchemaSide::Answered => self.say(ChangeClass::Compatible, format!("{place} is new")),
                },
                (None, Some(_)) => self.say(ChangeClass::Compatible, format!("{place} is new and optional")),
                (Some(was), Some(is)) => {
                    match (was_needed, is_needed) {
                        (false, true) => self.room(way, Room::Narrower, format!("{place} is now required")),
                        (true, false) => self.room(way, Room::Wider, format!("{place} is no longer required")),
                        _ => {}
                    }
                    self.schema(&inner, was, is, roots, depth - 1);
                }
                (None, None) => {}
            }
        }
        // Names that are required and described nowhere.
        for name in needs.iter().filter(|name| has.get(**name).is_none() && !needed.contains(name)) {
            let inner = if path.is_empty() { shown(name) } else { format!("{path}.{}", shown(name)) };
            self.room(way, Room::Narrower, format!("{} is now required", place(&inner, way)));
        }
        let (was, is) = (&old["additionalProperties"], &new["additionalProperties"]);
        match (was == &Value::Bool(false), is == &Value::Bool(false)) {
            (false, true) => self.room(way, Room::Narrower, unlisted(path, way, "are now refused")),
            (true, false) => self.room(way, Room::Wider, unlisted(path, way, "are now taken")),
            (false, false) if was.is_object() && is.is_object() => {
                self.schema(&format!("{path}.*"), was, is, roots, depth - 1);
            }
            (false, false) if is.is_object() => {
                self.room(way, Room::Narrower, unlisted(path, way, "now have a schema"))
            }
            (false, false) if was.is_object() => {
                self.room(way, Room::Wider, unlisted(path, way, "may now be anything"))
            }
            _ => {}
        }
    }
}

/// The keys of two objects, each once; none where neither is one.
fn keys<'v>(old: &'v Value, new: &'v Value) -> Vec<&'v str> {
    let objects = [old.as_object(), new.as_object()];
    let mut keys: Vec<&str> = objects.into_iter().flatten().flat_map(|map| map.keys().map(String::as_str)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What a local reference leads to; the schema itself where it is none, or leads nowhere.
fn resolved<'v>(schema: &'v Value, root: &'v Value) -> &'v Value {
    let mut at = schema;
    for _ in 0..DEPTH_MAX {
        let Some(next) = at["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?)) else { break };
        at = next;
    }
    at
}

/// Whether something inside leads elsewhere, so that equal texts may mean different schemas.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("$ref") || map.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

fn alternatives<'v>(schema: &'v Value, root: &'v Value) -> Vec<&'v Value> {
    let listed = ["anyOf", "oneOf"].into_iter().find_map(|key| schema[key].as_array().filter(|list| !list.is_empty()));
    listed.map_or_else(|| vec![schema], |list| list.iter().map(|one| resolved(one, root)).collect())
}

/// The types a schema names; none where it takes any.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn choices(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), &schema["enum"]) {
        (Some(only), _) => Some(vec![only]),
        (None, Value::Array(choices)) => Some(choices.iter().collect()),
        _ => None,
    }
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().map(|names| names.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn says_nothing(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false))
}

/// Where a schema stands, in words.
fn place(path: &str, way: SchemaSide) -> String {
    match (path, way) {
        ("", SchemaSide::Given) => "the arguments".to_owned(),
        ("", SchemaSide::Answered) => "the answer".to_owned(),
        (path, SchemaSide::Given) => format!("argument `{path}`"),
        (path, SchemaSide::Answered) => format!("output field `{path}`"),
    }
}

fn unlisted(path: &str, way: SchemaSide, what: &str) -> String {
    match (path, way) {
        ("", SchemaSide::Given) => format!("arguments that are not listed {what}"),
        (path, way) => format!("{}: fields that are not listed {what}", place(path, way)),
    }
}

/// A schema by its type, for a sentence.
fn kind(schema: &Value) -> String {
    match types(schema).as_slice() {
        [] => choices(schema).map_or_else(|| value(schema), |choices| list(&choices)),
        names => shown(&names.join(" or ")),
    }
}

fn list(values: &[&Value]) -> String {
    const SHOWN: usize = 5;
    let mut said: Vec<String> = values.iter().take(SHOWN).map(|one| value(one)).collect();
    if values.len() > SHOWN {
        said.push(format!("{} more", values.len() - SHOWN));
    }
    said.join(", ")
}

fn value(value: &Value) -> String {
    if value.is_null() { "none".to_owned() } else { shown(&value.to_string()) }
}

fn shown(text: &str) -> String {
    escaped(text, SHOWN_CHARS_MAX)
}

/// Both texts from shortly before the place where they part.
fn from_difference(old: &str, new: &str) -> (String, String) {
    const BEFORE: usize = 12;
    let same = old.chars().zip(new.chars()).take_while(|(one, other)| one == other).count();
    let skip = if same > BEFORE * 2 { same - BEFORE } else { 0 };
    let cut = |text: &str| {
        let dots = if skip > 0 { "…" } else { "" };
        format!("{dots}{}", shown(&text.chars().skip(skip).collect::<String>()))
    };
    (cut(old), cut(new))
}

#[cfg(test)]
mod tests;
