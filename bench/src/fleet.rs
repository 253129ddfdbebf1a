//! The whole program under a load: every piece as `serin run` starts it.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use chrono::Utc;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::server_usage::ServerUsage;
use crate::target::address;
use crate::usage;
use serin::app::{self, Options};
use serin::domain::outcome::Verdict;
use serin::live::process_metrics::ProcessMetrics;

/// Incidents that are timed.
const PAGES: usize = 60;
/// Pages have to be out within this, or the bench gives up.
const PAGES_WITHIN: Duration = Duration::from_secs(60);

/// How the program is loaded.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Load {
    /// Port of the target.
    #[arg(long)]
    pub(crate) port: u16,
    /// Port of the target that hangs.
    #[arg(long)]
    pub(crate) hanging_port: u16,
    /// Monitors of the fleet.
    #[arg(long, default_value_t = 1000)]
    pub(crate) monitors: u64,
    /// Seconds between a monitor's beats.
    #[arg(long)]
    pub(crate) every: u64,
    /// Limit of a beat's calls, in milliseconds.
    #[arg(long, default_value_t = 500)]
    pub(crate) timeout: u64,
    /// Share of monitors that hang, in percent.
    #[arg(long, default_value_t = 0)]
    pub(crate) hanging: u64,
    /// Port of the target whose list of tools is long and another each time; the first monitor watches it.
    #[arg(long)]
    pub(crate) long_port: Option<u16>,
    /// The certificate to trust, DER in Base64; without one the target is asked without TLS.
    #[arg(long)]
    pub(crate) root: Option<String>,
    /// Seconds from the start to each measurement, the first of which come back as `earlier`; one interval and a little
    /// where none is given.
    #[arg(long, value_delimiter = ',')]
    pub(crate) settle: Vec<u64>,
    /// Windows as short as makes them hold what they hold at a beat a minute.
    #[arg(long)]
    pub(crate) usual_windows: bool,
    /// How long is measured.
    #[arg(long)]
    pub(crate) seconds: u64,
    /// A database on a server, in the place of a file.
    #[arg(long)]
    pub(crate) database: Option<String>,
}

/// Runs the program and answers what it used.
///
/// # Errors
/// Where it cannot start.
pub(crate) async fn run(load: Load) -> anyhow::Result<Value> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(&load, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(load: &Load, folder: &Path) -> anyhow::Result<Value> {
    let config = folder.join("monitors.yaml");
    std::fs::write(&config, yaml(load, folder)?)?;
    let shutdown = CancellationToken::new();
    let began = Instant::now();
    let running = app::start(options(&config), shutdown.clone()).await?;
    let live = Arc::clone(&running.live);
    let metrics = live.metrics();
    let mut server = match &load.database {
        Some(address) => Some(ServerUsage::of(address).await?),
        None => None,
    };
    // Its tables take some megabytes before there is a beat.
    let empty = match &mut server {
        Some(server) => server.bytes().await?,
        None => 0,
    };
    let usual = [load.every + 2];
    let mut measured = Vec::new();
    for settle in if load.settle.is_empty() { &usual[..] } else { &load.settle } {
        tokio::time::sleep(Duration::from_secs(*settle).saturating_sub(began.elapsed())).await;
        measured.push(stretch((metrics, server.as_ref()), Duration::from_secs(load.seconds)).await);
    }
    shutdown.cancel();
    let all = beats(metrics);
    running.ended().await?;
    let bytes = match &mut server {
        Some(server) => (server.bytes().await? - empty).unsigned_abs(),
        None => std::fs::metadata(folder.join("bench.db"))?.len(),
    };
    let mut last = measured.pop().unwrap_or_default();
    last["missed_in_all"] = json!(metrics.missed());
    last["permits"] = json!(metrics.permits());
    last["bytes_per_beat"] = json!(bytes as f64 / all.max(1) as f64);
    last["earlier"] = json!(measured);
    Ok(last)
}

/// What the program used over a stretch of time from now on.
async fn stretch((metrics, server): (&ProcessMetrics, Option<&ServerUsage>), length: Duration) -> Value {
    let of_server = || server.map_or(0.0, ServerUsage::cpu);
    let server_before = of_server();
    let (beats_before, missed_before, late_before) = (beats(metrics), metrics.missed(), metrics.lateness());
    let (cpu_before, switches_before, bytes_before) = (usage::cpu(), usage::switches(), usage::bytes_written());
    let began = Instant::now();
    tokio::time::sleep(length).await;
    let (done, cpu) = (beats(metrics) - beats_before, usage::cpu() - cpu_before);
    let late: Vec<u64> = metrics.lateness().iter().zip(&late_before).map(|(now, before)| now - before).collect();
    let elapsed = began.elapsed();
    let each = |now: u64, before: u64| now.saturating_sub(before) as f64 / done.max(1) as f64;
    json!({
        "beats": done,
        "cpu_per_10000": cpu.as_secs_f64() * 1e4 / done.max(1) as f64,
        "server_cpu_per_10000": (of_server() - server_before) * 1e4 / done.max(1) as f64,
        "switches_per_beat": each(usage::switches(), switches_before),
        "written_per_beat": each(usage::bytes_written(), bytes_before),
        "beats_per_second": done as f64 / elapsed.as_secs_f64(),
        "late_p50": bound(&late, 0.5),
        "late_p99": bound(&late, 0.99),
        "late_worst": bound(&late, 1.0),
        "missed": metrics.missed() - missed_before,
        "resident_mb": usage::resident_mb(),
        "anonymous_mb": usage::anonymous_mb(),
        "cores": cpu.as_secs_f64() / elapsed.as_secs_f64(),
    })
}

/// Beats so far.
pub(crate) fn beats(metrics: &ProcessMetrics) -> u64 {
    [Verdict::Good, Verdict::Degraded, Verdict::Down, Verdict::Unknown]
        .into_iter()
        .map(|verdict| metrics.beats(verdict))
        .sum()
}

/// The bucket's bound below which the share of starts lies.
pub(crate) fn bound(counts: &[u64], share: f64) -> String {
    let wanted = (counts.iter().sum::<u64>() as f64 * share).ceil() as u64;
    let mut sum = 0;
    for (nth, count) in counts.iter().enumerate() {
        sum += count;
        if sum >= wanted {
            return ProcessMetrics::LATE_BOUNDS_MS.get(nth).map_or("over 10 s".to_owned(), |ms| format!("≤ {ms} ms"));
        }
    }
    "?".to_owned()
}

/// The declared fleet. Targets are spread over many addresses of 127/8, which all lead to the same listeners: towards one
/// of them, ports for new connections would run out within a minute.
fn yaml(load: &Load, folder: &Path) -> anyhow::Result<String> {
    // The standard windows of half an hour and of twenty minutes, were each beat a minute.
    let rules = format!(
        ", rules: {{ errors: {{ window: {}s }}, latency: {{ window: {}s }} }}",
        load.every * 30,
        load.every * 20
    );
    let mut yaml = format!(
        "version: 1\nserin: {{ listen: \"127.0.0.1:0\", database: \"{}\" }}\n\
         defaults: {{ every: {}s, timeout: {}ms{} }}\nmonitors:\n",
        load.database.clone().unwrap_or_else(|| folder.join("bench.db").display().to_string()),
        load.every,
        load.timeout,
        if load.usual_windows { &rules } else { "" }
    );
    let (mut scheme, mut trust) = ("http", String::new());
    if let Some(root) = &load.root {
        let ca = folder.join("ca.pem");
        std::fs::write(&ca, format!("-----BEGIN CERTIFICATE-----\n{root}\n-----END CERTIFICATE-----\n"))?;
        (scheme, trust) = ("https", format!("    ca: \"{}\"\n", ca.display()));
    }
    for number in 0..load.monitors {
        let port = match load.long_port.filter(|_| number == 0) {
            Some(long) => long,
            None if number % 100 < load.hanging => load.hanging_port,
            None => load.port,
        };
        let address = address(number);
        writeln!(
            yaml,
            "  - id: m{number}\n    url: {scheme}://{address}:{port}/mcp\n{trust}    canaries:\n      \
             - {{ id: one, query: how long does a token live, expect: [docs/1.md] }}\n      \
             - {{ id: two, query: ERR-4417, expect: [docs/2.md], kind: keyword }}"
        )?;
    }
    Ok(yaml)
}

fn options(config: &Path) -> Options {
    let env: app::Environment = Arc::new(|_: &str| None);
    Options::new(config.to_owned(), env)
}

/// Milliseconds from the decision, which the notification's UUIDv7 holds, to the receipt.
type Received = Arc<Mutex<Vec<i64>>>;

/// Breaks many servers at once and answers how soon their pages were at a receiver.
///
/// # Errors
/// Where the program cannot start, or pages do not come.
pub(crate) async fn pages() -> anyhow::Result<Value> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let hook = listener.local_addr()?;
    let received = Received::default();
    let app = Router::new().route("/hook", post(receive)).with_state(Arc::clone(&received));
    tokio::spawn(axum::serve(listener, app).into_future());
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let config = folder.join("monitors.yaml");
    // Nothing listens on port 1 of any machine that runs a bench.
    let mut yaml = format!(
        "version: 1\nserin: {{ listen: \"127.0.0.1:0\", database: \"{}\", allow_private: [127.0.0.0/8] }}\n\
         defaults: {{ every: 1s, timeout: 500ms, rules: {{ availability: {{ after: 3, page_after: 0s }} }} }}\n\
         receivers: {{ hook: {{ webhook: {{ url: \"http://{hook}/hook\" }} }} }}\nroutes: [{{ to: [hook] }}]\nmonitors:\n",
        folder.join("bench.db").display()
    );
    for number in 0..PAGES {
        // Writing to a string cannot fail.
        let _ = writeln!(yaml, "  - {{ id: m{number}, url: \"http://127.0.0.1:1/mcp\" }}");
    }
    std::fs::write(&config, yaml)?;
    let shutdown = CancellationToken::new();
    let running = app::start(options(&config), shutdown.clone()).await?;
    let began = Instant::now();
    while received.lock().len() < PAGES {
        anyhow::ensure!(began.elapsed() < PAGES_WITHIN, "the pages did not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    shutdown.cancel();
    running.ended().await?;
    std::fs::remove_dir_all(&folder)?;
    let mut times = received.lock().clone();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() as f64 * share).ceil() as usize).clamp(1, times.len()) - 1];
    Ok(json!({"p50_ms": at(0.5), "p95_ms": at(0.95), "n": times.len()}))
}

async fn receive(State(received): State<Received>, headers: HeaderMap) -> StatusCode {
    let id = headers.get("webhook-id").and_then(|id| id.to_str().ok());
    let decided = id.and_then(|id| uuid::Uuid::parse_str(id).ok()).and_then(|id| id.get_timestamp());
    if let Some(decided) = decided {
        let (seconds, nanoseconds) = decided.to_unix();
        let decided_ms = i64::try_from(seconds).unwrap_or(0) * 1000 + i64::from(nanoseconds / 1_000_000);
        let took = Utc::now().timestamp_millis() - decided_ms;
        received.lock().push(took);
    }
    StatusCode::NO_CONTENT
}
