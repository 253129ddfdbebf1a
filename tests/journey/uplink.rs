//! Serin's own network: where it is gone nothing is said of anybody else, and where it holds the page says so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::Method;
use serin::deliver::message::Message;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::databases;
use crate::stage::{Expected, Stage, evidence, reference};

/// Somebody who answers, whatever is asked.
async fn control(address: &str) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = Router::new().fallback(|| async { "here" });
    (address, tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_uplink_is_nobodys_outage_but_ours() {
    let (address, answering) = control("127.0.0.1:0").await;
    answering.abort();
    let _ended = answering.await;
    let server = reference().await;
    let monitors = format!(
        "  - {{ id: far, url: \"http://nowhere.invalid/mcp\" }}\n  - {{ id: near, url: \"{}\" }}\n",
        server.mcp_url()
    );
    let stage = Stage::under(&format!("  control: [ \"http://{address}/\" ]\n"), &monitors).await;
    let told = stage.message("our own trouble is told", |message| message.event == "serin.trouble").await;
    assert_eq!(evidence(&told, "trouble"), "uplink_lost", "{told:#?}");
    stage.well("near").await;
    // Enough beats to page a server that is down, all of them taken back.
    let waiting = async {
        while stage.page("/monitors/far").await.matches("monitor_uplink").count() < 6 {
            stage.changed().await;
        }
    };
    stage.soon("beats are unknown", waiting).await;
    let page = stage.page("/monitors/far").await;
    assert!(page.contains("Serin&#39;s own network is gone") || page.contains("own network is gone"), "{page}");
    assert!(stage.told("far").is_empty(), "nobody is told anything of the server: {:#?}", stage.told("far"));
    assert_ne!(stage.json("/api/v1/monitors/far").await["state"], "down");

    let (_, _answering) = control(&address).await;
    stage.message("the all-clear", |message| message.event == "serin.trouble_over").await;
    let down =
        Expected { monitor: "far", signal: "availability", reason: "dns_failure", severity: "page", stage: "connect" };
    let message = stage.opened("with the uplink back, it is the server's own", down).await;
    let connectivity = evidence(&message, "ladder");
    assert!(
        connectivity.starts_with("uplink ok (a control address answers") && connectivity.contains("→ name fails"),
        "{connectivity}"
    );
}

/// A gateway answers whatever is asked, as a sign-in page does, while nothing behind it can be reached.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_answers_everything_does_not_page_for_every_monitor() {
    let (gateway, _answering) = control("127.0.0.1:0").await;
    let server = reference().await;
    let far = |n: usize| format!("  - {{ id: far-{n}, url: \"http://nowhere-{n}.invalid/mcp\" }}\n");
    let monitors: String = (0..5).map(far).collect();
    let monitors = format!("{monitors}  - {{ id: near, url: \"{}\" }}\n", server.mcp_url());
    let declared = format!("  control: [ {{ url: \"http://{gateway}/up\", status: 204 }} ]\n");
    let stage = Stage::under(&declared, &monitors).await;
    let first = |message: &Message| message.event == "serin.trouble" || message.event == "incident.opened";
    let told = stage.message("somebody is told of something", first).await;
    assert_eq!(evidence(&told, "trouble"), "uplink_lost", "our own trouble, and no monitor's: {told:#?}");
    let why = format!("{told:?}");
    assert!(why.contains("answers 200 and not 204"), "it says what answered instead: {why}");
    stage.well("near").await;
    let waiting = async {
        while stage.page("/monitors/far-4").await.matches("monitor_uplink").count() < 6 {
            stage.changed().await;
        }
    };
    stage.soon("beats are unknown", waiting).await;
    for n in 0..5 {
        let told = stage.told(&format!("far-{n}"));
        assert!(told.is_empty(), "nobody is told anything of far-{n}: {told:#?}");
    }
}

/// A server that lets every call hang, and holds the diagnosis's plain GET until it is let go.
#[derive(Debug, Clone, Default)]
struct Holding {
    held: Arc<AtomicUsize>,
    called_meanwhile: Arc<Notify>,
    let_go: CancellationToken,
}

/// One call that is held; whoever hangs up is held no longer.
struct Held<'h>(&'h AtomicUsize);

impl<'h> Held<'h> {
    fn of(count: &'h AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn holding(State(holding): State<Holding>, method: Method) -> &'static str {
    if method == Method::GET {
        let _held = Held::of(&holding.held);
        holding.let_go.cancelled().await;
        return "here";
    }
    if holding.held.load(Ordering::SeqCst) > 0 {
        holding.called_meanwhile.notify_one();
    }
    std::future::pending().await
}

impl Holding {
    /// Serves; at what address.
    async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(holding).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address
    }

    /// Until it holds somebody.
    async fn holds(&self) {
        while self.held.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_standstill_of_serin_hid_is_nobodys_outage() {
    // With another machine, that one would watch it.
    if databases::machines() > 1 {
        return;
    }
    let (server, health) = (reference().await, Holding::default());
    let address = health.start().await;
    let monitor = format!(
        "  - {{ id: docs, url: \"{}\", health: [{{ url: \"http://{address}/health\" }}], timeout: 2s }}\n",
        server.mcp_url()
    );
    let stage = Stage::start(&monitor).await;
    stage.soon("it is asked for its health", health.holds()).await;
    stage.signal("STOP");
    // Past every limit of the probe, and past what a busy machine is late by.
    tokio::time::sleep(Duration::from_secs(5)).await;
    health.let_go.cancel();
    stage.signal("CONT");
    let told = stage.message("our own trouble is told", |message| message.event == "serin.trouble").await;
    assert_eq!(evidence(&told, "trouble"), "stood_still", "{told:#?}");
    let detail = evidence(&told, "detail");
    assert!(detail.starts_with("Serin itself stood still for "), "{detail}");
    assert!(detail.ends_with(" s in this probe of monitor 'docs'"), "{detail}");
    stage.until("it is seen again", "docs", |body| body["state"] == "up").await;
    let metrics = stage.page("/metrics").await;
    // The one that it stood in; all others are good.
    for (verdict, beats) in [("unknown", 1), ("degraded", 0), ("down", 0)] {
        let line = format!("serin_beats_total{{verdict=\"{verdict}\"}} {beats}\n");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
    assert!(stage.told("docs").is_empty(), "{:#?}", stage.told("docs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_waits_for_the_ladder() {
    let server = Holding::default();
    let address = server.start().await;
    let rules = "    rules: { availability: { after: 1, page_after: 0s } }\n";
    let stage = Stage::start(&format!("  - id: stuck\n    url: \"http://{address}/mcp\"\n{rules}")).await;
    let down =
        Expected { monitor: "stuck", signal: "availability", reason: "timeout", severity: "page", stage: "handshake" };
    let opened = stage.opened("the server hangs", down).await;
    assert_eq!(evidence(&opened, "ladder"), "", "the page did not wait: {opened:#?}");
    stage.soon("the next look does not wait either", server.called_meanwhile.notified()).await;
    server.let_go.cancel();
    let closer = |message: &Message| message.event == "incident.updated" && !evidence(message, "ladder").is_empty();
    let update = stage.message("what the ladder shows comes with an update", closer).await;
    assert!(update.sequence > opened.sequence, "{update:#?}");
    assert_eq!(update.failure_reason, opened.failure_reason, "{update:#?}");
    assert!(evidence(&update, "ladder").contains("→ unauthenticated"), "{update:#?}");
    assert!(update.summary.starts_with("stuck: looked closer: list fails"), "{update:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_says_how_far_one_gets() {
    let server = reference().await;
    let stage = Stage::start(&format!("  - {{ id: docs, url: \"{}\" }}\n", server.mcp_url())).await;
    stage.well("docs").await;
    server.faults().on(
        serin_reference::lab::kinds::Fault::Refused,
        serin_reference::lab::kinds::Dose::of(serin_reference::lab::kinds::Fault::Refused),
    );
    let down = Expected {
        monitor: "docs",
        signal: "availability",
        reason: "connection_refused",
        severity: "page",
        stage: "connect",
    };
    let message = stage.opened("the process is gone", down).await;
    let connectivity = evidence(&message, "ladder");
    assert!(
        connectivity.starts_with("name ok (127.0.0.1") && connectivity.contains("→ tcp fails (127.0.0.1:"),
        "{connectivity}"
    );
}
