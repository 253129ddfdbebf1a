//! Examples do what the page says: the Python verifies what Serin signs, and the YAML is accepted as it stands.

use serin::config::check::checker::Unset;
use serin::config::load;
use serin::config::read::source::read;
use serin::domain::monitor::{MonitorId, ProbeIdentity};
use serin::domain::secret::Secret;

use crate::{documentation, text};

/// What completes an example that shows a part of a file.
const VERSION: &str = "version: 1\n";
const RECEIVERS: &str = "receivers: { all: { webhook: { url: \"https://example.org/\" } } }\nroutes: [{ to: [all] }]\n";
const MONITOR: &str = "monitors: [{ id: docs, url: \"https://docs.example.org/mcp\" }]\n";

#[test]
fn every_monitors_yaml_is_accepted() {
    let (mut seen, mut refused) = (0, Vec::new());
    for page in documentation() {
        for example in blocks(&text(&page), "yaml") {
            let has = |key: &str| example.lines().any(|line| line.starts_with(key));
            let mut file = example.clone();
            if !has("version:") {
                file.insert_str(0, VERSION);
            }
            if !has("receivers:") {
                file.push_str(RECEIVERS);
            }
            if !has("monitors:") {
                file.push_str(MONITOR);
            }
            let folder = tempfile::tempdir().expect("a folder");
            if has("include:") {
                std::fs::create_dir(folder.path().join("teams")).expect("a folder for what it includes");
                std::fs::write(folder.path().join("teams/a.yaml"), MONITOR.replace("docs", "of-a-team"))
                    .expect("a file");
            }
            if example.contains("file: golden/") {
                let set = blocks(&text(&page), "json").into_iter().find(|block| block.starts_with("{\"id\""));
                std::fs::create_dir(folder.path().join("golden")).expect("a folder for its golden set");
                std::fs::write(folder.path().join("golden/docs.jsonl"), set.expect("the page shows one"))
                    .expect("a file");
            }
            let path = folder.path().join("monitors.yaml");
            std::fs::write(&path, &file).expect("a file");
            let source = read(&path).expect("it can be read");
            // Secrets of an example are nowhere; of the warnings only theirs may come.
            match load(&source, &|_| None, Unset::Warn) {
                Ok(loaded) => {
                    let is_secret = |said: &String| said.contains("is not set") || said.contains("/run/secrets/");
                    let other = loaded.warnings.iter().filter(|said| !is_secret(said));
                    refused.extend(other.map(|said| format!("{page}:\n{said}")));
                }
                Err(faults) => refused.push(format!("{page}:\n{faults}")),
            }
            seen += 1;
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(seen >= 10, "{seen} examples were found: are they read at all?");
}

#[test]
fn the_example_verifies_a_signature_as_the_specification_does() {
    let example = python("docs/paging-details.md", "def genuine(");
    // The vector of the specification's own libraries, and the same with one byte of the body changed.
    let check = r#"
headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
assert genuine(secret, headers, b'{"test": 2432232314}'), "the right body"
assert not genuine(secret, headers, b'{"test": 2432232315}'), "another body"
"#;
    run(&format!("{example}{check}"));
}

#[test]
fn the_example_knows_a_probe_by_its_header() {
    let example = python("docs/monitors.md", "def probe_of(");
    let identity = ProbeIdentity { key: "ops-1".to_owned(), secret: Secret::new("correct horse battery staple") };
    let at = "2026-11-21T09:14:03Z".parse().expect("a moment");
    let header = serin::probe::decode::identity::header(&identity, &MonitorId::new("docs"), at).expect("a header");
    let header = header.to_str().expect("it is ASCII");
    let check = format!(
        r#"
header, then = "{header}", 1795252443
assert probe_of(header, then + 200) == "docs", "the right one"
assert probe_of(header, then + 400) is None, "too late"
assert probe_of(header.replace("docs", "other"), then) is None, "another monitor's"
assert probe_of(header.replace("ops-1", "ops-2"), then) is None, "an unknown key"
assert probe_of("nonsense", then) is None, "nonsense"
"#
    );
    run(&format!("{example}{check}"));
}

/// The fenced blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mark = format!("```{language}\n");
    page.split(&mark).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

/// The Python example of a page that defines this.
fn python(page: &str, definition: &str) -> String {
    let mut blocks = blocks(&text(page), "python").into_iter();
    blocks.find(|block| block.contains(definition)).expect("there is an example")
}

fn run(python: &str) {
    let ran = std::process::Command::new("python3").args(["-c", python]).output().expect("python3 is there");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
