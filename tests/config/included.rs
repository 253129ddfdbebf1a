//! Files that include others: what comes together, in which order, and which place a fault names.

use std::path::Path;

use serin::config::Loaded;
use serin::config::check::checker::Unset;
use serin::config::load;
use serin::config::read::diagnostic::PlacedDiagnostic;
use serin::config::read::source::{ConfigSource, SourceReader, read};
use tempfile::TempDir;

use crate::secrets;

/// Files by name and text, in a folder of their own.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
    std::fs::write(path, text).expect("written");
}

pub(crate) fn source(folder: &TempDir) -> ConfigSource {
    read(&folder.path().join("monitors.yaml")).expect("the first file can be read")
}

/// A first file that includes this, and the other files.
pub(crate) fn with<'t>(first: &'t str, others: &[(&'t str, &'t str)]) -> Vec<(&'t str, &'t str)> {
    std::iter::once(("monitors.yaml", first)).chain(others.iter().copied()).collect()
}

pub(crate) fn loaded(files: &[(&str, &str)]) -> Loaded {
    load(&source(&folder(files)), &secrets, Unset::Refuse).unwrap_or_else(|faults| panic!("{faults}"))
}

/// `file:line:column message => mend`, one a fault.
#[track_caller]
pub(crate) fn check(sentence: &str, files: &[(&str, &str)], expected: &[&str]) {
    let found = load(&source(&folder(files)), &secrets, Unset::Refuse).expect_err(sentence);
    let line = |fault: &PlacedDiagnostic| {
        let help = fault.help.as_deref().unwrap_or("");
        format!("{}:{}:{} {} => {help}", fault.file, fault.line, fault.column, fault.message)
    };
    assert_eq!(found.list().iter().map(line).collect::<Vec<_>>(), expected, "{sentence}\n{found}");
}

const FIRST: &str = "version: 1\ninclude: [teams/*.yaml]\nreceivers: { all: { webhook: { url: \"https://h/\" } } }\nroutes: [{ to: [all] }]\n";
const DOCS: &str = "monitors:\n  - { id: docs, url: \"https://docs.example.org/mcp\" }\n";

#[test]
fn files_come_together_in_order() {
    let docs = "receivers: { docs: { webhook: { url: \"https://h/docs\" } } }\nroutes:\n  - { match: { labels: { team: docs } }, to: [docs] }\nrunbooks: { timeout: \"https://r/docs\" }\nmonitors:\n  - id: docs\n    url: https://docs.example.org/mcp\n    labels: { team: docs }\n    rules: { availability: { after: 5 } }\n";
    let first = format!(
        "{FIRST}defaults:\n  every: 30s\n  rules: {{ errors: {{ min_bad: 4 }} }}\nmonitors:\n  - {{ id: own, url: \"https://own.example.org/\" }}\n"
    );
    let wiki = "monitors:\n  - id: wiki\n    url: https://wiki.example.org/mcp\n    canaries: [{ id: a, query: b, expect: [c] }]\n";
    let fleet = loaded(&with(&first, &[("teams/wiki.yaml", wiki), ("teams/docs.yaml", docs)])).fleet;
    let ids: Vec<&str> = fleet.monitors.iter().map(|monitor| monitor.id.as_str()).collect();
    assert_eq!(ids, ["own", "docs", "wiki"], "the first file's monitors, then each file's by its path");
    let to: Vec<&str> = fleet.routes.iter().map(|route| route.to[0].as_str()).collect();
    assert_eq!(to, ["docs", "all"], "an included route comes before those of the file that includes it");
    assert_eq!(fleet.receivers.len(), 2);
    assert_eq!(fleet.monitors[1].every.as_secs(), 30, "defaults hold in every file");
    let names: Vec<&str> = fleet.provenance.included.iter().map(|file| file.file.as_str()).collect();
    assert_eq!(names, ["teams/docs.yaml", "teams/wiki.yaml"]);
    let at = |line| fleet.provenance.shown(line);
    assert_eq!(at(fleet.monitors[0].line), "monitors.yaml:9", "a monitor of the first file");
    assert_eq!(at(fleet.monitors[1].line), "teams/docs.yaml:6", "a monitor of an included one");
    assert_eq!(at(fleet.monitors[1].rules.availability.line), "teams/docs.yaml:9", "its own rule");
    assert_eq!(at(fleet.monitors[2].rules.errors.line), "monitors.yaml:7", "a rule that it inherits");
    assert_eq!(at(fleet.monitors[2].canaries[0].line), "teams/wiki.yaml:4", "a canary");
    assert_eq!(at(fleet.routes[0].line), "teams/docs.yaml:3", "a route");
}

#[test]
fn globs_match_what_a_shell_would() {
    let monitor = |id: &str| format!("monitors: [{{ id: {id}, url: \"https://h/\" }}]\n");
    let (a, b, c) = (monitor("a"), monitor("b"), monitor("c"));
    let check = |sentence: &str, globs: &str, expected: &[&str]| {
        let first = format!("version: 1\ninclude: {globs}\n");
        let more = [("a.yaml", &*a), ("t/b.yaml", &*b), ("t/deep/c.yaml", &*c), (".hidden/d.yaml", "- no\n")];
        let fleet = loaded(&with(&first, &more)).fleet;
        let ids: Vec<&str> = fleet.monitors.iter().map(|monitor| monitor.id.as_str()).collect();
        assert_eq!(ids, expected, "{sentence}");
    };
    check("one name, without a list", "a.yaml", &["a"]);
    check("within one folder, the file itself left out", "\"*.yaml\"", &["a"]);
    check("at any depth, and nothing hidden", "\"**/*.yaml\"", &["a", "b", "c"]);
    check("a folder by wildcard", "\"?/*.yaml\"", &["b"]);
    check("a file that two globs match is read once", "[\"t/*\", t/b.yaml, \"./t/**/*.yaml\"]", &["b", "c"]);
}

#[test]
fn includes_go_down_and_circles_end() {
    let first = "version: 1\ninclude: a/one.yaml\nroutes: [{ to: [x] }]\nreceivers: { x: { webhook: { url: \"https://h/\" } } }\n";
    let one = "include: [two.yaml, ../monitors.yaml]\nroutes: [{ match: { severity: page }, to: [x] }]\n";
    let two = "include: [one.yaml]\nroutes: [{ match: { severity: page, signal: access }, to: [x] }]\nmonitors: [{ id: a, url: \"https://h/\", ca: ca.pem }]\n";
    let folder = folder(&with(first, &[("a/one.yaml", one), ("a/two.yaml", two)]));
    let loaded = load(&source(&folder), &secrets, Unset::Warn).unwrap_or_else(|faults| panic!("{faults}"));
    let places: Vec<String> =
        loaded.fleet.routes.iter().map(|route| loaded.fleet.provenance.shown(route.line)).collect();
    assert_eq!(places, ["a/two.yaml:2", "a/one.yaml:2", "monitors.yaml:3"], "the innermost routes first");
    let ca = loaded.fleet.monitors[0].reach.ca.clone();
    assert_eq!(ca, Some(folder.path().join("a/ca.pem").display().to_string()), "paths start where their file lies");
}

#[test]
fn what_two_files_declare_names_both_places() {
    check(
        "a monitor",
        &with(FIRST, &[("teams/a.yaml", DOCS), ("teams/b.yaml", DOCS)]),
        &["teams/b.yaml:2:11 monitor 'docs' is declared twice => give each monitor its own id"],
    );
    let twice = folder(&with(FIRST, &[("teams/a.yaml", DOCS), ("teams/b.yaml", DOCS)]));
    let text = load(&source(&twice), &secrets, Unset::Refuse).expect_err("twice").to_string();
    assert!(text.contains("teams/b.yaml:2:11") && text.contains("teams/a.yaml:2:11"), "{text}");
    let more = "receivers: { all: { webhook: { url: \"https://h/\" } } }\nrunbooks: { timeout: \"https://r/\" }\n";
    check(
        "a receiver and a runbook",
        &with(&format!("{FIRST}runbooks: {{ timeout: \"https://r/\" }}\n{DOCS}"), &[("teams/a.yaml", more)]),
        &[
            "teams/a.yaml:1:14 receiver 'all' is declared twice => give each receiver its own name",
            "teams/a.yaml:2:13 the runbook of 'timeout' is named twice => keep one of the two",
        ],
    );
    check(
        "a route that catches everything, before those of the first file",
        &with(&format!("{FIRST}{DOCS}"), &[("teams/a.yaml", "routes: [{ to: [all] }]\n")]),
        &[
            "monitors.yaml:4:10 route 2 can never match: an earlier one catches all of it => put the narrower route first",
        ],
    );
}

#[test]
fn what_an_included_file_may_not_hold() {
    let alone = "=> move it into the file that Serin is started with; an included one holds version, runbooks, receivers, routes, monitors, include";
    check(
        "what is one for the whole Serin",
        &with(FIRST, &[("teams/a.yaml", &format!("serin: {{ listen: x }}\ndefaults: {{ every: 5s }}\n{DOCS}"))]),
        &[
            &format!("teams/a.yaml:1:1 'serin' stands in an included file {alone}"),
            &format!("teams/a.yaml:2:1 'defaults' stands in an included file {alone}"),
        ],
    );
    check(
        "another version, an unknown key, an anchor of another file",
        &with(
            &format!("{FIRST}x-base: &base {{ every: 60s }}\ndefaults: *base\n"),
            &[("teams/a.yaml", "version: 2\nmonitor: []\n"), ("teams/b.yaml", "monitors: [*base]\n")],
        ),
        &[
            "teams/a.yaml:1:10 this Serin reads version 1 of the file, and this is version '2' => write `version: 1`, or run the Serin that the file is for",
            "teams/a.yaml:2:1 an included file has no key 'monitor' => did you mean 'monitors'?",
            "teams/b.yaml:1:12 alias 'base' has no anchor above it => write `&base` before the value it stands for",
            "teams/b.yaml:1:12 a monitor has no value => give it keys with values, or leave it out",
        ],
    );
    check(
        "no YAML at all, beside a file that is right",
        &with(FIRST, &[("teams/a.yaml", DOCS), ("teams/b.yaml", "monitors: [\n")]),
        &[
            "teams/b.yaml:1:11 this is not YAML: unclosed bracket '[' => the rest of the file is checked once this can be read",
        ],
    );
}

#[test]
fn globs_that_lead_nowhere() {
    let one = |glob: &str| format!("version: 1\ninclude: [{glob}]\n{DOCS}");
    check(
        "a file that is not there",
        &with(&one("teams/docs.yaml"), &[]),
        &[
            "monitors.yaml:2:11 there is no file 'teams/docs.yaml' => create it, or leave it out; paths start where this file lies",
        ],
    );
    check(
        "what is no glob of ours",
        &with(&one("\"teams/[ab].yaml\", \"teams/**\", \"\", { a: b }"), &[]),
        &[
            "monitors.yaml:2:11 the glob 'teams/[ab].yaml' holds a character that is none of ours => `*` and `?` within a name, `**` for folders",
            "monitors.yaml:2:30 the glob 'teams/**' has `**` beside other characters, or at its end => such as `teams/**/*.yaml`",
            "monitors.yaml:2:42 a glob of 'include' is empty => give it a text, or leave it out",
            "monitors.yaml:2:46 a glob of 'include' takes a single value, and this is a map => give it a single value",
        ],
    );
    let deep: Vec<(String, String)> =
        (1..7).map(|at| (format!("{at}.yaml"), format!("include: {}.yaml\n", at + 1))).collect();
    let deep: Vec<(&str, &str)> = deep.iter().map(|(name, text)| (&**name, &**text)).collect();
    check(
        "too deep",
        &with(&one("1.yaml"), &[&deep[..], &[("7.yaml", "{}\n")]].concat()),
        &["4.yaml:1:10 files include one another over more than 4 steps => name the files in the first one"],
    );
    let warned = loaded(&with(&one("\"teams/*.yaml\""), &[])).warnings;
    assert!(warned[0].contains("matches no file"), "a team's folder may still be empty: {warned:?}");
}

#[test]
fn anything_that_changes_changes_the_hash() {
    let folder = folder(&with(FIRST, &[("teams/a.yaml", DOCS)]));
    let mut reader = SourceReader::new(&folder.path().join("monitors.yaml"));
    let mut hash = || reader.read().expect("it can be read").hash;
    let first = hash();
    assert_eq!(first, hash(), "nothing changed");
    let other = DOCS.replace("docs", "wiki");
    write(folder.path(), "teams/b.yaml", &other);
    let second = hash();
    assert_ne!(first, second, "a new file that a glob matches");
    write(folder.path(), "teams/b.yaml", &format!("{other}    # more\n"));
    let third = hash();
    assert_ne!(second, third, "a changed one");
    std::fs::rename(folder.path().join("teams/b.yaml"), folder.path().join("teams/c.yaml")).expect("renamed");
    assert_ne!(third, hash(), "another name");
    std::fs::remove_file(folder.path().join("teams/c.yaml")).expect("removed");
    assert_eq!(first, hash(), "a vanished one");
    write(folder.path(), "monitors.yaml", &FIRST.replace("teams/*", "no/*"));
    assert_ne!(first, hash(), "another glob");
}

#[test]
fn the_commit_is_of_all_files() {
    let folder = folder(&with(FIRST, &[("teams/a.yaml", DOCS)]));
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let done =
            std::process::Command::new("git").arg("-C").arg(folder.path()).args(identity).args(arguments).output();
        assert!(done.expect("git is there").status.success(), "git {arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "monitors.yaml"]);
    git(&["commit", "-qm", "first"]);
    let dirty = || source(&folder).commit.expect("a commit").ends_with("-dirty");
    assert!(dirty(), "an included file that git does not know");
    git(&["add", "."]);
    git(&["commit", "-qm", "second"]);
    assert!(!dirty(), "all as committed");
    write(folder.path(), "teams/a.yaml", &DOCS.replace("docs", "wiki"));
    assert!(dirty(), "an included file that was edited");
}

#[test]
fn bombs_over_many_files_do_not_go_off() {
    let keys: String = (0..2_000).map(|at| format!("  k{at}: 1\n")).collect();
    let merges: String = (0..200).map(|at| format!("x-m{at}: {{ <<: *b }}\n")).collect();
    let file = format!("x-b: &b\n{keys}{merges}");
    let names: Vec<String> = (0..8).map(|at| format!("teams/{at}.yaml")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*file)).collect();
    let found = load(&source(&folder(&with(FIRST, &files))), &secrets, Unset::Refuse).expect_err("a bomb");
    assert!(found.to_string().contains("over the whole file"), "{found}");
}

#[test]
fn anchors_are_shared_by_hundreds_of_monitors() {
    let mut text = "version: 1\nx-base: &base\n  every: 30s\n  canaries: &canaries [{ id: a, query: b, expect: [c] }]\n  rules: { latency: { p95: 1s } }\nmonitors:\n".to_owned();
    for at in 0..600 {
        let how = if at % 2 == 0 { "<<: *base" } else { "canaries: *canaries" };
        text += &format!("  - {{ {how}, id: m{at}, url: \"http://h{at}/\" }}\n");
    }
    let fleet = loaded(&[("monitors.yaml", &text)]).fleet;
    assert_eq!(fleet.monitors.len(), 600);
    for (at, monitor) in fleet.monitors.iter().enumerate() {
        assert_eq!(monitor.canaries, fleet.monitors[0].canaries, "each asks the same");
        assert_eq!(monitor.every.as_secs(), if at % 2 == 0 { 30 } else { 60 }, "and has what it merged");
        assert_eq!((monitor.line, monitor.canaries[0].line), (6 + at as u32 + 1, 4), "where each stands");
    }
    let wrong = text.replace("p95: 1s", "p95: 1");
    check(
        "a fault in what is shared is said once",
        &[("monitors.yaml", &wrong)],
        &["monitors.yaml:5:28 'p95' takes a duration, and this is '1' => a duration needs its unit: '1s', or '1ms'?"],
    );
}
