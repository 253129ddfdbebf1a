//! `serin init URL`: two minutes to the first monitor.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use chrono::Utc;

use crate::cli::init::append;
use crate::cli::init::compose::{Draft, new_file};
use crate::cli::init::given::{InitArgs, InitInput, WrittenReference, arguments};
use crate::cli::init::scalar;
use crate::cli::observe::recalled;
use crate::domain::answer::Turn;
use crate::domain::classify::classify;
use crate::domain::monitor::{CanaryKind, Monitor};
use crate::domain::observation::{BeatKind, Footprint, Observation};
use crate::domain::outcome::{AskVerdict, Verdict};
use crate::domain::server_profile::ServerProfile;
use crate::domain::wording::counted;
use crate::probe::assignment::{Assignment, Further};
use crate::probe::explore::explored::{CANARIES_MAX, Explored, Wish};
use crate::probe::prober::Prober;

/// All was found out, and less than that.
const WHOLE: u8 = 0;
const PARTLY: u8 = 2;
/// Times the proposal is probed: with the exploration, each canary was then right three times.
const CONFIRMATIONS: usize = 2;

/// Explores, proposes, confirms, writes.
///
/// # Errors
/// Where the arguments cannot be used, or the file cannot be written as it should be.
pub(crate) async fn command(args: InitArgs) -> anyhow::Result<ExitCode> {
    let given = InitInput::read(&args)?;
    if args.canaries > CANARIES_MAX {
        bail!("at most {CANARIES_MAX} canaries are looked for; further ones are better written by a person");
    }
    let taken = taken_ids(&args)?;
    let wish = Wish {
        tool: args.tool.clone(),
        query: args.query.clone(),
        asks: args.asks.clone(),
        asks_nothing: args.asks_nothing.clone(),
        arguments: arguments(&args.arguments)?,
        canaries: args.canaries,
    };
    let prober = Prober::new(1);
    let monitor = given.monitor();
    anstream::eprintln!("exploring {} …", monitor.url.shown);
    let profile = recalled(args.append.as_deref().unwrap_or(Path::new("monitors.yaml")), &monitor).await;
    let explored = Box::pin(prober.explore(&monitor, &wish, profile, Utc::now())).await;
    let id = id_for(&args, &given, &explored, &taken)?;
    let written = given.written(&id);
    let mut draft = drafted(&explored, &written, id);
    let mut cost = Cost { total: explored.seen.footprint };
    if explored.was_throttled() {
        draft.canaries.clear();
        draft
            .doubts
            .push("the server asked for quiet (429), so that no canary was confirmed; try again later".to_owned());
    } else if explored.seen.tools.is_some() {
        confirm(&prober, &mut draft, &written, explored.profile.clone(), &mut cost).await?;
    }
    finish(&mut draft, &explored, &written, &cost)?;
    let whole = args.append.as_ref().map(|file| whole_text(file, &mut draft, &written)).transpose()?;
    report(&draft, &explored, &written, &cost);
    match args.append.as_ref().zip(whole) {
        None => anstream::print!("{}", new_file(&draft.item(2))),
        Some((file, whole)) => put_into(file, &draft, &whole, args.yes)?,
    }
    Ok(ExitCode::from(if explored.gaps.is_empty() { WHOLE } else { PARTLY }))
}

/// Ids that the file has already; a file with faults is refused before any request is sent.
fn taken_ids(args: &InitArgs) -> anyhow::Result<Vec<String>> {
    let Some(file) = args.append.as_ref().filter(|file| file.exists()) else { return Ok(Vec::new()) };
    let text = read(file)?;
    let loaded = append::checked(file, &text, &[])
        .map_err(|faults| anyhow::anyhow!("{} has faults to mend first:\n{faults}", file.display()))?;
    append::inserted(&text, |_| String::new()).map_err(|why| anyhow::anyhow!("{}: {why}", file.display()))?;
    Ok(loaded.fleet.monitors.iter().map(|monitor| monitor.id.to_string()).collect())
}

fn id_for(args: &InitArgs, given: &InitInput, explored: &Explored, taken: &[String]) -> anyhow::Result<String> {
    if let Some(id) = &args.id {
        if taken.contains(id) {
            bail!("the file declares a monitor '{id}' already; give another --id");
        }
        return Ok(id.clone());
    }
    let name = explored.seen.server.as_ref().map(|server| server.name.as_str());
    let base = given.id(name.filter(|name| !given.betrayed(name)));
    let numbered = (2..).map(|nth| format!("{base}-{nth}"));
    Ok(std::iter::once(base.clone()).chain(numbered).find(|id| !taken.contains(id)).unwrap_or(base))
}

fn drafted(explored: &Explored, written: &WrittenReference, id: String) -> Draft {
    let seen = &explored.seen;
    let named = seen.server.as_ref().map(|server| server.name.clone()).filter(|name| !written.betrays(name));
    let indexed = seen.sources.as_ref().and_then(|sources| sources.last_indexed_at);
    Draft {
        name: named.filter(|name| !name.trim().is_empty() && *name != id),
        id,
        url: written.url.clone(),
        program: written.program.clone(),
        env: written.env.clone(),
        bearer: written.bearer.clone(),
        headers: written.headers.clone(),
        search: explored.search.clone(),
        lists: explored.lists.clone(),
        canaries: explored
            .canaries
            .iter()
            .filter(|(proposal, _)| {
                let mut texts = [&proposal.query, &proposal.source].into_iter().chain(&proposal.contains);
                !texts.any(|text| written.betrays(text))
            })
            .cloned()
            .collect(),
        durations: explored.durations.clone(),
        indexed: indexed.map(|at| at.format("%Y-%m-%d").to_string()),
        by_defaults: false,
        calls_per_day: None,
        facts: Vec::new(),
        doubts: Vec::new(),
    }
}

/// Probes the draft as it would be watched; canaries that are not right each time are left out.
async fn confirm(
    prober: &Prober,
    draft: &mut Draft,
    written: &WrittenReference,
    mut profile: ServerProfile,
    cost: &mut Cost,
) -> anyhow::Result<()> {
    let rounds = if draft.canaries.is_empty() { 1 } else { CONFIRMATIONS };
    for _ in 0..rounds {
        let monitor = declared(draft, written)?;
        let (seen, next) = probe(prober, &monitor, profile).await;
        profile = next;
        cost.add(&seen.footprint);
        let outcome = classify(&monitor, &seen);
        for (ask, verdict) in seen.asks.iter().zip(&outcome.asks).rev() {
            let nth = monitor.canaries.iter().position(|canary| canary.id == ask.canary);
            if let Some(nth) = nth.filter(|_| !matches!(verdict, AskVerdict::Right { .. })) {
                let (proposal, _) = draft.canaries.remove(nth);
                draft.doubts.push(format!("asked again, '{}' was not answered as before: left out", proposal.query));
            }
        }
        let lasting = outcome.findings.iter().filter(|_| outcome.verdict == Verdict::Down);
        draft.doubts.extend(lasting.map(|finding| format!("probed again, it was down: {}", finding.summary)));
    }
    Ok(())
}

/// The draft as the checker reads it. Canaries that it refuses are left out: a stranger's text is no ground to stand on.
fn declared(draft: &mut Draft, written: &WrittenReference) -> anyhow::Result<Arc<Monitor>> {
    let load = |draft: &Draft| append::checked(Path::new("new.yaml"), &new_file(&draft.item(2)), &written.known);
    if load(draft).is_err() {
        let all = std::mem::take(&mut draft.canaries);
        for canary in all {
            draft.canaries.push(canary);
            if load(draft).is_err() {
                draft.canaries.pop();
            }
        }
    }
    let loaded = load(draft).map_err(|faults| anyhow::anyhow!("the proposal is not right yet:\n{faults}"))?;
    loaded.fleet.monitors.first().cloned().context("the proposal holds no monitor")
}

async fn probe(prober: &Prober, monitor: &Arc<Monitor>, profile: ServerProfile) -> (Observation, ServerProfile) {
    let now = Utc::now();
    let assignment = Assignment {
        monitor: Arc::clone(monitor),
        kind: BeatKind::Recheck,
        scheduled_at: now,
        started_at: now,
        asks: (0..monitor.canaries.len()).map(|nth| (nth, Turn::Scheduled)).collect(),
        further: Further::NONE,
        ask_sources: false,
        profile,
        lists: crate::tool_lists::known::KnownLists::default(),
    };
    prober.run(&assignment).await
}

/// What the person reads above the monitor: what it is, what it costs, what to look at.
fn finish(draft: &mut Draft, explored: &Explored, written: &WrittenReference, cost: &Cost) -> anyhow::Result<()> {
    let seen = &explored.seen;
    draft.calls_per_day = Some(declared(draft, written)?.calls_per_day());
    draft.facts.push(format!("Found by `serin init` with {}.", counted(cost.total.requests, "request", "requests")));
    if let (Some(era), Some(transport), Some(server)) = (seen.era, seen.transport, &seen.server) {
        let tools = seen.tools.as_ref().map_or(0, |tools| tools.tools.len());
        draft.facts.push(format!(
            "{} {}: MCP {} ({}) over {}, {}.",
            server.name,
            server.version,
            server.protocol,
            era.slug(),
            transport.slug(),
            counted(tools, "tool", "tools")
        ));
    }
    draft.doubts.splice(0..0, explored.gaps.iter().chain(&explored.guesses).cloned());
    for line in draft.facts.iter_mut().chain(&mut draft.doubts) {
        *line = written.masked(line);
    }
    if written.betrays(&draft.item(0)) {
        bail!("the server repeats a secret of ours in how it is called; nothing is written down");
    }
    Ok(())
}

/// What was found, to standard error: standard output holds the YAML alone.
fn report(draft: &Draft, explored: &Explored, written: &WrittenReference, cost: &Cost) {
    for fact in draft.facts.iter().chain(&draft.calls()) {
        anstream::eprintln!("  {}", scalar::comment(fact));
    }
    if let Some(search) = &explored.search {
        let count = |kind| draft.canaries.iter().filter(|(proposal, _)| proposal.kind == kind).count();
        let kinds = CanaryKind::ALL.map(|kind| format!("{} {}", count(kind), kind.slug()));
        let tool = scalar::comment(search.tool.as_deref().unwrap_or_default());
        anstream::eprintln!("  search tool `{tool}`; canaries that passed each time: {}", kinds.join(", "));
        anstream::eprintln!("  meaning canaries, in words their source does not use, have to be written by a person");
    }
    for doubt in &draft.doubts {
        anstream::eprintln!("  look: {}", scalar::comment(doubt));
    }
    for (name, _) in &written.known {
        anstream::eprintln!("  set the variable {name} where Serin runs; its value was not written down");
    }
    let Footprint { sessions_opened, sessions_closed, .. } = cost.total;
    anstream::eprintln!(
        "  {} sent, {} opened and {sessions_closed} closed",
        counted(cost.total.requests, "request", "requests"),
        counted(sessions_opened, "session", "sessions")
    );
}

/// Puts the monitor into a file, or makes the file; asks first where nobody said yes.
fn put_into(file: &Path, draft: &Draft, text: &str, yes: bool) -> anyhow::Result<()> {
    anstream::print!("{}", draft.item(2));
    if !yes {
        if !std::io::stdin().is_terminal() {
            bail!("{} was not changed: give --yes to append without being asked", file.display());
        }
        anstream::eprint!("append this to {}? [y/N] ", file.display());
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            bail!("{} was not changed", file.display());
        }
    }
    append::replace(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    anstream::eprintln!("monitor '{}' is in {} now, and the file was checked", draft.id, file.display());
    Ok(())
}

/// The file as it will be, checked. Where its `defaults` contradict our rhythm and limits, theirs hold.
fn whole_text(file: &Path, draft: &mut Draft, written: &WrittenReference) -> anyhow::Result<String> {
    if !file.exists() {
        let text = new_file(&draft.item(2));
        append::checked(file, &text, &written.known)
            .map_err(|faults| anyhow::anyhow!("the proposal is not right yet:\n{faults}"))?;
        return Ok(text);
    }
    let text = read(file)?;
    let mut with = |by_defaults| {
        draft.by_defaults = by_defaults;
        let whole = append::inserted(&text, |indent| draft.item(indent))?;
        let loaded = append::checked(file, &whole, &written.known)?;
        // What a beat costs depends on what the file's `defaults` add to it.
        let ours = loaded.fleet.monitors.iter().find(|monitor| monitor.id.as_str() == draft.id);
        draft.calls_per_day = ours.map(|monitor| monitor.calls_per_day());
        append::inserted(&text, |indent| draft.item(indent)).map(|whole| (whole, loaded))
    };
    let (whole, after) = with(false)
        .or_else(|_| with(true))
        .map_err(|faults| anyhow::anyhow!("{} would not be right any more:\n{faults}", file.display()))?;
    let before = append::checked(file, &text, &written.known)
        .map_err(|faults| anyhow::anyhow!("{} has faults to mend first:\n{faults}", file.display()))?;
    let others = after.fleet.monitors.iter().filter(|monitor| monitor.id.as_str() != draft.id);
    let same = others.zip(&before.fleet.monitors).all(|(a, b)| a.id == b.id && a.definition_hash == b.definition_hash);
    if !same || after.fleet.monitors.len() != before.fleet.monitors.len() + 1 {
        bail!("{}: appending would change another monitor; put the printed YAML in by hand", file.display());
    }
    Ok(whole)
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// What all probes together cost the server.
#[derive(Debug)]
struct Cost {
    total: Footprint,
}

impl Cost {
    fn add(&mut self, part: &Footprint) {
        self.total.requests += part.requests;
        self.total.sessions_opened += part.sessions_opened;
        self.total.sessions_closed += part.sessions_closed;
    }
}
