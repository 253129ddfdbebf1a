//! The forms, as people use them: buttons clicked and fields typed into in real browsers.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use serin::deliver::message::Message;
use serin_reference::lab::kinds::{Dose, Fault};
use tokio::process::Command;

use crate::stage::{PUBLIC, Stage, TOKEN, reference, signal};

/// Four starts of a browser and some hundred pages.
const BROWSERS_TAKE_AT_MOST: Duration = Duration::from_mins(10);

/// Chromium and Firefox, with scripts and without, on loopback and behind a TLS proxy: each has a monitor of its own,
/// whose tools have changed and whose incident nobody has taken.
fn runs() -> Vec<String> {
    let browsers = ["chromium", "firefox"];
    let ways = ["script-loopback", "script-proxy", "plain-loopback", "plain-proxy"];
    browsers.iter().flat_map(|browser| ways.map(|way| format!("{browser}-{way}"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Chromium, Firefox and node; run with --ignored"]
async fn every_form_works_in_a_browser() {
    let server = reference().await;
    let monitor = |id: &String| {
        format!(
            "  - id: {id}\n    url: {}\n    canaries:\n      \
             - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
            server.mcp_url()
        )
    };
    let monitors: String = runs().iter().map(monitor).collect();
    let stage = Stage::under("  token: \"${env:SERIN_JOURNEY_TOKEN}\"\n", &monitors).await;
    for id in runs() {
        stage.well(&id).await;
    }
    server.faults().on(Fault::SchemaDrift, Dose::of(Fault::SchemaDrift).mode("wording"));
    let mut incidents = BTreeMap::new();
    for id in runs() {
        let body = stage.until("its tools changed", &id, |body| signal(body, "contract")["phase"] == "open").await;
        incidents.insert(id, signal(&body, "contract")["incident"].clone());
    }
    assert!(clicked(&stage, &incidents).await, "a form does not work; see above");
    for (id, incident) in &incidents {
        let actor: Value = format!("kim of {id}").into();
        let taken = stage.json(&format!("/api/v1/incidents/{}", incident.as_str().unwrap())).await;
        assert_eq!((&taken["acknowledged_by"], &taken["resolve_cause"]), (&actor, &"accepted".into()), "{taken:#}");
        let tools = stage.json(&format!("/api/v1/monitors/{id}/tools")).await;
        assert_eq!(tools["accepted"]["by"], actor, "{tools:#}");
    }
}

/// Runs the browsers; what they miss they say on standard error.
async fn clicked(stage: &Stage, incidents: &BTreeMap<String, Value>) -> bool {
    // The link of each one's own message, by monitor.
    let told = stage.inbox.hooks().into_iter().filter_map(|hook| Message::parse(&hook.body).ok());
    let link =
        |message: Message| Some((message.monitor?.id, message.acknowledge_url?.strip_prefix(PUBLIC)?.to_owned()));
    let links: BTreeMap<String, String> = told.filter_map(link).collect();
    let name = PUBLIC.trim_start_matches("https://").to_owned();
    let made = rcgen::generate_simple_self_signed(vec![name]).unwrap();
    let asked = json!({
        "pages": stage.pages, "outside": PUBLIC, "token": TOKEN, "incidents": incidents, "links": links,
        "key": made.signing_key.serialize_pem(), "certificate": made.cert.pem(), "folder": "../../target/pages",
    });
    stage.beside("forms.json", &asked.to_string());
    let status = Command::new("node")
        .arg("forms.mjs")
        .arg(stage.folder().join("forms.json"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages"))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status();
    tokio::time::timeout(BROWSERS_TAKE_AT_MOST, status).await.expect("it ends").unwrap().success()
}
