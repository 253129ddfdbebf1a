//! `serin check`: is this file right, and what will it cost the servers it watches?
//!
//! For CI: exit code 0 where the file is right, 1 where it is not. Nothing is contacted, but with `--links` the runbooks.

pub(crate) mod links;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use serde::Serialize;

use crate::cli::check::links::LinksFound;
use crate::cli::config_file::ConfigFile;
use crate::config;
use crate::config::Loaded;
use crate::config::check::checker::Unset;
use crate::config::read::diagnostic::Diagnostics;
use crate::config::read::source;
use crate::domain::api_key::Role;
use crate::domain::drills::ScheduledDrill;
use crate::domain::fleet::{Fleet, Provenance};
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::Monitor;
use crate::domain::quality::streak::usual_cost;
use crate::domain::quality::unarmed::{Unarmed, declared_way, unarmed};
use crate::domain::rules::After;
use crate::domain::wording::{as_written, counted};

/// Checks a monitors.yaml; without --links nothing is contacted.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// Which file.
    #[command(flatten)]
    pub config: ConfigFile,
    /// Refuse variables and secret files that are not there, as `serin run` does; without it they are warnings.
    #[arg(long)]
    pub env: bool,
    /// Fetch every runbook that the file leads to, and fail where one that pages lead to is not there.
    #[arg(long)]
    pub links: bool,
    /// Print for machines: one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Checks and prints; 0 where the file is right, 1 where it is not or cannot be read.
///
/// # Errors
/// Where no runbook can be fetched at all.
pub async fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    let source = match args.config.path().and_then(|path| Ok(source::read(&path)?)) {
        Ok(source) => source,
        Err(error) => {
            if args.json {
                print_json(&CheckReport { error: Some(error.to_string()), ..CheckReport::default() });
            } else {
                anstream::eprintln!("error: {error}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let strictness = if args.env { Unset::Refuse } else { Unset::Warn };
    let checked = config::load(&source, &|name| std::env::var(name).ok(), strictness);
    let links = match &checked {
        Ok(loaded) if args.links => Some(links::check(&loaded.fleet).await?),
        _ => None,
    };
    let is_right = checked.is_ok() && links.as_ref().is_none_or(LinksFound::is_right);
    if args.json {
        print_json(&CheckReport { ok: is_right, links, ..report(&source.name, &checked) });
    } else {
        match &checked {
            Ok(loaded) => print_loaded(&source.name, loaded),
            Err(faults) => print_faults(&source.name, faults),
        }
        if let Some(links) = &links {
            links.troubles().iter().for_each(|trouble| anstream::eprintln!("{trouble}\n"));
            anstream::println!("{}", links.summary());
        }
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_faults(name: &str, faults: &Diagnostics) {
    for warning in &faults.warnings {
        anstream::eprintln!("{warning}\n");
    }
    anstream::eprintln!("{}\n", faults.styled());
    let (count, plural) = (faults.count(), if faults.count() == 1 { "" } else { "s" });
    anstream::eprintln!("{name}: {count} fault{plural}");
}

fn print_loaded(name: &str, loaded: &Loaded) {
    for warning in &loaded.warnings {
        anstream::eprintln!("{warning}\n");
    }
    let monitors = &loaded.fleet.monitors;
    let width = monitors.iter().map(|monitor| monitor.id.as_str().len()).max().unwrap_or(0).max("monitor".len());
    anstream::println!("{:width$}  {:>6}  {:>8}  {:>17}", "monitor", "every", "canaries", "calls a day up to");
    for monitor in monitors {
        let (every, canaries) = (as_written(monitor.every), monitor.canaries.len());
        anstream::println!(
            "{:width$}  {every:>6}  {canaries:>8}  {:>17}",
            monitor.id.as_str(),
            monitor.calls_per_day()
        );
    }
    anstream::println!("{:width$}  {:>6}  {:>8}  {:>17}", "total", "", "", total(monitors));
    anstream::println!("\n{CALLS_FORMULA}");
    for line in derived_windows(monitors) {
        anstream::println!("{line}");
    }
    for line in written_patience(monitors) {
        anstream::println!("{line}");
    }
    for line in ways_past_caches(monitors) {
        anstream::println!("{line}");
    }
    for line in next_windows(&loaded.fleet.maintenance, Utc::now()) {
        anstream::println!("{line}");
    }
    for line in next_drills(&loaded.fleet, Utc::now()) {
        anstream::println!("{line}");
    }
    anstream::println!("{}", who_signs_in(loaded));
    let files = match loaded.fleet.provenance.included.len() {
        0 => String::new(),
        1 => " and the file it includes".to_owned(),
        included => format!(" and the {included} files it includes"),
    };
    let lists =
        match (loaded.fleet.discovery.sources.len(), monitors.iter().filter(|one| one.discovered.is_some()).count()) {
            (0, _) => String::new(),
            (lists, watched) => format!(" ({watched} of {})", counted(lists, "list", "lists")),
        };
    anstream::println!(
        "{name}{files}: right, {}{lists}, {}",
        counted(monitors.len(), "monitor", "monitors"),
        counted(loaded.fleet.receivers.len(), "receiver", "receivers")
    );
}

/// The ways to sign in, on one line.
fn who_signs_in(loaded: &Loaded) -> String {
    let sign_in = &loaded.fleet.sign_in;
    let token = loaded.settings.token.as_ref().map(|_| "by the token".to_owned());
    let users = sign_in.users.as_ref().map(|users| {
        let of = |role| users.iter().filter(|user| user.role == role).count();
        let roles = [Role::Read, Role::Act, Role::Owner].map(|role| format!("{} {}", of(role), role.slug()));
        format!("by name: {} ({})", counted(users.len(), "user", "users"), roles.join(", "))
    });
    let provider = sign_in.provider.as_ref().map(|by| format!("by {}, claim `{}`", by.issuer, by.claim));
    let ways: Vec<String> = [token, users, provider].into_iter().flatten().collect();
    match ways.is_empty() {
        true => format!("Nobody has to sign in: whoever reaches {} sees and does everything.", loaded.settings.listen),
        false => format!("People sign in {}.", ways.join("; ")),
    }
}

/// Runs of a window or a drill that are named ahead.
const RUNS_SHOWN: usize = 3;

/// How the figure comes about; the same words as [`Monitor::calls_per_day`].
const CALLS_FORMULA: &str = "Calls of a beat: opening 2, tools/list 1, one for each canary asked (per_beat) and each health \
     address, closing 1;\nan hour, where rules.freshness is set or the lock has the number of sources: list_sources 1, and on top up to 19 further pages \
     where the first one does not show how old the newest source is. Servers of the 2026-07-28 era need two fewer a beat. \
     In one beat of five 1 where the lock says that a question brings one list, and 1 with search.harvest; in one of ten 2 \
     where canaries have a pair. \
     Beats that follow a failure come on top;\nso do, when an answer is wrong, \
     the canaries not asked since: never beyond a cap, and without one a tenth of these calls, or each canary four times.";

/// How long each monitor's latency window is that nobody wrote so, the monitors of one length on one line.
fn derived_windows(monitors: &[Arc<Monitor>]) -> Vec<String> {
    let mut lengths: BTreeMap<Duration, Vec<&str>> = BTreeMap::new();
    for monitor in monitors.iter().filter(|monitor| monitor.rules.latency.window_derived) {
        lengths.entry(monitor.rules.latency.window).or_default().push(monitor.id.as_str());
    }
    let line = |(window, ids): (Duration, Vec<&str>)| {
        let ids = ids.join(", ");
        format!("{ids}: P95 over {}, since rules.latency has no window that holds its samples", as_written(window))
    };
    lengths.into_iter().map(line).collect()
}

/// What each number of `rules.quality.after` costs in false pages, the monitors of one cost on one line.
fn written_patience(monitors: &[Arc<Monitor>]) -> Vec<String> {
    let mut costs: BTreeMap<(u32, String), Vec<&str>> = BTreeMap::new();
    for monitor in monitors {
        if let Some((after, pages)) = cost_of_after(monitor) {
            costs.entry((after, pages_said(pages))).or_default().push(monitor.id.as_str());
        }
    }
    let line = |((after, pages), ids): ((u32, String), Vec<&str>)| {
        format!(
            "{}: rules.quality.after: {after} costs {pages} false pages a monitor-year on a server 1 % of whose answers are \
             wrong by chance; auto measures that and keeps under a third of one in 100",
            ids.join(", ")
        )
    };
    costs.into_iter().map(line).collect()
}

/// When each window runs next, by the clock it is declared by.
fn next_windows(windows: &[MaintenanceWindow], now: DateTime<Utc>) -> Vec<String> {
    let line = |window: &MaintenanceWindow| {
        let now_on = window.run_at(now).map(|run| format!("on until {}", window.shown(run.to)));
        let next = window.next_after(now, RUNS_SHOWN).into_iter().map(|run| window.shown(run.from));
        let all: Vec<String> = now_on.into_iter().chain(next).collect();
        let said = if all.is_empty() { "over, and never again: leave it out".to_owned() } else { all.join(", ") };
        format!("maintenance {}: {said}", window.called())
    };
    windows.iter().map(line).collect()
}

/// When each drill is told next, by the clock it is declared by, and to whom.
fn next_drills(fleet: &Fleet, now: DateTime<Utc>) -> Vec<String> {
    let line = |drill: &ScheduledDrill| {
        let next = drill.starts.next_after(now, RUNS_SHOWN).into_iter().map(|at| drill.starts.shown(at));
        let told: Vec<&str> = fleet.drilled([drill]).iter().map(|receiver| receiver.name.as_str()).collect();
        let next = next.collect::<Vec<_>>().join(", ");
        format!("drill {}: {next}; it notifies {}", fleet.provenance.shown(drill.line), told.join(", "))
    };
    fleet.drills.iter().map(line).collect()
}

/// By what searches get past caches, the monitors of one way on one line.
fn ways_past_caches(monitors: &[Arc<Monitor>]) -> Vec<String> {
    let mut ways: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for monitor in monitors.iter().filter(|monitor| !monitor.canaries.is_empty()) {
        ways.entry(declared_way(monitor)).or_default().push(monitor.id.as_str());
    }
    ways.into_iter().map(|(way, ids)| format!("{}: past caches by {way}", ids.join(", "))).collect()
}

/// The number the file has, and its false pages a monitor-year; none where it leaves that to Serin or asks nothing.
fn cost_of_after(monitor: &Monitor) -> Option<(u32, f64)> {
    match monitor.rules.quality.after {
        After::Answers(after) if !monitor.canaries.is_empty() => Some((after, usual_cost(monitor, after))),
        _ => None,
    }
}

fn pages_said(pages: f64) -> String {
    match pages {
        pages if pages < 0.0001 => "less than 0.0001".to_owned(),
        pages if pages < 0.1 => format!("{pages:.4}"),
        pages => format!("{pages:.2}"),
    }
}

fn total<M: AsRef<Monitor>>(monitors: &[M]) -> u64 {
    monitors.iter().map(|monitor| monitor.as_ref().calls_per_day()).fold(0, u64::saturating_add)
}

/// What `--json` prints.
#[derive(Debug, Default, Serialize)]
struct CheckReport {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    file: String,
    hash: Option<String>,
    commit: Option<String>,
    faults: Vec<FaultLine>,
    /// Faults found, of which `faults` may hold the first ones only.
    fault_count: usize,
    warnings: Vec<String>,
    monitors: Vec<MonitorLine>,
    calls_per_day_max: u64,
    /// What `--links` found; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<LinksFound>,
}

#[derive(Debug, Serialize)]
struct FaultLine {
    /// The file it is in, which another one may include.
    file: String,
    /// Line of that file.
    line: usize,
    column: usize,
    message: String,
    help: Option<String>,
}

#[derive(Debug, Serialize)]
struct MonitorLine {
    id: String,
    file: String,
    line: u32,
    url: String,
    every_ms: u64,
    timeout_ms: u64,
    probe_budget_ms: u64,
    canaries: usize,
    per_beat: u32,
    latency_window_ms: u64,
    /// Whether it follows from the rhythm, since the file has none.
    latency_window_derived: bool,
    /// Wrong answers in a row that are an incident, where the file has a number; else Serin measures how many it takes.
    quality_after: Option<u32>,
    /// What that number costs, on a server 1 % of whose answers are wrong by chance.
    false_pages_per_year: Option<f64>,
    calls_per_day_max: u64,
    /// By what its searches get past caches, as far as file and lock say it.
    past_caches: String,
    /// Checks that cannot judge it, each with what it needs.
    not_armed: Vec<UnarmedLine>,
}

#[derive(Debug, Serialize)]
struct UnarmedLine {
    check: &'static str,
    why: String,
}

fn report(name: &str, checked: &Result<Loaded, Diagnostics>) -> CheckReport {
    let file = name.to_owned();
    match checked {
        Ok(loaded) => CheckReport {
            ok: true,
            file,
            hash: Some(loaded.fleet.provenance.hash.clone()),
            commit: loaded.fleet.provenance.commit.clone(),
            warnings: loaded.warnings.clone(),
            monitors: loaded
                .fleet
                .monitors
                .iter()
                .map(|monitor| monitor_line(monitor, &loaded.fleet.provenance))
                .collect(),
            calls_per_day_max: total(&loaded.fleet.monitors),
            ..CheckReport::default()
        },
        Err(faults) => CheckReport {
            file,
            faults: faults
                .list()
                .iter()
                .map(|fault| FaultLine {
                    file: fault.file.clone(),
                    line: fault.line,
                    column: fault.column,
                    message: fault.message.clone(),
                    help: fault.help.clone(),
                })
                .collect(),
            fault_count: faults.count(),
            warnings: faults.warnings.clone(),
            ..CheckReport::default()
        },
    }
}

fn monitor_line(monitor: &Monitor, provenance: &Provenance) -> MonitorLine {
    let (file, line) = provenance.place(monitor.line);
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let (quality_after, false_pages_per_year) = cost_of_after(monitor).unzip();
    MonitorLine {
        id: monitor.id.to_string(),
        file: file.to_owned(),
        line,
        url: monitor.url.shown.clone(),
        every_ms: ms(monitor.every),
        timeout_ms: ms(monitor.timeout),
        probe_budget_ms: ms(monitor.probe_budget),
        canaries: monitor.canaries.len(),
        per_beat: monitor.search.per_beat,
        latency_window_ms: ms(monitor.rules.latency.window),
        latency_window_derived: monitor.rules.latency.window_derived,
        quality_after,
        false_pages_per_year,
        calls_per_day_max: monitor.calls_per_day(),
        past_caches: declared_way(monitor),
        not_armed: unarmed(monitor).into_iter().map(|Unarmed { check, why }| UnarmedLine { check, why }).collect(),
    }
}

fn print_json(report: &CheckReport) {
    match serde_json::to_string_pretty(report) {
        Ok(text) => anstream::println!("{text}"),
        Err(error) => anstream::eprintln!("error: the report cannot be written as JSON: {error}"),
    }
}
