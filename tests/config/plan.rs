//! `serin plan`: what a change would change, and who would be told otherwise.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const OLD: &str = "version: 1
defaults: { every: 60s }
receivers:
  oncall: { webhook: { url: \"https://h/oncall\" } }
  mail: { webhook: { url: \"https://h/mail\" } }
routes:
  - { match: { severity: page }, to: [oncall], fallback: mail }
  - { to: [mail] }
monitors:
  - { id: docs, url: \"https://docs.example.org/mcp\", labels: { team: docs } }
  - { id: wiki, url: \"https://wiki.example.org/mcp\", labels: { team: docs } }
";

/// Exit code, standard output and standard error of `serin plan`; OLD comes from standard input.
fn plan(old: &str, new: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("new.yaml");
    std::fs::write(&file, new).expect("written");
    let child = Command::new(env!("CARGO_BIN_EXE_serin"))
        .args(["plan", "-"])
        .arg(&file)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("serin runs");
    child.stdin.take().expect("a pipe").write_all(old.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What is printed below the first line; the exit code says whether that is anything.
#[track_caller]
fn check(sentence: &str, new: &str, expected: &[&str]) {
    let (code, text, error) = plan(OLD, new, &[]);
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, expected, "{sentence}\n{text}{error}");
    assert_eq!(code, Some(if expected == ["nothing changes"] { 0 } else { 2 }), "{sentence}");
}

#[test]
fn nothing_or_little() {
    check("the same", OLD, &["nothing changes"]);
    check("moved and commented", &format!("# new\n\n{OLD}"), &["nothing changes"]);
    check(
        "a default",
        &OLD.replace("every: 60s", "every: 30s"),
        &["Monitors", "  ~ docs, wiki  every, probe_budget, rules.latency.window", "monitors: 2 changed"],
    );
    check(
        "a name and a rule",
        &OLD.replace("{ id: docs,", "{ id: docs, name: Documents, rules: { latency: { p95: 1s } },"),
        &[
            "Monitors",
            "  ~ docs  renamed: \"docs\" → \"Documents\"",
            "  ~ docs  rules.latency.p95",
            "monitors: 1 changed, 1 renamed",
        ],
    );
    check(
        "another id at the same address",
        &OLD.replace("id: wiki", "id: wiki-2"),
        &[
            "Monitors",
            "  + wiki-2  https://wiki.example.org/mcp",
            "  - wiki  https://wiki.example.org/mcp",
            "  ? wiki-2 has the address of wiki, which goes: its history ends, for history follows the id",
            "Who is notified",
            "  wiki-2",
            "      a restart: not judged → notice to mail",
            "      availability: not judged → page to oncall (else mail)",
            "      access: not judged → page to oncall (else mail)",
            "      access (expiring): not judged → ticket to mail",
            "      access (leak): not judged → page to oncall (else mail)",
            "      latency: not judged → ticket to mail",
            "      contract (breaking): not judged → page to oncall (else mail)",
            "      contract (compatible): not judged → notice to mail",
            "      contract (wording): not judged → ticket to mail",
            "  wiki",
            "      a restart: notice to mail → not judged",
            "      availability: page to oncall (else mail) → not judged",
            "      access: page to oncall (else mail) → not judged",
            "      access (expiring): ticket to mail → not judged",
            "      access (leak): page to oncall (else mail) → not judged",
            "      latency: ticket to mail → not judged",
            "      contract (breaking): page to oncall (else mail) → not judged",
            "      contract (compatible): notice to mail → not judged",
            "      contract (wording): ticket to mail → not judged",
            "monitors: 1 added, 1 removed, 2 paging otherwise",
        ],
    );
}

#[test]
fn who_is_told_otherwise() {
    check(
        "a severity",
        &OLD.replace("{ id: docs,", "{ id: docs, rules: { availability: { severity: ticket } },"),
        &[
            "Monitors",
            "  ~ docs  rules.availability.severity",
            "Who is notified",
            "  docs",
            "      availability: page to oncall (else mail) → ticket to mail",
            "monitors: 1 changed, 1 paging otherwise",
        ],
    );
    check(
        "a label that a route matches, and a route by reason, for all monitors alike",
        &OLD.replace("routes:\n", "routes:\n  - { match: { reason: timeout, labels: { team: docs } }, to: [net] }\n")
            .replace("receivers:\n", "receivers:\n  net: { webhook: { url: \"https://h/net\" } }\n"),
        &[
            "Everything else",
            "  + receiver net",
            "  ~ routes",
            "Who is notified",
            "  docs, wiki",
            "      availability, timeout: page to oncall (else mail) → page to net",
            "monitors: 2 paging otherwise",
        ],
    );
    check(
        "routes written otherwise, to the same effect",
        &OLD.replace(
            "  - { to: [mail] }",
            "  - { match: { severity: [ticket, notice] }, to: [mail] }\n  - { to: [mail] }",
        ),
        &["Everything else", "  ~ routes, and everybody is notified as before"],
    );
    check(
        "nobody any more",
        &OLD.replace("  - { to: [mail] }\n", "").replace(
            "  - { match: { severity: page }, to: [oncall], fallback: mail }",
            "  - { match: { severity: [page, ticket] }, to: [oncall], fallback: mail }",
        ),
        &[
            "Everything else",
            "  ~ routes",
            "Who is notified",
            "  docs, wiki",
            "      a restart: notice to mail → notice to nobody",
            "      access (expiring): ticket to mail → ticket to oncall (else mail)",
            "      latency: ticket to mail → ticket to oncall (else mail)",
            "      contract (compatible): notice to mail → notice to nobody",
            "      contract (wording): ticket to mail → ticket to oncall (else mail)",
            "monitors: 2 paging otherwise",
        ],
    );
    check(
        "what is no monitor's",
        &OLD.replace("https://h/mail", "https://h/post").replace("defaults:", "serin: { public_url: \"https://serin.example.org\", listen: 127.0.0.1:9000 }\nrunbooks: { timeout: \"https://r/\" }\ndefaults:"),
        &[
            "Everything else",
            "  ~ receiver mail: webhook.url",
            "  ~ serin.public_url",
            "  ~ runbooks.timeout",
            "  ~ serin.listen",
        ],
    );
}

#[test]
fn a_checkout_elsewhere_is_the_same() {
    let text = OLD.replace("labels: { team: docs } }", "ca: ca.pem }");
    let (code, text, error) = plan(&text, &text, &[]);
    assert_eq!(code, Some(0), "files that both name start where each lies\n{text}{error}");
    let [one, two] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let written = [&one, &two].map(|folder| {
        let path = folder.path().join("monitors.yaml");
        std::fs::write(&path, OLD.replace("labels: { team: docs } }", "ca: ca.pem }")).expect("written");
        path
    });
    let ran = Command::new(env!("CARGO_BIN_EXE_serin")).arg("plan").args(written).output().expect("serin runs");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn machines_read_it_too() {
    let new = OLD.replace("{ id: docs,", "{ id: docs, rules: { availability: { severity: ticket } },");
    let (code, text, _) = plan(OLD, &new, &["--json"]);
    let found: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(code, Some(2));
    assert_eq!(found["changes"], true);
    assert_eq!(found["changed"], json!([{ "id": "docs", "keys": ["rules.availability.severity"] }]));
    let change = &found["told"][0]["changes"][0];
    assert_eq!(change["before"], json!({ "severity": "page", "to": ["oncall"], "fallbacks": { "oncall": "mail" } }));
    assert_eq!((&change["signal"], &change["after"]["to"]), (&json!("availability"), &json!(["mail"])));
    let (code, text, _) = plan(OLD, OLD, &["--json"]);
    assert_eq!((code, serde_json::from_str::<Value>(&text).expect("JSON")["changes"].clone()), (Some(0), json!(false)));
}

#[test]
fn a_file_with_faults_has_no_plan() {
    let (code, text, error) = plan(OLD, &OLD.replace("every: 60s", "every: 60"), &[]);
    assert_eq!((code, text.as_str()), (Some(1), ""), "{error}");
    assert!(error.contains("cannot come into force") && error.contains("new.yaml:2:20"), "{error}");
    let both = Command::new(env!("CARGO_BIN_EXE_serin")).args(["plan", "-", "-"]).output().expect("serin runs");
    assert_eq!(both.status.code(), Some(1));
    let missing =
        Command::new(env!("CARGO_BIN_EXE_serin")).args(["plan", "no.yaml"]).arg(Path::new("no.yaml")).output();
    assert_eq!(missing.expect("serin runs").status.code(), Some(1));
}

#[test]
fn what_a_list_brings_is_told_by_its_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |under: &str, ids: std::ops::Range<usize>| {
        let at = folder.path().join(under);
        std::fs::create_dir_all(at.join("discovered")).expect("a folder");
        let list: String =
            ids.map(|id| format!("\n- {{\"id\":\"prod-{id}\",\"url\":\"https://{id}.example.org/mcp\"}}")).collect();
        let file = format!("{OLD}discover: {{ from: [{{ id: prod, file_sd: [a.json] }}] }}\n");
        std::fs::write(at.join("discovered/prod.yaml"), format!("monitors:{list}\n")).expect("written");
        std::fs::write(at.join("monitors.yaml"), file).expect("written");
        at.join("monitors.yaml")
    };
    let (old, new) = (write("old", 0..30), write("new", 5..42));
    let plan = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
        let output = command.arg("plan").args([&old, &new]).args(more).output().expect("serin runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = plan(&[]);
    assert!(text.contains("  + 12 monitors that the list 'prod' names: prod-30, "), "{text}");
    assert!(
        text.contains("  - 5 monitors that the list 'prod' names: prod-0, prod-1, prod-2, prod-3, prod-4\n"),
        "{text}"
    );
    let told: Value = serde_json::from_str(&plan(&["--json"])).expect("JSON");
    assert_eq!(told["added"].as_array().map(Vec::len), Some(12), "{told}");
    assert_eq!(told["added"][0], json!({ "id": "prod-30", "url": "https://30.example.org/mcp", "list": "prod" }));

    // Where nothing is kept, as in a checkout: lists come and go all the same, and what is not known is said.
    for folder in [&old, &new] {
        std::fs::remove_dir_all(folder.with_file_name("discovered")).expect("it was there");
    }
    let same = plan(&[]);
    assert!(same.contains("nothing changes\nwhat prod names is not known here"), "{same}");
    let text = std::fs::read_to_string(&new).expect("the file");
    std::fs::write(&new, text.replace("id: prod", "id: live")).expect("written");
    let renamed = plan(&[]);
    let lines = ["- list prod: what it names is watched no longer", "+ list live: what it names is watched once"];
    assert!(lines.iter().all(|line| renamed.contains(line)), "{renamed}");
    let told: Value = serde_json::from_str(&plan(&["--json"])).expect("JSON");
    assert_eq!(told["lists"], json!({ "added": ["live"], "removed": ["prod"], "unknown": [] }));
    let mut command = Command::new(env!("CARGO_BIN_EXE_serin"));
    let test = command.args(["route", "test", "--monitor", "live-a", "--config"]).arg(&new).output().expect("it runs");
    let said = String::from_utf8(test.stderr).expect("text");
    assert!(said.contains("what 'live' lists is not known here"), "{said}");
}
