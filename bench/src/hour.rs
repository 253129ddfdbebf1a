//! What an hour's change costs a large fleet: an hour of its beats is written as many to a commit as come in five seconds,
//! and sealed while beats and pages go on. Nothing is probed; beats are those of `memory`, spread evenly over the minute.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::memory::{id, ms, record};
use crate::report::row;
use crate::usage;
use serin::app;
use serin::domain::monitor::MonitorId;
use serin::store::Store;
use serin::store::read::history::Since;
use serin::store::values::change_set::ChangeSet;

/// Beats of so many seconds share a commit, as far as one holds them.
const GATHERED_SECONDS: u64 = 5;
/// Beats that one commit holds.
const COMMIT_MAX: u64 = 512;
/// The writer waits this long for the rest of a commit: all of it is there at once.
const GATHER: Duration = Duration::from_millis(20);
const MINUTES: u64 = 60;
/// The hour that is measured, in minutes; the one before brings the names, lists and answers that every hour has.
const HOUR: std::ops::Range<u64> = MINUTES..2 * MINUTES;
/// A quarter of an hour later it may be sealed.
const SEALED_AFTER: u64 = HOUR.end + 15;
/// How often somebody waits for the writer, and for a page, while the hour is sealed.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// Measures what an hour's change costs a large fleet; some 25 kB of disk a monitor.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct HourBench {
    /// Monitors with a beat a minute.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=50_000))]
    monitors: u64,
}

/// Measures and prints a table.
///
/// # Errors
/// Where the database does not take or give what it should.
pub(crate) async fn run(args: &HourBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder)?;
    let measured = measure(args.monitors, &folder).await;
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn measure(monitors: u64, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join("serin.db");
    let fleet = HourFleet { monitors, from: crate::memory::midnight(1) };
    let store = Store::open(&path).await?;
    store.gather_for(GATHER);
    anstream::println!("| {monitors} monitors with a beat a minute | measured | goal |\n|---|---|---|");
    fleet.beats(&store, 0..HOUR.start).await?;
    app::maintain(&store, fleet.at(HOUR.end - 1)).await?;
    let (cpu, written) = (usage::cpu(), usage::bytes_written());
    fleet.beats(&store, HOUR).await?;
    let beats = (monitors * MINUTES) as f64;
    let spent = (usage::cpu() - cpu).as_secs_f64() / beats * 1e6;
    let each = |since: u64| (usage::bytes_written() - since) as f64 / beats;
    let at_once = fleet.at_once();
    row(
        &format!("an hour of beats, {at_once} a commit"),
        &format!("{spent:.1} µs of CPU and {:.0} bytes written a beat", each(written)),
        "≤ 2 kB, sealing counted",
    );
    // The quarter of an hour that goes by until then.
    fleet.beats(&store, HOUR.end..SEALED_AFTER).await?;
    let written = usage::bytes_written();
    sealed(&store, &fleet).await?;
    row("written while it was sealed, by beat of the hour", &format!("{:.0} bytes", each(written)), "counted above");
    store.close().await;
    let opened = Instant::now();
    let store = Store::open(&path).await?;
    row("opening it again", &format!("{:.0} ms", ms(opened.elapsed())), "stated");
    store.close().await;
    Ok(())
}

/// A fleet with a beat a minute each.
#[derive(Debug, Clone, Copy)]
struct HourFleet {
    monitors: u64,
    from: DateTime<Utc>,
}

impl HourFleet {
    fn at_once(&self) -> u64 {
        (self.monitors * GATHERED_SECONDS / 60).clamp(1, COMMIT_MAX)
    }

    fn at(&self, minute: u64) -> DateTime<Utc> {
        self.from + TimeDelta::minutes(minute.cast_signed())
    }

    /// The beats of some minutes, in the order in which they come.
    async fn beats(&self, store: &Store, minutes: std::ops::Range<u64>) -> anyhow::Result<()> {
        let all: Vec<u64> = (0..self.monitors).collect();
        for minute in minutes {
            for some in all.chunks(usize::try_from(self.at_once())?) {
                committed(store, some.iter().map(|monitor| self.beat(*monitor, minute))).await?;
            }
        }
        Ok(())
    }

    fn beat(&self, monitor: u64, minute: u64) -> ChangeSet {
        let mut record = record(monitor, minute, self.from);
        let due = self.at(minute) + TimeDelta::microseconds((60_000_000 * monitor / self.monitors).cast_signed());
        if let Some(beat) = &mut record.beat {
            (beat.scheduled_at, beat.started_at) = (due, due + TimeDelta::microseconds(700));
        }
        record
    }
}

/// Beats of one commit.
async fn committed(store: &Store, records: impl Iterator<Item = ChangeSet>) -> anyhow::Result<()> {
    let mut waiting = JoinSet::new();
    for record in records {
        let store = store.clone();
        waiting.spawn(async move { store.commit(record).await });
    }
    while let Some(committed) = waiting.join_next().await {
        committed??;
    }
    Ok(())
}

/// The janitor's work on the hour, and how long others wait for the writer and for a page meanwhile.
async fn sealed(store: &Store, fleet: &HourFleet) -> anyhow::Result<()> {
    let (over, beats) = (CancellationToken::new(), Arc::new(AtomicU64::new(0)));
    let going_on = tokio::spawn(go_on(store.clone(), *fleet, Arc::clone(&beats), over.clone()));
    let asking = tokio::spawn(ask(store.clone(), *fleet, over.clone()));
    let before = usage::anonymous_mb();
    let (cpu, began) = (usage::cpu(), Instant::now());
    app::maintain(store, fleet.at(SEALED_AFTER)).await?;
    let (took, spent) = (began.elapsed(), usage::cpu() - cpu);
    over.cancel();
    going_on.await??;
    let Asked { mut writer, mut page, anonymous_mb } = asking.await??;
    let of_hour = (fleet.monitors * MINUTES) as f64;
    row(
        "sealing and sweeping the hour, without rests",
        &format!(
            "{:.1} s, {:.1} CPU-s ({:.1} µs a beat of it), {} beats and all pages meanwhile counted",
            took.as_secs_f64(),
            spent.as_secs_f64(),
            spent.as_secs_f64() * 1e6 / of_hour,
            beats.load(Ordering::Relaxed)
        ),
        "stated",
    );
    row("waiting for the writer meanwhile", &spread(&mut writer), "longest < 100 ms");
    row("a monitor's page meanwhile (a day, its hours, its beats)", &spread(&mut page), "≤ 30 ms");
    row("anonymous memory before it, and at most", &format!("{before:.0} MB, {anonymous_mb:.0} MB"), "stated");
    Ok(())
}

/// Beats as they come on, at their pace.
async fn go_on(store: Store, fleet: HourFleet, beats: Arc<AtomicU64>, over: CancellationToken) -> anyhow::Result<()> {
    let mut pace =
        tokio::time::interval(Duration::from_secs_f64(60.0 * fleet.at_once() as f64 / fleet.monitors as f64));
    let (mut minute, mut next) = (SEALED_AFTER, 0);
    while !over.is_cancelled() {
        pace.tick().await;
        let some = next..(next + fleet.at_once()).min(fleet.monitors);
        next = some.end % fleet.monitors;
        beats.fetch_add(some.end - some.start, Ordering::Relaxed);
        committed(&store, some.map(|monitor| fleet.beat(monitor, minute))).await?;
        minute += u64::from(next == 0);
    }
    Ok(())
}

/// How long each had to wait, and the most memory that was seen.
#[derive(Debug, Default)]
struct Asked {
    writer: Vec<Duration>,
    page: Vec<Duration>,
    anonymous_mb: f64,
}

async fn ask(store: Store, fleet: HourFleet, over: CancellationToken) -> anyhow::Result<Asked> {
    let mut asked = Asked::default();
    let until = fleet.at(SEALED_AFTER);
    while !over.is_cancelled() {
        let began = Instant::now();
        store.touch(Utc::now()).await?;
        asked.writer.push(began.elapsed());
        let monitor = MonitorId::new(&id(asked.page.len() as u64 * 7_919 % fleet.monitors));
        let (began, day) = (Instant::now(), until - TimeDelta::days(1));
        let since = Since { hours: day, days: day, heat: day };
        let slices = [Duration::from_secs(300), Duration::from_secs(1200)];
        let (summary, slices, beats) = tokio::join!(
            store.summary(&monitor, since, until),
            store.latency_cut(&monitor, day, until, slices),
            store.beats(&monitor, 60, until)
        );
        summary?;
        slices?;
        anyhow::ensure!(beats?.len() == 60, "an hour of beats is there at any time");
        asked.page.push(began.elapsed());
        asked.anonymous_mb = asked.anonymous_mb.max(usage::anonymous_mb());
        tokio::time::sleep(ASKED_EVERY).await;
    }
    Ok(asked)
}

fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let of = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
    let [middle, late, longest] = [50, 99, 100].map(|percent| ms(of(percent).copied().unwrap_or_default()));
    format!("p50 {middle:.1} ms, p99 {late:.1} ms, longest {longest:.1} ms (n={})", times.len())
}
