//! Two lists of tools, old and new, and what a person has to know of the difference.
//!
//! Two directions: what is *given* (arguments) breaks where it narrows, what is *answered* (output schemas) breaks where
//! it loosens. Where a part of JSON Schema is beyond judging, a change of it counts as breaking: whether it breaks a call
//! that is really made, the known calls say. Both lists are hostile, so depth and work are bounded.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::domain::tools::{ChangeClass, GONE, NEW, SERVER, ToolChange};
use crate::tool_lists::diff_words::{SchemaSide, shown, value};
use crate::tool_lists::instructions;
use crate::tool_lists::json_schema::{DEPTH_MAX, keys};
use crate::tool_lists::schema_diff::{Differ, PLACES_MAX, Roots, change};

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

/// How a server's own instructions changed.
pub(crate) fn instructions_changed(was: &str, now: &str) -> Vec<ToolChange> {
    if was == now {
        return Vec::new();
    }
    let mut differ = Differ { tool: SERVER, found: Vec::new(), left: PLACES_MAX };
    match (was, now) {
        ("", _) => differ.say(ChangeClass::Wording, "instructions are new".to_owned()),
        (_, "") => differ.say(ChangeClass::Wording, "instructions are gone".to_owned()),
        _ => differ.text("instructions", &was.into(), &now.into()),
    }
    let known = instructions::in_server(was);
    let turned = instructions::in_server(now).filter(|one| known.as_ref().is_none_or(|was| was.excerpt != one.excerpt));
    if let Some(one) = turned {
        differ.say(ChangeClass::Instruction, format!("{} now {}: “{}”", one.place, one.sign, one.excerpt));
    }
    differ.found
}

fn by_name(tools: &[Value]) -> BTreeMap<&str, &Value> {
    // The first of a name counts, as it does for callers.
    tools.iter().rev().map(|tool| (tool["name"].as_str().unwrap_or_default(), tool)).collect()
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

impl Differ<'_> {
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
}

#[cfg(test)]
mod tests;
