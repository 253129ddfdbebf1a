//! How long `serin backtest` takes over a month of a small fleet, every monitor weighed both as it was and as proposed.
//!
//! The past is that of `months`: one monitor's is made the long way, and the others have the same rows.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use clap::Parser;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::memory::id;
use crate::months::{all_alike, one_monitor};
use crate::{row, usage};
use serin::cli::backtest::{self, BacktestArgs};

/// Days that every monitor is known for: more than its beats are kept.
const KNOWN_DAYS: u64 = 40;

/// Measures a back-test of the last 30 days; some 450 kB of disk a monitor.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BacktestBench {
    /// Monitors with a beat a minute, two questions each.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    monitors: u64,
}

/// The command, as it is typed.
#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    args: BacktestArgs,
}

/// Measures and prints a table.
///
/// # Errors
/// Where the database cannot be made or read.
pub(crate) async fn run(args: &BacktestBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &BacktestBench, folder: &Path) -> anyhow::Result<()> {
    let database = folder.join("bench.db");
    one_monitor(&database).await?;
    let mut connection = SqliteConnectOptions::new().filename(&database).connect().await?;
    all_alike(&mut connection, (args.monitors, KNOWN_DAYS)).await?;
    connection.close().await?;
    let config = folder.join("monitors.yaml");
    std::fs::write(&config, yaml(args.monitors, &database)?)?;
    let typed = Typed::try_parse_from(["backtest".as_ref(), "--config".as_ref(), config.as_os_str()])?;
    let (began, spent) = (Instant::now(), usage::cpu());
    backtest::run(typed.args).await?;
    let (took, cpu) = (began.elapsed().as_secs_f64(), (usage::cpu() - spent).as_secs_f64());
    anstream::println!("\n| what | measured | goal |\n|---|---|---|");
    row(
        &format!("back-test of 30 days of {} monitors, a beat a minute with two questions", args.monitors),
        &format!("{took:.0} s, {cpu:.0} CPU-s"),
        "≤ 60 s",
    );
    Ok(())
}

/// The fleet, with the canaries that were asked.
fn yaml(monitors: u64, database: &Path) -> anyhow::Result<String> {
    let mut yaml = format!(
        "version: 1\nserin: {{ database: \"{}\" }}\ndefaults: {{ every: 60s }}\nmonitors:\n",
        database.display()
    );
    for number in 0..monitors {
        let id = id(number);
        writeln!(yaml, "  - id: {id}\n    url: http://127.0.0.1:9/mcp\n    canaries:")?;
        for canary in 0..8 {
            writeln!(
                yaml,
                "      - {{ id: canary-{canary}, query: question {canary}, expect: [docs/{canary}.md], kind: meaning }}"
            )?;
        }
    }
    Ok(yaml)
}
