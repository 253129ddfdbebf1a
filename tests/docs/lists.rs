//! Lists of the documentation are the program's own: failure reasons, keys of monitors.yaml, commands and their options.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;
use serin::domain::reason::FailureReason;

use crate::{documentation, pages, root, text};

/// Set, tables are written in the place of being compared.
const WRITE: &str = "SERIN_DOCS_WRITE";

/// Compares a generated text with what stands between its marks.
pub(crate) fn check_generated(page: &str, name: &str, generated: &str) {
    let begin = format!("<!-- {name}: generated, `{WRITE}=1 cargo test --test docs` writes it -->\n");
    let end = format!("<!-- /{name} -->");
    let whole = text(page);
    let (before, rest) = whole.split_once(&begin).unwrap_or_else(|| panic!("{page} has {begin}"));
    let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} has {end}"));
    if std::env::var_os(WRITE).is_some() {
        let written = format!("{before}{begin}{generated}{end}{after}");
        std::fs::write(root().join(page), written).expect("the page can be written");
    } else {
        assert!(found == generated, "`{WRITE}=1 cargo test --test docs` writes this into {page}:\n\n{generated}");
    }
}

#[test]
fn the_failure_reasons_are_the_programs() {
    let mut table = String::from("| layer | reason | signal | severity | meaning |\n|---|---|---|---|---|\n");
    for reason in FailureReason::ALL {
        let facts = reason.facts();
        table += &format!(
            "| {} | `{}` | {} | {} | {} |\n",
            facts.layer.title(),
            facts.slug,
            facts.signal.slug(),
            facts.severity.slug(),
            facts.meaning
        );
    }
    check_generated("docs/reasons.md", "reasons", &table);
}

/// Every key below this, each with its description, in the schema's order.
fn keys(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        keys(one, path, found);
    }
    for (key, inside) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let described = inside["description"].as_str().expect("every key is described");
        found.push((path.clone(), described.to_owned()));
        keys(inside, &path, found);
    }
    for inside in [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|one| one.is_object()) {
        keys(inside, path, found);
    }
}

#[test]
fn the_keys_are_the_programs() {
    let schema: Value = serde_json::from_str(&text("docs/monitors.schema.json")).expect("it is JSON");
    let mut table = String::new();
    for (section, inside) in schema["properties"].as_object().expect("the file is a map") {
        let said = inside["description"].as_str().expect("every key is described");
        table += &format!("\n## `{section}`\n\n{said}\n");
        let mut found = Vec::new();
        keys(inside, "", &mut found);
        // A receiver or a list may be written in more than one way, and shows its keys in each.
        let mut seen = BTreeSet::new();
        found.retain(|(key, _)| seen.insert(key.clone()));
        match section.as_str() {
            "defaults" => {
                let top = found.iter().filter(|(key, _)| !key.contains('.'));
                let names: Vec<String> = top.map(|(key, _)| format!("`{key}`")).collect();
                table += &format!(
                    "\nIt takes these keys of `monitors`, with all that is below them: {}.\n",
                    names.join(", ")
                );
                continue;
            }
            "runbooks" => found.retain(|(key, _)| FailureReason::from_slug(key).is_none()),
            _ => {}
        }
        if !found.is_empty() {
            table += "\n| key | means |\n|---|---|\n";
        }
        for (key, said) in found {
            table += &format!("| `{key}` | {} |\n", said.replace('|', "\\|"));
        }
    }
    check_generated("docs/keys.md", "keys", &format!("{table}\n"));
}

/// What a command prints for `--help`.
fn help(command: &[&str]) -> String {
    let printed = Command::new(env!("CARGO_BIN_EXE_serin")).args(command).arg("--help").output().expect("serin runs");
    String::from_utf8(printed.stdout).expect("help is text")
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// Every command with its help, such as `probe` and `reference serve`.
fn commands() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for name in listed(&help(&[])) {
        let said = help(&[&name]);
        for below in listed(&said) {
            all.insert(format!("{name} {below}"), help(&[&name, &below]));
        }
        all.insert(name, said);
    }
    assert!(all.contains_key("reference serve"), "commands below commands are found");
    all
}

/// What a page shows as typed into a shell: inline code, and the lines of its `sh` blocks.
fn typed(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut shell = false;
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Code(code) => found.push(code.into_string()),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => shell = &*language == "sh",
            Event::End(TagEnd::CodeBlock) => shell = false,
            Event::Text(lines) if shell => {
                found.extend(lines.lines().flat_map(|line| line.split(" | ")).map(str::to_owned));
            }
            _ => {}
        }
    }
    found.retain(|line| line.starts_with("serin "));
    found
}

#[test]
fn every_command_is_named_and_every_named_one_is_there() {
    let commands = commands();
    let mut named = BTreeSet::new();
    let mut all = documentation();
    all.push("CONTRIBUTING.md".to_owned());
    all.extend(pages("docs/databases"));
    for page in all {
        for line in typed(&text(&page)) {
            let line = line.split(" #").next().unwrap_or_default();
            let words: Vec<&str> = line.split([' ', '[', ']', '=']).filter(|word| !word.is_empty()).skip(1).collect();
            let two = words.get(..2).map(|two| two.join(" ")).filter(|two| commands.contains_key(two));
            let Some(name) = two.or_else(|| words.first().map(|word| (*word).to_owned())) else { continue };
            // `serin COMMAND --help` and `serin --help` name none.
            if name.starts_with("--") || name.chars().all(char::is_uppercase) {
                continue;
            }
            let help = commands.get(&name).unwrap_or_else(|| panic!("{page}: there is no command `{line}`"));
            assert!(
                name.contains(' ') || listed(help).is_empty() || words.len() == 1 || words[1].starts_with("--"),
                "{page}: `{name}` has no command of `{line}`"
            );
            for option in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(option), "{page}: `{name}` has no {option}: `{line}`");
            }
            named.insert(name);
        }
    }
    let unnamed: Vec<&String> = commands.keys().filter(|name| !named.contains(*name) && *name != "reference").collect();
    assert!(unnamed.is_empty(), "no page names {unnamed:?}");
}
