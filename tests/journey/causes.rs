//! One cause, one page: a schema that breaks the canaries' calls, and the failing calls under it.

use serde_json::Value;
use serin::deliver::message::Message;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, evidence, reference, signal};

const DRIFTED: Expected =
    Expected { monitor: "docs", signal: "contract", reason: "schema_drift", severity: "page", stage: "tools" };
const FAILING: Expected =
    Expected { monitor: "docs", signal: "errors", reason: "elevated_error_rate", severity: "page", stage: "search" };

fn events(stage: &Stage) -> Vec<String> {
    let told =
        |message: Message| format!("{} {}", message.event, message.incident.map_or_else(String::new, |one| one.signal));
    stage.told("docs").into_iter().map(told).collect()
}

/// The incident that is open on the errors of `docs`.
async fn failing(stage: &Stage) -> String {
    let open = |body: &Value| signal(body, "errors")["incident"].is_string();
    let body = stage.until("calls fail", "docs", open).await;
    signal(&body, "errors")["incident"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_breaks_the_calls_is_told_as_one() {
    let server = reference().await;
    // Three canaries a beat: the calls fail before the schema was looked at twice.
    let canaries = "
      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }
      - { id: authors, query: Cormack Büttcher, expect: [reference/fusion.md], kind: keyword }
      - { id: lapse, query: when does my passphrase lapse, expect: [reference/tokens.md], kind: meaning }";
    let mut stage =
        Stage::start(&format!("  - id: docs\n    url: {}\n    canaries:{canaries}\n", server.mcp_url())).await;
    stage.well("docs").await;
    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("breaking"));
    let opened = stage.opened("a call no longer fits", DRIFTED).await;
    let first = opened.incident.as_ref().unwrap().id.clone();
    let second = failing(&stage).await;
    let held = |body: &Value| signal(body, "errors")["quiet"] == format!("explained by incident {first}");
    stage.until("it is quiet, and says by what", "docs", held).await;
    assert_eq!(events(&stage), ["incident.opened contract"], "one cause, one page");

    let body = stage.json(&format!("/api/v1/incidents/{second}")).await;
    assert_eq!(
        (&body["holds"][0]["kind"], &body["holds"][0]["by"]),
        (&"cause".into(), &first.clone().into()),
        "{body:#}"
    );
    assert!(body["deliveries"].as_array().unwrap().is_empty(), "nobody was told: {body:#}");
    let body = stage.json(&format!("/api/v1/incidents/{first}")).await;
    assert_eq!(body["explains"], serde_json::json!([second]), "{body:#}");
    let page = stage.page(&format!("/incidents/{first}")).await;
    assert!(page.contains("What it explains") && page.contains(&format!("/incidents/{second}")), "{page}");
    let page = stage.page(&format!("/incidents/{second}")).await;
    assert!(page.contains("<b>Quiet:</b>") && page.contains(&format!("href=\"/incidents/{first}\"")), "{page}");
    let list = stage.page("/incidents").await;
    assert!(list.contains(&format!("quiet: explained by incident {first}")), "{list}");

    stage.signal("TERM");
    assert!(stage.ended().await.success());
    stage.again().await;
    stage.until("another process knows it too", "docs", held).await;

    server.faults().all_off();
    stage.resolved("the call fits again", &opened).await;
    let over = |body: &Value| signal(body, "errors")["incident"].is_null();
    stage.until("no call fails any more", "docs", over).await;
    let body = stage.json(&format!("/api/v1/incidents/{second}")).await;
    assert_eq!((&body["resolve_cause"], &body["quiet"]), (&"recovered".into(), &Value::Null), "{body:#}");
    assert!(body["holds"][0]["ended_at"].is_string(), "{body:#}");
    assert_eq!(
        events(&stage),
        ["incident.opened contract", "incident.resolved contract"],
        "and the other is on record"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_outlasts_its_cause_is_told() {
    let server = reference().await;
    // One canary a beat: the schema is told before the calls have failed often enough.
    let canary = "\n      - { id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }";
    let stage = Stage::start(&format!("  - id: docs\n    url: {}\n    canaries:{canary}\n", server.mcp_url())).await;
    stage.well("docs").await;
    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("breaking"));
    let drifted = stage.opened("a call no longer fits", DRIFTED).await;
    let second = failing(&stage).await;
    server.faults().on(Fault::ToolError, Dose::of(Fault::ToolError));
    server.faults().off(Fault::SchemaDrift);
    stage.resolved("the call fits again", &drifted).await;
    let opened = stage.opened("and still it fails", FAILING).await;
    let incident = opened.incident.as_ref().unwrap();
    assert_eq!(incident.id, second, "the incident that was held");
    assert!(incident.opened_at < opened.at, "with the moment at which it opened: {opened:#?}");
    let by = format!("incident {} (schema_drift) until ", drifted.incident.as_ref().unwrap().id);
    assert!(evidence(&opened, "held_back_by").starts_with(&by), "{opened:#?}");
    assert!(opened.summary.contains(", held back by schema_drift until "), "{opened:#?}");
    server.faults().all_off();
    stage.resolved("all is well", &opened).await;
    let told = [
        "incident.opened contract",
        "incident.resolved contract",
        "incident.opened errors",
        "incident.resolved errors",
    ];
    assert_eq!(events(&stage), told);
}
