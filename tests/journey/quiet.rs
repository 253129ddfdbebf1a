//! Quiet on purpose: what is silenced, or comes in a maintenance window, is an incident that nobody is told of until then.

use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, evidence, reference, signal};

pub(crate) const EMPTY: Expected =
    Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };

pub(crate) fn declared(url: &str) -> String {
    format!(
        "  - id: docs\n    url: {url}\n    labels: {{ team: docs }}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n"
    )
}

/// The open incident of `docs` on quality, once it holds what it is asked for.
pub(crate) async fn held(stage: &Stage, kind: &str) -> Value {
    let open = |body: &Value| signal(body, "quality")["incident"].is_string();
    let body = stage.until("nothing is found", "docs", open).await;
    let id = signal(&body, "quality")["incident"].as_str().unwrap().to_owned();
    let incident = stage.json(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(incident["holds"][0]["kind"], kind, "{incident:#}");
    assert_eq!(incident["deliveries"], json!([]), "nobody was told: {incident:#}");
    incident
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silence_holds_what_opens_in_it_over_a_restart_and_lets_it_go_at_once() {
    let server = reference().await;
    let mut stage = Stage::start(&declared(&server.mcp_url())).await;
    stage.well("docs").await;
    let serin =
        async |stage: &Stage, arguments: &[&str]| stage.runs(&[arguments, &["--url", &stage.pages]].concat()).await;
    let add = ["silence", "add", "--label", "team=docs", "--comment", "we reindex <b>now</b>", "--as", "kim", "--for"];
    let (code, said) = serin(&stage, &[&add[..], &["2"]].concat()).await;
    assert!(code == Some(1) && said.contains("a duration needs its unit"), "{said}");
    let (code, said) = serin(&stage, &["silence", "add", "--comment", "all", "--for", "1h"]).await;
    assert!(code == Some(1) && said.contains("it matches everything"), "{said}");
    let (code, said) = serin(&stage, &["silence", "add", "--monitor", "dcos", "--comment", "x", "--for", "1h"]).await;
    assert!(code == Some(1) && said.contains("does not declare"), "{said}");
    let (code, said) = serin(&stage, &[&add[..], &["2h"]].concat()).await;
    assert!(code == Some(0) && said.contains("label team=docs; until ") && said.contains("kim: we reindex"), "{said}");

    let routes = ["route", "test", "--monitor", "docs", "--reason", "empty_results", "--expect", "inbox", "--live"];
    let (code, said) = serin(&stage, &routes).await;
    assert!(code == Some(1) && said.contains("silenced by kim (") && said.contains("without inbox"), "{said}");
    let (code, said) = serin(&stage, &[&routes[..], &["--at", "2099-01-01T00:00:00Z"]].concat()).await;
    assert!(code == Some(0) && !said.contains("silenced"), "by then it is over: {said}");

    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let incident = held(&stage, "silence").await;
    let id = incident["id"].as_str().unwrap();
    assert!(incident["quiet"].as_str().unwrap().starts_with("silenced ("), "{incident:#}");
    let page = stage.page(&format!("/incidents/{id}")).await;
    assert!(page.contains("silenced by kim: we reindex"), "the page says what it is quiet by");
    let page = stage.page("/silences").await;
    assert!(page.contains("we reindex &#60;b&#62;now&#60;/b&#62;") && page.contains("label team=docs"), "{page}");

    stage.signal("KILL");
    stage.ended().await;
    stage.again().await;
    // On a server nobody watches it until the lease of the killed process is over: it has no signals by then.
    let holds = |body: &Value| body["signals"].as_array().unwrap().iter().any(|signal| signal["incident"] == *id);
    stage.until("it looks again", "docs", holds).await;
    let (_, said) = serin(&stage, &["silence", "list"]).await;
    assert!(said.contains("label team=docs") && said.contains("kim"), "it outlives the process: {said}");
    assert_eq!(stage.told("docs").len(), 0, "nobody hears of it");

    let silence = said.trim().rsplit(' ').next().unwrap().to_owned();
    let (code, said) = serin(&stage, &["silence", "end", &silence[silence.len() - 8..], "--as", "lee"]).await;
    assert!(code == Some(0), "{said}");
    let opened = stage.opened("the silence is over, and it is still open", EMPTY).await;
    assert_eq!(opened.incident.as_ref().unwrap().id, id, "the incident that opened inside");
    assert_eq!(opened.incident.as_ref().unwrap().opened_at[..19], incident["opened_at"].as_str().unwrap()[..19]);
    let back = evidence(&opened, "held_back_by");
    assert!(back.contains("of kim: we reindex <b>now</b>"), "{back}");
    assert!(opened.summary.contains("held back by a silence of kim"), "{}", opened.summary);

    let (code, _) = serin(&stage, &[&add[..], &["2h"]].concat()).await;
    assert_eq!(code, Some(0));
    server.faults().off(Fault::EmptyResults);
    stage.resolved("its end is told at once, silenced or not", &opened).await;
    let events: Vec<String> = stage.told("docs").into_iter().map(|message| message.event).collect();
    assert_eq!(events, ["incident.opened", "incident.resolved"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silence_may_end_with_its_incident_and_a_form_makes_one() {
    let server = reference().await;
    let stage = Stage::start(&declared(&server.mcp_url())).await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("nothing is found", EMPTY).await;
    let id = opened.incident.as_ref().unwrap().id.clone();
    let form = "signal=quality&lasts=resolved&comment=known&actor=kim";
    let send = stage.client.post(format!("{}/incidents/{id}/silence", stage.pages)).body(form);
    let send = send.header("content-type", "application/x-www-form-urlencoded");
    let page = send.send().await.unwrap().text().await.unwrap();
    assert!(page.contains("Silenced: nobody is notified of it meanwhile"), "{page}");
    let list = stage.json("/api/v1/silences").await;
    assert_eq!(list["silences"][0]["until_resolved"], json!(id), "{list:#}");
    assert_eq!(list["silences"][0]["match"]["signal"], json!(["quality"]), "{list:#}");
    server.faults().off(Fault::EmptyResults);
    stage.resolved("its end is told", &opened).await;
    let list = stage.json("/api/v1/silences").await;
    assert_eq!((&list["silences"], &list["over"][0]["ended_by"]), (&json!([]), &json!("serin")), "{list:#}");
    let again = json!({"actor": "kim", "comment": "late", "until_resolved": id});
    let late = stage.client.post(format!("{}/api/v1/silences", stage.pages)).json(&again).send().await.unwrap();
    assert_eq!(late.status(), 409, "what would end with what is over would never end");
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let next = |message: &serin::deliver::message::Message| {
        message.event == "incident.opened" && message.incident.as_ref().is_some_and(|one| one.id != id)
    };
    stage.message("the next one is told", next).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_the_file_holds_until_it_is_over_or_edited_away() {
    let server = reference().await;
    let stage = Stage::start(&declared(&server.mcp_url())).await;
    stage.well("docs").await;
    let monitors = declared(&server.mcp_url());
    let windows = |match_: &str| {
        format!(
            "{monitors}maintenance:\n  - {{ name: reindex, {match_}cron: \"* * * * *\", for: 2h, zone: Europe/Berlin }}\n"
        )
    };
    stage.declare(&windows("match: { monitor: docs, signal: quality }, "));
    let on = async |stage: &Stage| {
        loop {
            let list = stage.json("/api/v1/silences").await;
            if list["maintenance"][0]["on_until"].is_string() {
                break;
            }
            stage.changed().await;
        }
    };
    stage.soon("the window is in force", on(&stage)).await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let incident = held(&stage, "window").await;
    let by = incident["holds"][0]["by"].as_str().unwrap();
    assert!(by.contains("monitors.yaml:"), "{by}");
    let page = stage.page("/silences").await;
    assert!(page.contains("reindex") && page.contains("<b>on</b> until"), "{page}");
    let page = stage.page("/monitors/docs").await;
    assert!(page.contains("reindex, on until "), "the monitor's page says so: {page}");
    assert_eq!(stage.told("docs").len(), 0, "nobody hears of it");
    // It goes on to cover something else.
    stage.declare(&windows("match: { monitor: docs, signal: latency }, "));
    let opened = stage.opened("the window is edited away, and it is still open", EMPTY).await;
    assert!(evidence(&opened, "held_back_by").starts_with("maintenance "), "{opened:#?}");
    server.faults().off(Fault::EmptyResults);
    stage.resolved("and ends", &opened).await;

    let body = stage.json("/api/v1/monitors/docs").await;
    assert_eq!(body["maintenance_until"], Value::Null, "its outages are told: {body:#}");
    stage.declare(&windows("match: { monitor: docs }, "));
    let body = stage.until("it is in maintenance", "docs", |body| body["maintenance_until"].is_string()).await;
    assert_eq!(body["state"], "up", "beside the state that it has: {body:#}");
    let list = stage.json("/api/v1/monitors").await;
    assert_eq!(list["monitors"][0]["maintenance_until"], body["maintenance_until"], "{list:#}");
}
