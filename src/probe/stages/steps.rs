//! One probe, in order: connect, handshake, tools, searches, closing, health.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use serde_json::Value;
use tokio::time::Instant;

use crate::domain::fault::FaultKind;
use crate::domain::monitor::Monitor;
use crate::domain::observation::{Observation, ServerIdentity, Stage, ToolsSeen};
use crate::domain::protocol::Era;
use crate::domain::server_profile::ServerProfile;
use crate::probe::access::unauthenticated_check;
use crate::probe::assignment::Assignment;
use crate::probe::session::caller::{Caller, Destination, ProbeContext};
use crate::probe::session::closing::close;
use crate::probe::session::declared::Declared;
use crate::probe::session::handshake::{open, resume, weigh_discover};
use crate::probe::session::kept_session::{is_forgotten, lost_its_session};
use crate::probe::session::listing::{Listed, all_pages_unless};
use crate::probe::session::opened::Opened;
use crate::probe::session::parameter_headers::unfit;
use crate::probe::session::process_pool::{ProcessPool, leave, start_again, take_up};
use crate::probe::stages::cross;
use crate::probe::stages::cross::Differing;
use crate::probe::stages::harvest;
use crate::probe::stages::health_check::check_health;
use crate::probe::stages::search::{fits, not_asked, search};
use crate::probe::stages::source_list;
use crate::probe::wire::clock::StepClock;
use crate::probe::wire::egress::{ClientIdentity, trusting};
use crate::probe::wire::transcript::Transcript;
use crate::tool_lists::tools::{input_schema, named};

/// The part of the budget, at most, that is kept back for the health addresses: the cause they name outweighs one more search.
const HEALTH_SHARE: u32 = 4;

/// A certificate this near its end is looked at anew on each beat.
const LOOK_AGAIN_DAYS: i64 = 30;

/// Runs one probe to its end, and gives what was said in it: whoever judges what was seen knows whether it is wanted.
pub(crate) async fn run(
    means: ProbeContext<'_>,
    programs: &ProcessPool,
    differing: &Differing,
    (assignment, declared): (&Assignment, &Declared),
) -> (Observation, ServerProfile, Transcript) {
    let began = Instant::now();
    let transcript = Transcript::new(Arc::clone(&declared.scrub), Arc::clone(&declared.secret));
    let mut seen = blank(assignment);
    seen.credential_until = declared.credential_until;
    let mut profile = assignment.profile.clone();
    visit(means, (programs, differing), (assignment, declared), &transcript, &mut profile, &mut seen).await;
    seen.asks.extend(not_asked(assignment, seen.asks.len()));
    seen.elapsed = began.elapsed();
    (seen, profile, transcript)
}

/// Goes to the server, and to its health addresses.
async fn visit(
    means: ProbeContext<'_>,
    (programs, differing): (&ProcessPool, &Differing),
    (assignment, declared): (&Assignment, &Declared),
    transcript: &Transcript,
    profile: &mut ServerProfile,
    seen: &mut Observation,
) {
    let (monitor, scrub) = (&*assignment.monitor, &declared.scrub);
    let over = Instant::now() + monitor.probe_budget;
    let kept_back = if monitor.health.is_empty() {
        Duration::ZERO
    } else {
        monitor.timeout.min(monitor.probe_budget / HEALTH_SHARE)
    };
    let found = declared.way().and_then(|way| {
        // While a renewal is waited for, each beat looks at the certificate itself and resumes no session.
        let soon = |until| until - assignment.started_at < TimeDelta::days(LOOK_AGAIN_DAYS);
        let target = way.target.clone();
        let target = if profile.certificate_until.is_some_and(soon) { target.anew() } else { target };
        Ok((trusting(means.connector, target, monitor, scrub, ClientIdentity::Identity)?, way))
    });
    let (target, way) = match found {
        Ok(found) => found,
        Err(fault) => {
            seen.steps.push(StepClock::start(Stage::Connect, &monitor.url.shown).stop(Some(fault)));
            return;
        }
    };
    let shown_until = target.identity_until().and_then(|until| DateTime::from_timestamp(until, 0));
    seen.credential_until = [seen.credential_until, shown_until].into_iter().flatten().min();
    let until = over - kept_back;
    let destination = Destination { way, target, until };
    let mut caller = Caller::new(means, destination, declared, monitor, assignment.started_at);
    caller.wire.transcript = Some(transcript);
    seen.trace = caller.trace();
    let opened = converse(&mut caller, (programs, differing), (assignment, declared), profile, seen).await;
    seen.session_lost = lost_its_session(&seen.steps);
    weigh_discover(&mut seen.steps, profile);
    close(&mut caller, profile, seen).await;
    let met = opened.is_some();
    leave(&mut caller, programs, monitor, opened, seen).await;
    if met && unauthenticated_check::is_due(assignment) {
        Box::pin(unauthenticated_check::ask(means, (way, until), assignment, scrub, profile, seen)).await;
    }
    for address in &monitor.health {
        let elsewhere = check_health(means.connector, &mut caller, &way.url, address, over, seen).await;
        seen.footprint = seen.footprint.plus(elsewhere);
    }
    caller.wire.hang_up();
    seen.footprint = seen.footprint.plus(caller.wire.footprint);
}

/// Everything that is MCP; it ends early where the next step has nothing to stand on. The conversation, once open.
async fn converse(
    caller: &mut Caller<'_>,
    (programs, differing): (&ProcessPool, &Differing),
    (assignment, declared): (&Assignment, &Declared),
    profile: &mut ServerProfile,
    seen: &mut Observation,
) -> Option<Opened> {
    let monitor = &*assignment.monitor;
    let mut opened = meet(caller, programs, monitor, profile, seen).await?;
    let mut listed = list_tools(caller, &opened, (assignment, declared), seen).await;
    if listed.is_none() && is_forgotten(&mut seen.steps, caller, profile) {
        seen.era = None;
        opened = Box::pin(open(caller, monitor, profile, &mut seen.steps)).await?;
        met(caller, &opened, seen);
        listed = list_tools(caller, &opened, (assignment, declared), seen).await;
    }
    let Some(tools) = listed else {
        return Some(opened);
    };
    let sources = source_list::first_page(caller, (opened.era, &tools), assignment, seen).await;
    search(caller, opened.era, &tools, assignment, seen).await;
    if let Some(sources) = sources {
        Box::pin(source_list::further_pages(sources, caller, (opened.era, &tools), assignment, seen)).await;
    }
    if monitor.reach.cross_check && fits(caller, monitor) {
        Box::pin(cross::check(caller, differing, assignment, (opened.era, &tools), profile, seen)).await;
    }
    if assignment.further.harvest.is_some() {
        Box::pin(harvest::ask_back(caller, (opened.era, &tools), assignment, seen)).await;
    }
    Some(opened)
}

/// Connects and opens the conversation; what came of it is in `seen`.
pub(crate) async fn meet(
    caller: &mut Caller<'_>,
    programs: &ProcessPool,
    monitor: &Monitor,
    profile: &mut ServerProfile,
    seen: &mut Observation,
) -> Option<Opened> {
    let opened = match &monitor.reach.program {
        None => {
            connect(caller, profile, seen).await?;
            Box::pin(open(caller, monitor, profile, &mut seen.steps)).await?
        }
        Some(program) => match take_up(caller, programs, monitor, program, seen).await? {
            Some(before) => match resume(caller, &before, &mut seen.steps).await {
                Some(opened) => opened,
                None => {
                    start_again(caller, monitor, program, seen).await?;
                    Box::pin(open(caller, monitor, profile, &mut seen.steps)).await?
                }
            },
            None => Box::pin(open(caller, monitor, profile, &mut seen.steps)).await?,
        },
    };
    met(caller, &opened, seen);
    Some(opened)
}

/// Takes note of the conversation that is open.
fn met(caller: &Caller<'_>, opened: &Opened, seen: &mut Observation) {
    seen.era = Some(opened.era);
    seen.transport = Some(caller.transport());
    // What it instructs models by is kept with its tools, once for a whole fleet of replicas.
    seen.server = Some(ServerIdentity { instructions: None, ..opened.server.clone() });
}

/// Connects to the server's address; none where that failed.
async fn connect(caller: &mut Caller<'_>, profile: &mut ServerProfile, seen: &mut Observation) -> Option<()> {
    let mut clock = StepClock::start(Stage::Connect, caller.wire.target().authority());
    let deadline = caller.deadline();
    let fault = caller.wire.connect(&mut clock, deadline).await.err();
    let shown = caller.wire.certificate_until.and_then(|until| DateTime::from_timestamp(until, 0));
    profile.certificate_until = shown.or(profile.certificate_until);
    seen.certificate_until = profile.certificate_until;
    if let Some(until) = shown {
        clock.note(format!("the certificate is valid for {} more days", (until - caller.now()).num_days()));
    }
    let well = fault.is_none();
    seen.steps.push(clock.stop(fault));
    well.then_some(())
}

/// All pages of tools/list; none where it failed, or where the search tool that canaries need is not there.
async fn list_tools(
    caller: &mut Caller<'_>,
    opened: &Opened,
    (assignment, declared): (&Assignment, &Declared),
    seen: &mut Observation,
) -> Option<Listed> {
    let (monitor, era) = (&*assignment.monitor, opened.era);
    let mut clock = StepClock::start(Stage::Tools, "tools/list");
    let lists = &assignment.lists;
    let instructions = opened.server.instructions.as_deref().or_else(|| lists.instructions());
    let known = declared.listing.last(lists);
    let known = known.filter(|known| known.seen.server_instructions.as_deref() == instructions);
    let outcome = all_pages_unless(known, caller, era, &mut clock).await;
    let (tools, mut fault) = match outcome {
        Ok(tools) => (Some(tools), None),
        Err(fault) => (None, Some(fault)),
    };
    if let Some(tools) = &tools {
        let (reduced, dropped) = match tools.known() {
            Some(known) => (known.seen.clone(), known.dropped.clone()),
            None => Box::pin(read(tools, (era, instructions), assignment, declared)).await,
        };
        if reduced.search_tool.is_none() && !monitor.canaries.is_empty() {
            let detail = dropped.unwrap_or_else(|| {
                let wanted = monitor.search.tool.as_deref().unwrap_or("any that searches");
                let names: Vec<&str> = reduced.tools.iter().map(|tool| tool.name.as_str()).collect();
                format!("no tool {wanted} among {}: {}", names.len(), names.join(", "))
            });
            fault = Some(caller.scrub.fault(FaultKind::ToolAbsent, &detail));
        } else if let Some(why) = dropped {
            clock.note(caller.scrub.line(&why));
        }
        seen.tools = Some(reduced);
    }
    seen.steps.push(clock.stop(fault));
    tools
}

/// What a list comes to that is not the one before, and why clients leave its search tool out where they do.
async fn read(
    tools: &Listed,
    (era, instructions): (Era, Option<&str>),
    Assignment { monitor, lists, .. }: &Assignment,
    declared: &Declared,
) -> (ToolsSeen, Option<String>) {
    let mut reduced = tools.reduced(instructions, monitor, lists).await;
    let dropped = dropped_by_clients(era, tools, reduced.search_tool.as_deref());
    if dropped.is_some() {
        reduced.search_tool = None;
    }
    let seen = tools.held(reduced, monitor, lists).await;
    declared.listing.keep(tools.to_remember((era, lists), (&seen, dropped.as_deref()), &declared.listing));
    (seen, dropped)
}

/// A tool with a bad `x-mcp-header` is in the list and yet not there: clients of 2026-07-28 have to leave it out.
fn dropped_by_clients(era: Era, tools: &[Value], search_tool: Option<&str>) -> Option<String> {
    let name = search_tool.filter(|_| era == Era::Modern)?;
    let why = unfit(input_schema(named(tools, name)?))?;
    Some(format!("clients have to drop the tool {name}: {why}"))
}

fn blank(assignment: &Assignment) -> Observation {
    let Assignment { monitor, kind, scheduled_at, started_at, asks, .. } = assignment;
    Observation {
        steps: Vec::with_capacity(8),
        asks: Vec::with_capacity(asks.len()),
        health: Vec::with_capacity(monitor.health.len()),
        ..Observation::blank(monitor.id.clone(), *kind, *scheduled_at, *started_at)
    }
}
