//! Proof that a message gets there: a receiver tested on the way that a page takes.

use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, evidence, reference};

/// A receiver at the port where nothing ever is, beside those that answer.
const GONE: &str = "  gone: { webhook: { url: \"http://127.0.0.1:9/hook\" } }\n";
const ROUTES: &str = "  - { to: [inbox, mail, gone] }\n";

async fn serin(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    stage.runs(&[arguments, &["--url", &stage.pages]].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_goes_the_way_of_a_page_and_says_how_it_went() {
    let server = reference().await;
    let stage = Stage::with(GONE, ROUTES, &format!("  - {{ id: docs, url: \"{}\" }}\n", server.mcp_url())).await;
    let (code, said) = serin(&stage, &["receiver", "test", "inbox", "--as", "kim"]).await;
    assert!(code == Some(0) && said.contains("1. accepted in") && said.contains("inbox accepted it"), "{said}");
    let drill = stage.message("the test arrives", |message| message.event == "drill").await;
    assert!(drill.summary.contains("a test of receiver 'inbox', by kim"), "{}", drill.summary);
    assert_eq!((drill.severity.as_str(), &drill.monitor, &drill.incident), ("page", &None, &None));
    let over = stage.message("nothing of it stays open", |message| message.event == "drill.over").await;
    assert_eq!(evidence(&over, "drill"), evidence(&drill, "drill"), "the end is that of the same drill");
    assert_ne!(over.id, drill.id, "each message has its own id");

    let (code, said) = serin(&stage, &["receiver", "test", "mail", "--as", "kim"]).await;
    assert!(code == Some(0) && said.contains("mail accepted it"), "{said}");

    let (code, said) = serin(&stage, &["receiver", "test", "gone", "--wait", "1s"]).await;
    assert!(code == Some(1) && said.contains("1. failed in") && said.contains("refused"), "{said}");
    assert!(said.contains("gone did not accept it, and the test is given up"), "{said}");
    let ledger = stage.json("/api/v1/deliveries?receiver=gone&state=dead").await;
    let line = &ledger["deliveries"][0];
    assert_eq!((&line["event"], &line["tries"][0]["ended"]), (&json!("drill"), &json!("failed")), "{ledger:#}");
    assert_eq!(line["tries"].as_array().unwrap().len() as u64, line["attempts"].as_u64().unwrap(), "{ledger:#}");
    let (code, said) = serin(&stage, &["deliveries", "--receiver", "gone", "--since", "1h"]).await;
    assert!(code == Some(0) && said.contains("dead") && said.contains("    1. failed in"), "{said}");
    let (code, said) = serin(&stage, &["deliveries", "--state", "lost"]).await;
    assert!(code == Some(1) && said.contains("a state is pending, sent or dead"), "{said}");
    let page = stage.page("/deliveries?receiver=gone").await;
    assert!(page.contains("each attempt") && !page.contains("data-th=\"receiver\">inbox<"), "{page}");
    assert_eq!(stage.json("/api/v1/deliveries?to=2026-01-01T00:00:00Z").await["deliveries"], json!([]));
    let status = stage.json("/api/v1/status").await;
    assert!(!status.to_string().contains("delivery_dead"), "a test that failed is no lost message: {status:#}");
    let (code, said) = serin(&stage, &["receiver", "test", "nobody"]).await;
    assert!(code == Some(1) && said.contains("there is no receiver of this name"), "{said}");

    let answer = stage.client.post(format!("{}/api/v1/receivers/gone/test?wait=0", stage.pages));
    let body: Value = answer.json(&json!({ "actor": "kim" })).send().await.unwrap().json().await.unwrap();
    assert_eq!((&body["accepted"], &body["receiver"]), (&json!(false), &json!("gone")), "{body:#}");

    let form = stage.client.post(format!("{}/receivers/inbox/test", stage.pages)).body("actor=lee");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let page = form.send().await.unwrap().text().await.unwrap();
    assert!(page.contains("inbox accepted the test."), "{page}");
    let (code, said) = serin(&stage, &["receiver", "list"]).await;
    assert!(code == Some(0) && said.contains("gone  webhook  "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_replayed_to_machines_and_to_people_only_on_purpose() {
    const EMPTY: Expected =
        Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };
    let server = reference().await;
    let canary = "canaries: [{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }]";
    let monitors = format!(
        "  - {{ id: docs, url: \"{}\", {canary} }}
",
        server.mcp_url()
    );
    let stage = Stage::start(&monitors).await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("nothing is found", EMPTY).await;
    server.faults().off(Fault::EmptyResults);
    stage.resolved("it is found again", &opened).await;
    let id = opened.incident.as_ref().unwrap().id.clone();
    let mails = stage.inbox.mails().len();
    let (code, said) = serin(&stage, &["deliveries", "replay", "--incident", &id, "--as", "kim"]).await;
    assert!(code == Some(0) && said.contains("brought once more; left out: "), "{said}");
    assert!(said.contains("are over and for people"), "{said}");
    let again = async {
        while stage.told("docs").iter().filter(|message| message.id == opened.id).count() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    stage.soon("the webhook hears it again, by the same id", again).await;
    assert_eq!(stage.inbox.mails().len(), mails, "nobody is told of what is over");
    let (code, said) = serin(&stage, &["deliveries", "replay", "--incident", &id, "--receiver", "mail"]).await;
    assert!(code == Some(1) && said.contains("nothing is replayed: "), "{said}");
    let all = ["deliveries", "replay", "--incident", &id, "--receiver", "mail", "--really"];
    let (code, said) = serin(&stage, &all).await;
    assert!(code == Some(0), "{said}");
    let (code, said) = serin(&stage, &["deliveries", "replay", "--as", "kim"]).await;
    assert!(code == Some(1) && said.contains("say what is replayed"), "{said}");
    let page = stage.page(&format!("/incidents/{id}")).await;
    assert!(page.contains("Replay all of it"), "{page}");
}
