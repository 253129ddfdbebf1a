//! What a year of memory takes: the database after some weeks of a small fleet, beside the naive table of the same beats.
//!
//! Nothing is probed: beats are made up, with the noise of a server on a network, and go the whole way through the
//! writer, the janitor and back. Figures by the monitor and day hardly depend on how many monitors there are.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};
use tokio::task::JoinSet;

use crate::report::row;
use crate::usage;
use serin::app;
use serin::domain::answer::{CacheWord, Turn, Variant};
use serin::domain::monitor::MonitorId;
use serin::domain::outcome::{Judged, Verdict};
use serin::domain::protocol::Era;
use serin::domain::signal::{Level, Signal};
use serin::store::Store;
use serin::store::read::history::Since;
use serin::store::values::change_set::SourcesLook;
use serin::store::values::change_set::StageTimes;
use serin::store::values::change_set::{AskRow, BeatRow, BeatSeen, ChangeSet};
use serin::store::values::whose::Whose;

/// Beats that wait for the writer at once.
const WAITING_MAX: usize = 900;
/// Minutes of a day.
const DAY: u64 = 24 * 60;
/// Canaries of a monitor, two of which are asked a beat.
const CANARIES: u64 = 8;
/// How often each reading is timed.
const READINGS: usize = 20;

/// Measures what is remembered: bytes a monitor and day, and how long it takes to read them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MemoryBench {
    /// Monitors with a beat a minute.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    monitors: u64,
    /// Days of beats; packs are at their fullest after 35.
    #[arg(long, default_value_t = 35, value_parser = clap::value_parser!(u64).range(2..=400))]
    days: u64,
}

/// Measures and prints a table.
///
/// # Errors
/// Where a database cannot be made.
pub(crate) async fn run(args: &MemoryBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(args: &MemoryBench, folder: &Path) -> anyhow::Result<()> {
    let (path, from) = (folder.join("serin.db"), midnight(args.days));
    let store = Store::open(&path).await?;
    let started = usage::cpu();
    // Hour by hour, as the janitor does: rows of a whole day would stretch the file.
    for hour in 0..args.days * 24 {
        watch(&store, args.monitors, from, hour * 60..(hour + 1) * 60).await?;
        app::maintain(&store, timestamp(from, (hour + 1) * 60)).await?;
    }
    let spent = (usage::cpu() - started).as_secs_f64();
    let until = timestamp(from, args.days * DAY);
    let beats = args.monitors * args.days * DAY;
    anstream::println!("| what | measured | goal |\n|---|---|---|");
    row(
        "writing and sealing, all CPU",
        &format!("{:.2} CPU-s per 10,000 beats ({beats})", spent * 1e4 / beats as f64),
        "stated",
    );
    readings(&store, from, until).await?;
    store.close().await;

    let monitor_days = (args.monitors * args.days) as f64;
    let bytes = std::fs::metadata(&path)?.len() as f64 / monitor_days;
    row(
        &format!("database after {} days of {} monitors", args.days, args.monitors),
        &format!("{:.1} kB a monitor-day", bytes / 1000.0),
        "≤ 15 kB",
    );
    let mut connection = SqliteConnectOptions::new().filename(&path).read_only(true).connect().await?;
    for (table, column) in [("beat_packs", "data"), ("days", "latencies"), ("days", "hours")] {
        let average = sqlx::AssertSqlSafe(format!("SELECT AVG(LENGTH({column})) FROM {table}"));
        let average: f64 = sqlx::query(average).fetch_one(&mut connection).await?.try_get(0)?;
        row(&format!("one row of {table}: {column}"), &format!("{average:.0} bytes"), "stated");
    }
    connection.close().await?;
    opening(&path, until).await?;
    naive(&folder.join("naive.db"), args.monitors, from).await
}

/// How long a start reads what it needs.
async fn opening(path: &Path, until: DateTime<Utc>) -> anyhow::Result<()> {
    let started = Instant::now();
    let store = Store::open(path).await?;
    let since = until - TimeDelta::days(1);
    let strips = store.recent_beats(since, Whose::Everybodys).await?.len();
    store.coverage(since, Whose::Everybodys).await?;
    store.recent_asks(until - TimeDelta::minutes(30), Whose::Everybodys).await?;
    row(
        "opening it, with the strips, hours and windows of a start",
        &format!("{:.0} ms, {strips} monitors", ms(started.elapsed())),
        "stated",
    );
    store.close().await;
    Ok(())
}

/// How long a monitor's page reads its past.
async fn readings(store: &Store, from: DateTime<Utc>, until: DateTime<Utc>) -> anyhow::Result<()> {
    let monitor = MonitorId::new("monitor-0000");
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..READINGS {
        let mut parts = times.iter_mut();
        let mut note = |started: Instant| parts.next().map(|part| part.push(started.elapsed()));
        let started = Instant::now();
        store.latency(&monitor, until - TimeDelta::days(1), until, Duration::from_secs(1200)).await?;
        let _part = note(started);
        let started = Instant::now();
        store.hours(&monitor, until - TimeDelta::days(7), until).await?;
        let _part = note(started);
        let started = Instant::now();
        store.days(&monitor, from, until).await?;
        let _part = note(started);
        let started = Instant::now();
        store.summary(&monitor, Since { hours: until, days: until, heat: from }, until).await?;
        let _part = note(started);
    }
    let names =
        ["24 h of calls in slices of 20 min", "7 days by the hour", "all days by the day", "a heat map of all days"];
    for (name, mut times) in names.into_iter().zip(times) {
        times.sort_unstable();
        let (middle, worst) = (times[times.len() / 2], times[times.len() - 1]);
        row(name, &format!("p50 {:.1} ms, worst {:.1} ms (n={})", ms(middle), ms(worst), times.len()), "page ≤ 30 ms");
    }
    Ok(())
}

/// The same beats of one day in the table that anybody would write first.
async fn naive(path: &Path, monitors: u64, from: DateTime<Utc>) -> anyhow::Result<()> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut connection: SqliteConnection = options.connect().await?;
    sqlx::raw_sql(
        "CREATE TABLE calls (monitor TEXT, at TEXT, stage TEXT, canary TEXT, elapsed_ms REAL, outcome TEXT, reason TEXT, \
         sources TEXT, scores TEXT); CREATE INDEX calls_of_monitor ON calls (monitor, at); BEGIN",
    )
    .execute(&mut connection)
    .await?;
    for minute in 0..DAY {
        for monitor in 0..monitors {
            let record = record(monitor, minute, from);
            let Some(beat) = record.beat else { continue };
            let stages =
                [("connect", beat.stages.connect), ("handshake", beat.stages.handshake), ("tools", beat.stages.tools)];
            let calls = stages.into_iter().map(|(stage, elapsed)| {
                (stage, String::new(), elapsed.unwrap_or_default(), String::new(), String::new())
            });
            let asks = record.asks.into_iter().map(|ask| {
                let scores: Vec<String> = ask.scores.iter().flatten().map(f64::to_string).collect();
                ("search", ask.canary, ask.elapsed, ask.sources.join(","), scores.join(","))
            });
            for (stage, canary, elapsed, sources, scores) in calls.chain(asks) {
                sqlx::query("INSERT INTO calls VALUES ($1, $2, $3, $4, $5, 'good', NULL, $6, $7)")
                    .bind(beat.monitor.as_str())
                    .bind(beat.started_at.to_rfc3339())
                    .bind(stage)
                    .bind(canary)
                    .bind(ms(elapsed))
                    .bind(sources)
                    .bind(scores)
                    .execute(&mut connection)
                    .await?;
            }
        }
    }
    sqlx::raw_sql("COMMIT").execute(&mut connection).await?;
    connection.close().await?;
    let bytes = std::fs::metadata(path)?.len() as f64 / monitors as f64;
    row(
        "SQLite's naive table (a row a call, texts, an index) of the same beats",
        &format!("{:.0} kB a monitor-day", bytes / 1000.0),
        "beside it",
    );
    Ok(())
}

/// Beats of so many monitors in these minutes, by way of the writer.
///
/// # Errors
/// Where one is not remembered.
pub(crate) async fn watch(
    store: &Store,
    monitors: u64,
    from: DateTime<Utc>,
    minutes: std::ops::Range<u64>,
) -> anyhow::Result<()> {
    let mut waiting = JoinSet::new();
    for minute in minutes {
        for monitor in 0..monitors {
            let (store, record) = (store.clone(), record(monitor, minute, from));
            waiting.spawn(async move { store.commit(record).await });
        }
        while waiting.len() > WAITING_MAX {
            waiting.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(committed) = waiting.join_next().await {
        committed??;
    }
    Ok(())
}

/// A beat as a healthy server brings it: noise of some 20 %, lists that stay the same for days, one timeout in a thousand.
pub(crate) fn record(monitor: u64, minute: u64, from: DateTime<Utc>) -> ChangeSet {
    let salt = monitor * 1_000_003 + minute;
    // As the schedule's own: evenly over a twentieth of the interval.
    let scheduled_at = timestamp(from, minute) + TimeDelta::microseconds((mixed(salt) % 3_000_000).cast_signed());
    let stages = StageTimes {
        connect: Some(noisy(3_000, salt * 3)),
        handshake: Some(noisy(9_000, salt * 5)),
        tools: Some(noisy(12_000, salt * 7)),
        health: None,
    };
    let asks: Vec<AskRow> = (0..2).map(|turn| ask(monitor, minute, turn, salt * 11 + turn)).collect();
    let parts = [stages.connect, stages.handshake, stages.tools].into_iter().flatten().sum::<Duration>();
    let elapsed = noisy(900, salt * 13) + parts + asks.iter().map(|ask| ask.elapsed).sum::<Duration>();
    // Once an hour the list of sources is looked at; between, its age is not judged.
    let looks = minute.is_multiple_of(60);
    let mut judged = [Judged { level: Level::Calm, reason: None }; 8];
    if !looks {
        judged[Signal::Freshness as usize] = Judged::UNKNOWN;
    }
    let beat = BeatRow {
        started_at: scheduled_at + TimeDelta::milliseconds((salt % 7).cast_signed()),
        era: Some(Era::Modern),
        verdict: Verdict::Good,
        elapsed,
        stages,
        fresh_connection: true,
        judged,
        sources: looks.then(|| SourcesLook {
            count: 812,
            newest: Some(scheduled_at - TimeDelta::hours(20)),
            knows_newest: true,
        }),
        ..BeatRow::unmade(MonitorId::new(&id(monitor)), scheduled_at, BeatSeen::Seen, "bench".to_owned())
    };
    ChangeSet { beat: Some(beat), asks, ..ChangeSet::default() }
}

fn ask(monitor: u64, minute: u64, turn: u64, salt: u64) -> AskRow {
    let canary = (minute * 2 + turn) % CANARIES;
    let version = minute / (3 * DAY);
    AskRow {
        canary: format!("canary-{canary}"),
        variant: Variant::Plain,
        turn: Turn::Scheduled,
        elapsed: noisy(40_000 + canary * 5_000, salt),
        fresh_connection: false,
        verdict: "right",
        reason: None,
        rank: Some(1),
        sources: (0..5).map(|place| format!("docs/{monitor}/{canary}-{}.md", place + version % 2)).collect(),
        scores: (0..5).map(|place| Some(0.93 - 0.07 * f64::from(place) - canary as f64 * 0.01)).collect(),
        lengths: (0..5).map(|place| 600 + place * 31).collect(),
        bytes: 4_200 + salt % 3,
        tokens: Some(900),
        cache: CacheWord::Missed,
        self_reported: Vec::new(),
    }
}

/// A duration around a middle, three draws together, the same for the same salt.
fn noisy(middle_us: u64, salt: u64) -> Duration {
    let draw = |salt: u64| mixed(salt) % 1000;
    let noise = draw(salt) + draw(salt.wrapping_add(77)) + draw(salt.wrapping_add(191));
    Duration::from_micros(middle_us * (700 + noise * 2 / 5) / 1000)
}

/// A number that looks drawn, the same for the same salt.
fn mixed(salt: u64) -> u64 {
    salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// The id of a monitor.
pub(crate) fn id(monitor: u64) -> String {
    format!("monitor-{monitor:04}")
}

/// A midnight so many days ago.
pub(crate) fn midnight(days: u64) -> DateTime<Utc> {
    let today = Utc::now().date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
    today - TimeDelta::days(days.cast_signed())
}

fn timestamp(from: DateTime<Utc>, minute: u64) -> DateTime<Utc> {
    from + TimeDelta::minutes(minute.cast_signed())
}

/// Milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
