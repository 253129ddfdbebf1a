//! tools/list, reduced to what is compared: hashes over the raw JSON, since a typed tool drops fields that real servers send.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::ToolsSeen;
use crate::domain::pinned::Relation;
use crate::domain::quality::pinning;
use crate::domain::search::{Fresh, FreshWay, Search};
use crate::domain::tools::{Drift, Instruction, KnownCalls, Listing, ToolSeen};
use crate::tool_lists::diff;
use crate::tool_lists::fresh;
use crate::tool_lists::instructions;
use crate::tool_lists::json_text::write_text;
use crate::tool_lists::known::KnownLists;
use crate::tool_lists::schema::{misfit, misfit_asking};
use crate::untrusted_text::short_name;

/// Tools kept of one server. The largest fleets of tools seen have a few hundred.
pub const TOOLS_MAX: usize = 1_000;

/// Bytes of canonical JSON kept for the diff; beyond it only names and hashes are kept.
const JSON_BYTES_MAX: usize = 256 * 1024;
/// Bytes that a list takes as it is written down, names and hashes included: the accepted one and the latest have to fit
/// into what is kept of a monitor, see `store::listing`. Where it takes more, only names and hashes are kept.
const WRITTEN_BYTES_MAX: usize = 400_000;
/// Bytes of each tool beside its name as it is written down: two hashes in hex, quotes and commas.
const WRITTEN_HASHES: usize = 144;
/// Stands where the JSON of a list is not kept.
const NOT_KEPT: &str = "null";
/// Calls that no longer fit and are kept with their reason; the others are counted.
const BROKEN_CALLS_MAX: usize = 8;
/// Texts that read like instructions and are kept of one list.
const INSTRUCTIONS_MAX: usize = 20;

/// The usual names of a search tool, the likeliest first.
pub(crate) const USUAL_NAMES: [&str; 16] = [
    "search_documents",
    "search",
    "search_docs",
    "search_documentation",
    "search_knowledge",
    "search_knowledge_base",
    "knowledge_search",
    "semantic_search",
    "hybrid_search",
    "vector_search",
    "rag_search",
    "rag_query",
    "query_documents",
    "query",
    "retrieve",
    "retrieve_documents",
];

/// Whether a name that is not among the usual ones sounds like a search.
const TELLING_PARTS: [&str; 3] = ["search", "retrieve", "query"];

/// Reduces the tools of all pages. `search` finds the tool that canaries call and checks their call against its schema.
/// A list that is remembered already is shared and not taken apart again.
pub fn reduce(tools: &[Value], search: &Search, known: &KnownLists) -> ToolsSeen {
    reduce_with(tools, None, search, known)
}

/// The same, with the server's own instructions where they are known: they are a part of what is accepted.
pub fn reduce_with(tools: &[Value], instructions: Option<&str>, search: &Search, known: &KnownLists) -> ToolsSeen {
    let mut sorted: Vec<(&str, String, &Value)> =
        tools.iter().map(|tool| (name_of(tool), canonical(tool, Texts::Kept), tool)).collect();
    sorted.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    let mut whole = Sha256::new();
    for (_, text, _) in &sorted {
        whole.update(text.as_bytes());
        whole.update(b"\n");
    }
    if let Some(text) = instructions.filter(|text| !text.is_empty()) {
        // No tool's text has this character, since JSON escapes it.
        whole.update(b"\0");
        whole.update(text.as_bytes());
    }
    let hash = hex::encode(whole.finalize());
    // One too long to be kept has to be there whole until its tokens are counted.
    let remembered = known.latest.as_ref().filter(|known| known.hash == hash && known.tokens.is_some());
    let (listing, oversize) = match remembered {
        Some(known) => (Arc::clone(known), None),
        None => {
            let (listing, oversize) = taken_apart(&sorted, hash);
            (Listing { server_instructions: instructions.map(Box::from), ..listing }.into(), oversize)
        }
    };
    let found = find(tools, search);
    ToolsSeen {
        listing,
        search_tool: found.map(|tool| name_of(tool).to_owned()),
        fresh: found.and_then(|tool| fresh::way(input_schema(tool), search)),
        invalid_call: found.and_then(|tool| misfit(input_schema(tool), search)),
        oversize,
        ..ToolsSeen::default()
    }
}

/// The list with each tool's hashes; and its text, where that is too long to be kept. `sorted` are names, canonical texts
/// and tools.
fn taken_apart(sorted: &[(&str, String, &Value)], hash: String) -> (Listing, Option<Box<str>>) {
    let mut json = String::from("[");
    let mut seen = Vec::with_capacity(sorted.len());
    for (name, text, tool) in sorted {
        if json.len() <= JSON_BYTES_MAX {
            let comma = if json.len() > 1 { "," } else { "" };
            let _ = write!(json, "{comma}{text}");
        }
        seen.push(ToolSeen {
            name: short_name(name),
            full_hash: hex::encode(Sha256::digest(text)),
            shape_hash: hex::encode(Sha256::digest(canonical(tool, Texts::Dropped))),
        });
    }
    json.push(']');
    let is_long = json.len() > JSON_BYTES_MAX || written(&json, &seen) > WRITTEN_BYTES_MAX;
    let oversize = is_long.then(|| std::mem::replace(&mut json, NOT_KEPT.to_owned()).into_boxed_str());
    (Listing { hash, tools: seen, json, ..Listing::default() }, oversize)
}

/// Bytes of a list as it is written down: a text within JSON, in which each quote and each backslash takes one more.
fn written(json: &str, tools: &[ToolSeen]) -> usize {
    let text = |text: &str| text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    text(json) + tools.iter().map(|tool| text(&tool.name) + WRITTEN_HASHES).sum::<usize>()
}

/// The list that is pinned: these tools, with the server's own instructions.
pub fn pinned(tools: &[Value], instructions: &str) -> Listing {
    let mut seen = reduce_with(tools, Some(instructions), &Search::default(), &KnownLists::default());
    let mut found = instructing_server(&seen);
    found.extend(instructing(tools));
    note_instructions(&mut seen, found);
    Arc::unwrap_or_clone(seen.listing)
}

/// Holds a list against what is known: the calls that the monitor makes, and the list that was accepted.
///
/// A list that is remembered already is shared and not looked at again.
pub fn hold(mut seen: ToolsSeen, tools: &[Value], monitor: &Monitor, lists: &KnownLists) -> ToolsSeen {
    match remembered(&seen, lists) {
        Some(known) => seen.listing = known,
        None => {
            let mut found = instructing_server(&seen);
            found.extend(instructing(tools));
            note_instructions(&mut seen, found);
        }
    }
    compared(seen, tools, monitor, lists)
}

/// The same list, where it was looked at before.
pub(crate) fn remembered(seen: &ToolsSeen, lists: &KnownLists) -> Option<Arc<Listing>> {
    // An accepted list without tokens was read back from the store and not looked at since.
    let looked_at = lists.accepted.as_ref().filter(|accepted| accepted.tokens.is_some());
    lists.latest.iter().chain(looked_at).find(|known| known.hash == seen.hash).cloned()
}

/// The server's own instructions, where they read like orders that are nobody's business to give.
pub(crate) fn instructing_server(seen: &ToolsSeen) -> Vec<Instruction> {
    let text = seen.server_instructions.as_deref().unwrap_or_default();
    instructions::in_server(text).into_iter().collect()
}

/// Texts of some tools that read like instructions.
pub(crate) fn instructing(tools: &[Value]) -> Vec<Instruction> {
    let mut found = Vec::new();
    for tool in tools {
        found.extend(instructions::in_tool(tool));
        if is_enough(&found) {
            break;
        }
    }
    found
}

/// Whether more of them would not be kept.
pub(crate) fn is_enough(found: &[Instruction]) -> bool {
    found.len() >= INSTRUCTIONS_MAX
}

/// Keeps them with the list they were found in.
pub(crate) fn note_instructions(seen: &mut ToolsSeen, mut found: Vec<Instruction>) {
    found.truncate(INSTRUCTIONS_MAX);
    Arc::make_mut(&mut seen.listing).instructions = found;
}

/// Holds a list that was looked through against the calls that the monitor makes, and the list that was accepted.
pub(crate) fn compared(mut seen: ToolsSeen, tools: &[Value], monitor: &Monitor, lists: &KnownLists) -> ToolsSeen {
    let asked = seen.search_tool.as_deref().and_then(|name| named(tools, name));
    seen.calls = known_calls(asked, monitor);
    seen.fresh = seen.fresh.or_else(|| nonce_way(asked?, monitor));
    seen.invalid_call = seen.calls.why.first().filter(|_| seen.search_tool.is_some()).map(|(_, why)| why.clone());
    seen.drift = lists.accepted.as_ref().filter(|accepted| accepted.hash != seen.hash).map(|accepted| {
        let mut changes = match kept_whole(&accepted.json) {
            Some(before) => diff::changes(&before, tools),
            None => Drift::by_hashes(&accepted.hash, &accepted.tools, &seen.tools).changes,
        };
        // What an earlier version accepted says nothing of them.
        if let (Some(was), Some(now)) = (&accepted.server_instructions, &seen.server_instructions) {
            changes.extend(diff::instructions_changed(was, now));
        }
        Arc::new(Drift::new(&accepted.hash, changes))
    });
    seen
}

/// Every canary's call against the tool it goes to; all of them break where there is none.
fn known_calls(tool: Option<&Value>, monitor: &Monitor) -> KnownCalls {
    let mut calls = KnownCalls::default();
    // What the file gives to get past caches goes out as well; what we know of we found in this very schema.
    let given = matches!(monitor.search.fresh, Fresh::Given(_)).then(|| monitor.search.past_caches(FreshWay::Given));
    for canary in &monitor.canaries {
        calls.known += 1;
        let breaks = |schema: &Value| {
            let why = |search, question: &String| misfit_asking(schema, search, question);
            let mut questions = std::iter::once(&canary.query).chain(&canary.also);
            let plainly = questions.find_map(|question| why(&monitor.search, question));
            plainly.or_else(|| why(given.as_ref()?, &canary.query))
        };
        let why = tool.map_or_else(|| Some("the tool is gone".to_owned()), |tool| breaks(input_schema(tool)));
        let Some(why) = why else { continue };
        calls.broken += 1;
        if calls.why.len() < BROKEN_CALLS_MAX {
            calls.why.push((canary.id.clone(), why));
        }
    }
    calls
}

/// A nonce, where the lock says that it changes nothing and the tool takes every question with one: it may be too long, or
/// the only questions that it takes are a list.
fn nonce_way(tool: &Value, monitor: &Monitor) -> Option<FreshWay> {
    let fits = |canary: &Canary| {
        let question = pinning::altered(Relation::Nonce, &canary.query, 0);
        misfit_asking(input_schema(tool), &monitor.search, &question).is_none()
    };
    (monitor.may_send_nonces() && monitor.canaries.iter().all(fits)).then_some(FreshWay::Nonce)
}

/// The tools of a listing; none where only names and hashes were kept, which earlier versions wrote as a list of them.
pub(crate) fn kept_whole(json: &str) -> Option<Vec<Value>> {
    let tools: Vec<Value> = serde_json::from_str(json).ok()?;
    let hashes_only =
        tools.first().is_some_and(|tool| tool.get("full_hash").is_some() && tool.get("shape_hash").is_some());
    (!hashes_only).then_some(tools)
}

/// The hash over everything of each tool, by name; of tools with one name, over all of them.
pub fn hashes(tools: &[Value]) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in tools {
        texts.entry(short_name(name_of(tool))).or_default().push(canonical(tool, Texts::Kept));
    }
    let sum = |mut texts: Vec<String>| {
        texts.sort_unstable();
        hex::encode(Sha256::digest(texts.join("\n")))
    };
    texts.into_iter().map(|(name, texts)| (name, sum(texts))).collect()
}

/// The first tool of that name, as callers get it; none where there is none.
pub fn named<'a>(tools: &'a [Value], name: &str) -> Option<&'a Value> {
    tools.iter().find(|tool| name_of(tool) == name)
}

/// The schema of a tool's arguments; null where it has none.
pub fn input_schema(tool: &Value) -> &Value {
    tool.get("inputSchema").unwrap_or(&Value::Null)
}

/// The declared search tool, else one with a usual name, else the only one that sounds like a search and takes the question.
fn find<'a>(tools: &'a [Value], search: &Search) -> Option<&'a Value> {
    if let Some(name) = &search.tool {
        return named(tools, name);
    }
    if let Some(tool) = USUAL_NAMES.iter().find_map(|name| named(tools, name)) {
        return Some(tool);
    }
    let mut notifier = tools.iter().filter(|tool| {
        let name = name_of(tool).to_ascii_lowercase();
        TELLING_PARTS.iter().any(|part| name.contains(part)) && takes_question(tool, search)
    });
    let only = notifier.next()?;
    notifier.next().is_none().then_some(only)
}

/// Whether a tool has the arguments in which the question goes.
fn takes_question(tool: &Value, search: &Search) -> bool {
    let first = |pointer: &String| pointer.split('/').nth(1).unwrap_or_default().replace("~1", "/").replace("~0", "~");
    let properties = input_schema(tool).get("properties");
    search.query.iter().all(|pointer| properties.is_some_and(|properties| properties.get(first(pointer)).is_some()))
}

/// A tool's name; empty where it has none.
pub(crate) fn name_of(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    Kept,
    Dropped,
}

/// What the keys of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolKeys {
    /// Words of the format: `title` and `description` are texts.
    Words,
    /// Names somebody chose: an argument may be called `title`.
    Names,
    /// A value of the caller's world, such as an `enum`: nothing in it is ours to drop.
    Data,
}

/// JSON with sorted keys and no white space, so that equal values are equal texts.
fn canonical(value: &Value, texts: Texts) -> String {
    let mut out = String::with_capacity(512);
    write_canonical(value, texts, ToolKeys::Words, &mut out);
    out
}

// serde_json refuses input nested deeper than 128, which bounds this recursion.
fn write_canonical(value: &Value, texts: Texts, keys: ToolKeys, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (nth, item) in items.iter().enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                write_canonical(item, texts, keys, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            if texts == Texts::Dropped && keys == ToolKeys::Words {
                entries.retain(|(key, _)| !matches!(key.as_str(), "title" | "description" | "$comment" | "icons"));
            }
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (nth, (key, item)) in entries.into_iter().enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_canonical(item, texts, below(keys, key), out);
            }
            out.push('}');
        }
        Value::String(text) => write_text(text, out),
        plain => {
            let _ = write!(out, "{plain}");
        }
    }
}

fn below(keys: ToolKeys, key: &str) -> ToolKeys {
    match (keys, key) {
        (ToolKeys::Data, _) => ToolKeys::Data,
        (ToolKeys::Names, _) => ToolKeys::Words,
        (ToolKeys::Words, "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas") => {
            ToolKeys::Names
        }
        (ToolKeys::Words, "enum" | "const" | "default" | "examples" | "required" | "_meta") => ToolKeys::Data,
        (ToolKeys::Words, _) => ToolKeys::Words,
    }
}

#[cfg(test)]
mod tests;
