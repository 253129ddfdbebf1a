//! Receivers that never answer, and the end of Serin itself.

use std::sync::Arc;

use serde_json::{Value, json};
use serin_reference::lab::kinds::{Dose, Fault};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};

use crate::small_server;
use crate::stage::{Expected, Stage, reference};

/// Accepts, reads nothing, answers nothing, keeps everything open; counts.
async fn silent() -> (String, watch::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (count, counted) = watch::channel(0);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
            count.send_replace(open.len());
        }
    });
    (url, counted)
}

/// Silent receivers: brought to one after the other, ten seconds each, they would outlast the guard. Fewer than a list of deliveries shows.
const SILENT: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn receivers_that_never_answer_delay_nobody_and_an_end_is_an_end() {
    let server = reference().await;
    let (url, mut accepted) = silent().await;
    let names: Vec<String> = (0..SILENT).map(|number| format!("silent{number}")).collect();
    let receivers: String =
        names.iter().map(|name| format!("  {name}: {{ webhook: {{ url: \"{url}\" }} }}\n")).collect();
    let mut stage = Stage::with(
        &receivers,
        &format!("  - {{ to: [{}, inbox, mail] }}\n", names.join(", ")),
        &format!(
            "  - id: docs\n    url: {}\n    canaries: [{{ id: card, query: OC-31, expect: [reference/oncall.md] }}]\n",
            server.mcp_url()
        ),
    )
    .await;
    stage.well("docs").await;
    server.faults().on(Fault::Refused, Dose::of(Fault::Refused));
    let gone = Expected {
        monitor: "docs",
        signal: "availability",
        reason: "connection_refused",
        severity: "page",
        stage: "connect",
    };
    let opened = stage.opened("beside silent receivers", gone).await;
    stage.soon("the silent ones were tried", accepted.wait_for(|count| *count >= SILENT)).await.unwrap();
    server.faults().all_off();
    stage.resolved("beside silent receivers", &opened).await;
    let id = &opened.incident.as_ref().unwrap().id;
    assert_eq!(unclosed_sessions(&stage, id).await, SILENT * 2, "each silent one is still owed both");

    // A page is open, and deliveries hang.
    let mut events = stage.client.get(format!("{}/events", stage.pages)).send().await.unwrap();
    stage.signal("INT");
    let ending = async { while events.chunk().await.unwrap().is_some() {} };
    without_serin("open streams end", ending).await;
    let end = stage.ended().await;
    assert!(end.success(), "it ends well: {end}");

    stage.again().await;
    assert_eq!(unclosed_sessions(&stage, id).await, SILENT * 2, "and is owed them by the next Serin");
    stage.well("docs").await;
    let told = stage.told("docs").into_iter().filter(|message| message.incident.is_some());
    let events: Vec<String> = told.map(|message| message.event).collect();
    assert_eq!(events, ["incident.opened", "incident.resolved"], "nobody is told twice");
}

/// How many messages of an incident the silent receivers are still owed.
async fn unclosed_sessions(stage: &Stage, incident: &str) -> usize {
    let body = stage.json(&format!("/api/v1/incidents/{incident}")).await;
    let is_owed = |line: &&Value| {
        line["state"] == "pending" && line["receiver"].as_str().is_some_and(|name| name.starts_with("silent"))
    };
    body["deliveries"].as_array().unwrap().iter().filter(is_owed).count()
}

/// Waits where there may be no Serin any more to ask.
async fn without_serin(what: &str, waiting: impl Future<Output = ()>) {
    let guard = std::time::Duration::from_mins(2);
    tokio::time::timeout(guard, waiting).await.unwrap_or_else(|_| panic!("{what}: it did not happen"));
}

/// A server whose searches wait at a gate.
#[derive(Debug)]
struct Gated {
    url: String,
    /// Told of every search that arrives.
    arrived: Arc<Notify>,
    /// A permit lets one search pass.
    gate: Arc<Semaphore>,
}

impl Gated {
    async fn start() -> Self {
        let (arrived, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let shared = (Arc::clone(&arrived), Arc::clone(&gate));
        let url = small_server::serve(move |_| found(shared.clone())).await;
        Self { url, arrived, gate }
    }
}

async fn found((arrived, gate): (Arc<Notify>, Arc<Semaphore>)) -> Value {
    arrived.notify_one();
    gate.acquire().await.unwrap().forget();
    let found = json!({"results": [{"text": "it is", "source": "right.md"}], "total_results": 1});
    json!({"content": [{"type": "text", "text": found.to_string()}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beat_in_flight_at_the_end_is_finished_and_remembered() {
    let server = Gated::start().await;
    let mut stage = Stage::start(&format!(
        "  - id: docs\n    url: {}\n    every: 20s\n    timeout: 14s\n    probe_budget: 15s\n    rules: {{ errors: {{ window: 10m }} }}\n    canaries: [{{ id: c, query: anything, expect: [right.md] }}]\n",
        server.url
    ))
    .await;
    stage.soon("a search is under way", server.arrived.notified()).await;
    let mut events = stage.client.get(format!("{}/events", stage.pages)).send().await.unwrap();
    stage.signal("INT");
    without_serin("open streams end", async { while events.chunk().await.unwrap().is_some() {} }).await;
    server.gate.add_permits(1);
    assert!(stage.ended().await.success());

    // Nothing passes the gate any more: what is shown now was remembered.
    stage.again().await;
    let body = stage.json("/api/v1/monitors/docs").await;
    assert!(body["canaries"][0]["answered_at"].is_string(), "{body:#}");
}
