//! The documentation says what the program does: its table of failure reasons is the enum's, line by line.

use std::path::Path;

use serin::domain::monitor::{MonitorId, ProbeIdentity};
use serin::domain::reason::FailureReason;
use serin::domain::secret::Secret;

const BEGIN: &str = "<!-- reasons: generated, `cargo test --test docs` prints it -->\n";
const END: &str = "<!-- /reasons -->";

fn table() -> String {
    let mut table = String::from("| layer | reason | signal | severity | meaning |\n|---|---|---|---|---|\n");
    for reason in FailureReason::ALL {
        let facts = reason.facts();
        let planned = if facts.checked { "" } else { " *planned*" };
        table += &format!(
            "| {} | `{}`{planned} | {} | {} | {} |\n",
            facts.layer.title(),
            facts.slug,
            facts.signal.slug(),
            facts.severity.slug(),
            facts.meaning
        );
    }
    table
}

#[test]
fn the_page_of_reasons_is_the_programs_own_list() {
    let page = page("docs/reasons.md");
    let (_, rest) = page.split_once(BEGIN).expect("the table's first mark is there");
    let (found, _) = rest.split_once(END).expect("the table's second mark is there");
    assert!(found == table(), "put this between the marks of docs/reasons.md:\n\n{}", table());
}

#[test]
fn every_command_is_named() {
    let page = page("docs/operating.md");
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_serin")).arg("--help").output().expect("serin runs");
    let help = String::from_utf8(help.stdout).expect("help is text");
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    for line in commands.take_while(|line| line.starts_with("  ")) {
        let name = line.split_whitespace().next().expect("a command has a name");
        assert!(name == "help" || page.contains(&format!("`serin {name}")), "no `serin {name}` in the page");
    }
}

#[test]
fn the_example_verifies_a_signature_as_the_specification_does() {
    let example = example("docs/paging.md", "def genuine(");
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
    let example = example("docs/monitors.md", "def probe_of(");
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

/// A page, by its path from the root.
fn page(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the page can be read")
}

/// The Python example of a page that defines this.
fn example(path: &str, definition: &str) -> String {
    let page = page(path);
    let mut blocks = page.split("```python\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.find(|block| block.contains(definition)).expect("there is an example").to_owned()
}

fn run(python: &str) {
    let ran = std::process::Command::new("python3").args(["-c", python]).output().expect("python3 is there");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
