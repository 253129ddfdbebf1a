//! `serin reference setup | index | status | migrate`: the life of a project's index.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use serin_outbound::tls::trusting_config;

use crate::embed::Embedder as _;
use crate::index::later::PENDING;
use crate::index::lock::WriterLock;
use crate::index::run::{self, IndexReport, Progress};
use crate::project::config::StoreChoice;
use crate::project::opened::Project;
use crate::project::place::ProjectFolder;
use crate::project::subject::Subject;
use crate::project::template;
use crate::search::score::Scale;
use crate::store::contract::{Patience, SCHEMA_VERSION};
use crate::store::sqlite::migrating as sqlite;

/// How long a server that runs may take to say what is broken.
const ADMIN_WITHIN: Duration = Duration::from_secs(3);
/// Letters of a line that every terminal shows as one.
const LINE_CHARS_MAX: usize = 80;

/// Arguments of `setup`.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// The project's folder
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Write the configuration anew where there is one
    #[arg(long)]
    force: bool,
}

/// Sets a project up.
///
/// # Errors
/// `PlaceError`.
pub fn setup(args: SetupArgs) -> anyhow::Result<()> {
    let root = args.folder.canonicalize().with_context(|| format!("{} is no folder", args.folder.display()))?;
    let config = template::filled(&Subject::proposed(&root));
    let place = ProjectFolder::set_up(&root, &config, args.force)?;
    anstream::println!("wrote {}", place.config().display());
    anstream::println!("next: read it, then run `serin reference index`");
    Ok(())
}

/// Arguments of `index`.
#[derive(Debug, Args)]
pub struct IndexArgs {
    /// Begin anew: forget what is there, also what callers of index_document brought
    #[arg(long)]
    full_rebuild: bool,
    /// Wait for another writer to end, instead of giving up
    #[arg(long)]
    wait: bool,
    /// Name every file that was not indexed, with the reason; without it, the first that are too long
    #[arg(long)]
    skipped: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Indexes the project.
///
/// # Errors
/// What kept it from being indexed; what was indexed before that stays.
pub async fn index(args: IndexArgs) -> anyhow::Result<ExitCode> {
    let project = here()?;
    let plan = project.config.plan(&project.place).map_err(anyhow::Error::msg)?;
    let library = match project.library().await {
        Err(crate::project::opened::ProjectError::Library(foreign)) if args.full_rebuild => {
            tracing::info!(%foreign, "an index of another embedder is built anew");
            project.library_anew().await?
        }
        library => library?,
    };
    let writing = library.write("index", args.wait).await?;
    if let Some(holder) = writing.recovered() {
        anstream::eprintln!("recovered the lock of {}, which is gone", holder.shown());
    }
    let mut bar = Bar::new(args.json);
    let report = run::run(&library, &plan, args.full_rebuild, &mut bar).await?;
    bar.0.finish_and_clear();
    drop(writing);
    library.store().close().await;
    if args.json {
        anstream::println!("{}", report_json(&report, args.skipped));
    } else {
        print_report(&report, args.skipped);
    }
    Ok(if report.over_budget { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

/// A progress bar, on a terminal only.
struct Bar(ProgressBar);

impl Bar {
    fn new(quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {per_sec} {wide_msg}");
        Self(ProgressBar::new(0).with_style(style.unwrap_or_else(|_bad| ProgressStyle::default_bar())))
    }
}

impl Progress for Bar {
    fn at(&mut self, done: usize, of: usize, source: &str) {
        self.0.set_length(of as u64);
        self.0.set_position(done as u64);
        self.0.set_message(source.chars().filter(|c| !c.is_control()).take(80).collect::<String>());
    }
}

fn print_report(report: &IndexReport, names_skipped: bool) {
    let IndexReport { scanned, indexed, unchanged, removed, chunks, tokens, redacted, .. } = report;
    if report.resumed {
        anstream::println!("an earlier run was broken off: went on where it was");
    }
    anstream::println!(
        "{} scanned: {indexed} indexed, {unchanged} unchanged, {} skipped; {removed} removed",
        counted(scanned, "file", "files"),
        report.skipped.values().sum::<usize>()
    );
    anstream::println!(
        "{}, {}, {} taken out, in {:.1?}",
        counted(chunks, "chunk", "chunks"),
        counted(tokens, "token", "tokens"),
        counted(redacted, "secret", "secrets"),
        report.took()
    );
    for (why, count) in &report.skipped {
        anstream::println!("  {count:>6} {why}");
    }
    let named = if names_skipped { &report.skipped_files } else { &report.too_long };
    for (source, why) in named {
        anstream::println!("  {source}: {why}");
    }
    if report.over_budget {
        anstream::println!("BUDGET_LIMIT_EXCEEDED: not everything is in: raise `index.budgets`, or index less");
    }
}

fn report_json(report: &IndexReport, names_skipped: bool) -> Value {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if names_skipped {
        value["skipped_files"] = json!(report.skipped_files);
    }
    value
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show all of it, long lines whole; without it, what fits a screen
    #[arg(long)]
    all: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Shows the project's index.
///
/// # Errors
/// What kept it from being looked at.
pub async fn status(args: StatusArgs) -> anyhow::Result<()> {
    let project = here()?;
    let place = &project.place;
    let library = project.indexed_library().await?;
    let (last, broken_off) = run::last(&library).await?;
    let mut held = library.store().connect(Patience::Writer).await?;
    let figures = held.figures().await?;
    let sources = held.sources().await?;
    let pending = held
        .fact(PENDING)
        .await?
        .map(|_| format!("{} of {}: `serin reference index` brings the rest", figures.reachable, figures.chunks));
    drop(held);
    let model = library.vectors().embedder().model().clone();
    let holder = WriterLock::holder(&place.lock())?;
    let server = running_server(place).await;
    library.store().close().await;
    let status = json!({
        "project": place.root, "config": place.config(), "schema": SCHEMA_VERSION,
        "embedder": model.to_string(), "score": told(Scale::of(&model)),
        "sources": figures.sources, "chunks": figures.chunks, "mean_tokens": figures.mean_tokens.round(),
        "answers_remembered": figures.answers, "embeddings_remembered": figures.embeddings,
        "last_indexed": sources.iter().map(|source| source.indexed_at).max(),
        "last_run": last, "vectors": pending, "run_broken_off": broken_off && holder.is_none(),
        "writer": holder.as_ref().map(crate::index::lock::Holder::shown),
        "server": server,
    });
    if args.json {
        anstream::println!("{status}");
        return Ok(());
    }
    let lines = if args.all { whole(&status) } else { brief(&status) };
    for line in lines {
        anstream::println!("{line}");
    }
    if broken_off && holder.is_none() {
        anstream::println!("the last run was broken off: `serin reference index` goes on where it was");
    }
    Ok(())
}

/// By what a score is told.
const fn told(scale: Scale) -> &'static str {
    match scale {
        Scale::Words => "the chance of answering, fitted to words",
        Scale::Weights => "the chance of answering, fitted to words and these weights",
        Scale::Cosine => "the cosine; nothing is fitted to this model",
    }
}

/// A status as it fits a screen: one line for each part.
fn brief(status: &Value) -> Vec<String> {
    let said = |value: &Value, names: &[&str]| -> String {
        let parts: Vec<String> = names.iter().map(|name| format!("{name} {}", shown(&value[name]))).collect();
        parts.join(", ")
    };
    let line = |(name, value): (&String, &Value)| {
        let value = match name.as_str() {
            "last_run" => said(value, &["over_budget", "indexed", "unchanged", "removed"]),
            "server" => said(value, &["mcp", "pid", "faults"]),
            _ => shown(value),
        };
        let line = format!("{name:<22} {value}");
        if line.chars().count() <= LINE_CHARS_MAX {
            return line;
        }
        line.chars().take(LINE_CHARS_MAX - 1).chain(['…']).collect()
    };
    let parts = status.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    parts.map(line).chain(["more: --all".to_owned()]).collect()
}

/// A status with all that is known.
fn whole(status: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in status.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        match value.as_object() {
            None => lines.push(format!("{name:<22} {}", shown(value))),
            Some(parts) => {
                lines.push(name.clone());
                lines.extend(parts.iter().map(|(part, value)| format!("  {part:<20} {}", shown(value))));
            }
        }
    }
    lines
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The server of this project that runs, and what is broken in it; `None` where none answers.
pub(super) async fn running_server(place: &ProjectFolder) -> Option<Value> {
    let note = std::fs::read_to_string(place.server_note()).ok()?;
    let note: Value = serde_json::from_str(&note).ok()?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(trusting_config())
        .no_proxy()
        .timeout(ADMIN_WITHIN)
        .build()
        .ok()?;
    let admin = format!("{}/admin/faults", note["admin"].as_str()?);
    let report: Value = client.get(admin).send().await.ok()?.json().await.ok()?;
    Some(json!({ "mcp": note["mcp"], "admin": note["admin"], "pid": note["pid"], "faults": report["active"] }))
}

/// Arguments of `migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The index file; the project's where none is given
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
}

/// Brings an older index to this version.
///
/// # Errors
/// Where that is not known.
pub async fn migrate(args: MigrateArgs) -> anyhow::Result<()> {
    let path = match args.database {
        Some(path) => path,
        None => {
            let project = here()?;
            match project.config.store(&project.place).map_err(anyhow::Error::msg)? {
                StoreChoice::Sqlite(path) | StoreChoice::Chroma(path, _) => path,
                StoreChoice::Postgres(_) => bail!("a PostgreSQL store is migrated when it is opened"),
            }
        }
    };
    let from = sqlite::migrate(&path).await?;
    if from == SCHEMA_VERSION {
        anstream::println!("{} is of version {SCHEMA_VERSION} already", path.display());
    } else {
        anstream::println!("{}: version {from} is now {SCHEMA_VERSION}", path.display());
        anstream::println!("next: run `serin reference index`; until then sources are searched as they were cut");
    }
    Ok(())
}

/// The project of the folder that the command is given in.
pub(super) fn here() -> anyhow::Result<Project> {
    let folder = std::env::current_dir().context("the folder you are in cannot be read")?;
    Ok(Project::find(Path::new(&folder))?)
}

/// A count and what it counts, such as `1 file` or `3 files`.
pub(super) fn counted(n: impl Display, one: &str, many: &str) -> String {
    let said = n.to_string();
    let word = if said == "1" { one } else { many };
    format!("{said} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_proposes_what_the_readme_says() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("README.md"), "# Pump\n\nKeeps the tank full.\n").unwrap();
        setup(SetupArgs { folder: folder.path().to_owned(), force: false }).unwrap();
        let project = Project::find(folder.path()).unwrap();
        assert_eq!(project.subject(), "Pump: Keeps the tank full");
    }

    #[test]
    fn a_status_fits_a_screen_and_is_whole_where_that_is_asked() {
        let long = "/home/somebody/".repeat(20);
        let run = json!({ "scanned": 9, "indexed": 7, "unchanged": 1, "removed": 0, "skipped": { &long: 3 },
            "over_budget": true, "too_long": [[&long, &long]], "ended_at": "2026-11-21T03:00:00Z" });
        let status = json!({ "project": &long, "config": &long, "schema": 2, "embedder": &long, "sources": 9,
            "chunks": 99, "mean_tokens": 80.5, "answers_remembered": 1, "embeddings_remembered": 2,
            "last_indexed": "2026-11-21T03:00:00Z", "last_run": run, "run_broken_off": false, "writer": null,
            "server": { "mcp": "http://127.0.0.1:9101/mcp", "admin": &long, "pid": 7, "faults": {} } });
        let lines = brief(&status);
        assert!(lines.len() < 24, "a line more says what to do: {lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        let said = lines.join("\n");
        for part in ["over_budget true, indexed 7, unchanged 1, removed 0", "9101/mcp, pid 7, faults {}", "--all"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("writer"), "what is not there has no line: {said}");
        let all = whole(&status);
        assert!(all.iter().any(|line| line.ends_with(&long)) && all.len() > lines.len(), "{all:?}");
    }
}
