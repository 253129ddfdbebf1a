//! The source-listing tool: its first page before the searches, further ones behind them, and those only where what is
//! judged is open without them.
//!
//! Its failures are notes and never faults, and its time is nobody's latency. Further pages take no longer in all than
//! one call may, so that a beat ends when it would have ended.

use serde_json::Value;
use serde_json::json;
use tokio::time::Instant;

use crate::domain::fault::Fault;
use crate::domain::observation::{Observation, Stage};
use crate::domain::protocol::Era;
use crate::domain::sources::{NewestSource, SourcesLeft};
use crate::probe::assignment::Assignment;
use crate::probe::decode::source_pages::{Onward, SourcesRead};
use crate::probe::decode::sources::{self, SourcesPage};
use crate::probe::session::caller::Caller;
use crate::probe::stages::search::{a_call, call_tool, fault_of};
use crate::probe::wire::clock::StepClock;
use crate::tool_lists::schema::takes_text;
use crate::tool_lists::tools::{input_schema, named};

/// The argument that takes a page's cursor.
const CURSOR: &str = "cursor";

/// A list whose first page was read.
#[derive(Debug)]
pub(super) struct SourceList {
    name: &'static str,
    read: SourcesRead,
}

/// Asks for the first page, where that is due and there is a tool that gives it.
pub(super) async fn first_page(
    caller: &mut Caller<'_>,
    (era, tools): (Era, &[Value]),
    assignment: &Assignment,
    seen: &mut Observation,
) -> Option<SourceList> {
    if assignment.source_pages == 0 {
        return None;
    }
    let name = sources::TOOL_NAMES.into_iter().find(|name| named(tools, name).is_some())?;
    let mut clock = StepClock::start(Stage::Search, name);
    let read = match page(caller, era, (name, &Value::Null), "{}", &mut clock).await {
        Ok((page, bytes)) => Some(SourcesRead::new(page, bytes)),
        Err(fault) => {
            clock.note(caller.scrub.line(&format!("{name} failed: {}", fault.detail)));
            None
        }
    };
    seen.steps.push(clock.stop(None));
    Some(SourceList { name, read: read? })
}

/// Reads on where that is needed, and says in `seen` what the list showed.
pub(super) async fn further_pages(
    mut list: SourceList,
    caller: &mut Caller<'_>,
    (era, tools): (Era, &[Value]),
    assignment: &Assignment,
    seen: &mut Observation,
) {
    let schema = named(tools, list.name).map_or(&Value::Null, input_schema);
    let takes_cursor = takes_text(schema, CURSOR);
    let mut clock = StepClock::start(Stage::Search, &format!("{}, further pages", list.name));
    let (begun_with, until) = (caller.wire.footprint.requests, caller.limits.until);
    caller.limits.until = walk_until(caller);
    let left = loop {
        let cursor = match list.read.onward(takes_cursor, assignment.source_pages) {
            Onward::Ask(cursor) if needs_more(&list.read, assignment) => cursor,
            Onward::Ask(_) => break Some(SourcesLeft::NotNeeded),
            Onward::End(left) => break left,
        };
        if Instant::now() >= caller.limits.until {
            break Some(SourcesLeft::NoTime);
        }
        let arguments = json!({ CURSOR: cursor }).to_string();
        match page(caller, era, (list.name, schema), &arguments, &mut clock).await {
            Ok((page, bytes)) => list.read.add(cursor, page, bytes),
            Err(_) if Instant::now() >= caller.limits.until => break Some(SourcesLeft::NoTime),
            Err(fault) => {
                clock.note(caller.scrub.line(&format!("a further page failed: {}", fault.detail)));
                break Some(SourcesLeft::Failed);
            }
        }
    };
    caller.limits.until = until;
    let sources = list.read.seen(left);
    if caller.wire.footprint.requests > begun_with {
        clock.note(sources.said());
        seen.steps.push(clock.stop(None));
    }
    if sources.left.is_none() && assignment.source_names {
        seen.unlisted = list.read.unlisted(&assignment.monitor.canaries);
    }
    seen.sources = Some(sources);
}

/// Whether what this monitor judges is open with the pages read so far.
fn needs_more(read: &SourcesRead, assignment: &Assignment) -> bool {
    if assignment.source_names {
        return true;
    }
    let Some(rule) = &assignment.monitor.rules.freshness else { return false };
    let so_far = read.seen(Some(SourcesLeft::NotNeeded));
    so_far.newest(rule.older_than, assignment.started_at) == Some(NewestSource::Unproven)
}

/// When the last further page has to be there: as long from now as one call may take, what comes behind it left room.
fn walk_until(caller: &Caller<'_>) -> Instant {
    let (now, call) = (Instant::now(), a_call(caller.monitor()));
    let behind = if caller.monitor().reach.cross_check { call } else { std::time::Duration::ZERO };
    let left = caller.limits.until.saturating_duration_since(now).saturating_sub(behind);
    if left < call { now } else { now + left.min(caller.monitor().timeout) }
}

async fn page(
    caller: &mut Caller<'_>,
    era: Era,
    (name, schema): (&str, &Value),
    arguments: &str,
    clock: &mut StepClock,
) -> Result<(SourcesPage, usize), Fault> {
    let raw = call_tool(caller, era, name, arguments, schema, clock).await?;
    let page = sources::read(&raw).map_err(|misfit| fault_of(caller, &misfit))?;
    Ok((page, raw.get().len()))
}
