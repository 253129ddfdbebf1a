//! The searches of a probe: its canaries, as far as the budget reaches.

use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::domain::answer::{Answer, Ask, Turn, Variant};
use crate::domain::fault::Fault;
use crate::domain::monitor::{Canary, Monitor};
use crate::domain::observation::{Observation, Stage, Step};
use crate::domain::pinned::Relation;
use crate::domain::protocol::Era;
use crate::domain::quality::harvest::Harvest;
use crate::domain::quality::pinning;
use crate::domain::schedule::PlannedAsk;
use crate::domain::search::{FreshWay, Search};
use crate::probe::assignment::Assignment;
use crate::probe::decode::answer::{self, Reader};
use crate::probe::decode::kept_text::kept_text;
use crate::probe::decode::rpc::Misfit;
use crate::probe::session::caller::Caller;
use crate::probe::session::discover::modern_result;
use crate::probe::session::listing::Listed;
use crate::probe::session::message::Call;
use crate::probe::session::parameter_headers::parameter_headers;
use crate::probe::wire::clock::StepClock;
use crate::tool_lists::asked::PreparedArguments;
use crate::tool_lists::callable::count_argument;
use crate::tool_lists::json_text::write_text;
use crate::tool_lists::tools;

/// Room for what stands around the texts of a call, and for arguments that are numbers.
const ARGUMENTS_BYTES: usize = 64;
/// Characters kept of one result's text, where texts are kept: no chunk is longer that is judged as one.
const PASSAGE_CHARS_MAX: usize = 20_000;
/// Characters of one result's text that sentences are taken from.
const GATHERED_CHARS_MAX: usize = 4_000;

pub(super) async fn search(
    caller: &mut Caller<'_>,
    era: Era,
    tools: &Listed,
    assignment: &Assignment,
    seen: &mut Observation,
) {
    let monitor = &*assignment.monitor;
    let Some((search_tool, way)) = seen.tools.as_ref().and_then(|seen| Some((seen.search_tool.clone()?, seen.fresh)))
    else {
        return;
    };
    let schema = tools.mirrored(&search_tool);
    let past_caches = way.map(|way| PastCaches::of(&monitor.search, way));
    let harvest = assignment.further.harvest.as_ref().map(|harvest| &*harvest.pool);
    let tool = SearchTool { era, name: &search_tool, schema, past_caches, harvest };
    for planned in &assignment.asks {
        let Some(canary) = monitor.canaries.get(planned.canary) else {
            continue;
        };
        let ask = if planned.turn == Turn::NotAsked || !fits(caller, monitor) {
            unasked(canary)
        } else {
            ask(caller, &tool, canary, *planned, seen).await
        };
        seen.asks.push(ask);
    }
    ask_further(caller, &tool, assignment, seen).await;
    if let Some(planned) = assignment.further.altered {
        let listed = tools::named(tools, &search_tool);
        seen.altered = ask_altered(caller, &tool, (planned, listed), seen).await.map(Box::new);
    }
}

/// Asks what is asked as well where the answers so far call for it.
async fn ask_further(caller: &mut Caller<'_>, tool: &SearchTool<'_>, assignment: &Assignment, seen: &mut Observation) {
    let (monitor, further) = (&*assignment.monitor, &assignment.further);
    if further.canaries.is_empty() || !(further.called_for)(monitor, seen) {
        return;
    }
    for nth in &further.canaries {
        let Some(canary) = monitor.canaries.get(*nth) else {
            continue;
        };
        let planned = PlannedAsk::new(*nth, Turn::ReAsk, Variant::Fresh);
        let ask = if fits(caller, monitor) { ask(caller, tool, canary, planned, seen).await } else { unasked(canary) };
        seen.asks.push(ask);
    }
}

/// Asks a canary's question as its turn alters it; none where its own was not answered, so that there is nothing to compare
/// with, where this server has no way to be asked so, or where no time is left. `listed`: the tool, as it is listed.
async fn ask_altered(
    caller: &mut Caller<'_>,
    tool: &SearchTool<'_>,
    (planned, listed): (PlannedAsk, Option<&Value>),
    seen: &mut Observation,
) -> Option<Ask> {
    let monitor = caller.monitor();
    let canary = monitor.canaries.get(planned.canary)?;
    let way = seen.tools.as_ref().and_then(|tools| tools.fresh).filter(|_| planned.variant == Variant::Fresh);
    let variant = if way.is_some() { Variant::Fresh } else { Variant::Plain };
    let is_own = |ask: &&Ask| ask.canary == canary.id && ask.variant == variant;
    let is_answered = seen.asks.iter().filter(is_own).any(|ask| ask.result.as_ref().is_some_and(Result::is_ok));
    let (search, relation) = match planned.turn {
        Turn::Fewer => {
            let most = monitor.pinned.as_ref()?.most_results();
            (monitor.search.fewer(count_argument(listed?)?, most)?, Relation::Prefix)
        }
        Turn::Respelled => (monitor.search.clone(), Relation::CaseAndBlanks),
        _ => return None,
    };
    if !is_answered || !fits(caller, monitor) {
        return None;
    }
    let question = pinning::altered(relation, &canary.query, 0);
    let arguments = way.map_or_else(
        || PreparedArguments::of(&search).asking(&question),
        |way| PastCaches::of(&search, way).asking(&question, seen.started_at, seen.asks.len()),
    );
    Some(ask_with(caller, tool, (canary, &arguments), PlannedAsk { variant, ..planned }, &mut seen.steps).await)
}

/// Whether a whole call still fits into the budget; with a budget of less than two calls, half of it is enough.
pub(super) fn fits(caller: &Caller<'_>, monitor: &Monitor) -> bool {
    caller.limits.until.saturating_duration_since(Instant::now()) >= a_call(monitor)
}

/// The time without which no call is begun.
pub(super) fn a_call(monitor: &Monitor) -> Duration {
    monitor.timeout.min(monitor.probe_budget / 2)
}

/// The tool that canaries are asked through, as this server lists it.
#[derive(Debug)]
struct SearchTool<'t> {
    era: Era,
    name: &'t str,
    schema: &'t Value,
    /// None where it knows no way.
    past_caches: Option<PastCaches>,
    /// What sentences of its answers are kept in, where any are.
    harvest: Option<&'t Mutex<Harvest>>,
}

/// How a question gets past caches.
#[derive(Debug)]
struct PastCaches {
    /// With which arguments.
    arguments: PreparedArguments,
    /// Whether a nonce follows the question.
    with_nonce: bool,
}

impl PastCaches {
    fn of(search: &Search, way: FreshWay) -> Self {
        let arguments = PreparedArguments::of(&search.past_caches(way));
        Self { arguments, with_nonce: way == FreshWay::Nonce }
    }

    /// The arguments of a beat's `nth` question.
    fn asking(&self, question: &str, started_at: DateTime<Utc>, nth: usize) -> String {
        if !self.with_nonce {
            return self.arguments.asking(question);
        }
        self.arguments.asking(&pinning::altered(Relation::Nonce, question, pinning::nonce(started_at, nth)))
    }
}

async fn ask(
    caller: &mut Caller<'_>,
    tool: &SearchTool<'_>,
    canary: &Canary,
    planned: PlannedAsk,
    seen: &mut Observation,
) -> Ask {
    let wording = canary.also.get(planned.wording as usize % canary.also.len().max(1));
    let (arguments, variant) = match (planned.variant, &tool.past_caches, wording) {
        (Variant::Fresh | Variant::Reworded, Some(past), _) => {
            (past.asking(&canary.query, seen.started_at, seen.asks.len()), Variant::Fresh)
        }
        (Variant::Reworded, None, Some(wording)) => (caller.asking(wording), Variant::Reworded),
        _ => (caller.asking(&canary.query), Variant::Plain),
    };
    ask_with(caller, tool, (canary, &arguments), PlannedAsk { variant, ..planned }, &mut seen.steps).await
}

/// The same, with these arguments.
async fn ask_with(
    caller: &mut Caller<'_>,
    tool: &SearchTool<'_>,
    (canary, arguments): (&Canary, &str),
    planned: PlannedAsk,
    steps: &mut Vec<Step>,
) -> Ask {
    let mut clock = StepClock::start(Stage::Search, &canary.id);
    let raw = called(caller, tool.era, tool.name, arguments, tool.schema, &mut clock).await;
    let needs_no_list = canary.needs_no_list(&caller.monitor().search);
    let reader = Reader { reads_text: canary.text.is_some() || needs_no_list, needs_no_list };
    let mut result = raw.as_ref().map_err(Fault::clone).and_then(|raw| {
        let mut answer = read(caller, tool.era, raw, reader)?;
        if caller.keeps_passages() {
            answer.passages = answer::passages_of(raw, &caller.monitor().search, PASSAGE_CHARS_MAX);
        }
        Ok(answer)
    });
    let step = clock.stop(result.as_ref().err().cloned());
    // Behind the clock: what we make of a text is not the server's time.
    if let Some((pool, raw)) = tool.harvest.zip(raw.as_ref().ok()).filter(|_| result.is_ok()) {
        gather(pool, raw, &caller.monitor().search);
    }
    if let Ok(answer) = &mut result {
        answer.begins = answer.begins.take().map(|begins| caller.scrub.line(&begins));
        answer.kept = kept_text(answer, caller.scrub).map(Box::new);
    }
    let ask = Ask {
        canary: canary.id.clone(),
        variant: planned.variant,
        turn: planned.turn,
        elapsed: step.elapsed,
        fresh_connection: step.fresh_connection,
        result: Some(result),
    };
    steps.push(step);
    ask
}

/// Takes in what the texts of an answer say.
pub(super) fn gather(pool: &Mutex<Harvest>, raw: &RawValue, search: &Search) {
    let passages = answer::passages_of(raw, search, GATHERED_CHARS_MAX);
    let mut pool = pool.lock();
    passages.iter().for_each(|passage| pool.gather(&passage.source, &passage.text));
}

/// Reads an answer; what its era demands of a result comes before what a search's has to have.
fn read(caller: &Caller<'_>, era: Era, raw: &RawValue, reader: Reader) -> Result<Answer, Fault> {
    let (is_complete, answer) = answer::read_whole(raw, &caller.monitor().search, reader);
    if era == Era::Modern && !is_complete {
        modern_result(raw, caller)?;
    }
    answer.map_err(|misfit| fault_of(caller, &misfit))
}

pub(crate) async fn call_tool(
    caller: &mut Caller<'_>,
    era: Era,
    tool: &str,
    arguments: &str,
    schema: &Value,
    clock: &mut StepClock,
) -> Result<Box<RawValue>, Fault> {
    let raw = called(caller, era, tool, arguments, schema, clock).await?;
    if era == Era::Modern {
        modern_result(&raw, caller)?;
    }
    Ok(raw)
}

/// The same, its result as it came.
pub(super) async fn called(
    caller: &mut Caller<'_>,
    era: Era,
    tool: &str,
    arguments: &str,
    schema: &Value,
    clock: &mut StepClock,
) -> Result<Box<RawValue>, Fault> {
    let mut params = String::with_capacity(tool.len() + arguments.len() + ARGUMENTS_BYTES);
    params.push_str(r#""name":"#);
    write_text(tool, &mut params);
    params.extend([r#","arguments":"#, arguments]);
    let headers = if era == Era::Modern { parameter_headers(schema, arguments) } else { Vec::new() };
    let call = Call { method: "tools/call", name: Some(tool), params: &params, headers };
    caller.ask(era, &call, clock).await.map_err(|broken| broken.fault)
}

pub(crate) fn fault_of(caller: &Caller<'_>, misfit: &Misfit) -> Fault {
    caller.scrub.fault(misfit.kind, &misfit.detail)
}

/// Canaries that were meant to be asked and were not reached.
pub(crate) fn not_asked(assignment: &Assignment, reached: usize) -> Vec<Ask> {
    let canaries = &assignment.monitor.canaries;
    let meant = assignment.asks.iter().filter_map(|planned| canaries.get(planned.canary));
    meant.skip(reached).map(unasked).collect()
}

fn unasked(canary: &Canary) -> Ask {
    Ask {
        canary: canary.id.clone(),
        variant: Variant::Plain,
        turn: Turn::NotAsked,
        elapsed: Duration::ZERO,
        fresh_connection: false,
        result: None,
    }
}
