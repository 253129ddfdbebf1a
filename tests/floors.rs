//! The house holds: arrows run downward only, and `domain` is pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Every room and the rooms it may use. A new arrow is a decision, and it is made here.
const ARROWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("net", &[]),
    ("config", &["domain", "net"]),
    ("store", &["domain"]),
    ("probe", &["domain", "net"]),
    ("deliver", &["domain", "net"]),
    ("daemon", &["domain", "config", "store", "probe", "deliver"]),
    ("web", &["domain", "store", "deliver"]),
    ("app", &["domain", "config", "store", "probe", "deliver", "daemon", "web", "net"]),
    ("cli", &["domain", "config", "store", "probe", "deliver", "net", "app"]),
    ("main", &["cli"]),
];

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

fn sources() -> Vec<(String, PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("src can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    found
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(&root).expect("it is below src");
            let first = inside.iter().next().expect("it has a name").to_string_lossy();
            let room = first.trim_end_matches(".rs").to_owned();
            let text = std::fs::read_to_string(&path).expect("a source is text");
            (room, path, text)
        })
        .collect()
}

/// Rooms a text names: `crate::room` anywhere, and `serin::room` in the binary.
fn named(text: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for prefix in ["crate::", "serin::"] {
            for (at, _) in line.match_indices(prefix) {
                if at > 0 && line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let rest = &line[at + prefix.len()..];
                let room: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                rooms.insert(room);
            }
        }
    }
    rooms
}

#[test]
fn arrows_run_downward_only() {
    let plan: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        if room == "lib" {
            continue;
        }
        let Some(allowed) = plan.get(room.as_str()) else {
            wrong.push(format!("{}: room '{room}' is not in the plan", path.display()));
            continue;
        };
        for other in named(&text) {
            if other != room && !allowed.contains(&other.as_str()) {
                wrong.push(format!("{}: '{room}' may not use '{other}'", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_plan_itself_has_no_circle() {
    let plan: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    fn reaches(plan: &BTreeMap<&str, &[&str]>, from: &str, to: &str) -> bool {
        plan.get(from).is_some_and(|next| next.iter().any(|room| *room == to || reaches(plan, room, to)))
    }
    for (room, _) in ARROWS {
        assert!(!reaches(&plan, room, room), "'{room}' leads back to itself");
    }
}

#[test]
fn the_domain_is_pure() {
    let mut wrong = Vec::new();
    for (_, path, text) in sources().into_iter().filter(|(room, _, _)| room == "domain") {
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for word in IMPURE.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{}:{}: `{word}` has no place in domain", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
