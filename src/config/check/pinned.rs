//! monitors.lock, checked: what is pinned of each monitor that is declared in a file beside it.
//!
//! What is pinned of somebody who is not declared, or of a question that is asked otherwise now, is a warning and counts as
//! not pinned: a lock is moved by `serin pin` alone, and a monitors.yaml that runs ahead of it is no fault.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::config::check::checker::{Checker, Fields};
use crate::config::check::definition;
use crate::config::read::diagnostic::{Diagnostic, Text, TextSpan, quoted};
use crate::config::read::lock_files::LockFile;
use crate::config::read::node::{MapEntry, Node, Tree};
use crate::domain::answer::HITS_MAX;
use crate::domain::monitor::Monitor;
use crate::domain::pinned::{Pinned, PinnedCanary, PinnedScore, Relation};
use crate::domain::quality::score_code::rounded;
use crate::domain::tools::Listing;
use crate::tool_lists::tools::{self, TOOLS_MAX};

/// Runs of one pin; more would only cost the server.
pub const RUNS_MAX: u32 = 100;
/// Lists accepted of one canary: a server that gives another one each time has none.
pub const LISTS_MAX: usize = RUNS_MAX as usize;
/// Characters of a source's name.
pub const SOURCE_CHARS_MAX: usize = 2_000;
/// Lines of a server's instructions, and characters of one.
pub const INSTRUCTION_LINES_MAX: usize = 2_000;
/// Entries of one lock; see [`crate::config::check::monitors`].
const ENTRIES_MAX: usize = 50_000;
/// Canaries of one entry; as many as a monitor may declare.
const CANARIES_MAX: usize = 500;
/// Bytes of one tool's JSON: what a probe keeps of a whole list.
const TOOL_BYTES_MAX: usize = 256 * 1024;

/// How the answers of an entry came.
pub const ANSWERED: [(&str, bool); 2] = [("from the index", true), ("through a cache", false)];
/// What `sorted` and `repeats` say.
const TRUTHS: &[(&str, bool)] = &[("true", true), ("false", false)];

const KEYS: &[&str] = &["version", "monitors"];
const ENTRY_KEYS: &[&str] =
    &["runs", "answered", "server", "scale", "sources", "relations", "canaries", "instructions", "tools"];
const CANARY_KEYS: &[&str] =
    &["asked", "results", "lists", "top_score", "chars", "first_chars", "text", "repeats", "sorted"];

/// The lock's text, what it is as a tree, and the file that it is.
#[derive(Debug)]
pub(in crate::config) struct LockRead<'r, 'a> {
    pub text: Text<'a>,
    pub tree: Option<Tree<'a>>,
    pub file: &'r LockFile,
}

/// One entry, as it stands there.
struct Entry {
    id: String,
    place: TextSpan,
    pinned: Pinned,
    /// Where each of its canaries stands.
    canaries: HashMap<String, TextSpan>,
}

/// Gives each monitor what is pinned of it. `file_of` tells by a monitor's line which file declares it.
pub(in crate::config) fn attach(
    checker: &mut Checker<'_>,
    locks: &[LockRead<'_, '_>],
    monitors: &mut [Arc<Monitor>],
    file_of: impl Fn(u32) -> usize,
) {
    let mut lists = HashMap::new();
    let mut of_file: HashMap<usize, Vec<usize>> = HashMap::new();
    for (nth, monitor) in monitors.iter().enumerate() {
        of_file.entry(file_of(monitor.line)).or_default().push(nth);
    }
    for lock in locks {
        if let Some(trouble) = &lock.file.trouble {
            let diagnostic = Diagnostic::new(lock.text.top(), trouble.clone());
            checker.report(diagnostic.help("a file, readable by the user that Serin runs as, or none at all"));
        }
        let mut entries = lock.tree.as_ref().map(|tree| entries(checker, &tree.root, &mut lists)).unwrap_or_default();
        for nth in lock.file.beside.iter().filter_map(|file| of_file.get(file)).flatten() {
            let monitor = &mut monitors[*nth];
            let Some(entry) = entries.remove(monitor.id.as_str()) else { continue };
            let pinned = in_force(checker, lock, monitor, entry);
            Arc::make_mut(monitor).pinned = Some(Arc::new(pinned));
        }
        let mut lost: Vec<Entry> = entries.into_values().collect();
        lost.sort_by_key(|entry| entry.place.start);
        for Entry { id, place, .. } in lost {
            let message = format!("{} is pinned, and no file beside this lock declares it", quoted(&id));
            checker.report(Diagnostic::warning(place, message).help("take its entry out, or declare the monitor"));
        }
    }
}

/// What of an entry holds for the monitor as it is declared now.
fn in_force(checker: &mut Checker<'_>, lock: &LockRead<'_, '_>, monitor: &Monitor, entry: Entry) -> Pinned {
    let Entry { id, place, mut pinned, canaries: places } = entry;
    pinned.canaries.retain(|canary, pin| {
        let place = places.get(canary).copied().unwrap_or(place);
        let (what, mend) = match monitor.canaries.iter().find(|declared| declared.id == *canary) {
            None => ("is declared no longer", format!("take it out, or run `serin pin {id}`")),
            Some(declared) if definition::asked(&monitor.search, declared) == pin.definition_hash => {
                pin.definition_hash.clone_from(&declared.definition_hash);
                return true;
            }
            Some(_) => ("was pinned by another question or search", format!("run `serin pin {id}`")),
        };
        let message = format!("canary {} of '{id}' {what}, and counts as not pinned", quoted(canary));
        checker.report(Diagnostic::warning(place, message).help(mend));
        false
    });
    pinned.hash = definition::of_pinned(&pinned).hash();
    pinned.place = (lock.file.name.clone(), place.line.saturating_sub(lock.text.line) + 1);
    pinned
}

fn entries(
    checker: &mut Checker<'_>,
    root: &Node<'_>,
    lists: &mut HashMap<String, Arc<Listing>>,
) -> BTreeMap<String, Entry> {
    let Some(fields) = checker.fields_and("the lock", root, "", KEYS) else { return BTreeMap::new() };
    match fields.get("version") {
        Some(entry) => {
            checker.whole("'version' of a lock", &entry.value, 1..=1);
        }
        None => checker.missing("the lock", fields.place, "version", "start with `version: 1`"),
    }
    let monitors = fields.get("monitors").and_then(|entry| checker.map("'monitors' of a lock", &entry.value));
    let monitors = monitors.unwrap_or_default();
    if let Some(entry) = monitors.get(ENTRIES_MAX) {
        let diagnostic = Diagnostic::new(entry.place, format!("more than {ENTRIES_MAX} entries"));
        checker.report(diagnostic.help("no fleet has more monitors"));
    }
    let mut found = BTreeMap::new();
    for one in monitors.iter().take(ENTRIES_MAX) {
        if let Some(entry) = entry(checker, one, lists) {
            found.insert(entry.id.clone(), entry);
        }
    }
    found
}

fn entry(checker: &mut Checker<'_>, one: &MapEntry<'_>, lists: &mut HashMap<String, Arc<Listing>>) -> Option<Entry> {
    let id = checker.id("monitor", &one.key, one.place)?;
    let what = format!("the entry '{id}'");
    let errors = checker.found.errors();
    let fields = checker.fields_and(&what, &one.value, "", ENTRY_KEYS)?;
    let runs = required(checker, &what, fields, "runs", "how often each canary was asked");
    let runs = runs.and_then(|entry| checker.whole("'runs'", &entry.value, 1..=RUNS_MAX));
    let answered = required(checker, &what, fields, "answered", "`from the index` or `through a cache`");
    let answered = answered.and_then(|entry| checker.choice("'answered'", &entry.value, &ANSWERED));
    let server = fields.get("server").and_then(|entry| texts(checker, "'server'", &entry.value, ["name", "version"]));
    let scale = fields.get("scale").and_then(|entry| numbers(checker, "'scale'", &entry.value, ["lowest", "highest"]));
    let sources = fields.get("sources").and_then(|entry| checker.whole("'sources'", &entry.value, 1..=u32::MAX));
    let relations = fields.get("relations").map(|entry| relations(checker, &entry.value)).unwrap_or_default();
    let written = fields.get("canaries").and_then(|entry| checker.map("'canaries' of a lock", &entry.value));
    let written = written.unwrap_or_default();
    if let Some(entry) = written.get(CANARIES_MAX) {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} has more than {CANARIES_MAX} canaries"));
        checker.report(diagnostic.help("no monitor declares more"));
    }
    let (mut canaries, mut places) = (BTreeMap::new(), HashMap::new());
    for one in written.iter().take(CANARIES_MAX) {
        if let Some(canary) = canary(checker, one) {
            places.insert(one.key.to_string(), one.place);
            canaries.insert(one.key.to_string(), canary);
        }
    }
    let instructions = fields.get("instructions").map(|entry| instructions(checker, &entry.value));
    let tools = fields.get("tools").and_then(|entry| tools(checker, &entry.value, &instructions.unwrap_or_default()));
    let tools = tools.map(|listing| {
        // A fleet of replicas has one list, and keeps it once.
        let known = lists.entry(listing.hash.clone()).or_insert_with(|| Arc::new(listing.clone()));
        if **known == listing { Arc::clone(known) } else { Arc::new(listing) }
    });
    let pinned = Pinned {
        hash: String::new(),
        place: (String::new(), 0),
        runs: runs?,
        reached_index: answered?,
        server,
        scale,
        sources,
        relations,
        canaries,
        tools,
    };
    (checker.found.errors() == errors).then_some(Entry { id, place: one.place, pinned, canaries: places })
}

fn canary(checker: &mut Checker<'_>, one: &MapEntry<'_>) -> Option<PinnedCanary> {
    let id = checker.id("canary", &one.key, one.place)?;
    let what = format!("the pinned canary '{id}'");
    let fields = checker.fields_and(&what, &one.value, "", CANARY_KEYS)?;
    let asked = required(checker, &what, fields, "asked", "what stands for how it was asked; run `serin pin`");
    let asked = asked.and_then(|entry| checker.text("'asked'", &entry.value));
    let results = required(checker, &what, fields, "results", "`{ fewest: 5, most: 5 }`");
    const MOST: u32 = HITS_MAX as u32;
    let results = results.and_then(|entry| range(checker, "'results'", &entry.value, ["fewest", "most"], MOST));
    let text = fields.get("text");
    let text_chars = text.and_then(|entry| range(checker, "'text'", &entry.value, ["shortest", "longest"], u32::MAX));
    // Texts that differ from run to run have no name to be known by.
    let lists = match (fields.get("lists"), text) {
        (None, Some(_)) => Some(Vec::new()),
        _ => {
            let lists = required(checker, &what, fields, "lists", "the accepted lists of sources");
            lists.and_then(|entry| accepted(checker, &what, entry))
        }
    };
    let top = fields.get("top_score");
    let top_score = top.and_then(|entry| numbers(checker, "'top_score'", &entry.value, ["median", "mad"]));
    let chars = fields.get("chars").and_then(|entry| checker.whole("'chars'", &entry.value, 0..=u32::MAX));
    let first_chars = fields.get("first_chars");
    let first_chars = first_chars.and_then(|entry| checker.whole("'first_chars'", &entry.value, 0..=u32::MAX));
    let repeats = fields.get("repeats").and_then(|entry| checker.choice("'repeats'", &entry.value, TRUTHS));
    let sorted = required(checker, &what, fields, "sorted", "`true` or `false`");
    let sorted = sorted.and_then(|entry| checker.choice("'sorted'", &entry.value, TRUTHS));
    Some(PinnedCanary {
        definition_hash: asked?,
        lists: lists?,
        top_score: top_score.map(|(median, mad)| PinnedScore { median, mad }),
        results: results?,
        chars,
        first_chars,
        text_chars,
        repeats: repeats.unwrap_or(false),
        sorted: sorted?,
    })
}

fn required<'n, 'a>(
    checker: &mut Checker<'_>,
    what: &str,
    fields: Fields<'n, 'a>,
    key: &str,
    mend: &str,
) -> Option<&'n MapEntry<'a>> {
    let found = fields.get(key);
    if found.is_none() {
        checker.missing(what, fields.place, key, mend);
    }
    found
}

/// The least and the most of something.
fn range(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, keys: [&str; 2], limit: u32) -> Option<(u32, u32)> {
    let fields = checker.fields_and(what, node, "", &keys)?;
    let mut count = |key| {
        let entry = required(checker, what, fields, key, "a whole number; run `serin pin`")?;
        checker.whole(format_args!("'{key}'"), &entry.value, 0..=limit)
    };
    let (least, most) = (count(keys[0])?, count(keys[1])?);
    if least > most {
        let diagnostic = Diagnostic::new(fields.place, format!("'{}' is more than '{}'", keys[0], keys[1]));
        checker.report(diagnostic.help("run `serin pin` instead of editing the lock"));
        return None;
    }
    Some((least, most))
}

/// Two numbers, as they are judged.
fn numbers(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, keys: [&str; 2]) -> Option<(f64, f64)> {
    let fields = checker.fields_and(what, node, "", &keys)?;
    let mut number = |key| {
        let entry = required(checker, what, fields, key, "such as `0.5`")?;
        checker.decimal(format_args!("'{key}'"), &entry.value).map(rounded)
    };
    Some((number(keys[0])?, number(keys[1])?))
}

fn texts(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, keys: [&str; 2]) -> Option<(String, String)> {
    let fields = checker.fields_and(what, node, "", &keys)?;
    let mut text = |key| {
        let entry = required(checker, what, fields, key, "what the server calls itself")?;
        as_said(checker, what, &entry.value, SOURCE_CHARS_MAX)
    };
    Some((text(keys[0])?, text(keys[1])?))
}

/// A text of the server's, which may be anything but long.
fn as_said(checker: &mut Checker<'_>, what: &str, node: &Node<'_>, chars_max: usize) -> Option<String> {
    let (text, _) = checker.scalar(what, node)?;
    if text.chars().nth(chars_max).is_some() {
        let diagnostic = Diagnostic::new(node.place, format!("{what} is longer than {chars_max} characters"));
        checker.report(diagnostic.help("run `serin pin` instead of editing the lock"));
        return None;
    }
    Some(text.to_owned())
}

fn relations(checker: &mut Checker<'_>, node: &Node<'_>) -> Vec<Relation> {
    let words = Relation::ALL.map(|relation| (relation.slug(), relation));
    let items = checker.list("'relations'", node).unwrap_or_default();
    let mut held: Vec<Relation> =
        items.iter().take(words.len()).filter_map(|item| checker.choice("a relation", item, &words)).collect();
    if items.len() > words.len() {
        let diagnostic = Diagnostic::new(node.place, format!("there are {} relations", words.len()));
        checker.report(diagnostic.help("name each once"));
    }
    held.sort_unstable();
    held.dedup();
    held
}

fn accepted(checker: &mut Checker<'_>, what: &str, entry: &MapEntry<'_>) -> Option<Vec<Vec<String>>> {
    let lists = checker.list("'lists'", &entry.value)?;
    if lists.is_empty() || lists.len() > LISTS_MAX {
        let diagnostic = Diagnostic::new(entry.place, format!("{what} has {} lists", lists.len()));
        checker.report(diagnostic.help(format!("one to {LISTS_MAX}, the most frequent first")));
        return None;
    }
    let mut found = Vec::with_capacity(lists.len());
    for list in lists {
        let sources = checker.list("an accepted list", list)?;
        if sources.len() > HITS_MAX {
            let diagnostic = Diagnostic::new(list.place, format!("a list of {} sources", sources.len()));
            checker.report(diagnostic.help(format!("at most {HITS_MAX}")));
            return None;
        }
        let sources = sources.iter().map(|source| source_name(checker, source));
        found.push(sources.collect::<Option<Vec<_>>>()?);
    }
    Some(found)
}

/// A source's name; empty where a result had none.
fn source_name(checker: &mut Checker<'_>, node: &Node<'_>) -> Option<String> {
    as_said(checker, "a source", node, SOURCE_CHARS_MAX)
}

/// The server's own instructions, a line an item.
fn instructions(checker: &mut Checker<'_>, node: &Node<'_>) -> String {
    let lines = checker.list("'instructions' of a lock", node).unwrap_or_default();
    if lines.len() > INSTRUCTION_LINES_MAX {
        let diagnostic = Diagnostic::new(node.place, format!("instructions of {} lines", lines.len()));
        checker.report(diagnostic.help(format!("at most {INSTRUCTION_LINES_MAX}; run `serin pin`")));
    }
    let lines = lines.iter().take(INSTRUCTION_LINES_MAX);
    let lines = lines.filter_map(|line| as_said(checker, "a line of 'instructions'", line, TOOL_BYTES_MAX));
    lines.collect::<Vec<_>>().join("\n")
}

/// The tools by name, each as its JSON; the list that they are.
fn tools(checker: &mut Checker<'_>, node: &Node<'_>, instructions: &str) -> Option<Listing> {
    let written = checker.map("'tools' of a lock", node)?;
    if written.len() > TOOLS_MAX {
        let diagnostic = Diagnostic::new(node.place, format!("{} tools", written.len()));
        checker.report(diagnostic.help(format!("at most {TOOLS_MAX}")));
        return None;
    }
    let tools = written.iter().map(|one| tool(checker, one)).collect::<Option<Vec<Value>>>()?;
    Some(tools::pinned(&tools, instructions))
}

fn tool(checker: &mut Checker<'_>, one: &MapEntry<'_>) -> Option<Value> {
    let what = format!("the tool {}", quoted(&one.key));
    let text = as_said(checker, &what, &one.value, TOOL_BYTES_MAX)?;
    let diagnostic = match serde_json::from_str::<Value>(&text) {
        Ok(tool) if tools::name_of(&tool) == one.key => return Some(tool),
        Ok(_) => Diagnostic::new(one.place, format!("{what} has another name in its JSON")),
        Err(error) => Diagnostic::new(one.value.place, format!("{what} is not JSON: {error}")),
    };
    checker.report(diagnostic.help("run `serin pin`, or take the block that `serin accept` prints"));
    None
}
