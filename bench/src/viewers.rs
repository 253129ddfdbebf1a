//! What open pages cost while the fleet beats and all is well: streams at `/events`, and browsers that follow them.
//!
//! Serin runs in this process and its viewers in another, each from an address of its own, since one peer has a share of the
//! streams only. A viewer does what `assets/app.js` does: it looks at its page when the stream opens and when an event
//! concerns it, at most once in a second or two, and takes what it gets compressed.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::memory::id;
use crate::report::row;
use crate::{fleet, itself, months, start_target, usage};
use serin::app::{self, Options};

/// The fleet beats so long before anything is measured: each monitor has had its first beat.
const SETTLE: Duration = Duration::from_secs(75);
/// Viewers have been there for so long: all have looked once.
const VIEWERS_SETTLE: Duration = Duration::from_secs(5);
/// A stream that takes longer to open never does.
const OPEN_MAX: Duration = Duration::from_secs(30);
/// Viewers that come from one network of 254 addresses.
const PER_NETWORK: u32 = 200;

/// Measures what open pages cost while nothing happens but beats.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ViewersBench {
    /// Pages that are open at once.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2000))]
    viewers: u32,
    /// Monitors with a beat a minute, all of them well.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    monitors: u64,
    /// How long each figure is taken.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(5..=600))]
    seconds: u64,
}

/// What the viewers have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Open {
    /// Streams alone: nobody looks at a page.
    Streams,
    /// Each a monitor's page, another than its neighbour's.
    Monitors,
    /// The list of incidents.
    Incidents,
    /// The fleet's page.
    Fleet,
}

/// The viewers of a Serin, until standard input ends.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Watching {
    /// Where Serin listens.
    #[arg(long)]
    address: SocketAddr,
    #[arg(long)]
    viewers: u32,
    #[arg(long)]
    monitors: u64,
    #[arg(long, value_enum)]
    open: Open,
}

/// Measures and prints a table.
///
/// # Errors
/// Where the program cannot start, or streams end early.
pub(crate) async fn run(args: &ViewersBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &ViewersBench, folder: &std::path::Path) -> anyhow::Result<()> {
    let (_target, ports) = start_target().await?;
    let config = folder.join("monitors.yaml");
    std::fs::write(&config, months::yaml(args.monitors, &ports.modern, &folder.join("bench.db"))?)?;
    let shutdown = CancellationToken::new();
    let running = app::start(Options::new(config, Arc::new(|_: &str| None)), shutdown.clone()).await?;
    tokio::time::sleep(SETTLE).await;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let beats_before = fleet::beats(running.live.metrics());
    for (open, what, goal) in [
        (Open::Streams, "streams alone", "≤ 5 % of a core"),
        (Open::Monitors, "browsers, each on another monitor's page", "≤ 5 % of a core"),
        (Open::Incidents, "browsers on the list of incidents", "≤ 5 % of a core"),
        (Open::Fleet, "browsers on the fleet's page", "≤ 5 % of a core"),
    ] {
        // Without viewers before and after, so that a fleet which grows dearer by itself is not taken for theirs.
        let before = share(args.seconds).await;
        let (mut child, mut said) = viewers(args, running.address, open).await?;
        tokio::time::sleep(VIEWERS_SETTLE).await;
        let memory = usage::anonymous_mb();
        let with = share(args.seconds).await;
        let counted = ended(&mut child, &mut said).await?;
        let after = share(args.seconds).await;
        let without = f64::midpoint(before, after);
        let measured = format!(
            "{:+.1} % of a core ({with:.1} % with them; {before:.1} % before, {after:.1} % after); {counted}; {memory:.1} MB \
             anonymous with them",
            with - without
        );
        row(&format!("{} {what}, {} monitors at 60 s, all well", args.viewers, args.monitors), &measured, goal);
    }
    let incidents = running.live.all().iter().filter(|one| one.roll_up().is_failing()).count();
    let beats = fleet::beats(running.live.metrics()) - beats_before;
    row("beats meanwhile; monitors that have trouble", &format!("{beats}; {incidents}"), "stated; 0");
    shutdown.cancel();
    running.ended().await
}

/// What this process uses from now on, for so long: percent of one core.
async fn share(seconds: u64) -> f64 {
    let (began, before) = (Instant::now(), usage::cpu());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    (usage::cpu() - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0
}

type Said = tokio::io::Lines<BufReader<ChildStdout>>;

/// Viewers in a process of their own, when all of their streams are open.
async fn viewers(args: &ViewersBench, address: SocketAddr, open: Open) -> anyhow::Result<(Child, Said)> {
    let open = clap::ValueEnum::to_possible_value(&open).context("a kind without a name")?;
    let (address, viewers) = (address.to_string(), args.viewers.to_string());
    let monitors = args.monitors.to_string();
    let args = ["watching", "--address", &address, "--viewers", &viewers, "--monitors", &monitors, "--open"];
    let mut command = itself()?;
    command.args(args).arg(open.get_name()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut said = BufReader::new(child.stdout.take().context("viewers without output")?).lines();
    said.next_line().await?.context("not every stream opened")?;
    Ok((child, said))
}

/// What they heard and looked at, once they are gone.
async fn ended(child: &mut Child, said: &mut Said) -> anyhow::Result<String> {
    drop(child.stdin.take());
    let counted = said.next_line().await?.context("a stream ended early")?;
    anyhow::ensure!(child.wait().await?.success(), "a stream ended early");
    Ok(counted)
}

/// What all viewers heard and looked at.
#[derive(Debug, Default)]
struct Counts {
    events: AtomicU64,
    looks: AtomicU64,
    /// Bytes of pages, as they came over the wire.
    bytes: AtomicU64,
}

/// Opens all streams, says so, follows them until standard input ends, and says what there was.
///
/// # Errors
/// Where a stream does not open or ends early, or a page is refused.
pub(crate) async fn watch(args: Watching) -> anyhow::Result<()> {
    let counts = Arc::new(Counts::default());
    let mut all = tokio::task::JoinSet::new();
    let (opened, mut openings) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..args.viewers {
        all.spawn(viewer(args.clone(), number, Arc::clone(&counts), opened.clone()));
    }
    drop(opened);
    for _ in 0..args.viewers {
        let next = tokio::time::timeout(OPEN_MAX, openings.recv()).await.ok().flatten();
        if next.is_none() {
            all.join_next().await.context("a stream did not open")???;
        }
    }
    anstream::println!("open");
    let began = Instant::now();
    let over = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        _ = over => {}
        Some(early) = all.join_next() => early??,
    }
    let [events, looks, bytes] = [&counts.events, &counts.looks, &counts.bytes].map(|one| one.load(Ordering::Relaxed));
    let seconds = began.elapsed().as_secs_f64();
    let (events, looks) = (events as f64 / seconds, looks as f64 / seconds);
    anstream::println!(
        "{events:.0} events and {looks:.1} pages a second, {:.0} kB/s of pages",
        bytes as f64 / seconds / 1e3
    );
    Ok(())
}

/// One viewer, for as long as its stream lasts.
async fn viewer(
    args: Watching,
    number: u32,
    counts: Arc<Counts>,
    opened: tokio::sync::mpsc::UnboundedSender<()>,
) -> anyhow::Result<()> {
    let [network, host] =
        [number / PER_NETWORK, 1 + number % PER_NETWORK].map(|part| u8::try_from(part).unwrap_or(u8::MAX));
    let from = Ipv4Addr::new(127, 77, network, host);
    let client = reqwest::Client::builder().no_proxy().local_address(Some(from.into())).build()?;
    let monitor = id(u64::from(number) % args.monitors);
    let (path, pause) = match args.open {
        Open::Streams => (None, Duration::ZERO),
        Open::Monitors => (Some(format!("/monitors/{monitor}")), Duration::from_secs(1)),
        Open::Incidents => (Some("/incidents".to_owned()), Duration::from_secs(1)),
        Open::Fleet => (Some("/".to_owned()), Duration::from_secs(2)),
    };
    let page = path.map(|path| format!("http://{}{path}", args.address));
    let events = client.get(format!("http://{}/events", args.address)).header("accept", "text/event-stream");
    let mut stream = events.send().await?.error_for_status()?;
    opened.send(())?;
    let (wanted, wants) = tokio::sync::watch::channel(());
    let looks = async {
        match &page {
            Some(page) => looked(&client, page, pause, wants, &counts).await,
            None => std::future::pending().await,
        }
    };
    let hears = async {
        let mut text = String::new();
        while let Some(bytes) = stream.chunk().await? {
            text.push_str(std::str::from_utf8(&bytes)?);
            while let Some((event, rest)) = text.split_once("\n\n") {
                counts.events.fetch_add(1, Ordering::Relaxed);
                if concerns(event, args.open, &monitor)? {
                    wanted.send_replace(());
                }
                text = rest.to_owned();
            }
        }
        anyhow::bail!("a stream ended")
    };
    tokio::select! { end = looks => end, end = hears => end }
}

/// Looks at a page once, and whenever it is wanted, with a pause after each look.
async fn looked(
    client: &reqwest::Client,
    page: &str,
    pause: Duration,
    mut wants: tokio::sync::watch::Receiver<()>,
    counts: &Counts,
) -> anyhow::Result<()> {
    loop {
        let began = Instant::now();
        let asked = client.get(page).header("accept", "text/html").header("accept-encoding", "gzip, deflate, br, zstd");
        let bytes = asked.send().await?.error_for_status()?.bytes().await?;
        counts.looks.fetch_add(1, Ordering::Relaxed);
        counts.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        wants.changed().await?;
        tokio::time::sleep(pause.saturating_sub(began.elapsed()).max(Duration::from_millis(100))).await;
        wants.mark_unchanged();
    }
}

/// Whether an event is about what a page shows, as `assets/app.js` has it.
fn concerns(event: &str, open: Open, monitor: &str) -> anyhow::Result<bool> {
    if !event.lines().any(|line| line == "event: change") {
        return Ok(false);
    }
    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).context("a change without data")?;
    let change: Value = serde_json::from_str(data)?;
    let names = |key: &str| change[key].as_array().map(Vec::as_slice).unwrap_or_default().to_vec();
    let is_all = change["all"] == true || change["fleet"] == true;
    let of_incidents = !names("incidents").is_empty();
    Ok(match open {
        Open::Streams => false,
        Open::Fleet => true,
        Open::Incidents => is_all || of_incidents,
        Open::Monitors => is_all || of_incidents || names("monitors").iter().any(|name| name == monitor),
    })
}
