//! Receivers that never answer, and the end of Serin itself.

use serde_json::Value;
use serin::rag::fault::{Dose, Fault};
use tokio::net::TcpListener;
use tokio::sync::watch;

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

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_delays_nobody_and_an_end_is_an_end() {
    let server = reference().await;
    let (url, mut accepted) = silent().await;
    let mut stage = Stage::with(
        &format!("  silent: {{ webhook: {{ url: \"{url}\" }} }}\n"),
        "  - { to: [silent, inbox, mail] }\n",
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
    let opened = stage.opened("beside a silent receiver", gone).await;
    stage.soon("the silent one was tried", accepted.wait_for(|count| *count > 0)).await.unwrap();
    server.faults().all_off();
    stage.resolved("beside a silent receiver", &opened).await;
    let missed = |line: &str| line.starts_with("serin_") && line.contains("missed") && !line.ends_with(" 0");
    let metrics = stage.page("/metrics").await;
    let missed: Vec<&str> = metrics.lines().filter(|line| missed(line)).collect();
    assert!(missed.is_empty(), "no beat was missed: {missed:?}");
    let incident = stage.json(&format!("/api/v1/incidents/{}", opened.incident.as_ref().unwrap().id)).await;
    let states: Vec<&Value> = incident["deliveries"].as_array().unwrap().iter().collect();
    let of = |receiver: &str| states.iter().filter(|line| line["receiver"] == receiver).collect::<Vec<_>>();
    assert!(of("silent").iter().all(|line| line["state"] != "delivered"), "{incident:#}");
    assert_eq!((of("inbox").len(), of("mail").len()), (2, 2), "{incident:#}");

    let mut events = stage.client.get(format!("{}/events", stage.pages)).send().await.unwrap();
    stage.signal("INT");
    let ending = async { while events.chunk().await.unwrap().is_some() {} };
    stage_free("open streams end", ending).await;
    let end = stage.ended().await;
    assert!(end.success(), "it ends well: {end}");
}

/// Waits where there may be no Serin any more to ask.
async fn stage_free(what: &str, waiting: impl Future<Output = ()>) {
    let guard = std::time::Duration::from_mins(2);
    tokio::time::timeout(guard, waiting).await.unwrap_or_else(|_| panic!("{what}: it did not happen"));
}
