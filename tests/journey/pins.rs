//! What is pinned: written from many runs, checked in CI, and the one truth about a monitor's tools.

use std::process::Output;

use serde_json::Value;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, SECRET, Stage, TOKEN, evidence, reference};

/// Canaries of each arm.
const CANARIES: &str = "
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }
      - { id: lapse, query: when does my passphrase lapse, expect: [reference/tokens.md], kind: meaning }
";

/// Runs `serin pin` on the stage's file: its exit code and what it says.
async fn pin(stage: &Stage, more: &[&str]) -> (i32, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    command.arg("pin").args(more).arg("--config").arg(stage.path("monitors.yaml"));
    command.env("SERIN_JOURNEY_TOKEN", TOKEN).env("SERIN_JOURNEY_SECRET", SECRET);
    let Output { status, stdout, stderr } = stage.soon("serin pin ends", command.output()).await.unwrap();
    let said = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    (status.code().unwrap(), said.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_says_what_would_move() {
    let server = reference().await;
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {}\n    search: {{ arguments: {{ top_k: 5 }} }}\n    canaries:{CANARIES}",
        server.mcp_url()
    ))
    .await;
    stage.well("docs").await;
    let (code, said) = pin(&stage, &["docs", "--check"]).await;
    assert!(code == 1 && said.contains("nothing is pinned of it yet"), "{said}");

    let (code, said) = pin(&stage, &["docs", "--runs", "3"]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("up to 103 calls: 3 runs of 3 canaries"), "the cost comes first: {said}");
    assert!(said.contains("lapse") && said.contains("rank 1") && said.contains("1 list"), "a line a canary: {said}");
    assert!(said.contains("from the index") && said.contains("same_twice, prefix"), "and what is armed: {said}");
    let lock = std::fs::read_to_string(stage.path("monitors.lock")).unwrap();
    for part in [
        "  docs:\n    runs: 3\n    answered: from the index\n",
        "\n    sources: ",
        "      card:\n        asked: ",
        "\"reference/oncall.md\"",
        "      search_documents: |-\n        {\n",
    ] {
        assert!(lock.contains(part), "{part} in {lock}");
    }
    let (code, said) = pin(&stage, &["docs", "--check"]).await;
    assert!(code == 0 && said.contains("docs: as pinned"), "{said}");
    let (code, _) = pin(&stage, &["--runs", "3", "--json"]).await;
    assert_eq!(code, 0);
    assert_eq!(
        std::fs::read_to_string(stage.path("monitors.lock")).unwrap(),
        lock,
        "a second pin is the same, to the byte"
    );

    server.faults().on(Fault::ScoresOffset, Dose::of(Fault::ScoresOffset));
    let (code, said) = pin(&stage, &["docs", "--check"]).await;
    assert!(code == 1 && said.contains("card: top score"), "{said}");
    server.faults().all_off();
    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("compatible"));
    let (code, said) = pin(&stage, &["docs", "--check"]).await;
    assert!(code == 1 && said.contains("tools, compatible: search_documents: "), "{said}");
    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("breaking"));
    let (code, said) = pin(&stage, &["docs", "--check"]).await;
    assert!(code == 1 && said.contains("tools, breaking: ") && said.contains("not well"), "and why: {said}");
    server.faults().all_off();

    server.faults().on(Fault::WrongQueryModel, Dose::of(Fault::WrongQueryModel));
    let (code, said) = pin(&stage, &["docs", "--check", "--json"]).await;
    let body: Value = serde_json::from_str(&said[said.find('{').unwrap()..=said.rfind('}').unwrap()]).unwrap();
    let moves = body["monitors"][0]["moves"].to_string();
    assert!(code == 1 && body["ok"] == false && moves.contains("lapse"), "{said}");
    let (code, said) = pin(&stage, &["docs", "--runs", "2"]).await;
    assert!(code == 1 && said.contains("canary 'lapse' is wrong by its own file"), "nobody pins that: {said}");
    assert_eq!(std::fs::read_to_string(stage.path("monitors.lock")).unwrap(), lock, "and nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_the_one_truth_about_tools() {
    let server = reference().await;
    let stage = Stage::start(&format!("  - id: docs\n    url: {}\n    canaries:{CANARIES}", server.mcp_url())).await;
    stage.well("docs").await;
    let (code, said) = pin(&stage, &["docs", "--runs", "1"]).await;
    assert_eq!(code, 0, "{said}");
    stage.look_again();
    let locked = |body: &Value| body["accepted"]["by"] == "monitors.lock";
    stage.until("the lock is in force", "docs/tools", locked).await;

    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("wording"));
    let drifted =
        Expected { monitor: "docs", signal: "contract", reason: "schema_drift", severity: "ticket", stage: "tools" };
    let message = stage.opened("texts differ", drifted).await;
    assert!(evidence(&message, "change.1").contains("description changed"), "{message:#?}");
    assert!(stage.page("/monitors/docs").await.contains("The entry to commit"), "the page shows it");

    let before = std::fs::read_to_string(stage.path("monitors.lock")).unwrap();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["accept", "docs", "--as", "kim", "--url", &stage.pages]);
    let ran = stage.soon("serin accept ends", command.output()).await.unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && printed.contains("  docs:\n    runs: 1\n"), "it prints the entry: {printed}");
    assert_eq!(std::fs::read_to_string(stage.path("monitors.lock")).unwrap(), before, "and writes nothing");
    let taken = |message: &serin::deliver::message::Message| message.event == "incident.acknowledged";
    stage.message("whoever asked has taken it", taken).await;

    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["accept", "docs", "--as", "kim", "--url", &stage.pages, "--out"]).arg(stage.path("monitors.lock"));
    let ran = stage.soon("serin accept ends", command.output()).await.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    stage.look_again();
    let ended = stage.resolved("such a lock is loaded", &message).await;
    assert_eq!(ended.incident.as_ref().unwrap().resolve_cause.as_deref(), Some("accepted"), "{ended:#?}");
    let (code, said) = pin(&stage, &["docs", "--check"]).await;
    assert_eq!(code, 0, "and it is as the server is: {said}");

    stage.beside("monitors.lock", "version: 1\nmonitors: { docs: { runs: many, answered: from the index } }\n");
    stage.look_again();
    let trouble = |message: &serin::deliver::message::Message| message.event == "serin.trouble";
    let trouble = stage.message("a bad lock is told", trouble).await;
    assert!(trouble.evidence.0.iter().any(|(_, value)| value == "config_rejected"), "{trouble:#?}");
    assert!(stage.page("/").await.contains("takes a whole number"), "with its place");
    let tools = stage.json("/api/v1/monitors/docs/tools").await;
    assert_eq!((&tools["accepted"]["by"], &tools["differs"]), (&"monitors.lock".into(), &false.into()), "{tools:#}");
}
