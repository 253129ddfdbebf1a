//! `serin probe ID|URL`: one probe, explained stage by stage.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::cli::known_ids::instead_in;
use crate::cli::observe::{INTERRUPTED, observe, recalled};
use crate::cli::probe_json::as_value;
use crate::cli::remote::RemoteArgs;
use crate::cli::replay;
use crate::cli::said_once;
use crate::config;
use crate::config::check::checker::Unset;
use crate::config::read::source;
use crate::domain::answer::{Answer, Ask, CacheWord, Variant};
use crate::domain::classify::classify;
use crate::domain::fault::Fault;
use crate::domain::monitor::Monitor;
use crate::domain::observation::{BeatKind, Observation, Stage, Step, ToolsSeen};
use crate::domain::outcome::{AskVerdict, Outcome, Verdict};
use crate::domain::quality::bound;
use crate::domain::schedule::PlannedAsk;
use crate::domain::secret::{Address, Secret};
use crate::domain::server_profile::ServerProfile;
use crate::domain::sources::{NewestSource, SOURCE_PAGES_MAX, SourcesSeen};
use crate::domain::wording::counted;
use crate::probe::assignment::{Assignment, Further};
use crate::probe::wire::head::kind_word;
use crate::probe::wire::transcript_lines::phases;
use crate::tool_lists::known::KnownLists;

/// Hits printed of one answer: what a person looks at first.
/// Canaries whose source is not listed, as a line has room for.
const UNLISTED_SHOWN: usize = 12;
const HITS_SHOWN: usize = 5;
/// Looks at one server once, and explains what was seen.
#[derive(Debug, clap::Args)]
pub(crate) struct ProbeArgs {
    /// A monitor's id from the configuration, or the address of an MCP server.
    #[arg(value_name = "ID|URL")]
    pub target: String,
    /// Run the sequence of an incident's first failing beat again and show what is different now.
    ///
    /// The incident's transcript comes from the running Serin. The exit code: 0 the fault is gone, 1 still there, 2
    /// another fault, 3 nothing can be said.
    #[arg(long, value_name = "INCIDENT")]
    pub replay: Option<String>,
    /// Ask as users do, caches and all; without it, past them where the server knows a way.
    #[arg(long, conflicts_with = "replay")]
    pub plain: bool,
    /// Print what was said over the wire as well, secrets masked.
    #[arg(long)]
    pub transcript: bool,
    /// Print one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownProbe {
    /// As one JSON document.
    pub json: bool,
    /// With its transcript.
    pub transcript: bool,
    /// How its canaries are asked.
    pub variant: Variant,
}

/// Probes the monitor that the file declares under this id, or a server of which only the address is known.
///
/// # Errors
/// Where the file has faults, or declares no such monitor.
pub(crate) async fn command(args: ProbeArgs) -> anyhow::Result<ExitCode> {
    let is_url = args.target.starts_with("http://") || args.target.starts_with("https://");
    let monitor = if is_url { undeclared(&args.target).map(Arc::new) } else { declared(&args) };
    if let Some(incident) = &args.replay {
        return Box::pin(replay::command(&args.remote, incident, monitor, (args.json, args.transcript))).await;
    }
    let monitor = monitor?;
    let judge = |monitor: &Monitor, seen: &Observation| Some(classify(monitor, seen));
    let variant = if args.plain { Variant::Plain } else { Variant::Fresh };
    let shown = ShownProbe { json: args.json, transcript: args.transcript, variant };
    let profile = recalled(&args.remote.config, &monitor).await;
    Ok(run(monitor, profile, Utc::now(), shown, judge, &mut io::stdout().lock()).await?)
}

fn undeclared(url: &str) -> anyhow::Result<Monitor> {
    let parsed = url::Url::parse(url).map_err(|error| anyhow::anyhow!("'{url}' is no address: {error}"))?;
    let shown = format!("{}{}", parsed.origin().ascii_serialization(), parsed.path());
    Ok(Monitor::undeclared(parsed.host_str().unwrap_or("server"), Address { shown, resolved: Secret::new(url) }))
}

fn declared(args: &ProbeArgs) -> anyhow::Result<Arc<Monitor>> {
    let source = source::read(&args.remote.config)?;
    let env = |name: &str| std::env::var(name).ok();
    let loaded = config::load(&source, &env, Unset::Refuse)?;
    let monitors = &loaded.fleet.monitors;
    let found = monitors.iter().find(|monitor| monitor.id.as_str() == args.target).cloned();
    found.ok_or_else(|| {
        let instead = instead_in(&loaded, &args.target);
        anyhow::anyhow!("{} declares no monitor '{}', and this is no URL; {instead}", source.name, args.target)
    })
}

/// Probes `monitor` now, asking every canary, and prints what was seen and how `judge` judges it.
///
/// The exit code follows the verdict: 0 good, 1 degraded, 2 down, 3 unknown.
///
/// # Errors
/// Where `out` cannot be written.
pub(crate) async fn run(
    monitor: Arc<Monitor>,
    profile: ServerProfile,
    now: DateTime<Utc>,
    shown: ShownProbe,
    judge: impl FnOnce(&Monitor, &Observation) -> Option<Outcome>,
    out: &mut impl Write,
) -> io::Result<ExitCode> {
    let assignment = Assignment {
        monitor: Arc::clone(&monitor),
        kind: BeatKind::Recheck,
        scheduled_at: now,
        started_at: now,
        asks: PlannedAsk::every(&monitor, shown.variant),
        further: Further::NONE,
        source_pages: SOURCE_PAGES_MAX,
        source_names: true,
        profile,
        lists: KnownLists::default(),
    };
    let Some(mut seen) = observe(&assignment).await else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    seen.transcript = seen.transcript.filter(|_| shown.transcript);
    let outcome = judge(&monitor, &seen);
    if shown.json {
        writeln!(out, "{:#}", as_value(&seen, outcome.as_ref()))?;
    } else {
        explain(&monitor, &seen, outcome.as_ref(), out)?;
        if let Some(transcript) = &seen.transcript {
            write!(out, "\n{transcript}")?;
        }
    }
    Ok(ExitCode::from(code(&seen, outcome.as_ref())))
}

/// Prints one probe: each step with its phases, its fault, its notes; the asks with their first hits; the judgement.
///
/// # Errors
/// Where `out` cannot be written.
pub(crate) fn explain(
    monitor: &Monitor,
    seen: &Observation,
    outcome: Option<&Outcome>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{} · {} · {}", seen.monitor, seen.started_at.format("%Y-%m-%d %H:%M:%S UTC"), ms(seen.elapsed))?;
    if let Some(server) = &seen.server {
        let era = seen.era.map_or("", |era| era.slug());
        let over = seen.transport.map_or("", |transport| transport.slug());
        writeln!(out, "server     {} {} · MCP {} ({era}, {over})", server.name, server.version, server.protocol)?;
    }
    for step in &seen.steps {
        explain_step(step, judged(step, seen, outcome), out)?;
    }
    if let Some(tools) = &seen.tools {
        explain_tools(tools, out)?;
    }
    for (nth, ask) in seen.asks.iter().enumerate() {
        explain_ask(monitor, ask, outcome.and_then(|outcome| outcome.asks.get(nth)), out)?;
    }
    if let Some(sources) = &seen.sources {
        explain_sources(monitor, seen, sources, out)?;
    }
    for health in &seen.health {
        let status = health.status.map_or("no answer".to_owned(), |status| status.to_string());
        let word = if health.ok { "ok" } else { "not ok" };
        let reason = health.reason.as_deref().map(|reason| format!(" · {reason}")).unwrap_or_default();
        writeln!(out, "health     {} · {status} · {word}{reason}", health.address)?;
    }
    let cost = &seen.footprint;
    writeln!(
        out,
        "footprint  {}, {}, {} B out, {} B in, sessions {} opened {} closed",
        counted(cost.requests, "request", "requests"),
        counted(cost.connections, "connection", "connections"),
        cost.bytes_out,
        cost.bytes_in,
        cost.sessions_opened,
        cost.sessions_closed
    )?;
    match outcome {
        Some(outcome) => explain_verdict(monitor, outcome, out),
        None => Ok(()),
    }
}

fn explain_sources(
    monitor: &Monitor,
    seen: &Observation,
    sources: &SourcesSeen,
    out: &mut impl Write,
) -> io::Result<()> {
    let newest = sources.last_indexed_at.map_or("no date".to_owned(), |at| at.to_rfc3339());
    let rule = monitor.rules.freshness.as_ref();
    let proven = rule.and_then(|rule| sources.newest(rule.older_than, seen.started_at));
    let said = if proven == Some(NewestSource::Unproven) { sources.not_judged() } else { sources.said() };
    let of = if sources.knows_newest() { "last indexed" } else { "the newest of these indexed" };
    writeln!(out, "sources    {said} · {of} {newest}")?;
    match seen.unlisted.as_deref() {
        None | Some([]) => Ok(()),
        Some(unlisted) => {
            let shown: Vec<&str> = unlisted.iter().take(UNLISTED_SHOWN).map(String::as_str).collect();
            let more = if unlisted.len() > shown.len() { ", …" } else { "" };
            writeln!(out, "           not listed is what these canaries look for: {}{more}", shown.join(", "))
        }
    }
}

fn explain_verdict(monitor: &Monitor, outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    // An index may be empty behind a server that answers well.
    let is_blind = outcome.verdict == Verdict::Good && monitor.canaries.is_empty();
    let but = if is_blind { " · no canary: only that it answers was judged" } else { "" };
    writeln!(out, "verdict    {}{but}", outcome.verdict.slug())?;
    let right = outcome.asks.iter().filter(|verdict| matches!(verdict, AskVerdict::Right { .. })).count();
    let wrong = outcome.asks.iter().filter(|verdict| matches!(verdict, AskVerdict::Wrong { .. })).count();
    let answered = right + wrong;
    if answered > 0 {
        let bound = bound::at_least_said(right, answered);
        writeln!(out, "           {right}/{} right, {bound}", counted(answered, "canary", "canaries"))?;
    }
    for finding in &outcome.findings {
        let said = said_once::finding(finding.reason.slug(), finding.stage.slug(), &finding.summary);
        writeln!(out, "           {said}")?;
    }
    Ok(())
}

fn explain_tools(tools: &ToolsSeen, out: &mut impl Write) -> io::Result<()> {
    let search = tools.search_tool.as_deref().unwrap_or("none");
    let tokens = tools.tokens.map(|tokens| format!(" · {tokens} tokens")).unwrap_or_default();
    writeln!(out, "tools      {} · search tool {search} · {:.12}{tokens}", tools.tools.len(), tools.hash)?;
    if let Some(way) = tools.fresh {
        writeln!(out, "           searches go past its caches by {}", way.said())?;
    }
    for one in &tools.instructions {
        writeln!(out, "           {}: {} {}: “{}”", one.tool, one.place, one.sign, one.excerpt)?;
    }
    if let Some(why) = &tools.invalid_call {
        writeln!(out, "           the declared call no longer fits: {why}")?;
    }
    Ok(())
}

/// The judgement of the search that a step made; none of any other step.
fn judged<'o>(step: &Step, seen: &Observation, outcome: Option<&'o Outcome>) -> Option<&'o AskVerdict> {
    let nth = seen.asks.iter().position(|ask| step.stage == Stage::Search && ask.canary == step.label)?;
    outcome?.asks.get(nth)
}

fn explain_step(step: &Step, judged: Option<&AskVerdict>, out: &mut impl Write) -> io::Result<()> {
    // An answer that came in time and is the wrong one is not well.
    let is_right = judged.is_none_or(|verdict| matches!(verdict, AskVerdict::Right { .. }));
    let mark = if step.fault.is_some() || !is_right { '✗' } else { '✓' };
    let wrong = if matches!(judged, Some(AskVerdict::Wrong { .. })) { " · wrong" } else { "" };
    let times: Vec<String> = phases(&step.phases).iter().map(|(name, time)| format!("{name} {}", ms(*time))).collect();
    let (stage, label, elapsed) = (step.stage.slug(), &step.label, ms(step.elapsed));
    writeln!(out, "{stage:<10} {mark} {label}{wrong} · {elapsed}  {}", times.join(", "))?;
    if let Some(fault) = &step.fault {
        writeln!(out, "           {}", fault_line(fault))?;
    }
    for note in &step.notes {
        writeln!(out, "           note: {note}")?;
    }
    Ok(())
}

fn explain_ask(monitor: &Monitor, ask: &Ask, judged: Option<&AskVerdict>, out: &mut impl Write) -> io::Result<()> {
    let verdict = judged.map_or("", |verdict| verdict.slug());
    match &ask.result {
        None => writeln!(out, "canary     {} · not asked", ask.canary)?,
        Some(Err(fault)) => writeln!(out, "canary     {} · {} · {verdict}", ask.canary, fault_line(fault))?,
        Some(Ok(answer)) => explain_answer(&ask.canary, answer, verdict, out)?,
    }
    let Some(canary) = monitor.canaries.iter().find(|canary| canary.id == ask.canary) else { return Ok(()) };
    match (judged, &ask.result) {
        (Some(AskVerdict::Wrong { reason, seen, .. }), _) => {
            writeln!(out, "           asked    {:?}", canary.query)?;
            writeln!(out, "           expected {}", canary.expected())?;
            writeln!(out, "           got      {}: {seen}", reason.slug())?;
        }
        // Results stand there to be looked at; of a text it is said by what it is right.
        (Some(AskVerdict::Right { .. }), Some(Ok(answer))) if answer.kept.is_some() => {
            writeln!(out, "           expected {}", canary.expected())?;
            writeln!(out, "           begins   “{}”", answer.begins.as_deref().unwrap_or_default())?;
        }
        _ => {}
    }
    Ok(())
}

fn explain_answer(canary: &str, answer: &Answer, verdict: &str, out: &mut impl Write) -> io::Result<()> {
    let total = answer.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let found = match &answer.kept {
        Some(text) => format!("text, {}", counted(text.chars, "character", "characters")),
        None => format!("{}{total}", counted(answer.hits.len(), "result", "results")),
    };
    writeln!(out, "canary     {canary} · {found} · {verdict}")?;
    for (rank, hit) in answer.hits.iter().take(HITS_SHOWN).enumerate() {
        let score = hit.score.map(|score| format!(" {score:.3}")).unwrap_or_default();
        writeln!(out, "           {}. {}{score}  {}", rank + 1, hit.source, hit.excerpt)?;
    }
    if answer.cache == CacheWord::Hit {
        writeln!(out, "           from the server's cache, so it says nothing of the index")?;
    }
    for said in &answer.self_reported {
        writeln!(out, "           the server says {said}")?;
    }
    Ok(())
}

fn fault_line(fault: &Fault) -> String {
    format!("{}: {}", kind_word(fault.kind), fault.detail)
}

fn code(seen: &Observation, outcome: Option<&Outcome>) -> u8 {
    let verdict = outcome.map_or_else(
        || {
            if seen.fault_before_search().is_some() {
                Verdict::Down
            } else if seen.steps.iter().any(|step| step.fault.is_some()) {
                Verdict::Degraded
            } else {
                Verdict::Good
            }
        },
        |outcome| outcome.verdict,
    );
    match verdict {
        Verdict::Good => 0,
        Verdict::Degraded => 1,
        Verdict::Down => 2,
        Verdict::Unknown => 3,
    }
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests;
