//! `serin bench`: what a beat costs, how late it starts and how soon a page is out, on this machine.
//!
//! Each measurement runs in a process of its own, which starts the whole program on a fleet it
//! declares; targets run in another, so that the figures are the monitor's alone. Everything stays
//! on loopback and ends by itself. Read: `target` (canned MCP servers), `fleet` (the program under
//! load), `bare` (the same four calls with hyper and nothing else), `beats` (both side by side, without store and
//! scheduler), `usage` (what a process used).

use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::cli::bench::fleet::Load;

pub mod target;
pub mod usage;
pub mod bare;
pub mod beats;
pub mod fleet;
pub mod reference;
pub mod config;

/// A measurement that takes longer than this is broken.
const PART_MAX: Duration = Duration::from_secs(150);

/// Measures this machine; it takes minutes, and a release build to mean anything.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchArgs {
    /// A third of the time, for a first impression.
    #[arg(long)]
    pub quick: bool,
    /// Only what one beat's probe costs beside the same calls with hyper alone.
    #[arg(long)]
    pub wire: bool,
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

/// Runs the bench, or the part of it that this process is.
///
/// # Errors
/// Where a part cannot start or does not end.
pub async fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    match args.part {
        Some(Part::Reference(args)) => reference::run(args).await?,
        Some(Part::Config(args)) => config::run(&args)?,
        Some(Part::Target) => target::run().await?,
        Some(Part::Fleet(load)) => anstream::println!("{}", fleet::run(load).await?),
        Some(Part::Bare(calls)) => anstream::println!("{}", bare::run(calls).await?),
        Some(Part::Beats(beats)) => anstream::println!("{}", beats::run(beats).await?),
        Some(Part::Pages) => anstream::println!("{}", fleet::pages().await?),
        None => table(if args.quick { 10 } else { 30 }, args.wire).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn table(seconds: u64, wire_only: bool) -> anyhow::Result<()> {
    let (target, ports) = start_target().await?;
    let (ports, seconds) = (&ports, seconds.to_string());
    let fleet = |era: &'static str, every: &'static str, share: &'static str| {
        let (port, hanging) = (ports.of(era), &ports.hanging);
        let parts = [
            "fleet",
            "--port",
            &port,
            "--every",
            every,
            "--hanging-port",
            hanging,
            "--hanging",
            share,
            "--seconds",
            &seconds,
        ];
        part(parts.map(str::to_owned).to_vec())
    };
    let bare = |era: &'static str, rate: &'static str| {
        let parts = ["bare", "--port", &ports.of(era), "--era", era, "--rate", rate, "--seconds", &seconds];
        part(parts.map(str::to_owned).to_vec())
    };
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    if wire_only {
        side_by_side(ports, None, &seconds).await?;
        return side_by_side(ports, Some(&ports.certificate), &seconds).await;
    }
    let paced = fleet("modern", "10", "0").await?;
    row("CPU, modern, 100 beats/s", &cpu(&paced), "≤ 3.5 CPU-s per 10,000 beats");
    row("bare hyper, the same four calls, 100/s", &cpu(&bare("modern", "100").await?), "beside it");
    row("CPU, legacy, 100 beats/s", &cpu(&fleet("legacy", "10", "0").await?), "stated");
    row("bare hyper, legacy calls, 100/s", &cpu(&bare("legacy", "100").await?), "beside it");
    let saturated = fleet("modern", "1", "0").await?;
    row("CPU, modern, saturated", &cpu(&saturated), "stated");
    row(
        "beats per second, saturated, target on the same machine",
        &number(&saturated, "beats_per_second", 0),
        "stated",
    );
    row("bare hyper, saturated", &cpu(&bare("modern", "0").await?), "beside it");
    side_by_side(ports, None, &seconds).await?;
    side_by_side(ports, Some(&ports.certificate), &seconds).await?;
    row("start lateness at 100/s", &late(&paced), "p99 ≤ 15 ms");
    row(
        "start lateness at 100/s, a tenth of the fleet hanging",
        &late(&fleet("modern", "10", "10").await?),
        "p99 ≤ 15 ms",
    );
    row("resident memory at 1,000 monitors", &format!("{} MB", number(&paced, "resident_mb", 1)), "≤ 30 MB");
    row("database per beat, raw", &format!("{} bytes", number(&paced, "bytes_per_beat", 0)), "stated");
    let pages = part(vec!["pages".to_owned()]).await?;
    let times = format!(
        "p50 {} ms, p95 {} ms (n={})",
        number(&pages, "p50_ms", 0),
        number(&pages, "p95_ms", 0),
        number(&pages, "n", 0)
    );
    row("decision to webhook, 60 incidents within a second", &times, "p95 ≤ 50 ms");
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
    let [modern, legacy, hanging, tls, certificate] = ports[..] else {
        anyhow::bail!("the target did not name its ports")
    };
    let [modern, legacy, hanging, tls, certificate] =
        [modern, legacy, hanging, tls, certificate].map(ToOwned::to_owned);
    Ok((child, Ports { modern, legacy, hanging, tls, certificate }))
}

fn itself() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bench").env("RUST_LOG", "error").kill_on_drop(true);
    Ok(command)
}
