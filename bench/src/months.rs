//! A fleet with months behind it: how soon it beats again after a start, and how long its pages take.
//!
//! One monitor's past is made the long way, through writer and janitor. All others get the same rows under their own
//! numbers: a year of ten thousand monitors would take a day to write, and reading cannot tell the difference.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio_util::sync::CancellationToken;

use crate::memory::{id, midnight, ms, watch};
use crate::target::address;
use crate::{fleet, queries, row, start_target};
use serin::app::{self, Options};
use serin::store::Store;

/// Days that beats are kept.
const KEPT_DAYS: u64 = 35;
/// How often each page is asked for.
const ASKED: usize = 30;
/// How often a page is asked for while its questions are counted.
const COUNTED: usize = 5;
/// The fleet beats so long before its pages are timed.
const SETTLE: Duration = Duration::from_secs(65);
/// A first beat that takes longer than this never comes.
const FIRST_BEAT_MAX: Duration = Duration::from_secs(120);

/// Measures pages and start of a large fleet with months behind it; some 450 kB of disk a monitor.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MonthsBench {
    /// Monitors with a beat a minute.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    monitors: u64,
    /// Days that every monitor has a row for; its beats are there for the last 35 of them.
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(36..=400))]
    days: u64,
}

/// Measures and prints a table.
///
/// # Errors
/// Where a database or the program cannot start.
pub(crate) async fn run(args: &MonthsBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &MonthsBench, folder: &Path) -> anyhow::Result<()> {
    let database = folder.join("bench.db");
    one_monitor(&database).await?;
    let mut connection = SqliteConnectOptions::new().filename(&database).connect().await?;
    all_alike(&mut connection, (args.monitors, args.days)).await?;
    connection.close().await?;
    let (_target, ports) = start_target().await?;
    let config = folder.join("monitors.yaml");
    std::fs::write(&config, yaml(args.monitors, &ports.modern, &database)?)?;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    let of = format!("{} monitors with {} days", args.monitors, args.days);
    let size = std::fs::metadata(&database)?.len() as f64 / 1e6;

    let (shutdown, began) = (CancellationToken::new(), Instant::now());
    let running = app::start(Options::new(config, Arc::new(|_: &str| None)), shutdown.clone()).await?;
    while fleet::beats(running.live.metrics()) == 0 {
        anyhow::ensure!(began.elapsed() < FIRST_BEAT_MAX, "there is no beat");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let first = format!("{:.0} ms; the file is of {size:.0} MB", ms(began.elapsed()));
    row(&format!("{of}: from the start to the first beat"), &first, "< 2 s");
    tokio::time::sleep(SETTLE).await;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let monitor = id(args.monitors / 2);
    for (what, path, goal) in [
        ("fleet page", "/".to_owned(), "≤ 30 ms, < 300 kB"),
        ("fleet page, a search in it", "/?q=monitor-00".to_owned(), "≤ 30 ms"),
        ("monitor page", format!("/monitors/{monitor}"), "≤ 30 ms"),
        ("monitor page, 90 days", format!("/monitors/{monitor}?range=90d"), "≤ 30 ms"),
        ("monitor page, 90 days and a heat map of 35", format!("/monitors/{monitor}?range=90d&heat=35d"), "≤ 30 ms"),
    ] {
        let url = format!("http://{}{path}", running.address);
        row(&format!("{of}: {what}"), &timed(&client, &url).await?, goal);
    }
    shutdown.cancel();
    running.ended().await
}

/// How long an answer takes to come, whole, the first time since the start and later; how long it is; and how many
/// questions it asks of the database, at the least of several times.
pub(crate) async fn timed(client: &reqwest::Client, url: &str) -> anyhow::Result<String> {
    let (mut times, mut bytes) = (Vec::with_capacity(ASKED), 0);
    let ask = async || anyhow::Ok(client.get(url).send().await?.error_for_status()?.bytes().await?.len());
    let began = Instant::now();
    ask().await?;
    let cold = ms(began.elapsed());
    for _ in 0..ASKED {
        let began = Instant::now();
        bytes = ask().await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let (middle, late) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    // The fleet goes on beating: what reads beside a page is not the page's.
    let mut least = u64::MAX;
    queries::count(true);
    for _ in 0..COUNTED {
        let before = queries::read();
        ask().await?;
        least = least.min(queries::read() - before);
    }
    queries::count(false);
    Ok(format!(
        "p50 {:.1} ms, p95 {:.1} ms (n={ASKED}), the first {cold:.1} ms; {} kB; {least} queries",
        ms(middle),
        ms(late),
        bytes / 1000
    ))
}

/// The past of the first monitor, up to this minute, as far back as its beats are kept.
///
/// # Errors
/// Where the database cannot be made.
pub(crate) async fn one_monitor(database: &Path) -> anyhow::Result<()> {
    let store = Store::open(database).await?;
    let (from, now) = (midnight(KEPT_DAYS), Utc::now());
    let minutes = (now - from).num_minutes().cast_unsigned();
    for hour in 0..=minutes / 60 {
        watch(&store, 1, from, hour * 60..((hour + 1) * 60).min(minutes)).await?;
        app::maintain(&store, (from + TimeDelta::hours(hour.cast_signed() + 1)).min(now)).await?;
    }
    store.close().await;
    Ok(())
}

/// Gives every other monitor the rows of the first, and all of them days for as long as is asked.
///
/// # Errors
/// Where the database refuses.
pub(crate) async fn all_alike(connection: &mut SqliteConnection, (monitors, days): (u64, u64)) -> anyhow::Result<()> {
    let (others, blocks) = (monitors - 1, days.div_ceil(KEPT_DAYS) - 1);
    let since = (Utc::now() - TimeDelta::days(days.cast_signed())).timestamp_micros();
    let beats = "scheduled_at, kind, era, transport, fresh_connection, seen, outcome, reason, stage, elapsed, \
                 connect_elapsed, handshake_elapsed, tools_elapsed, config, lock, signals, source_count, \
                 newest_source, newest_known, maintenance";
    let asks = "position, canary, variant, turn, elapsed, fresh_connection, verdict, reason, rank, list, scores, \
                lengths, bytes, tokens, cache, self_reported";
    // The first has number 1. Its rows are set aside, so that nothing is read that is being written.
    let script = format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;
         CREATE TEMP TABLE one_packs AS SELECT * FROM beat_packs ORDER BY slot;
         CREATE TEMP TABLE one_days AS SELECT * FROM days ORDER BY slot;
         CREATE TEMP TABLE one_beats AS SELECT * FROM beats;
         CREATE TEMP TABLE one_asks AS SELECT * FROM asks;
         CREATE TEMP TABLE others (n INTEGER PRIMARY KEY);
         WITH RECURSIVE count (n) AS (SELECT 1 WHERE {others} > 0 UNION ALL SELECT n + 1 FROM count WHERE n < {others})
             INSERT INTO others SELECT n FROM count;
         CREATE TEMP TABLE blocks (k INTEGER PRIMARY KEY);
         WITH RECURSIVE count (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM count WHERE k < {blocks})
             INSERT INTO blocks SELECT k FROM count;
         INSERT INTO pack_owners SELECT 1 + n, printf('monitor-%04d', n), 'local' FROM others;
         DELETE FROM days;
         INSERT OR IGNORE INTO days SELECT slot + o.number - 1 - (k * {KEPT_DAYS} << 32), up, down, unknown, maintenance, latencies, hours, asked, right_answers
             FROM blocks CROSS JOIN one_days CROSS JOIN pack_owners AS o;
         INSERT INTO beat_packs (slot, due, seen, up, data, apart)
             SELECT slot + n, due, seen, up, data, apart FROM one_packs CROSS JOIN others;
         INSERT INTO beats (started_at, monitor, location, {beats})
             SELECT started_at, printf('monitor-%04d', n), location, {beats} FROM one_beats CROSS JOIN others;
         INSERT INTO asks (started_at, monitor, location, {asks})
             SELECT started_at, printf('monitor-%04d', n), location, {asks} FROM one_asks CROSS JOIN others;
         INSERT OR REPLACE INTO monitors (id, first_seen) SELECT monitor, {since} FROM pack_owners;
         COMMIT; PRAGMA journal_mode = WAL;"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(connection).await?;
    Ok(())
}

/// The declared fleet, all of which answers.
///
/// # Errors
/// Never: writing to a string cannot fail.
pub(crate) fn yaml(monitors: u64, port: &str, database: &Path) -> anyhow::Result<String> {
    let mut yaml = format!(
        "version: 1\nserin: {{ listen: \"127.0.0.1:0\", database: \"{}\" }}\ndefaults: {{ every: 60s }}\nmonitors:\n",
        database.display()
    );
    for number in 0..monitors {
        let (id, address) = (id(number), address(number));
        writeln!(
            yaml,
            "  - id: {id}\n    url: http://{address}:{port}/mcp\n    canaries:\n      \
             - {{ id: canary-0, query: how long does a token live, expect: [docs/1.md] }}\n      \
             - {{ id: canary-1, query: ERR-4417, expect: [docs/2.md], kind: keyword }}"
        )?;
    }
    Ok(yaml)
}
