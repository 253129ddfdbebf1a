//! What follows by time where nobody takes an incident, and that what a person says is never lost.

use serde_json::json;
use serin::deliver::message::Message;
use serin_reference::lab::kinds::{Dose, Fault};

use crate::stage::{Expected, Stage, reference};

const EMPTY: Expected =
    Expected { monitor: "docs", signal: "quality", reason: "empty_results", severity: "page", stage: "search" };

fn of(event: &str) -> impl Fn(&Message) -> bool + '_ {
    move |message| message.event == event
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_is_reminded_and_others_are_told_though_beats_are_an_hour_apart() {
    let server = reference().await;
    let routes = "  - { to: [inbox, mail], remind: 10s, escalate: [{ after: 15s, to: [inbox, lead] }] }\n";
    let monitors = format!(
        "  - id: docs\n    url: {}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
        server.mcp_url()
    );
    let mut stage = Stage::with("  lead: { email: { to: [lead@example.org] } }\n", routes, &monitors).await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("nothing is found", EMPTY).await;
    let id = opened.incident.as_ref().unwrap().id.clone();
    // From here on the next look is an hour away.
    stage.declare(&monitors.replace(
        "    canaries",
        "    every: 1h\n    rules: { errors: { share: 20%, window: 10h, min_bad: 3 } }\n    canaries",
    ));
    let reminder = stage.message("nobody takes it", of("incident.reminder")).await;
    assert!(reminder.summary.contains("still open, not acknowledged for"), "{}", reminder.summary);
    stage.signal("KILL");
    stage.ended().await;
    stage.again().await;
    let escalated = stage.message("nor after a crash", of("incident.escalated")).await;
    assert!(escalated.summary.contains("escalated, not acknowledged for"), "{}", escalated.summary);
    let incident = stage.json(&format!("/api/v1/incidents/{id}")).await;
    let to_lead = incident["deliveries"].as_array().unwrap().iter().filter(|one| one["receiver"] == "lead").count();
    assert_eq!(to_lead, 1, "it is the first that the lead hears: {incident:#}");

    let (code, said) = stage.runs(&["ack", &id, "--as", "kim", "--url", &stage.pages]).await;
    assert!(code == Some(0), "{said}");
    stage.message("others hear of it", of("incident.acknowledged")).await;
    let (code, said) = stage.runs(&["ack", &id, "--undo", "--as", "lee", "--url", &stage.pages]).await;
    assert!(code == Some(0) && !said.contains("acknowledged by"), "{said}");
    let given = |message: &Message| message.summary.contains("lee un-acknowledged it");
    stage.message("and of its being given back", given).await;
    let again = |message: &Message| message.event == "incident.escalated" && message.id != escalated.id;
    stage.message("from then on it is counted anew", again).await;
    let incident = stage.json(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(incident["acknowledged_by"], json!(null), "{incident:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_told_yes_has_it_though_the_process_dies_at_that_moment() {
    let server = reference().await;
    let mut stage = Stage::start(&format!(
        "  - id: docs\n    url: {}\n    canaries:\n      \
         - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
        server.mcp_url()
    ))
    .await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("nothing is found", EMPTY).await;
    let id = opened.incident.as_ref().unwrap().id.clone();
    let taking = stage.client.post(format!("{}/api/v1/incidents/{id}/acknowledge", stage.pages));
    let answer = taking.json(&json!({"actor": "kim"})).send().await.unwrap();
    stage.signal("KILL");
    assert_eq!(answer.status(), 202);
    stage.ended().await;
    stage.again().await;
    let incident = stage.json(&format!("/api/v1/incidents/{id}")).await;
    assert_eq!(incident["acknowledged_by"], "kim", "it was on disk before it was answered: {incident:#}");
    let taken = |message: &Message| message.event == "incident.acknowledged";
    stage.message("others hear of it all the same", taken).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_in_a_message_takes_its_incident_and_only_by_its_button() {
    let server = reference().await;
    let stage = Stage::under(
        "  token: \"${env:SERIN_JOURNEY_TOKEN}\"\n",
        &format!(
            "  - id: docs\n    url: {}\n    canaries:\n      \
             - {{ id: card, query: OC-31, expect: [reference/oncall.md], kind: keyword }}\n",
            server.mcp_url()
        ),
    )
    .await;
    stage.well("docs").await;
    server.faults().on(Fault::EmptyResults, Dose::of(Fault::EmptyResults));
    let opened = stage.opened("nothing is found", EMPTY).await;
    let id = opened.incident.as_ref().unwrap().id.clone();
    let url = opened.acknowledge_url.clone().unwrap();
    let path = url.strip_prefix(crate::stage::PUBLIC).unwrap();
    // Nobody who is signed in, and no token.
    let stranger = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |method: http::Method, path: &str, body: &'static str| {
        let request = stranger.request(method, format!("{}{path}", stage.pages)).body(body);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (_, page) = ask(http::Method::GET, &format!("/incidents/{id}"), "").await;
    assert!(page.contains("Sign in"), "the pages want a token");
    for _ in 0..2 {
        let (status, page) = ask(http::Method::GET, path, "").await;
        assert!(status == 200 && page.contains("Acknowledge?"), "a scanner looks and changes nothing: {page}");
    }
    assert_eq!(stage.json(&format!("/api/v1/incidents/{id}")).await["acknowledged_by"], json!(null));
    let other = path.replacen("/inbox/", "/mail/", 1);
    assert_eq!(ask(http::Method::POST, &other, "actor=eve").await.0, 404, "another receiver's mark is none");
    let (status, page) = ask(http::Method::POST, path, "actor=kim+%3Cb%3E").await;
    assert!(status == 200 && page.contains("Acknowledged by kim &#60;b&#62;"), "{page}");
    let (status, page) = ask(http::Method::POST, path, "actor=lee").await;
    assert!(status == 200 && page.contains("Acknowledged by kim"), "it may be pressed again: {page}");
    stage.message("others hear of it", of("incident.acknowledged")).await;
}
