//! Canaries by themselves: a golden set that is linted, suggestions that are pasted, and a watch that goes on with both.

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::reference;

const GOLDEN: &str = r#"{"id":"card","kind":"keyword","query":"OC-31","expected":[{"source":"reference/oncall.md","grade":2}]}
{"id":"lapse","kind":"meaning","query":"when does my passphrase lapse","expected":[{"source":"reference/tokens.md"}]}
{"id":"stored","kind":"self","query":"A fenced block stays whole, for half a function answers no question.","expect":["reference/chunking.md"]}
{"id":"nonsense","kind":"negative","query":"zorvex quandril mubbletock","max_score":0.3}
"#;

/// Runs a command in a folder; its exit code, and what it wrote to both outputs.
async fn serin(folder: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    let ran = command.current_dir(folder).args(arguments).kill_on_drop(true).output().await.unwrap();
    let [out, err] = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (ran.status.code(), out, err)
}

fn proof<'p>(report: &'p Value, canary: &str) -> (&'p str, &'p str) {
    let all = report["monitors"][0]["canaries"].as_array().unwrap();
    let one = all.iter().find(|one| one["id"] == canary).unwrap_or_else(|| panic!("no {canary} in {report:#}"));
    (one["proof"].as_str().unwrap(), one["said"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_golden_set_is_linted_and_grows_by_what_is_suggested() {
    let server = reference().await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let file = |more: &str| {
        format!(
            "version: 1\nmonitors:\n  - id: docs\n    url: {}\n    canaries:\n      - {{ file: docs.jsonl }}\n{more}",
            server.mcp_url()
        )
    };
    write("docs.jsonl", GOLDEN);
    write("monitors.yaml", &file(""));
    let lint = async || {
        let (code, out, err) = serin(folder.path(), &["canary", "lint", "docs", "--json"]).await;
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
        (code, report, err)
    };
    let (code, report, err) = lint().await;
    assert_eq!(code, Some(0), "{report:#}");
    assert!(err.contains("asks 4 canaries of 1 monitor: up to 8 calls"), "{err}");
    for canary in ["card", "lapse", "stored", "nonsense"] {
        assert_eq!(proof(&report, canary).0, "holds", "{report:#}");
    }
    let checks = report["monitors"][0]["checks"].as_array().unwrap();
    let armed = |check: &str| checks.iter().find(|one| one["check"] == check).map(|one| one["armed"] == true);
    assert_eq!(armed("quality, the index behind caches"), Some(true), "{report:#}");
    assert_eq!(armed("quality, which part is broken"), Some(false), "one canary of a kind is too few: {report:#}");

    let shares = "{\"id\":\"plain\",\"kind\":\"meaning\",\"query\":\"how long does an unused token live\",\"expect\":[\"reference/tokens.md\"]}\n";
    write("docs.jsonl", &format!("{GOLDEN}{shares}"));
    let (code, report, _) = lint().await;
    let (proof, said) = proof(&report, "plain");
    assert!(code == Some(1) && proof == "fails" && said.contains("shares with reference/tokens.md: "), "{report:#}");
    let (_, out, _) = serin(folder.path(), &["canary", "lint"]).await;
    assert!(out.contains("✗ plain") && out.contains("at docs.jsonl:5"), "{out}");

    write("docs.jsonl", GOLDEN);
    let (code, pasted, err) = serin(folder.path(), &["canary", "suggest", "docs"]).await;
    assert_eq!(code, Some(0), "{pasted}{err}");
    assert!(err.contains("up to ") && !pasted.contains("OC-31"), "{pasted}{err}");
    write("monitors.yaml", &file(&pasted));
    let (code, out, err) = serin(folder.path(), &["probe", "docs", "--json"]).await;
    let seen: Value = serde_json::from_str(&out).unwrap();
    let asks = seen["asks"].as_array().unwrap();
    assert!(code == Some(0) && asks.len() > 5, "what is pasted is asked with the golden set: {out}{err}");
    let (_, again, _) = serin(folder.path(), &["canary", "suggest", "docs"]).await;
    let queries = |yaml: &str| -> Vec<String> {
        yaml.lines().filter(|line| line.trim().starts_with("query: ")).map(|line| line.trim().to_owned()).collect()
    };
    assert!(queries(&again).iter().all(|query| !queries(&pasted).contains(query)), "{pasted}\n{again}");

    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let (code, report, _) = lint().await;
    assert!(code == Some(1) && self::proof(&report, "card").1.contains("empty_results"), "{report:#}");
    // Nobody listens there.
    write("monitors.yaml", &file("").replace(&server.mcp_url(), "http://127.0.0.1:1/mcp"));
    let (code, report, _) = lint().await;
    assert_eq!((code, self::proof(&report, "card").0), (Some(3), "unknown"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_list_names_is_given_canaries_to_paste_within_a_budget_of_calls() {
    let (first, second) = (reference().await, reference().await);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let file = |more: &str| {
        format!(
            "version: 1\ndiscover:\n  from:\n    - id: prod\n      file_sd: [targets.json]\n      allow_private: [127.0.0.0/8]\n{more}"
        )
    };
    write("monitors.yaml", &file(""));
    std::fs::create_dir(folder.path().join("discovered")).unwrap();
    let listed =
        [("prod-a", first.mcp_url()), ("prod-b", second.mcp_url()), ("prod-dead", "http://127.0.0.1:1/mcp".to_owned())]
            .map(|(id, url)| format!("\n- {{\"id\":\"{id}\",\"url\":\"{url}\"}}"));
    write("discovered/prod.yaml", &format!("monitors:{}\n", listed.concat()));
    let (code, pasted, err) = serin(folder.path(), &["canary", "suggest", "--list", "nobody"]).await;
    assert!(code == Some(1) && err.contains("declares no source 'nobody'") && err.contains("prod"), "{pasted}{err}");
    let (code, pasted, err) = serin(folder.path(), &["canary", "suggest", "--list", "prod", "--calls", "1"]).await;
    assert!(code == Some(2) && pasted.is_empty() && err.contains("3 not looked at"), "{pasted}{err}");
    assert!(err.contains(" 0 calls made"), "nothing is asked beyond the budget: {err}");
    let (code, pasted, err) = serin(folder.path(), &["canary", "suggest", "--list", "prod"]).await;
    assert_eq!(code, Some(0), "{pasted}{err}");
    assert!(err.contains("3 monitors have no canary") && err.contains("prod-dead: "), "{err}");
    assert!(!pasted.contains("prod-dead") && !pasted.contains("url:"), "{pasted}");
    write("monitors.yaml", &file(&pasted));
    for id in ["prod-a", "prod-b"] {
        let (code, out, err) = serin(folder.path(), &["probe", id, "--json"]).await;
        let seen: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
        assert!(code == Some(0) && seen["asks"].as_array().unwrap().len() > 3, "what is pasted is asked: {out}{err}");
    }
    let (code, _, err) = serin(folder.path(), &["canary", "suggest", "--list", "prod"]).await;
    assert!(code == Some(2) && err.contains("1 monitor has no canary"), "those that have some are left alone: {err}");
}
