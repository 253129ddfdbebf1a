//! The house holds: arrows run downward only, between rooms and inside them; no file knows itself by way of others; and
//! `domain` is pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Every room of the monitor and the rooms it may use. A new arrow is a decision, and it is made here.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("net", &[]),
    ("untrusted_text", &["domain"]),
    ("live", &["domain"]),
    ("tool_lists", &["domain", "untrusted_text"]),
    // Whether a question gets to its place is decided where it is put there.
    ("config", &["domain", "net", "tool_lists"]),
    ("deliver", &["domain", "net"]),
    ("store", &["domain", "live"]),
    ("probe", &["domain", "net", "untrusted_text", "tool_lists"]),
    // Past files are read to be weighed by, and texts of the past as they were.
    ("hindsight", &["domain", "config", "store", "probe"]),
    // Lists of servers that the file names are fetched as documents.
    ("daemon", &["domain", "net", "live", "config", "tool_lists", "store", "probe", "deliver"]),
    ("web", &["domain", "live", "store", "deliver", "hindsight"]),
    ("app", &["domain", "net", "live", "config", "store", "probe", "deliver", "daemon", "web"]),
    ("cli", &["domain", "net", "config", "tool_lists", "store", "probe", "deliver", "hindsight", "app"]),
    ("main", &["live", "cli"]),
];

/// The second floor plans: what lies in a room, from the top; each may use what stands behind it.
const INSIDE: &[(&str, &[&str])] = &[
    ("config", &["describe", "check", "read"]),
    ("store", &["write", "read", "packed", "server", "file", "values", "sql"]),
    ("probe", &["explore", "prober", "stages", "access", "session", "wire", "standstill", "assignment", "decode"]),
    (
        "live",
        &[
            "drawn_view",
            "followed",
            "state",
            "standing",
            "published",
            "monitor_view",
            "quiets",
            "nodes",
            "listings",
            "banner",
            "glance",
            "process_metrics",
            "search_metrics",
            "drill_metrics",
            "footprint",
        ],
    ),
];

/// The packages. The monitor's is the one with rooms; in the others no circle may arise either.
const PACKAGES: &[&str] = &["src", "reference/src", "outbound/src", "bench/src", "bench/others/src"];

/// What may never appear in `domain`.
const IMPURE: &[&str] = &[
    "tokio",
    "async fn",
    ".await",
    "serde",
    "sqlx",
    "hyper",
    "reqwest",
    "std::net",
    "std::fs",
    "std::env",
    "std::process",
    "std::io",
    "SystemTime::now",
    "Instant::now",
    "Utc::now",
    "Local::now",
    "tracing::",
    "rand::",
];

/// A file of a package: its module path, such as `probe::wire::reply`, and its text without comments and tests.
struct Source {
    module: String,
    path: PathBuf,
    text: String,
}

fn sources(package: &str) -> Vec<Source> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
    let mut found = Vec::new();
    walk(&root, &mut found);
    let source = |path: PathBuf| {
        let inside = path.strip_prefix(&root).expect("it is below the package").with_extension("");
        let names: Vec<String> = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        let module = names.join("::");
        let text = std::fs::read_to_string(&path).expect("a source is text");
        // Tests may look upward: they put a room to use as those above it do.
        let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        Source { module: module.strip_suffix("::mod").unwrap_or(&module).to_owned(), path, text: code.join("\n") }
    };
    let tests = |source: &Source| source.module.ends_with("tests");
    found.into_iter().map(source).filter(|source| !tests(source)).collect()
}

/// Every path that a text names behind `crate::`, braces undone: `domain::fleet::Monitor`.
fn named(text: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for prefix in ["crate::", "serin::"] {
        for (at, _) in text.match_indices(prefix) {
            if !text[..at].ends_with(|c: char| {
                c.is_alphanumeric() || c == '_' || c == ':' || c == ' ' && text[..at].ends_with("in ")
            }) {
                undone(String::new(), &text[at + prefix.len()..], &mut paths);
            }
        }
    }
    paths
}

/// Follows one path from its first name on; where it opens a brace, each of what stands inside. Answers what is left.
fn undone<'t>(before: String, text: &'t str, paths: &mut BTreeSet<String>) -> &'t str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let path = format!("{before}{}", &text[..end]);
    let rest = &text[end..];
    let Some(mut rest) = rest.strip_prefix('{') else {
        paths.insert(path.trim_end_matches(':').trim_end_matches("::self").to_owned());
        return rest;
    };
    while !rest.is_empty() {
        rest = undone(path.clone(), rest.trim_start(), paths);
        // What follows a name inside braces: ` as other`, a comma, the end.
        let next = rest.find([',', '}']).unwrap_or(rest.len());
        let ended = rest[next..].starts_with('}');
        rest = rest.get(next + 1..).unwrap_or_default();
        if ended || rest.trim_start().starts_with('}') {
            return if ended { rest } else { rest.trim_start().get(1..).unwrap_or_default() };
        }
    }
    rest
}

/// Which files of a package use which, by module path. What a `mod.rs` passes on counts as the file that defines it.
fn uses(sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeSet<&str> = sources.iter().map(|source| &*source.module).collect();
    let mut passed_on = BTreeMap::new();
    for source in sources {
        for line in source.text.split(';').filter_map(|line| line.trim_start().strip_prefix("pub use ")) {
            let mut paths = BTreeSet::new();
            undone(format!("{}::", source.module), line.trim_start_matches("self::"), &mut paths);
            for path in paths {
                let (from, item) = path.rsplit_once("::").expect("it names a child's item");
                passed_on.insert(format!("{}::{item}", source.module), from.to_owned());
            }
        }
    }
    let defined_in = |path: &str| {
        let mut path = path;
        loop {
            if let Some(from) = passed_on.get(path) {
                return Some(from.clone());
            }
            if modules.contains(path) {
                return Some(path.to_owned());
            }
            path = path.rsplit_once("::")?.0;
        }
    };
    let of = |source: &Source| {
        let mut files: BTreeSet<String> = named(&source.text).iter().filter_map(|path| defined_in(path)).collect();
        files.remove(&source.module);
        (source.module.clone(), files)
    };
    sources.iter().map(of).collect()
}

/// The name at a depth of a module path; for `probe::wire::reply` at 1: `wire`.
fn at(module: &str, depth: usize) -> Option<&str> {
    module.split("::").nth(depth)
}

/// The first way from a node back to itself.
fn circle(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn back(
        arrows: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        to: &str,
        seen: &mut BTreeSet<String>,
    ) -> bool {
        let here = way.last().cloned().unwrap_or_default();
        for next in arrows.get(&here).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next.clone()) {
                way.push(next.clone());
                if back(arrows, way, to, seen) {
                    return true;
                }
                way.pop();
            }
        }
        false
    }
    arrows.keys().find_map(|start| {
        let mut way = vec![start.clone()];
        back(arrows, &mut way, start, &mut BTreeSet::new()).then_some(way)
    })
}

#[test]
fn arrows_between_rooms_run_downward_only() {
    let plan: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources("src").iter().filter(|source| source.module != "lib") {
        let room = at(&source.module, 0).expect("it has a name");
        let Some(allowed) = plan.get(room) else {
            wrong.push(format!("{}: room '{room}' is not in the plan", source.path.display()));
            continue;
        };
        for path in named(&source.text) {
            let other = at(&path, 0).unwrap_or_default();
            if other != room && !allowed.contains(&other) {
                wrong.push(format!("{}: '{room}' may not use '{other}'", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let arrows = ARROWS.iter().map(|(room, uses)| (room.to_string(), uses.iter().map(ToString::to_string).collect()));
    assert_eq!(circle(&arrows.collect()), None, "the plan itself has a circle");
}

#[test]
fn arrows_inside_rooms_run_downward_only() {
    let mut wrong = Vec::new();
    for (module, files) in uses(&sources("src")) {
        let Some((room, order)) = INSIDE.iter().find(|(room, _)| at(&module, 0) == Some(room)) else { continue };
        let floor = |module: &str| {
            let name = at(module, 1)?;
            Some((order.iter().position(|known| *known == name), name.to_owned()))
        };
        // The room's own `mod.rs` names its children, and nothing else.
        let Some((here, name)) = floor(&module) else { continue };
        let Some(here) = here else {
            wrong.push(format!("'{room}::{name}' is not in the plan of its room"));
            continue;
        };
        for file in files.iter().filter(|file| at(file, 0) == Some(room)) {
            match floor(file) {
                Some((Some(there), _)) if there >= here => {}
                Some((_, other)) => wrong.push(format!("{module}: '{room}::{name}' may not use '{room}::{other}'")),
                None => wrong.push(format!("{module}: uses '{room}' whole; name the file that defines what it needs")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_mod_file_only_names_its_children() {
    // Whatever else stood there could name them without `crate::`, which nobody would see from here.
    let mut wrong = Vec::new();
    let all = PACKAGES.iter().flat_map(|package| sources(package));
    for source in all.filter(|source| source.path.ends_with("mod.rs")) {
        let lines = source.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#["));
        let is_word = |line: &str| {
            line.ends_with(';')
                && (line.contains("mod ") || line.starts_with("pub use ") || line.starts_with("pub(crate) use "))
        };
        wrong.extend(lines.filter(|line| !is_word(line)).map(|line| format!("{}: {line}", source.path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_knows_itself_by_way_of_others() {
    for package in PACKAGES {
        let files = uses(&sources(package));
        assert_eq!(circle(&files), None, "{package}: these files use each other in a circle");
        // The same for what lies side by side in a room, be it a folder or a file.
        let rooms: BTreeSet<&str> = files.keys().filter_map(|module| at(module, 0)).collect();
        for room in rooms {
            let mut children: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (module, used) in files.iter().filter(|(module, _)| at(module, 0) == Some(room)) {
                let Some(here) = at(module, 1) else { continue };
                let others = used.iter().filter(|file| at(file, 0) == Some(room)).filter_map(|file| at(file, 1));
                let entry = children.entry(here.to_owned()).or_default();
                entry.extend(others.filter(|other| *other != here).map(str::to_owned));
            }
            assert_eq!(circle(&children), None, "{package}: '{room}' has a circle inside");
        }
    }
}

#[test]
fn the_laboratory_stands_outside_of_what_it_breaks() {
    const SITES_MAX: usize = 9;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/src");
    let mut sites = Vec::new();
    for source in sources("reference/src") {
        let name = source.path.strip_prefix(&root).expect("it is below").display().to_string();
        if source.module == "lib" || name.starts_with("lab/") {
            continue;
        }
        let text = std::fs::read_to_string(&source.path).expect("a source is text");
        // A seam that only the laboratory needs says so, and why; and so does a command that uses it.
        sites
            .extend(text.lines().filter(|line| line.trim_start().starts_with("// Laboratory: ")).map(|_| name.clone()));
        let uses = named(&source.text).iter().any(|path| at(path, 0) == Some("lab"));
        let speaks = source.text.contains("Fault::") || source.text.contains("Faults");
        assert!(!(uses || speaks) || name.starts_with("cli/"), "{name} knows of the laboratory");
        assert!(!uses || text.contains("// Laboratory: "), "{name} uses the laboratory and does not say why");
    }
    assert!(sites.len() <= SITES_MAX, "{} sites outside of lab/: {sites:?}", sites.len());
}

/// The plan as people read it, from the top.
fn picture() -> String {
    let inside: BTreeMap<&str, &[&str]> = INSIDE.iter().copied().collect();
    let room = |(room, uses): &(&str, &[&str])| {
        let uses = if uses.is_empty() { String::new() } else { format!(" → {}", uses.join(", ")) };
        let children = inside.get(room).map(|all| format!("    inside: {}\n", all.join(", "))).unwrap_or_default();
        format!("{room}{uses}\n{children}")
    };
    ARROWS.iter().rev().map(room).collect()
}

#[test]
fn a_probe_judges_nothing() {
    // It may use `domain` for its words; what they mean is for whoever asked.
    let judges = |path: &String| path.starts_with("domain::classify") || path.starts_with("domain::standing");
    for source in sources("src").iter().filter(|source| at(&source.module, 0) == Some("probe")) {
        let found = named(&source.text).into_iter().find(judges);
        assert_eq!(found, None, "{}: a probe tells what it saw", source.path.display());
    }
}

#[test]
fn the_picture_for_people_is_the_plan() {
    const BEGIN: &str = "<!-- plan: `cargo test --test floors` prints it -->\n```\n";
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/CONTRIBUTING.md")).expect("it can be read");
    let (_, rest) = text.split_once(BEGIN).expect("the first mark is there");
    let (found, _) = rest.split_once("```\n<!-- /plan -->").expect("the second mark is there");
    assert!(found == picture(), "put this between the marks of CONTRIBUTING.md:\n\n{}", picture());
}

#[test]
fn the_places_to_look_at_first_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("CONTRIBUTING.md")).expect("it can be read");
    let named = text.split('`').filter(|name| name.contains('/') && !name.contains(' '));
    let missing: Vec<&str> = named.filter(|name| !root.join(name).exists()).collect();
    assert!(missing.is_empty(), "CONTRIBUTING.md names what is not there: {missing:?}");
}

#[test]
fn the_domain_is_pure() {
    let mut wrong = Vec::new();
    for source in sources("src").iter().filter(|source| at(&source.module, 0) == Some("domain")) {
        for word in IMPURE.iter().filter(|word| source.text.contains(**word)) {
            wrong.push(format!("{}: `{word}` has no place in domain", source.path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn paths_are_read_as_the_compiler_reads_them() {
    let read = |text: &str| named(text).into_iter().collect::<Vec<_>>().join(" ");
    let rows = [
        ("use crate::a::b;", "a::b", "one item"),
        ("use crate::a::{self, b::C, d::{E, F as G}, h};", "a a::b::C a::d::E a::d::F a::h", "braces in braces"),
        ("use crate::a::{\n    b,\n    c::D,\n};\nuse crate::e;", "a::b a::c::D e", "over several lines"),
        ("let x = crate::a::b::c(1);", "a::b::c", "in the middle of a line"),
        ("pub(in crate::a) fn b() {}", "", "who may see is no arrow"),
        ("use mycrate::a;", "", "another crate whose name ends alike"),
    ];
    for (text, paths, sentence) in rows {
        assert_eq!(read(text), paths, "{sentence}");
    }
}
