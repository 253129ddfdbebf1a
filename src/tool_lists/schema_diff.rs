//! Two schemas of one place, and whether the new one takes or gives what the old one did.

use serde_json::Value;

use crate::domain::tools::{ChangeClass, ToolChange};
use crate::tool_lists::diff_words::{SchemaSide, from_difference, kind, list, place, shown, unlisted, value};
use crate::tool_lists::json_schema::{alternatives, choices, keys, refers, required, resolved, says_nothing, types};
use crate::untrusted_text::{escaped, short_name};

/// Places compared in one list: a real one has a few hundred, and a schema of references can be made to unfold without end.
pub(super) const PLACES_MAX: u32 = 20_000;

/// Characters of a line: a place many levels down, and two texts.
pub(super) const WHAT_CHARS_MAX: usize = 480;

pub(super) fn change(class: ChangeClass, tool: &str, what: String) -> ToolChange {
    // A sentence may hold what a server wrote, such as the name of a type.
    ToolChange::new(class, &short_name(tool), escaped(&what, WHAT_CHARS_MAX))
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
pub(super) struct Roots<'v> {
    pub(super) old: &'v Value,
    pub(super) new: &'v Value,
    pub(super) way: SchemaSide,
}

pub(super) struct Differ<'t> {
    pub(super) tool: &'t str,
    pub(super) found: Vec<ToolChange>,
    pub(super) left: u32,
}

impl Differ<'_> {
    pub(super) fn say(&mut self, class: ChangeClass, what: String) {
        self.found.push(change(class, self.tool, what));
    }

    fn room(&mut self, way: SchemaSide, room: Room, what: String) {
        let breaks = match (room, way) {
            (Room::Other, _) | (Room::Narrower, SchemaSide::Given) | (Room::Wider, SchemaSide::Answered) => true,
            (Room::Wider, SchemaSide::Given) | (Room::Narrower, SchemaSide::Answered) => false,
        };
        self.say(if breaks { ChangeClass::Breaking } else { ChangeClass::Compatible }, what);
    }

    pub(super) fn text(&mut self, what: &str, old: &Value, new: &Value) {
        let (old, new) = (old.as_str().unwrap_or_default(), new.as_str().unwrap_or_default());
        let (from, to) = from_difference(old, new);
        self.say(ChangeClass::Wording, format!("{what} changed: “{from}” → “{to}”"));
    }

    /// Compares two schemas of one place; `path` is empty for the arguments or the answer as a whole.
    pub(super) fn schema(&mut self, path: &str, old: &Value, new: &Value, roots: Roots<'_>, depth: u32) {
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
