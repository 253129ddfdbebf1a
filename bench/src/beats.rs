//! What one beat costs: the probe without store and scheduler, and beside it the same four calls with hyper alone.
//!
//! Both open a fresh connection each time, ask server/discover, tools/list and two searches, and close it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use rustls::RootCertStore;
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;

use crate::{bare, usage};
use serin::domain::answer::{Turn, Variant};
use serin::domain::monitor::{Canary, CanaryKind, Monitor};
use serin::domain::observation::BeatKind;
use serin::domain::protocol::{Era, Transport};
use serin::domain::schedule::PlannedAsk;
use serin::domain::secret::{Address, Secret};
use serin::domain::server_profile::{Caution, ServerProfile};
use serin::domain::tools::Listing;
use serin::probe::assignment::{Assignment, Further};
use serin::probe::prober::Prober;
use serin::tool_lists::known::KnownLists;
use serin_outbound::tls::Tls;

/// Beats at once: both cores are busy, and no queue grows.
const AT_ONCE: usize = 4;

/// Names the TLS session cache is sized for, on both sides of the comparison.
const FLEET: usize = 1000;

/// Turns before the measurement: connections warm, sessions known.
const WARM_UP: Duration = Duration::from_millis(500);

/// Who makes the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The probe, as a beat runs it.
    Probe,
    /// hyper alone.
    Hyper,
}

/// What is measured.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Beats {
    /// Who makes the calls.
    #[arg(long)]
    by: By,
    /// Port of the target.
    #[arg(long)]
    port: u16,
    /// The certificate to trust, DER in Base64; without one the target is asked without TLS.
    #[arg(long)]
    root: Option<String>,
    /// How long.
    #[arg(long)]
    seconds: u64,
}

/// Runs beats as fast as they go and answers what one costs.
///
/// # Errors
/// Where a beat does not find everything well.
pub(crate) async fn run(beats: Beats) -> anyhow::Result<Value> {
    let maker = Arc::new(Maker::new(&beats)?);
    for_a_while(&maker, WARM_UP).await?;
    let (began, before) = (Instant::now(), usage::cpu());
    let turns = for_a_while(&maker, Duration::from_secs(beats.seconds)).await?;
    let cpu = usage::cpu() - before;
    Ok(json!({
        "beats": turns,
        "cpu_seconds": cpu.as_secs_f64(),
        "beats_per_second": turns as f64 / began.elapsed().as_secs_f64(),
    }))
}

async fn for_a_while(maker: &Arc<Maker>, length: Duration) -> anyhow::Result<u64> {
    let began = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let maker = Arc::clone(maker);
        workers.spawn(async move {
            let mut turns = 0;
            while began.elapsed() < length {
                maker.turn().await?;
                turns += 1;
            }
            anyhow::Ok(turns)
        });
    }
    let mut turns = 0;
    while let Some(done) = workers.join_next().await {
        turns += done??;
    }
    Ok(turns)
}

enum Maker {
    Probe { prober: Box<Prober>, monitor: Arc<Monitor>, tools: OnceLock<Arc<Listing>> },
    Hyper { port: u16, tls: Option<TlsConnector>, bodies: Vec<String> },
}

impl Maker {
    fn new(beats: &Beats) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        if let Some(root) = &beats.root {
            roots.add(STANDARD.decode(root)?.into())?;
        }
        let resuming = Tls::new(roots.clone(), FLEET, None, None)?.resuming;
        let scheme = if beats.root.is_some() { "https" } else { "http" };
        Ok(match beats.by {
            By::Probe => Self::Probe {
                tools: OnceLock::new(),
                prober: Box::new(Prober::with_roots(roots, FLEET)),
                monitor: Arc::new(monitor(&format!("{scheme}://{}:{}/mcp", Ipv4Addr::LOCALHOST, beats.port))),
            },
            By::Hyper => Self::Hyper {
                port: beats.port,
                tls: beats.root.as_ref().map(|_| TlsConnector::from(resuming)),
                bodies: bare::bodies(false),
            },
        })
    }

    async fn turn(&self) -> anyhow::Result<()> {
        match self {
            Self::Hyper { port, tls, bodies } => {
                bare::turn(SocketAddrV4::new(Ipv4Addr::LOCALHOST, *port), tls.as_ref(), bodies).await
            }
            Self::Probe { prober, monitor, tools } => {
                let (seen, _) = prober.run(&assignment(monitor, tools.get())).await;
                if let Some(listed) = &seen.tools {
                    tools.get_or_init(|| Arc::clone(&listed.listing));
                }
                let fault = seen.steps.into_iter().find_map(|step| step.fault);
                fault.map_or(Ok(()), |fault| Err(anyhow::anyhow!("a beat met {:?}: {}", fault.kind, fault.detail)))
            }
        }
    }
}

fn monitor(url: &str) -> Monitor {
    let mut monitor = Monitor::undeclared("bench", Address { shown: url.to_owned(), resolved: Secret::new(url) });
    let canary = |id: &str| Canary {
        id: id.to_owned(),
        query: "token".to_owned(),
        kind: CanaryKind::Mixed,
        expect: vec!["docs/1.md".to_owned()],
        within: 5,
        max_score: None,
        text: None,
        forbid: Vec::new(),
        also: Vec::new(),
        line: 1,
        definition_hash: String::new(),
    };
    monitor.canaries = vec![canary("one"), canary("two")];
    monitor
}

/// A beat in the middle of a day: era and tools are known, the sources are not due.
fn assignment(monitor: &Arc<Monitor>, tools: Option<&Arc<Listing>>) -> Assignment {
    let now = Utc::now();
    let mut profile =
        ServerProfile { discover: Caution::Harmless, closing: Caution::Harmless, ..ServerProfile::default() };
    profile.found(Era::Modern, Transport::Http, now);
    Assignment {
        monitor: Arc::clone(monitor),
        kind: BeatKind::Scheduled,
        scheduled_at: now,
        started_at: now,
        asks: [0, 1].map(|canary| PlannedAsk::new(canary, Turn::Scheduled, Variant::Fresh)).to_vec(),
        further: Further::NONE,
        source_pages: 0,
        source_names: false,
        profile,
        lists: KnownLists { accepted: None, latest: tools.cloned() },
    }
}
