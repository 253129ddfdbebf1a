//! Tools that change under their callers.

use serin_reference::lab::kinds::{Dose, Fault};
use serin_reference::lab::server::LabServer;

use crate::stage::{Expected, Stage, evidence, reference, signal};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_tools_is_as_loud_as_it_hurts() {
    let rows = [
        ("wording", "wording", "ticket", "only texts differ"),
        ("compatible", "compatible", "notice", "an argument more"),
        ("breaking", "breaking", "page", "the declared search no longer fits"),
    ];
    let mut servers = Vec::new();
    let mut monitors = String::new();
    for (_, id, ..) in rows {
        let server = reference().await;
        monitors.push_str(&format!("  - id: {id}\n    url: {}\n    canaries:\n", server.mcp_url()));
        monitors.push_str("      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }\n");
        servers.push(server);
    }
    let stage = Stage::start(&monitors).await;
    for ((drift, id, ..), server) in rows.iter().zip(&servers) {
        stage.well(id).await;
        server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode(drift));
    }
    let mut opened = Vec::new();
    for (_, monitor, severity, sentence) in rows {
        let drifted = Expected { monitor, signal: "contract", reason: "schema_drift", severity, stage: "tools" };
        let message = stage.opened(sentence, drifted).await;
        assert_eq!(evidence(&message, "class"), monitor, "{sentence}: {message:#?}");
        let line = evidence(&message, "change.1");
        assert!(line.starts_with(&format!("{monitor}: search_documents: ")), "{sentence}: {line}");
        let calls = if severity == "page" { "1 of 1 known calls break" } else { "all 1 known calls still fit" };
        assert_eq!(evidence(&message, "known_calls"), calls, "{sentence}: {message:#?}");
        opened.push((sentence, message));
    }
    for server in &servers {
        server.faults().all_off();
    }
    for (sentence, message) in opened {
        stage.resolved(sentence, &message).await;
    }
}

/// A reference server as monitor `docs`, which was well once.
async fn docs() -> (LabServer, Stage) {
    let server = reference().await;
    let stage = Stage::start(&format!(
        "  - id: docs\n    url: {}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
        server.mcp_url()
    ))
    .await;
    stage.well("docs").await;
    (server, stage)
}

/// Runs `serin accept` against the stage's Serin: whether it went well and what it says.
async fn accept(stage: &Stage, id: &str, more: &[&str]) -> (bool, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_serin"));
    command.args(["accept", id, "--url", &stage.pages]).args(more);
    let ran = stage.soon("serin accept ends", command.output()).await.unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
    (ran.status.success(), said.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_accepts_what_changed() {
    let (server, stage) = docs().await;
    let refused = [
        ("docs", "nothing differs", "while nothing changed"),
        ("nobody", "no monitor with this id", "of a monitor that is not there"),
    ];
    for (id, why, sentence) in refused {
        let (well, said) = accept(&stage, id, &[]).await;
        assert!(!well && said.contains(why), "{sentence}: {said}");
    }

    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("wording"));
    let drifted =
        Expected { monitor: "docs", signal: "contract", reason: "schema_drift", severity: "ticket", stage: "tools" };
    let message = stage.opened("texts differ", drifted).await;
    assert!(evidence(&message, "change.1").contains("description changed"), "{message:#?}");
    let tools = stage.json("/api/v1/monitors/docs/tools").await;
    assert_eq!((&tools["differs"], &tools["changes"][0]["class"]), (&true.into(), &"wording".into()), "{tools:#}");
    let page = stage.page("/monitors/docs").await;
    assert!(page.contains("Accept these tools") && page.contains("description changed"), "the page shows it too");

    let out = stage.path("monitors.lock").display().to_string();
    let (well, said) = accept(&stage, "docs", &["--out", &out]).await;
    assert!(!well && said.contains("nothing is pinned of 'docs'"), "there is no entry to write: {said}");

    let (well, said) = accept(&stage, "docs", &["--as", "kim"]).await;
    assert!(well && said.contains("wording") && said.contains("accepted by kim"), "{said}");
    let ended = stage.resolved("accepted", &message).await;
    assert_eq!(ended.incident.as_ref().unwrap().resolve_cause.as_deref(), Some("accepted"), "{ended:#?}");
    let incident = stage.json(&format!("/api/v1/incidents/{}", message.incident.as_ref().unwrap().id)).await;
    let line = incident["timeline"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&line["kind"], &line["actor"]), (&"resolved".into(), &"kim".into()), "{incident:#}");

    let tools = stage.json("/api/v1/monitors/docs/tools").await;
    assert_eq!((&tools["differs"], &tools["accepted"]["by"]), (&false.into(), &"kim".into()), "{tools:#}");
    let by: Vec<&str> =
        tools["history"].as_array().unwrap().iter().filter_map(|one| one["accepted_by"].as_str()).collect();
    assert_eq!(by, ["kim", "first-stable"], "both lists are history: {tools:#}");
    stage.until("it stays quiet", "docs", |body| signal(body, "contract")["phase"] == "quiet").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn accepting_does_not_mend_a_call_that_breaks() {
    let (server, stage) = docs().await;
    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("breaking"));
    let drifted =
        Expected { monitor: "docs", signal: "contract", reason: "schema_drift", severity: "page", stage: "tools" };
    let message = stage.opened("a call breaks", drifted).await;
    let (well, said) = accept(&stage, "docs", &["--as", "kim"]).await;
    assert!(well && said.contains("1 of 1 known calls do not fit"), "{said}");
    let phase = |body: &serde_json::Value| signal(body, "contract")["phase"] == "open";
    stage.until("the incident is still open", "docs", phase).await;
    server.faults().all_off();
    // What was accepted is gone again: the same incident, which no call warrants any more and which a person may end.
    stage
        .until("the old list is back", "docs", |body| !signal(body, "contract")["figure"].to_string().contains("calls"))
        .await;
    let (well, said) = accept(&stage, "docs", &["--as", "kim"]).await;
    assert!(well, "{said}");
    let ended = stage.resolved("the call fits again", &message).await;
    assert_eq!(ended.incident.as_ref().unwrap().resolve_cause.as_deref(), Some("accepted"), "{ended:#?}");
}
