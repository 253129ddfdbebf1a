//! What checking a large configuration costs: the same fleet written out, shared by anchors, spread over files, and
//! faulty throughout.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::usage;
use serin::config;
use serin::config::check::checker::Unset;
use serin::config::read::source::{self, ConfigSource};

/// Monitors of a file, where the fleet is spread over several.
const MONITORS_A_FILE: usize = 100;
/// Each shape is checked so often; the median is told.
const ROUNDS: usize = 9;

/// Measures how long a configuration of this size takes to check.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ConfigBench {
    /// Monitors of the fleet.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) monitors: usize,
}

/// Prints a row for each shape.
///
/// # Errors
/// Where the files cannot be written, or the fleet is not read as it was meant.
pub(crate) fn run(args: &ConfigBench) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("serin-bench-config-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("teams"))?;
    let measured = table(&folder, args.monitors);
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    measured
}

fn table(folder: &Path, monitors: usize) -> anyhow::Result<()> {
    anstream::println!(
        "| {monitors} monitors, each with three canaries | size | read and checked (median of {ROUNDS}) | CPU | goal |"
    );
    anstream::println!("|---|---|---|---|---|");
    let path = folder.join("monitors.yaml");
    std::fs::write(&path, whole(monitors, written_out))?;
    row("written out in one file", &path, monitors, 0)?;
    std::fs::write(&path, shared(monitors))?;
    row("sharing canaries, search and rules by anchors and `<<`", &path, monitors, 0)?;
    std::fs::write(&path, whole(monitors, |id| written_out(id).replace("    timeout:", "    timeuot:")))?;
    row("written out, with a fault in each monitor", &path, monitors, monitors)?;
    let mut files = 0;
    for from in (0..monitors).step_by(MONITORS_A_FILE) {
        let mut text = String::from("monitors:\n");
        (from..(from + MONITORS_A_FILE).min(monitors)).for_each(|id| text += &written_out(id));
        std::fs::write(folder.join(format!("teams/{from:06}.yaml")), text)?;
        files += 1;
    }
    std::fs::write(&path, format!("{HEAD}include: teams/*.yaml\n"))?;
    row(&format!("written out over {files} included files"), &path, monitors, 0)
}

fn row(what: &str, path: &Path, monitors: usize, faults: usize) -> anyhow::Result<()> {
    let mut took = Vec::with_capacity(ROUNDS);
    let (mut bytes, before) = (0, usage::cpu());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let source = source::read(path)?;
        let checked = config::load(&source, &|_| Some("set".to_owned()), Unset::Refuse);
        took.push(started.elapsed());
        bytes = size(&source);
        match checked {
            Ok(loaded) => anyhow::ensure!(faults == 0 && loaded.fleet.monitors.len() == monitors, "read otherwise"),
            Err(found) => anyhow::ensure!(found.count() == faults, "{} faults: {found}", found.count()),
        }
    }
    let cpu = (usage::cpu() - before) / u32::try_from(ROUNDS)?;
    took.sort();
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let (median, size) = (ms(took[ROUNDS / 2]), bytes as f64 / 1e6);
    anstream::println!("| {what} | {size:.1} MB | {median:.0} ms | {:.0} ms | < 500 ms at 10,000 |", ms(cpu));
    Ok(())
}

fn size(source: &ConfigSource) -> usize {
    source.bytes.len() + source.included.iter().map(|file| file.bytes.len()).sum::<usize>()
}

const HEAD: &str = "version: 1\nreceivers: { all: { webhook: { url: \"https://hooks.example.org/\" } } }\nroutes:\n  - { match: { labels: { team: t7 } }, to: [all] }\n  - { to: [all] }\n";

fn whole(monitors: usize, one: impl Fn(usize) -> String) -> String {
    let mut text = format!("{HEAD}monitors:\n");
    (0..monitors).for_each(|id| text += &one(id));
    text
}

fn written_out(id: usize) -> String {
    let team = id % 40;
    let mut text = format!(
        "  - id: docs-{id:05}\n    name: Documents of place {id}\n    url: https://rag-{id:05}.example.org/mcp\n    labels: {{ team: t{team}, env: prod }}\n    auth: {{ bearer: \"${{env:TOKEN_{team}}}\" }}\n    health: [ {{ url: \"https://rag-{id:05}.example.org/health\" }} ]\n    every: 60s\n    timeout: 8s\n    search:\n      tool: search_documents\n      arguments: {{ top_k: 5 }}\n      per_beat: 2\n    canaries:\n"
    );
    for canary in 0..3 {
        let _infallible = writeln!(
            text,
            "      - {{ id: c{canary}, query: how long does token {canary} live at place {id}?, expect: [auth/tokens-{id}.md], kind: meaning }}"
        );
    }
    text + "    rules:\n      availability: { after: 3, recover_after: 2, severity: page }\n      latency: { p95: 800ms, window: 20m, for: 20m }\n      freshness: { older_than: 72h }\n"
}

/// One monitor written out with an anchor, and the others merging it.
fn shared(monitors: usize) -> String {
    let mut text = format!("{HEAD}x-base: &base\n");
    text += &written_out(0).split("    every:").nth(1).map(|rest| format!("    every:{rest}")).unwrap_or_default();
    text += "monitors:\n";
    for id in 0..monitors {
        let _infallible = writeln!(
            text,
            "  - {{ <<: *base, id: docs-{id:05}, url: \"https://rag-{id:05}.example.org/mcp\", labels: {{ team: t{} }} }}",
            id % 40
        );
    }
    text
}
