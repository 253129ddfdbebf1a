//! `serin-bench`: what a beat costs, how late it starts and how soon a page is out, on this machine.
//!
//! Each measurement runs in a process of its own, which starts the whole program on a fleet it
//! declares; targets run in another, so that the figures are the monitor's alone. Everything stays
//! on loopback and ends by itself. Read: `target` (canned MCP servers), `fleet` (the program under
//! load), `bare` (the same four calls with hyper and nothing else), `beats` (both side by side, without store and
//! scheduler), `usage` (what a process used), `report` (how it is said). What the command takes and the order of its parts
//! stand here together, which is why this file is long.

use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context;
use clap::Parser as _;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::fleet::Load;
use crate::report::{cpu, late, memory, number, per_10000, quiet, row, spread};

mod target;
mod server_usage;
mod usage;
mod report;
mod bare;
mod backtest;
mod beats;
mod discovery;
mod fleet;
mod reference;
mod config;
mod false_pages;
mod hour;
mod memory;
mod months;
mod outbox;
mod queries;
mod quiet;
mod simulate;
mod stores;
mod viewers;

/// A measurement that takes longer than this is broken.
const PART_MAX: Duration = Duration::from_secs(420);
/// Monitors of the biggest fleet that may be asked for: twice what DESIGN promises to carry.
const FLEET_MAX: u64 = 100_000;
/// Seconds until a big fleet is in its stride: each monitor has had its first beat, and those that hang their suspect ones.
const SETTLE_SECONDS: u64 = 120;
/// Monitors that ask for more beats a second than two cores can make.
const SATURATING: &str = "3000";

/// Measures this machine; it takes minutes, and a release build to mean anything.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "serin-bench", version, max_term_width = 100)]
struct BenchArgs {
    /// A third of the time, for a first impression.
    #[arg(long)]
    quick: bool,
    /// Only what one beat's probe costs beside the same calls with hyper alone.
    #[arg(long)]
    wire: bool,
    /// Only how late beats start beside a server with a list of tools as long as it may be and another at each beat.
    #[arg(long)]
    lists: bool,
    /// Only a fleet of this size at a beat a minute, a tenth of it hanging; five minutes, and some 20 kB of memory a monitor.
    #[arg(long, value_name = "MONITORS", value_parser = clap::value_parser!(u64).range(1..=FLEET_MAX))]
    fleet: Option<u64>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// The processes the bench starts, which are not for people; and the other bench.
#[derive(Debug, Clone, clap::Subcommand)]
enum Part {
    /// Measures the reference server's index instead: search, indexing, memory, remembered answers
    Reference(reference::ReferenceBench),
    /// Measures how long a large configuration takes to check instead
    Config(config::ConfigBench),
    /// Measures how often healthy servers page, over thousands of monitor-years
    FalsePages(false_pages::FalsePagesBench),
    /// Measures what is remembered: bytes a monitor and day, and how long reading takes
    Memory(memory::MemoryBench),
    /// Measures what an hour's change costs a large fleet: writing the hour, sealing it, and what waits meanwhile
    Hour(hour::HourBench),
    /// Measures a start and the pages of a large fleet with months behind it
    Months(months::MonthsBench),
    /// Measures what thousands of silences cost a decision
    Quiet(quiet::QuietBench),
    /// Measures how soon a full outbox is empty
    Outbox(outbox::OutboxBench),
    /// Measures what open pages cost while nothing happens but beats
    Viewers(viewers::ViewersBench),
    /// Measures how soon a long list is watched, and what its changes cost the beats of others
    Discovery(discovery::DiscoveryBench),
    /// Measures what sharing, scheduling and deciding cost at any size, without sockets and database
    Simulate(simulate::SimulateBench),
    /// Measures a file beside a PostgreSQL server: beats, pages, and taking over
    Stores(stores::StoresBench),
    /// Measures how long a back-test of a month takes
    Backtest(backtest::BacktestBench),
    /// Serves canned answers.
    #[command(hide = true)]
    Target,
    /// Runs the program under a load.
    #[command(hide = true)]
    Fleet(Load),
    /// Is a machine of a fleet that several share.
    #[command(hide = true)]
    Machine(stores::Machine),
    /// Makes the same calls with hyper alone.
    #[command(hide = true)]
    Bare(bare::Calls),
    /// Runs beats without store and scheduler, or the same calls with hyper alone.
    #[command(hide = true)]
    Beats(beats::Beats),
    /// Has pages open.
    #[command(hide = true)]
    Watching(viewers::Watching),
    /// Times pages from decision to receipt.
    #[command(hide = true)]
    Pages,
}

/// The monitor's own, since its allocations are measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    serin::live::footprint::give_back_at_once();
    start()
}

#[tokio::main]
async fn start() -> ExitCode {
    let args = BenchArgs::parse();
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        anstream::eprintln!("a TLS provider was installed already");
    }
    let logging = if matches!(args.part, Some(Part::Months(_) | Part::Stores(_))) {
        queries::start();
        Ok(())
    } else {
        serin::cli::logging::start(None, false).map(|_| ())
    };
    let end = match logging {
        Ok(()) => Box::pin(run(args)).await,
        Err(error) => Err(error),
    };
    end.map_or_else(
        |error| {
            anstream::eprintln!("error: {error:#}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// Runs the bench, or the part of it that this process is.
async fn run(args: BenchArgs) -> anyhow::Result<()> {
    match args.part {
        Some(Part::Reference(args)) => reference::run(args).await?,
        Some(Part::Config(args)) => config::run(&args)?,
        Some(Part::FalsePages(args)) => false_pages::run(&args)?,
        Some(Part::Quiet(args)) => quiet::run(&args),
        Some(Part::Simulate(args)) => simulate::run(&args)?,
        Some(Part::Stores(args)) => Box::pin(stores::run(&args)).await?,
        Some(Part::Machine(args)) => Box::pin(stores::serve(args)).await?,
        Some(Part::Outbox(args)) => Box::pin(outbox::run(&args)).await?,
        Some(Part::Memory(args)) => memory::run(&args).await?,
        Some(Part::Discovery(args)) => Box::pin(discovery::run(&args)).await?,
        Some(Part::Backtest(args)) => Box::pin(backtest::run(&args)).await?,
        Some(Part::Months(args)) => Box::pin(months::run(&args)).await?,
        Some(Part::Viewers(args)) => Box::pin(viewers::run(&args)).await?,
        Some(Part::Watching(args)) => Box::pin(viewers::watch(args)).await?,
        Some(Part::Hour(args)) => Box::pin(hour::run(&args)).await?,
        Some(Part::Target) => target::run().await?,
        Some(Part::Fleet(load)) => anstream::println!("{}", fleet::run(load).await?),
        Some(Part::Bare(calls)) => anstream::println!("{}", bare::run(calls).await?),
        Some(Part::Beats(beats)) => anstream::println!("{}", beats::run(beats).await?),
        Some(Part::Pages) => anstream::println!("{}", fleet::pages().await?),
        None => match args.fleet {
            Some(monitors) => Box::pin(big(monitors, if args.quick { 60 } else { 120 })).await?,
            None if args.lists => Box::pin(lists(if args.quick { 60 } else { 180 })).await?,
            None => Box::pin(table(if args.quick { 10 } else { 30 }, args.wire)).await?,
        },
    }
    Ok(())
}

/// The parts that load the whole program.
struct Fleets<'p> {
    ports: &'p Ports,
    seconds: String,
    /// How often what is compared is measured.
    turns: u32,
}

impl Fleets<'_> {
    /// So many monitors of an era, each this often; `more` are further options.
    async fn run(&self, era: &str, monitors: &str, every: &str, more: &[&str]) -> anyhow::Result<Value> {
        let port = if era == "tls" { self.ports.tls.clone() } else { self.ports.of(era) };
        let mut parts = vec!["fleet", "--port", &port, "--hanging-port", &self.ports.hanging, "--monitors", monitors];
        parts.extend(["--every", every, "--seconds", &self.seconds]);
        if era == "tls" {
            parts.extend(["--root", &self.ports.certificate]);
        }
        parts.extend(more);
        part(parts.into_iter().map(str::to_owned).collect()).await
    }

    /// What a beat costs at a pace and what the same calls cost with hyper alone, by turns, so that a busy neighbour meets
    /// both: prints medians and spread, and answers the last run. `load` is era, monitors, seconds between beats, and
    /// beats a second, 0 for as many as there can be.
    async fn beside(
        &self,
        pace: &str,
        load: (&str, &str, &str, &str),
        more: &[&str],
        goal: &str,
    ) -> anyhow::Result<Value> {
        let (era, monitors, every, rate) = load;
        let (mut ours, mut bare, mut times, mut last) = (Vec::new(), Vec::new(), Vec::new(), Value::Null);
        for _ in 0..self.turns {
            let hyper = per_10000(&self.bare(era, rate).await?);
            last = self.run(era, monitors, every, more).await?;
            ours.push(per_10000(&last));
            bare.push(hyper);
            times.push(per_10000(&last) / hyper);
        }
        let said = format!("{}; {}× bare hyper's {}", spread(ours), spread(times), spread(bare));
        row(&format!("CPU-s per 10,000 beats, {pace}"), &said, goal);
        Ok(last)
    }

    /// The same calls with hyper alone.
    async fn bare(&self, era: &str, rate: &str) -> anyhow::Result<Value> {
        let port = if era == "tls" { self.ports.tls.clone() } else { self.ports.of(era) };
        let mut parts = vec!["bare", "--port", &port, "--era", era, "--rate", rate, "--seconds", &self.seconds];
        if era == "tls" {
            parts.extend(["--root", &self.ports.certificate]);
        }
        part(parts.into_iter().map(str::to_owned).collect()).await
    }
}

async fn table(seconds: u64, wire_only: bool) -> anyhow::Result<()> {
    let (target, ports) = start_target().await?;
    let ports = &ports;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    if !wire_only {
        let fleets = Fleets { ports, seconds: seconds.to_string(), turns: if seconds < 30 { 1 } else { 3 } };
        let paced = costs(&fleets).await?;
        stands(&fleets, &paced).await?;
    }
    side_by_side(ports, None, &seconds.to_string()).await?;
    side_by_side(ports, Some(&ports.certificate), &seconds.to_string()).await?;
    if !wire_only {
        pages().await?;
    }
    drop(target);
    Ok(())
}

/// What a beat costs at several paces, with hyper alone beside it by turns. The answer is a run at 100 beats a second.
async fn costs(fleets: &Fleets<'_>) -> anyhow::Result<Value> {
    // In its second minute a fleet remembers each server's tools; after that nothing happens.
    let slow = ["--settle", "75,140"];
    let steady = fleets.beside("17 beats/s", ("modern", "1020", "60", "17"), &slow, "≤ 1.2×").await?;
    if let Some(second_minute) = steady["earlier"].get(0) {
        row("the same in the second minute of a fleet", &cpu(second_minute), "stated");
    }
    row("waits and bytes written, 17 beats/s", &quiet(&steady), "≤ 2 and ≤ 2 kB a beat");
    let paced = ["--settle", "25"];
    let hundred = fleets.beside("100 beats/s", ("modern", "1000", "10", "100"), &paced, "≤ 1.5×").await?;
    row("waits and bytes written, 100 beats/s", &quiet(&hundred), "stated");
    fleets.beside("100 beats/s, legacy", ("legacy", "1000", "10", "100"), &paced, "stated").await?;
    fleets.beside("600 beats/s", ("modern", "6000", "10", "600"), &paced, "≤ 1.55×").await?;
    let pressed = ["--settle", "10", "--timeout", "5000"];
    let saturated = fleets.beside("saturated", ("modern", SATURATING, "1", "0"), &pressed, "≤ 3.1×").await?;
    let per_second = number(&saturated, "beats_per_second", 0);
    row("beats per second, saturated, target on the same machine", &per_second, "stated");
    let before = fleets.ports.handshakes().await?;
    fleets.beside("100 beats/s, TLS resumed", ("tls", "1000", "10", "100"), &paced, "≤ 1.2×").await?;
    let after = fleets.ports.handshakes().await?;
    let [full, resumed] = [0, 1].map(|nth| after[nth] - before[nth]);
    let handshakes = format!("{full} full, {resumed} resumed, hyper's included, since each start of 1,000 monitors");
    row("TLS handshakes of it, over 32 names", &handshakes, "stated");
    fleets.beside("saturated, TLS resumed", ("tls", SATURATING, "1", "0"), &pressed, "stated").await?;
    Ok(hundred)
}

/// How late beats start and what a fleet takes of memory and disk.
async fn stands(fleets: &Fleets<'_>, paced: &Value) -> anyhow::Result<()> {
    row("start lateness at 100/s", &late(paced), "p99 ≤ 15 ms");
    let hanging = fleets.run("modern", "1000", "10", &["--hanging", "10"]).await?;
    row("start lateness at 100/s, a tenth of the fleet hanging", &late(&hanging), "p99 ≤ 15 ms");
    beside_long_lists(fleets).await?;
    // As full as after an hour at a beat a minute: strips of sixty beats, and windows.
    let grown = async |monitors: &str, every: u64| {
        let settle = (every * 65 + 5).to_string();
        fleets.run("modern", monitors, &every.to_string(), &["--usual-windows", "--settle", &settle]).await
    };
    let (one, thousand, three) = (grown("1", 1).await?, grown("1000", 1).await?, grown("3000", 3).await?);
    row("anonymous memory at 1 monitor", &memory(&one, None), "stated");
    row("anonymous memory at 1,000 monitors", &memory(&thousand, Some((&one, 1000.0))), "≤ 22 MB");
    row("anonymous memory at 3,000 monitors", &memory(&three, Some((&one, 3000.0))), "≤ 45 MB");
    row("database per beat, raw", &format!("{} bytes", number(paced, "bytes_per_beat", 0)), "stated");
    Ok(())
}

/// How late the beats of a fleet start, one of whose servers gives probes as much work as it may.
async fn lists(seconds: u64) -> anyhow::Result<()> {
    let (target, ports) = start_target().await?;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    beside_long_lists(&Fleets { ports: &ports, seconds: seconds.to_string(), turns: 1 }).await?;
    drop(target);
    Ok(())
}

async fn beside_long_lists(fleets: &Fleets<'_>) -> anyhow::Result<()> {
    let more = ["--settle", "65", "--timeout", "10000", "--long-port", &fleets.ports.long];
    let beside = fleets.run("modern", "1000", "60", &more).await?;
    let measured = format!(
        "{}, worst {}; {} MB resident",
        late(&beside),
        beside["late_worst"].as_str().unwrap_or("?"),
        number(&beside, "resident_mb", 0)
    );
    row("start lateness, 1,000 at 60 s, of one 999 tools of 4 kB, all new at each beat", &measured, "p99 ≤ 15 ms");
    Ok(())
}

async fn pages() -> anyhow::Result<()> {
    let pages = part(vec!["pages".to_owned()]).await?;
    let times = format!(
        "p50 {} ms, p95 {} ms (n={})",
        number(&pages, "p50_ms", 0),
        number(&pages, "p95_ms", 0),
        number(&pages, "n", 0)
    );
    row("decision to webhook, 60 incidents within a second", &times, "p95 ≤ 50 ms");
    Ok(())
}

/// A big fleet at a beat a minute, a tenth of it hanging, with the usual limit of ten seconds a call.
async fn big(monitors: u64, seconds: u64) -> anyhow::Result<()> {
    let (target, ports) = start_target().await?;
    let fleets = Fleets { ports: &ports, seconds: seconds.to_string(), turns: 1 };
    let (settle, rate) = (SETTLE_SECONDS.to_string(), (monitors / 60).max(1).to_string());
    let one = fleets.run("modern", "1", "10", &["--settle", "25"]).await?;
    let more = ["--settle", &settle, "--timeout", "10000", "--hanging", "10"];
    let whole = fleets.run("modern", &monitors.to_string(), "60", &more).await?;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let of = format!("{monitors} monitors at 60 s, a tenth hanging, target on the same machine");
    let began = format!("{}; missed since the start {}", late(&whole), number(&whole, "missed_in_all", 0));
    row(&format!("{of}: start lateness"), &began, "p99 < 1 s, missed 0");
    row("CPU", &format!("{}, {} cores", cpu(&whole), number(&whole, "cores", 2)), "stated");
    row(&format!("bare hyper, the same four calls, {rate}/s"), &cpu(&fleets.bare("modern", &rate).await?), "beside it");
    row("anonymous memory", &memory(&whole, Some((&one, monitors as f64))), "stated");
    row("places for probes, by the file limit", &number(&whole, "permits", 0), "stated");
    drop(target);
    Ok(())
}

/// A beat's probe and the same calls with hyper alone, in turns, so that a busy neighbour meets both.
async fn side_by_side(ports: &Ports, root: Option<&str>, seconds: &str) -> anyhow::Result<()> {
    let port = if root.is_some() { &ports.tls } else { &ports.modern };
    let seconds = (seconds.parse::<u64>()? / 4).max(2).to_string();
    let before = ports.handshakes().await?;
    // CPU time and beats, of hyper and of the probe.
    let mut sums = [[0.0; 2]; 2];
    for _ in 0..2 {
        for (sum, by) in sums.iter_mut().zip(["hyper", "probe"]) {
            let mut parts = vec!["beats", "--by", by, "--port", port, "--seconds", &seconds];
            parts.extend(root.iter().flat_map(|root| ["--root", root]));
            let measured = part(parts.into_iter().map(str::to_owned).collect()).await?;
            for (sum, key) in sum.iter_mut().zip(["cpu_seconds", "beats"]) {
                *sum += measured[key].as_f64().unwrap_or_default();
            }
        }
    }
    let after = ports.handshakes().await?;
    let [hyper, probe] = sums.map(|[cpu, beats]| cpu * 1e6 / f64::max(beats, 1.0));
    let [beats_by_hyper, beats_by_probe] = sums.map(|[_, beats]| beats);
    let mut measured = format!(
        "{:.2}× ({probe:.0} µs against {hyper:.0} µs of CPU; {beats_by_probe:.0} and {beats_by_hyper:.0} beats)",
        probe / hyper
    );
    if root.is_some() {
        let [full, resumed] = [0, 1].map(|nth| after[nth] - before[nth]);
        measured.push_str(&format!("; {resumed} handshakes resumed, {full} full"));
    }
    let how = if root.is_some() { "TLS with resumption" } else { "plain" };
    row(&format!("one beat's probe against the same calls with hyper alone, {how}"), &measured, "≤ 2×");
    Ok(())
}

/// This program again, as one of its parts; its answer is one line of JSON.
async fn part(args: Vec<String>) -> anyhow::Result<Value> {
    let mut command = itself()?;
    command.args(&args).stdout(Stdio::piped());
    let output = tokio::time::timeout(PART_MAX, command.output()).await.context("a measurement did not end")??;
    anyhow::ensure!(output.status.success(), "bench {} failed", args.join(" "));
    serde_json::from_slice(&output.stdout).with_context(|| format!("bench {} answered no figures", args.join(" ")))
}

/// The targets' ports. The targets end with the child.
struct Ports {
    modern: String,
    legacy: String,
    hanging: String,
    long: String,
    tls: String,
    certificate: String,
}

impl Ports {
    /// Full and resumed handshakes of the target behind TLS, so far.
    async fn handshakes(&self) -> anyhow::Result<[u64; 2]> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(client.get(format!("http://127.0.0.1:{}/handshakes", self.modern)).send().await?.json().await?)
    }

    fn of(&self, era: &str) -> String {
        if era == "legacy" { self.legacy.clone() } else { self.modern.clone() }
    }
}

async fn start_target() -> anyhow::Result<(Child, Ports)> {
    let mut child = itself()?.arg("target").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().context("the target has no output")?;
    let line = BufReader::new(stdout).lines().next_line().await?.context("the target did not start")?;
    let ports: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    let Ok([modern, legacy, hanging, long, tls, certificate]) = <[String; 6]>::try_from(ports) else {
        anyhow::bail!("the target did not name its ports")
    };
    Ok((child, Ports { modern, legacy, hanging, long, tls, certificate }))
}

fn itself() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env("RUST_LOG", "error").kill_on_drop(true);
    Ok(command)
}
