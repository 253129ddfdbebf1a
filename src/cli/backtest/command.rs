//! `serin backtest`: the command, from the file to the report.
//!
//! Exit code 0 where nobody would have been notified otherwise, 2 where somebody would, 1 where a file or the database cannot
//! be read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::cli::backtest::comparing::Stretch;
use crate::cli::backtest::report::{MonitorReport, Report};
use crate::cli::backtest::{as_json, saying};
use crate::cli::config_file::declared;
use crate::cli::database::DatabaseArgs;
use crate::config::Loaded;
use crate::config::check::numbers::duration_of;
use crate::config::read::source;
use crate::domain::fleet::Fleet;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::domain::reason::{FailureReason, Severity};
use crate::hindsight::declared::FilesThen;
use crate::hindsight::replaying::{Happened, ToldIncident, replay};
use crate::store::StoreError;
use crate::store::read::export::Span;
use crate::store::read::files::FILES_MAX;
use crate::store::read::readers::Readers;
use crate::store::values::past::PastBeat;

/// Somebody would have been told otherwise.
const DIFFERS: u8 = 2;
/// The longest stretch that is tried: as long as days are kept.
const SINCE_MAX: Duration = Duration::from_secs(400 * 86_400);
/// Monitors that are tried at most: some hours of work.
const MONITORS_MAX: usize = 10_000;
/// Beats from before the stretch that are weighed as well, so that windows, streaks and track records stand as they stood.
const LEAD: TimeDelta = TimeDelta::days(7);
/// Monitors that are weighed at once: each takes a core, and a machine that watches has others to do.
const AT_ONCE: usize = 2;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// For a terminal.
    Text,
    /// For a pull request.
    Markdown,
}

/// Says whom NEW would have told otherwise: weighs the beats of the last weeks again by its rules and lock.
///
/// Without NEW it is the file that names the database. Works beside a Serin that runs, and without a network.
#[derive(Debug, clap::Args)]
pub struct BacktestArgs {
    /// The file that would come into force.
    #[arg(value_name = "NEW")]
    pub file: Option<PathBuf>,
    /// How far back, such as `30d` or `12h`.
    #[arg(long, value_name = "LENGTH", default_value = "30d", value_parser = since_of)]
    pub since: Duration,
    /// Only of this monitor.
    #[arg(long, value_name = "ID")]
    pub monitor: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportFormat,
    /// Print for machines: one JSON object.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

fn since_of(text: &str) -> Result<Duration, String> {
    let since = duration_of(text)?;
    match since.is_zero() || since > SINCE_MAX {
        true => Err("between 1s and 400d".to_owned()),
        false => Ok(since),
    }
}

/// Replays, compares and prints; 0 where nothing differs, 2 where something does.
///
/// # Errors
/// Where the file has faults, or the database cannot be read.
pub async fn run(args: BacktestArgs) -> anyhow::Result<ExitCode> {
    let path = args.file.as_ref().unwrap_or(&args.database.config).clone();
    let new = load(&path)?;
    let database = args.database.address()?;
    // What is in force may include other files: of that only this checkout knows the parts.
    let current = if args.file.is_some() { load(&args.database.config).ok() } else { None };
    let failed = |error: StoreError| anyhow::anyhow!("{database}: {error}");
    let store = Readers::beside(&database).await.map_err(failed)?;
    let monitors = chosen(&new.fleet, args.monitor.as_deref())?;
    let now = Utc::now();
    let stretch = Stretch { from: now - args.since, until: now };
    let files = store.files_in_force(now, FILES_MAX, &[]).await.map_err(failed)?;
    let read = move || {
        let known: Vec<&Fleet> =
            std::iter::once(&new.fleet).chain(current.as_ref().map(|current| &current.fleet)).collect();
        (FilesThen::read(files, &path, &known, stretch.from - LEAD), new.fleet)
    };
    let (files, fleet) = tokio::task::spawn_blocking(read).await?;
    let report = report(&store, (files, fleet, monitors), args.monitor.as_deref(), stretch).await.map_err(failed)?;
    if args.json {
        anstream::println!("{}", serde_json::to_string_pretty(&as_json::report(&report))?);
    } else {
        let said = match args.format {
            ReportFormat::Text => saying::text(&report),
            ReportFormat::Markdown => saying::markdown(&report),
        };
        anstream::print!("{said}");
    }
    Ok(if report.differences() == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) })
}

fn load(path: &Path) -> anyhow::Result<Loaded> {
    declared(&source::read(path)?)
}

fn chosen(fleet: &Fleet, id: Option<&str>) -> anyhow::Result<Vec<Arc<Monitor>>> {
    let is_chosen = |monitor: &&Arc<Monitor>| id.is_none_or(|id| monitor.id.as_str() == id);
    let monitors: Vec<_> = fleet.monitors.iter().filter(is_chosen).map(Arc::clone).collect();
    if let Some(id) = id {
        anyhow::ensure!(!monitors.is_empty(), "the file declares no monitor '{id}'");
    }
    let count = monitors.len();
    anyhow::ensure!(count <= MONITORS_MAX, "{count} monitors are too many at once; `--monitor ID` tries one of them");
    Ok(monitors)
}

/// What is the same for all monitors.
struct Shared {
    store: Readers,
    happened: Happened,
    files: FilesThen,
    fleet: Fleet,
    then: Vec<ToldIncident>,
    stretch: Stretch,
}

/// What comes of a fleet.
///
/// # Errors
/// Where the database does not answer.
pub(crate) async fn report(
    store: &Readers,
    (files, fleet, monitors): (FilesThen, Fleet, Vec<Arc<Monitor>>),
    only: Option<&str>,
    stretch: Stretch,
) -> Result<Report, StoreError> {
    let begin = stretch.from - LEAD;
    let first_seen: HashMap<MonitorId, DateTime<Utc>> = store.monitors_ever().await?.into_iter().collect();
    let then = happened(store, only, Stretch { from: begin, ..stretch }).await?;
    let happened = Happened {
        restarts: store.restarts_seen(begin).await?,
        acceptances: store.acceptances(begin).await?,
        locks: store.locks_in_force().await?,
    };
    let provenance = fleet.provenance.clone();
    let removed = removed(&fleet, &then, stretch);
    let (mut jobs, mut unknown) = (Vec::new(), Vec::new());
    for monitor in monitors {
        match first_seen.get(&monitor.id) {
            Some(first_seen) => jobs.push((monitor, *first_seen)),
            None => unknown.push(monitor.id.clone()),
        }
    }
    let shared = Arc::new(Shared { store: store.clone(), happened, files, fleet, then, stretch });
    let of = |(monitor, first_seen)| {
        let shared = Arc::clone(&shared);
        async move { tokio::spawn(async move { of_monitor(&shared, &monitor, first_seen).await }).await }
    };
    let reports: Vec<_> = futures_util::stream::iter(jobs).map(of).buffered(AT_ONCE).collect().await;
    let mut monitors = Vec::with_capacity(reports.len());
    for report in reports {
        monitors.push(report.map_err(|broken| StoreError::Other(format!("a replay broke down: {broken}")))??);
    }
    Ok(Report { provenance, stretch, monitors, unknown, removed })
}

/// What happened, as incidents and deliveries have it.
async fn happened(store: &Readers, only: Option<&str>, stretch: Stretch) -> Result<Vec<ToldIncident>, StoreError> {
    let span = Span { monitor: only.map(MonitorId::new), from: stretch.from, to: stretch.until };
    let told = store.told_first(stretch.from).await?;
    let in_windows = store.kept_quiet_by_windows(stretch.from).await?;
    let with_telling = store.incidents_of(&span).map_ok(|incident| {
        let told_at = told.get(&incident.id).copied();
        let in_maintenance = in_windows.contains(&incident.id);
        ToldIncident { incident, told_at, in_maintenance }
    });
    with_telling.try_collect().await
}

async fn of_monitor(
    shared: &Shared,
    monitor: &Arc<Monitor>,
    first_seen: DateTime<Utc>,
) -> Result<MonitorReport, StoreError> {
    let Shared { store, happened, files, fleet, then, stretch } = shared;
    let latest = latest(store, &monitor.id, stretch.until).await?;
    let lock = latest.map(|beat| happened.locks.get(&beat.shape.lock));
    let ways = files.ways(monitor, fleet, lock);
    let both: Vec<_> = std::iter::once(&ways.as_it_was).chain(&ways.proposed).collect();
    let from = (stretch.from - LEAD).max(first_seen - TimeDelta::days(1));
    let mut replayed = replay(store, &monitor.id, &both, happened, (from, stretch.until)).await?.into_iter();
    let as_it_was = replayed.next().unwrap_or_default();
    // It was weighed beside another monitor, which the record does not bring: on neither side it is compared.
    let is_replayed = |one: &&ToldIncident| one.incident.reason != FailureReason::ReplicaDivergence;
    let of_monitor = then.iter().filter(|one| one.incident.monitor == monitor.id).filter(is_replayed);
    let of_monitor: Vec<_> = of_monitor.cloned().collect();
    let replays = match replayed.next() {
        Some(proposed) => (proposed, Some(as_it_was)),
        None => (as_it_was, None),
    };
    let about = (ways.not_comparable, ways.knows_file);
    Ok(MonitorReport::new((monitor.id.clone(), first_seen), &of_monitor, replays, about, *stretch))
}

/// The latest beat that was seen, within the days that a lock that is in force is looked for.
async fn latest(store: &Readers, monitor: &MonitorId, until: DateTime<Utc>) -> Result<Option<PastBeat>, StoreError> {
    let mut beats = store.past(monitor, until - TimeDelta::days(1), until).await?;
    beats.retain(PastBeat::is_seen);
    Ok(beats.pop())
}

/// Monitors that had incidents and are not declared, with their pages.
fn removed(fleet: &Fleet, then: &[ToldIncident], stretch: Stretch) -> Vec<(MonitorId, usize)> {
    let mut removed: Vec<(MonitorId, usize)> = Vec::new();
    let within = then.iter().filter(|one| one.incident.opened_at >= stretch.from);
    for one in within.filter(|one| fleet.monitor(&one.incident.monitor).is_none()) {
        let is_page = one.told_at.is_some() && one.incident.severity == Severity::Page;
        match removed.iter_mut().find(|(id, _)| *id == one.incident.monitor) {
            Some((_, pages)) => *pages += usize::from(is_page),
            None => removed.push((one.incident.monitor.clone(), usize::from(is_page))),
        }
    }
    removed
}
