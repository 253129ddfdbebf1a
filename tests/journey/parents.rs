//! What a monitor depends on: while that is down its own incidents tell nobody, and afterwards what is left of them is told.

use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Process, Stage, evidence, reference, signal};

const EMPTY: Expected =
    Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };

/// The open incident of a monitor on quality, once something holds it.
async fn held(stage: &Stage, monitor: &str) -> Value {
    let open = |body: &Value| signal(body, "quality")["incident"].is_string();
    let body = stage.until("nothing is found", monitor, open).await;
    let id = signal(&body, "quality")["incident"].as_str().unwrap().to_owned();
    stage.json(&format!("/api/v1/incidents/{id}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_down_holds_its_children_until_it_is_back() {
    let server = reference().await;
    let mut store = Process::start().await;
    let canary = "canaries:\n      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }";
    let (db, docs) = (store.url.clone(), server.mcp_url());
    let stage = Stage::start(&format!(
        "  - id: db\n    url: {db}\n  - id: docs\n    url: {docs}\n    depends_on: [db]\n    {canary}\n  \
         - id: wiki\n    url: {docs}\n    depends_on: [\"{db}\"]\n    {canary}\n"
    ))
    .await;
    for monitor in ["db", "docs", "wiki"] {
        stage.well(monitor).await;
    }
    store.crash().await;
    let down = |message: &serin::deliver::message::Message| {
        message.event == "incident.opened" && message.monitor.as_ref().is_some_and(|monitor| monitor.id == "db")
    };
    let first = stage.message("the parent is told", down).await;
    assert_eq!(evidence(&first, "dependents"), "docs", "who depends on it stands in its message");
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    for (monitor, by) in [("docs", "db".to_owned()), ("wiki", db.clone())] {
        let incident = held(&stage, monitor).await;
        assert_eq!((&incident["holds"][0]["kind"], &incident["holds"][0]["by"]), (&json!("parent"), &json!(by)));
        assert_eq!(incident["deliveries"], json!([]), "nobody is told: {incident:#}");
        let quiet = incident["quiet"].as_str().unwrap();
        assert_eq!(quiet, format!("behind {by}, which is down"));
    }
    store.come_back().await;
    stage.resolved("the parent is back", &first).await;
    let opened = stage.opened("the child is not, and is told", EMPTY).await;
    assert!(opened.summary.contains("held back by db being down until"), "{}", opened.summary);
    let wiki = |message: &serin::deliver::message::Message| {
        message.event == "incident.opened" && message.monitor.as_ref().is_some_and(|monitor| monitor.id == "wiki")
    };
    stage.message("one behind an address, too", wiki).await;
    server.faults().off(Fault::EmptyResults);
    stage.resolved("and has its end told", &opened).await;
}
