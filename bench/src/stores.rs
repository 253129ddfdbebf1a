//! A file beside a PostgreSQL server, in one run on one machine: what beats cost with either, how long the fleet's page takes,
//! what a day of rows takes on disk, and how soon a machine takes over from one that is killed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;
use serin::app::{self, Options};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use crate::memory::ms;
use crate::report::{number, per_10000, row};
use crate::{Ports, itself, months, part, start_target};

/// Loads: monitors, seconds between the beats of one, and seconds until each is in its stride.
const LOADS: [(&str, &str, &str); 3] = [("1000", "10", "25"), ("6000", "10", "25"), ("3000", "1", "10")];
/// The fleet whose page is timed.
const PAGE_MONITORS: u64 = 10_000;
/// It beats so long before its page is timed: each monitor has had a beat.
const SETTLE: Duration = Duration::from_secs(75);
/// The fleet that is taken over.
const SHARED_MONITORS: u64 = 1_000;
/// How often a machine is killed.
const KILLS: usize = 5;
/// The fleet is shared, or taken over, within this, or the bench gives up.
const SHARED_MAX: Duration = Duration::from_secs(90);
/// Opens the API of machines that are made for the run.
const TOKEN_NAME: &str = "SERIN_BENCH_TOKEN";
const TOKEN: &str = "a-token-for-the-bench-alone-0123456789";

/// Measures a file beside a PostgreSQL server; a quarter of an hour.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoresBench {
    /// A server on which databases may be made, `postgres://USER@HOST:PORT`; `tests/postgres/with_server.sh` brings one.
    #[arg(long, env = "SERIN_TEST_POSTGRES")]
    server: String,
    /// How long each figure is taken.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(5..=600))]
    seconds: u64,
}

/// A machine of a fleet that several share, until standard input ends.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Machine {
    /// The file that declares the fleet.
    #[arg(long)]
    config: PathBuf,
}

/// Measures and prints a table.
///
/// # Errors
/// Where the server does not answer, or the program cannot start.
pub(crate) async fn run(args: &StoresBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &StoresBench, folder: &Path) -> anyhow::Result<()> {
    let (_target, ports) = start_target().await?;
    anstream::println!("| what | a file | a server |\n|---|---|---|");
    for load in LOADS {
        beats(args, &ports, load).await?;
    }
    let mut pages = Vec::new();
    for database in [folder.join("pages.db").display().to_string(), made(&args.server).await?] {
        pages.push(fleet_page(folder, &ports, &database).await?);
    }
    row(&format!("the fleet's page, {PAGE_MONITORS} monitors"), &pages[0], &pages[1]);
    row("a machine is killed: its parts are another's", "", &taken_over(folder, &ports, &args.server).await?);
    Ok(())
}

/// A new database of the server, by its address.
async fn made(server: &str) -> anyhow::Result<String> {
    let name = format!("bench_{}", uuid::Uuid::now_v7().simple());
    let mut connection = PgConnection::connect(&format!("{server}/postgres")).await.context("the server")?;
    sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut connection).await?;
    connection.close().await?;
    Ok(format!("{server}/{name}"))
}

/// What beats cost at one load, with a file and with a server.
async fn beats(args: &StoresBench, ports: &Ports, (monitors, every, settle): (&str, &str, &str)) -> anyhow::Result<()> {
    let seconds = args.seconds.to_string();
    let mut parts = vec!["fleet", "--port", &ports.modern, "--hanging-port", &ports.hanging, "--monitors", monitors];
    parts.extend(["--every", every, "--seconds", &seconds, "--settle", settle, "--timeout", "5000"]);
    let file = part(parts.iter().map(|&part| part.to_owned()).collect()).await?;
    let database = made(&args.server).await?;
    parts.extend(["--database", &database]);
    let server = part(parts.into_iter().map(str::to_owned).collect()).await?;
    let of = format!("{monitors} monitors at {every} s");
    let rate = |it: &Value| number(it, "beats_per_second", 0);
    row(&format!("{of}: beats a second"), &rate(&file), &rate(&server));
    let cpu = |it: &Value| format!("{:.2}", per_10000(it));
    let beside = format!("{} and {} of the server's", cpu(&server), number(&server, "server_cpu_per_10000", 2));
    row(&format!("{of}: CPU-s per 10,000 beats"), &cpu(&file), &beside);
    let bytes = |it: &Value| number(it, "bytes_per_beat", 0);
    row(&format!("{of}: bytes a beat, until its hour is packed"), &bytes(&file), &bytes(&server));
    Ok(())
}

/// How long the page of a large fleet takes that beats meanwhile.
async fn fleet_page(folder: &Path, ports: &Ports, database: &str) -> anyhow::Result<String> {
    let config = folder.join("pages.yaml");
    std::fs::write(&config, months::yaml(PAGE_MONITORS, &ports.modern, Path::new(database))?)?;
    let shutdown = CancellationToken::new();
    let running = app::start(Options::new(config, Arc::new(|_: &str| None)), shutdown.clone()).await?;
    tokio::time::sleep(SETTLE).await;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let measured = months::timed(&client, &format!("http://{}/", running.address)).await;
    shutdown.cancel();
    running.ended().await?;
    measured
}

/// How soon a killed machine's parts are all another's.
async fn taken_over(folder: &Path, ports: &Ports, server: &str) -> anyhow::Result<String> {
    let config = folder.join("shared.yaml");
    let yaml = months::yaml(SHARED_MONITORS, &ports.modern, Path::new(&made(server).await?))?;
    std::fs::write(&config, yaml.replacen("serin: {", &format!("serin: {{ token: \"${{env:{TOKEN_NAME}}}\","), 1))?;
    let (mut stays, address) = machine(&config).await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut took = Vec::new();
    for _ in 0..KILLS {
        let (mut goes, _) = machine(&config).await?;
        until_shared(&client, &address, &[128, 128]).await?;
        goes.start_kill()?;
        let began = Instant::now();
        until_shared(&client, &address, &[256]).await?;
        took.push(began.elapsed());
        goes.wait().await?;
    }
    drop(stays.stdin.take());
    stays.wait().await?;
    took.sort_unstable();
    let (middle, most) = (took[took.len() / 2], took[took.len() - 1]);
    Ok(format!("after {:.1} s, at most {:.1} s (n={KILLS})", middle.as_secs_f64(), ms(most) / 1e3))
}

/// A machine in a process of its own, and where it answers.
async fn machine(config: &Path) -> anyhow::Result<(Child, String)> {
    let mut command = itself()?;
    command.arg("machine").arg("--config").arg(config).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let said = BufReader::new(child.stdout.take().context("a machine without output")?).lines().next_line().await?;
    Ok((child, said.context("a machine did not start")?))
}

/// Waits until the machines that live have so many shards each.
async fn until_shared(client: &reqwest::Client, address: &str, expected: &[u64]) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let status = client.get(format!("http://{address}/api/v1/status")).bearer_auth(TOKEN).send().await?;
        let status: Value = status.error_for_status()?.json().await?;
        let machines = status["machines"].as_array().map(Vec::as_slice).unwrap_or_default();
        let living = machines.iter().filter(|machine| machine["is_gone"] == false);
        let shards: Vec<u64> = living.filter_map(|machine| machine["shards"].as_u64()).collect();
        if shards == expected {
            return Ok(());
        }
        anyhow::ensure!(began.elapsed() < SHARED_MAX, "the fleet is shared as {shards:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Runs a machine and says where it answers.
///
/// # Errors
/// Where it cannot start.
pub(crate) async fn serve(args: Machine) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    let token = |name: &str| (name == TOKEN_NAME).then(|| TOKEN.to_owned());
    let running = app::start(Options::new(args.config, Arc::new(token)), shutdown.clone()).await?;
    anstream::println!("{}", running.address);
    let over = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    over.await??;
    shutdown.cancel();
    running.ended().await
}
