//! monitors.yaml, read into a tree that keeps its places, then checked by hand-written rules into domain values.
//!
//! Nothing invalid gets past here, and a file is refused with everything that is wrong with it at
//! once, each fault with its place and its mend. What a file resolves from the environment is
//! never shown. Read: `source` (bytes and commit), `tree` (YAML with places), `fault` (how it is
//! said), `reference` (`${…}`), `checker` and `scalars` (what all sections share), then the
//! sections: `process`, `receivers`, `routes`, `layers` (defaults beneath a monitor), `search`,
//! `rules`, `canaries`, `caps`, `auth`, `reach`, `way`, `monitors`, `heartbeat`, `logging`; last `fingerprint`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::checker::{Checker, Unset};
use crate::config::fault::{Collector, Fault, Faults, Place};
use crate::config::logging::Log;
use crate::config::source::Source;
use crate::config::tree::{Entry, Node, Tree, Value};
use crate::domain::fleet::{Fleet, Provenance, Secret};

pub mod auth;
pub mod canaries;
pub mod caps;
pub mod checker;
pub mod fault;
pub mod fingerprint;
pub mod heartbeat;
pub mod layers;
pub mod logging;
pub mod monitors;
pub mod process;
pub mod retention;
pub mod reach;
pub mod receivers;
pub mod reference;
pub mod routes;
pub mod rules;
pub mod scalars;
pub mod search;
pub mod source;
pub mod tree;
pub mod way;

/// A file that was found valid.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What the process itself needs.
    pub settings: Settings,
    /// What it declares.
    pub fleet: Fleet,
    /// Warnings, rendered.
    pub warnings: Vec<String>,
}

/// The part of `serin:` that is read once, at start.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where the pages are served.
    pub listen: SocketAddr,
    /// The database file, relative to the file that names it.
    pub database: PathBuf,
    /// The token for the API and for signing in; demanded where `listen` is no loopback address.
    pub token: Option<Secret>,
    /// What is logged; this part may change while the process lives.
    pub log: Log,
}

const KEYS: &[&str] = &["version", "serin", "defaults", "runbooks", "receivers", "routes", "monitors"];
/// Keys starting with `x-`; each key of the file is compared with each of them.
const EXTENSIONS_MAX: usize = 200;
const LATER: &[&str] = &["include", "maintenance", "locations"];

/// Checks a file and gives what it declares, or everything that is wrong with it.
///
/// `env` looks a variable up; tests and the demo give their own. Reads the files that `${file:…}`
/// names, so it blocks.
pub fn load(source: &Source, env: &dyn Fn(&str) -> Option<String>, strictness: Unset) -> Result<Loaded, Faults> {
    let lossy = String::from_utf8_lossy(&source.bytes);
    let text = lossy.trim_start_matches('\u{feff}');
    let mut found = Collector::default();
    if let Err(error) = std::str::from_utf8(&source.bytes) {
        let line = source.bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        let at = u32::try_from(error.valid_up_to()).unwrap_or(u32::MAX);
        let place = Place { start: at, end: at, line: u32::try_from(line).unwrap_or(u32::MAX) };
        found.add(Fault::new(place, "this is not UTF-8 text").help("save the file as UTF-8"));
        return Err(found.finish(&source.name, text, true));
    }
    let Some(tree) = tree::parse(text, &mut found) else { return Err(found.finish(&source.name, text, true)) };
    let mut checker = Checker::new(found, env, strictness);
    let parts = document(&mut checker, &tree, source.path.parent().unwrap_or(Path::new("")));
    let refused = checker.found.errors() > 0;
    let faults = checker.found.finish(&source.name, text, false);
    match parts {
        Some((settings, mut fleet)) if !refused => {
            fleet.provenance =
                Provenance { file: source.name.clone(), hash: source.hash.clone(), commit: source.commit.clone() };
            Ok(Loaded { settings, fleet, warnings: faults.warnings })
        }
        _ => Err(faults),
    }
}

fn document(checker: &mut Checker<'_>, tree: &Tree<'_>, folder: &Path) -> Option<(Settings, Fleet)> {
    let entries = checker.map("the file", &tree.root)?;
    let extensions = entries.iter().filter(|entry| holds_anchors(checker, tree, entry)).take(EXTENSIONS_MAX);
    let anchors: Vec<&str> = extensions.map(|entry| &*entry.key).collect();
    let known: Vec<&str> = KEYS.iter().copied().chain(anchors).collect();
    let fields = checker.fields("the file", &tree.root, &known, LATER)?;
    let node = |key| fields.get(key).map(|entry| &*entry.value);
    version(checker, fields.get("version"));
    let process = process::process(checker, node("serin"), folder);
    let runbooks = process::runbooks(checker, node("runbooks"));
    let has_smtp = match node("serin").map(|node| &node.value) {
        Some(Value::Map(entries)) => entries.iter().any(|entry| entry.key == "smtp"),
        _ => false,
    };
    let receivers = receivers::receivers(checker, node("receivers"), has_smtp);
    let defaults = monitors::defaults(checker, node("defaults"), folder);
    let mut monitors = match fields.get("monitors") {
        Some(entry) => monitors::monitors(checker, entry, &defaults),
        None => {
            let start = Place { start: 0, end: 0, line: 1 };
            checker.missing(
                "the file",
                start,
                "monitors",
                "a list with at least one monitor: `- { id: docs, url: … }`",
            );
            monitors::Monitors::default()
        }
    };
    for monitor in &mut monitors.list {
        Arc::make_mut(monitor).identity.clone_from(&process.identity);
    }
    let routes = routes::routes(checker, node("routes"), &receivers, &monitors.places);
    for (name, place) in &process.internal {
        receivers.known(checker, "'internal' notifies", name, *place);
    }
    if checker.found.errors() == 0 {
        let top = fields.get("routes").or(fields.get("monitors")).map(|entry| entry.place).unwrap_or_default();
        routes::coverage(checker, &routes, &monitors.list, top);
        receivers.unused(checker, &routes, &process.internal);
    }
    let fleet = Fleet {
        provenance: Provenance::default(),
        monitors: monitors.list,
        receivers: receivers.list,
        routes: routes.into_iter().map(|(route, _)| route).collect(),
        internal: process.internal.into_iter().map(|(name, _)| name).collect(),
        runbooks,
        allow_private: process.allow_private,
        control: process.control,
        heartbeat: process.heartbeat,
        retention: process.retention,
        smtp: process.smtp,
        public_url: process.public_url,
    };
    Some((process.settings, fleet))
}

/// Whether a key starting with `x-` is there for its anchors, and one of them is used; else it would be ignored in silence.
fn holds_anchors(checker: &mut Checker<'_>, tree: &Tree<'_>, entry: &Entry<'_>) -> bool {
    if !entry.key.starts_with("x-") {
        return false;
    }
    let Node { place, .. } = &*entry.value;
    if !tree.referred.iter().any(|used| place.start <= used.start && used.end <= place.end) {
        let fault = Fault::new(entry.place, format!("nothing refers to an anchor in {}", fault::quoted(&entry.key)));
        checker.fault(fault.help("keys starting with `x-` hold `&anchors` for use elsewhere; leave it out"));
    }
    true
}

fn version(checker: &mut Checker<'_>, entry: Option<&Entry<'_>>) {
    let Some(entry) = entry else {
        let start = Place { start: 0, end: 0, line: 1 };
        checker.missing("the file", start, "version", "start with `version: 1`");
        return;
    };
    let Some((text, plain)) = checker.scalar("'version'", &entry.value) else { return };
    if text != "1" || !plain {
        let message = format!("this Serin reads version 1 of the file, and this is version {}", fault::quoted(text));
        checker.fault(
            Fault::new(entry.value.place, message).help("write `version: 1`, or run the Serin that the file is for"),
        );
    }
}
