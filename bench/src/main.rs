//! `serin-bench`: what a beat costs, how late it starts and how soon a page is out, on this machine.
//!
//! Each measurement runs in a process of its own, which starts the whole program on a fleet it
//! declares; targets run in another, so that the figures are the monitor's alone. Everything stays
//! on loopback and ends by itself. Read: `target` (canned MCP servers), `fleet` (the program under
//! load), `bare` (the same four calls with hyper and nothing else), `beats` (both side by side, without store and
//! scheduler), `usage` (what a process used).

use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context;
use clap::Parser as _;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::fleet::Load;

mod target;
mod usage;
mod bare;
mod beats;
mod fleet;
mod reference;
mod config;
mod memory;
mod months;

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
    /// Measures what is remembered: bytes a monitor and day, and how long reading takes
    Memory(memory::MemoryBench),
    /// Measures a start and the pages of a large fleet with months behind it
    Months(months::MonthsBench),
    /// Serves canned answers.
    #[command(hide = true)]
    Target,
    /// Runs the program under a load.
    #[command(hide = true)]
    Fleet(Load),
    /// Makes the same calls with hyper alone.
    #[command(hide = true)]
    Bare(bare::Calls),
    /// Runs beats without store and scheduler, or the same calls with hyper alone.
    #[command(hide = true)]
    Beats(beats::Beats),
    /// Times pages from decision to receipt.
    #[command(hide = true)]
    Pages,
}

/// The monitor's own, since its allocations are measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let args = BenchArgs::parse();
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        anstream::eprintln!("a TLS provider was installed already");
    }
    let end = match serin::cli::logging::start(None, false) {
        Ok(_) => Box::pin(run(args)).await,
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
        Some(Part::Memory(args)) => memory::run(&args).await?,
        Some(Part::Months(args)) => Box::pin(months::run(&args)).await?,
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
        let fleets = Fleets { ports, seconds: seconds.to_string() };
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

/// What a beat costs at several paces, with hyper alone beside it in the same run. The answer is the paced run's.
async fn costs(fleets: &Fleets<'_>) -> anyhow::Result<Value> {
    let slow = fleets.run("modern", "1020", "60", &["--settle", "75"]).await?;
    row("CPU, modern, 17 beats/s", &cpu(&slow), "≤ 5 CPU-s per 10,000 beats");
    row("bare hyper, the same four calls, 17/s", &cpu(&fleets.bare("modern", "17").await?), "beside it");
    let paced = fleets.run("modern", "1000", "10", &["--settle", "25"]).await?;
    row("CPU, modern, 100 beats/s", &cpu(&paced), "≤ 3.5 CPU-s per 10,000 beats");
    row("bare hyper, the same four calls, 100/s", &cpu(&fleets.bare("modern", "100").await?), "beside it");
    row("CPU, legacy, 100 beats/s", &cpu(&fleets.run("legacy", "1000", "10", &[]).await?), "stated");
    row("bare hyper, legacy calls, 100/s", &cpu(&fleets.bare("legacy", "100").await?), "beside it");
    let saturated = fleets.run("modern", SATURATING, "1", &["--settle", "10", "--timeout", "5000"]).await?;
    row("CPU, modern, saturated", &cpu(&saturated), "≤ 1.2 CPU-s per 10,000 beats");
    let per_second = number(&saturated, "beats_per_second", 0);
    row("beats per second, saturated, target on the same machine", &per_second, "stated");
    row("bare hyper, saturated", &cpu(&fleets.bare("modern", "0").await?), "beside it");
    let before = fleets.ports.handshakes().await?;
    row("CPU, TLS resumed, 100 beats/s", &cpu(&fleets.run("tls", "1000", "10", &[]).await?), "≤ 7 CPU-s per 10,000");
    let after = fleets.ports.handshakes().await?;
    let [full, resumed] = [0, 1].map(|nth| after[nth] - before[nth]);
    let handshakes = format!("{full} full, {resumed} resumed, since the start of 1,000 monitors");
    row("TLS handshakes of it, over 32 names", &handshakes, "stated");
    row("bare hyper, TLS resumed, 100/s", &cpu(&fleets.bare("tls", "100").await?), "beside it");
    let saturated = fleets.run("tls", SATURATING, "1", &["--settle", "10", "--timeout", "5000"]).await?;
    row("CPU, TLS resumed, saturated", &cpu(&saturated), "≤ 3 CPU-s per 10,000");
    row("bare hyper, TLS resumed, saturated", &cpu(&fleets.bare("tls", "0").await?), "beside it");
    Ok(paced)
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
    row("resident memory at 1 monitor", &memory(&one, None), "stated");
    row("resident memory at 1,000 monitors", &memory(&thousand, Some((&one, 1000.0))), "≤ 30 MB");
    row("resident memory at 3,000 monitors", &memory(&three, Some((&one, 3000.0))), "≤ 45 MB");
    row("database per beat, raw", &format!("{} bytes", number(paced, "bytes_per_beat", 0)), "stated");
    Ok(())
}

/// How late the beats of a fleet start, one of whose servers gives probes as much work as it may.
async fn lists(seconds: u64) -> anyhow::Result<()> {
    let (target, ports) = start_target().await?;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    beside_long_lists(&Fleets { ports: &ports, seconds: seconds.to_string() }).await?;
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
    let fleets = Fleets { ports: &ports, seconds: seconds.to_string() };
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
    row("resident memory", &memory(&whole, Some((&one, monitors as f64))), "stated");
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

fn row(what: &str, measured: &str, goal: &str) {
    anstream::println!("| {what} | {measured} | {goal} |");
}

fn number(values: &Value, key: &str, digits: usize) -> String {
    values[key].as_f64().map_or_else(|| "?".to_owned(), |value| format!("{value:.digits$}"))
}

fn cpu(values: &Value) -> String {
    format!("{} CPU-s per 10,000 ({} beats)", number(values, "cpu_per_10000", 2), number(values, "beats", 0))
}

/// Resident memory, what of it is the program's own file, and what a monitor takes beyond a fleet of one.
fn memory(values: &Value, beyond: Option<(&Value, f64)>) -> String {
    let mb = |values: &Value, key: &str| values[key].as_f64().unwrap_or_default();
    let mut said = format!(
        "{:.1} MB, of which {:.1} MB are the program's file",
        mb(values, "resident_mb"),
        mb(values, "resident_mb") - mb(values, "anonymous_mb")
    );
    if let Some((one, monitors)) = beyond {
        let each = (mb(values, "anonymous_mb") - mb(one, "anonymous_mb")) * 1_048_576.0 / monitors;
        said.push_str(&format!("; {:.1} kB a monitor", each / 1e3));
    }
    said
}

fn late(values: &Value) -> String {
    let bound = |key| values[key].as_str().unwrap_or("?").to_owned();
    format!("p50 {}, p99 {}, missed {}", bound("late_p50"), bound("late_p99"), number(values, "missed", 0))
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
    let ports: Vec<&str> = line.split_whitespace().collect();
    let [modern, legacy, hanging, long, tls, certificate] = ports[..] else {
        anyhow::bail!("the target did not name its ports")
    };
    let [modern, legacy, hanging, long, tls, certificate] =
        [modern, legacy, hanging, long, tls, certificate].map(ToOwned::to_owned);
    Ok((child, Ports { modern, legacy, hanging, long, tls, certificate }))
}

fn itself() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env("RUST_LOG", "error").kill_on_drop(true);
    Ok(command)
}
