//! The command: which monitors, what it will cost, and how it ended.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::config_file::ConfigFile;
use crate::cli::known_ids::instead;
use crate::cli::observe::{INTERRUPTED, recalled};
use crate::cli::pin::runs::{self, Refusal, Runs};
use crate::cli::pin::{moves, record, relations, shown, written};
use crate::config;
use crate::config::Loaded;
use crate::config::check::checker::Unset;
use crate::config::check::pinned::RUNS_MAX;
use crate::config::read::source::{self, ConfigSource};
use crate::domain::monitor::Monitor;
use crate::domain::pinned::{Pinned, Relation};
use crate::domain::search::Fresh;
use crate::domain::server_profile::ServerProfile;
use crate::domain::wording::counted;

/// Runs of which a pin is made: what holds in 20 of 20 breaks in less than 14 % (95 %).
const RUNS: u32 = 20;
/// Runs that a check takes: a list that comes and goes is no reason to stop a build.
const RUNS_CHECKED: u32 = 3;
/// The exit code where something would move, or was refused.
const MOVED: u8 = 1;
/// The exit code of a check that could say nothing.
const UNKNOWN: u8 = 2;

/// Writes down how servers answer now, as the baseline that a commit approves.
///
/// Says how many calls it will make, asks every canary 20 times, and writes what it saw into monitors.lock beside the file
/// that declares the monitor. Refuses where a canary is wrong or the server is not well. The exit code: 0 pinned (with
/// --check: nothing would move), 1 refused (would move), 2 nothing can be said.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PinArgs {
    /// Monitors by their ids, all where none is named; and the file that declares them, where it is not monitors.yaml.
    #[arg(value_name = "ID|FILE")]
    pub words: Vec<String>,
    /// The file, for scripts that say what each word is.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How often each canary is asked; 20 without it, and 3 with --check.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(RUNS_MAX)))]
    pub runs: Option<u32>,
    /// Only say what would move, and write nothing.
    #[arg(long)]
    pub check: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// How one monitor ended.
struct Ended {
    code: u8,
    lines: Vec<String>,
    value: Value,
}

/// Pins, or checks, one monitor after the other.
///
/// # Errors
/// Where the file has faults, or declares no such monitor.
pub(crate) async fn run(args: PinArgs) -> anyhow::Result<ExitCode> {
    let (path, ids) = named(&args)?;
    let source = source::read(&path)?;
    let loaded = config::load(&source, &|name| std::env::var(name).ok(), Unset::Refuse)?;
    let monitors = chosen(&loaded, &source.name, &ids)?;
    let times = args.runs.unwrap_or(if args.check { RUNS_CHECKED } else { RUNS });
    for monitor in &monitors {
        let again = if may_go_with_nonces(monitor) { runs::calls(monitor, times) } else { 0 };
        let further = if args.check { 0 } else { relations::calls(monitor, times) + again };
        anstream::eprintln!(
            "{}: up to {} calls: {} of {}{}{}",
            monitor.id,
            runs::calls(monitor, times) + further,
            counted(times as usize, "run", "runs"),
            counted(monitor.canaries.len(), "canary", "canaries"),
            if further > 0 { ", looks at relations" } else { "" },
            if further > 0 && again > 0 { ", and the runs once more where a nonce passes a cache" } else { "" }
        );
    }
    let (mut code, mut values) = (0, Vec::new());
    for monitor in &monitors {
        let ended =
            if args.check { checked(&path, monitor, times).await } else { pin(&source, &loaded, monitor, times).await };
        if !args.json {
            ended.lines.iter().for_each(|line| anstream::println!("{line}"));
        }
        values.push(ended.value);
        code = code.max(ended.code);
        if ended.code == INTERRUPTED {
            break;
        }
    }
    if args.json {
        anstream::println!("{:#}", json!({ "ok": code == 0, "monitors": values }));
    } else if code == 0 && !args.check {
        anstream::println!("look at the difference and commit it; a running Serin takes a lock up by itself");
    }
    Ok(ExitCode::from(code))
}

/// The file, and the ids.
fn named(args: &PinArgs) -> anyhow::Result<(PathBuf, Vec<String>)> {
    let is_file = |word: &String| {
        word.contains('/') || Path::new(word).extension().is_some_and(|end| end == "yaml" || end == "yml")
    };
    let (files, ids): (Vec<String>, Vec<String>) = args.words.iter().cloned().partition(is_file);
    anyhow::ensure!(
        files.len() + usize::from(args.config.is_some()) <= 1,
        "one file at a time: {} are named",
        files.len() + usize::from(args.config.is_some())
    );
    let file = files.into_iter().next().map(PathBuf::from);
    Ok((ConfigFile { file, config: args.config.clone() }.path()?, ids))
}

fn chosen(loaded: &Loaded, file: &str, ids: &[String]) -> anyhow::Result<Vec<Arc<Monitor>>> {
    let monitors = &loaded.fleet.monitors;
    let known: Vec<&str> = monitors.iter().map(|monitor| monitor.id.as_str()).collect();
    for id in ids {
        anyhow::ensure!(
            known.contains(&id.as_str()),
            "{file} declares no monitor '{id}'; {}",
            instead(id, &known, known.len())
        );
    }
    let is_chosen = |monitor: &&Arc<Monitor>| ids.is_empty() || ids.iter().any(|id| id == monitor.id.as_str());
    Ok(monitors.iter().filter(is_chosen).cloned().collect())
}

/// What would be pinned of a monitor, and the runs that it comes from: as its canaries are asked from then on, since scores
/// and lengths may well be others with a nonce.
async fn looked(monitor: &Arc<Monitor>, profile: &ServerProfile, times: u32) -> Result<(Runs, Pinned), Refusal> {
    // Whether a nonce changes nothing is seen beside questions without one.
    let plain = Arc::new(Monitor { pinned: None, ..Monitor::clone(monitor) });
    let runs = runs::asked(&plain, profile, times, None).await?;
    let held = relations::held(&plain, profile, &runs).await?;
    let mut pinned = record::pinned(monitor, &runs, held);
    if !pinned.relations.contains(&Relation::Nonce) {
        return Ok((runs, pinned));
    }
    let with_nonces = Arc::new(Monitor { pinned: Some(Arc::new(pinned.clone())), ..Monitor::clone(monitor) });
    let again = match runs::asked(&with_nonces, profile, times, None).await {
        Ok(again) if again.went_with_nonces() => again,
        Ok(_) | Err(Refusal::Wrong { .. }) => {
            pinned.relations.retain(|relation| *relation != Relation::Nonce);
            return Ok((runs, pinned));
        }
        Err(refusal) => return Err(refusal),
    };
    let mut relations = pinned.relations;
    relations.retain(|relation| *relation != Relation::SameTwice || relations::brings_one_list(monitor, &again));
    let pinned = record::pinned(monitor, &again, relations);
    Ok((again, pinned))
}

/// Whether the runs may be made once more, with nonces.
fn may_go_with_nonces(monitor: &Monitor) -> bool {
    monitor.search.fresh == Fresh::Found && !monitor.canaries.is_empty()
}

/// What would be pinned of a server that nobody has looked at yet.
///
/// # Errors
/// Why there is nothing to pin.
pub(crate) async fn of_stranger(monitor: &Arc<Monitor>) -> anyhow::Result<Pinned> {
    let (_, pinned) = Box::pin(looked(monitor, &ServerProfile::default(), RUNS)).await?;
    Ok(pinned)
}

async fn pin(source: &ConfigSource, loaded: &Loaded, monitor: &Arc<Monitor>, times: u32) -> Ended {
    let profile = stranger(&source.path, monitor).await;
    let (runs, pinned) = match looked(monitor, &profile, times).await {
        Ok(looked) => looked,
        Err(refusal) => return refused(monitor, &refusal, MOVED),
    };
    let lock = written::lock_path(source, &loaded.fleet.provenance, monitor);
    if let Err(error) = written::write(source, &lock, monitor, &pinned) {
        return not(monitor, "not pinned", &error, MOVED);
    }
    let lock = lock.display().to_string();
    Ended {
        code: 0,
        lines: shown::lines(monitor, &runs, &pinned, &lock),
        value: shown::value(monitor, &runs, &pinned, &lock),
    }
}

async fn checked(config: &Path, monitor: &Arc<Monitor>, times: u32) -> Ended {
    let profile = stranger(config, monitor).await;
    let pinned = monitor.pinned.as_deref();
    let accepted = pinned.and_then(|pinned| pinned.tools.as_ref());
    let moves = match runs::asked(monitor, &profile, times, accepted).await {
        Ok(runs) => moves::moves(monitor, pinned, &runs),
        Err(refusal @ (Refusal::Wrong { .. } | Refusal::Restless)) => vec![refusal.to_string()],
        // Tools that are not the pinned ones may well be why it is not well.
        Err(refusal) => {
            let seen = if let Refusal::NotWell { tools, .. } = &refusal { tools.as_deref() } else { None };
            let mut moves = pinned.map(|pinned| moves::tools(pinned, seen)).unwrap_or_default();
            if moves.is_empty() {
                return refused(monitor, &refusal, UNKNOWN);
            }
            moves.push(refusal.to_string());
            moves
        }
    };
    let id = &monitor.id;
    let mut lines: Vec<String> = moves.iter().map(|what| format!("{id}: {what}")).collect();
    if lines.is_empty() {
        lines.push(format!("{id}: as pinned"));
    }
    let code = if moves.is_empty() { 0 } else { MOVED };
    Ended { code, lines, value: json!({ "id": id.as_str(), "refused": null, "moves": moves }) }
}

/// What is known of a server, but for the session that a Serin keeps with it: in a new one the server says its
/// instructions.
async fn stranger(config: &Path, monitor: &Monitor) -> ServerProfile {
    ServerProfile { kept: None, ..recalled(config, monitor).await }
}

fn refused(monitor: &Monitor, refusal: &Refusal, code: u8) -> Ended {
    let code = if matches!(refusal, Refusal::Interrupted) { INTERRUPTED } else { code };
    if code == UNKNOWN {
        not(monitor, "nothing can be said", refusal, code)
    } else {
        not(monitor, "not pinned", refusal, code)
    }
}

fn not(monitor: &Monitor, what: &str, why: &dyn Display, code: u8) -> Ended {
    Ended {
        code,
        lines: vec![format!("{}: {what}: {why}", monitor.id)],
        value: json!({ "id": monitor.id.as_str(), "refused": why.to_string() }),
    }
}
