//! How soon a full outbox is empty: thousands of deliveries that wait, and receivers on loopback that take each at once.
//!
//! What is measured is the delivery worker over a real database: claims, signed posts and a record of each, as after a
//! network that was away. Receivers are of this process, so that its figures are a little more than the worker's own.

use std::collections::BTreeMap;
use std::future::IntoFuture as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use chrono::{DateTime, Utc};
use serin::daemon::delivery_worker::DeliveryWorker;
use serin::deliver::ack_link::AckLinks;
use serin::deliver::channel::ChannelSender;
use serin::deliver::message::freeze;
use serin::domain::fleet::Fleet;
use serin::domain::monitor::MonitorId;
use serin::domain::network::Network;
use serin::domain::paging::notification::{Event, MonitorCard, Notification};
use serin::domain::reason::{FailureReason, Severity};
use serin::domain::receiver::{Channel, Receiver};
use serin::domain::secret::{Address, Secret};
use serin::store::Store;
use serin::store::values::change_set::{Addressee, ChangeSet, Outgoing};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::report::row;
use crate::{quiet, usage};

/// Deliveries that are promised in one commit.
const COMMITTED: usize = 500;
/// How often somebody looks whether all was taken.
const LOOK_GAP: Duration = Duration::from_millis(20);
/// Beyond this a worker stands still.
const WITHIN: Duration = Duration::from_secs(600);
/// Base64 of 32 bytes; it protects nothing.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutboxBench {
    /// Deliveries that wait.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    queued: u64,
    /// Receivers that they are for, by turns.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    receivers: u64,
}

/// Measures and prints a table.
///
/// # Errors
/// Where the database does not take what it should, or deliveries are not brought.
pub(crate) async fn run(args: &OutboxBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &OutboxBench, folder: &Path) -> anyhow::Result<()> {
    let taken = Arc::new(AtomicU64::new(0));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let app = Router::new().route("/{receiver}", post(take)).with_state(Arc::clone(&taken));
    tokio::spawn(axum::serve(listener, app).into_future());
    let store = Store::open(&folder.join("serin.db")).await?;
    promise(&store, args).await?;
    let (_kept, fleet) = watch::channel(Arc::new(fleet(address, args.receivers)));
    let (sender, links) = (Arc::new(ChannelSender::new()?), Arc::new(AckLinks::new([0; 32])));
    let (before_mb, before_cpu, began) = (usage::anonymous_mb(), usage::cpu(), Instant::now());
    let shutdown = CancellationToken::new();
    let worker = tokio::spawn(
        DeliveryWorker {
            store: store.clone(),
            sender,
            fleet,
            leases: tokio::sync::watch::channel(std::sync::Arc::new(serin::domain::lease::Leases::whole())).1,
            links,
        }
        .run(shutdown.clone()),
    );
    let mut most_mb = before_mb;
    // What waits is only counted once all came: counting costs as much as bringing.
    while taken.load(Ordering::Relaxed) < args.queued || store.backlog(Utc::now()).await?.pending > 0 {
        anyhow::ensure!(began.elapsed() < WITHIN, "{} were taken, and no more", taken.load(Ordering::Relaxed));
        most_mb = most_mb.max(usage::anonymous_mb());
        tokio::time::sleep(LOOK_GAP).await;
    }
    let (took, cpu) = (began.elapsed().as_secs_f64(), (usage::cpu() - before_cpu).as_secs_f64());
    let came = taken.load(Ordering::Relaxed);
    anyhow::ensure!(came == args.queued, "{came} came of {}", args.queued);
    let (queued, receivers) = (args.queued, args.receivers);
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let said = format!("{took:.1} s, {:.0} a second", queued as f64 / took);
    row(
        &format!("{queued} queued deliveries to {receivers} receivers, until the last is recorded as taken"),
        &said,
        "stated",
    );
    row("CPU of it, receivers included", &format!("{:.2} ms a delivery", cpu * 1e3 / queued as f64), "stated");
    let said = format!("{before_mb:.1} MB before, {most_mb:.1} MB at most");
    row("anonymous memory, receivers included", &said, "stated");
    shutdown.cancel();
    worker.await?;
    store.close().await;
    Ok(())
}

async fn take(State(taken): State<Arc<AtomicU64>>) -> StatusCode {
    taken.fetch_add(1, Ordering::Relaxed);
    StatusCode::NO_CONTENT
}

fn name(number: u64) -> String {
    format!("r{number}")
}

fn fleet(address: SocketAddr, receivers: u64) -> Fleet {
    let receiver = |number: u64| {
        let url = format!("http://{address}/{}", name(number));
        let url = Address { shown: url.clone(), resolved: Secret::new(&url) };
        let channel = Channel::Webhook { url, secrets: vec![Secret::new(SECRET)], form: Box::default() };
        Arc::new(Receiver { name: name(number), channel, at_most: None, line: 1, definition_hash: String::new() })
    };
    Fleet {
        receivers: (0..receivers).map(receiver).collect(),
        allow_private: vec![Network("127.0.0.0/8".to_owned())],
        ..Fleet::default()
    }
}

/// Promises them all, each about an incident of its own.
async fn promise(store: &Store, args: &OutboxBench) -> anyhow::Result<()> {
    let now = Utc::now();
    let all: Vec<u64> = (0..args.queued).collect();
    for some in all.chunks(COMMITTED) {
        let outbox = some.iter().map(|number| outgoing(*number, args.receivers, now)).collect();
        store.commit(ChangeSet { outbox, ..ChangeSet::default() }).await?;
    }
    Ok(())
}

fn outgoing(number: u64, receivers: u64, now: DateTime<Utc>) -> Outgoing {
    let id = MonitorId::new(&format!("m{number}"));
    let incident =
        serin::domain::incident::Incident { id: uuid::Uuid::now_v7().to_string(), ..quiet::incident(&id, now) };
    let notification = Notification {
        id: uuid::Uuid::now_v7().to_string(),
        sequence: 1,
        event: Event::IncidentOpened,
        at: now,
        monitor: MonitorCard {
            id: id.to_string(),
            name: "Product documentation".to_owned(),
            url: "https://docs.example.org/mcp".to_owned(),
            labels: BTreeMap::from([("team".to_owned(), "docs".to_owned())]),
        },
        reason: Some(FailureReason::Timeout),
        failed_stage: Some(incident.stage.clone()),
        severity: Severity::Page,
        summary: incident.summary.clone(),
        evidence: Vec::new(),
        resolves_when: Some("2 good beats in a row".to_owned()),
        runbook_url: "https://serin.example.org/runbooks/timeout".to_owned(),
        incident_url: Some(format!("https://serin.example.org/incidents/{}", incident.id)),
        rule: Some(incident.rule.clone()),
        reproduce: format!("serin probe {id}"),
        incident: Some(incident),
        group_key: None,
    };
    let to =
        Addressee { receiver: name(number % receivers), receiver_hash: String::new(), fallback: None, gathering: None };
    Outgoing { payload: freeze(&notification), notification, to: vec![to] }
}
