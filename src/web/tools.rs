//! A monitor's tools for tools: what is accepted, what is seen, how they differ, and who accepts it.

use std::collections::BTreeMap;

use axum::Extension;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::action::Asked;
use crate::domain::contract::Baseline;
use crate::domain::monitor::MonitorId;
use crate::domain::signal::Signal;
use crate::domain::tools::{Drift, Instruction, ToolChange};
use crate::live::monitor_view::{MonitorView, ToolsView};
use crate::store::write::listing::ListingLine;
use crate::web::actions::{acknowledge, ask, cleaned};
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// A list that is older than so many beats may not be what the server gives now, so nobody accepts it.
const STALE_BEATS: u32 = 3;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ToolsBody {
    monitor: String,
    accepted: Option<ListBody>,
    seen: Option<ListBody>,
    /// Whether what is seen is not what is accepted.
    differs: bool,
    changes: Vec<ChangeBody>,
    changes_more: u32,
    /// Texts that read like instructions to a model, accepted or not.
    instructions: Vec<InstructionBody>,
    known_calls: u32,
    broken_calls: u32,
    /// Why, by canary; the first few.
    broken: BTreeMap<String, String>,
    /// The lock that holds the accepted list, where one does: then a commit moves it, and nobody here.
    lock: Option<String>,
    /// What to commit there so that what is seen is accepted; none where nothing differs.
    lock_entry: Option<String>,
    history: Vec<PastBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListBody {
    hash: String,
    at: DateTime<Utc>,
    by: Option<String>,
    era: Option<&'static str>,
    tools: Vec<String>,
    tokens: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChangeBody {
    class: &'static str,
    tool: String,
    what: String,
}

/// One text that reads like an instruction.
#[derive(Debug, Serialize, JsonSchema)]
struct InstructionBody {
    tool: String,
    place: String,
    sign: String,
    excerpt: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PastBody {
    hash: String,
    first_seen: DateTime<Utc>,
    last_seen: DateTime<Utc>,
    era: Option<&'static str>,
    tools: u32,
    tokens: Option<u32>,
    accepted_by: Option<String>,
    accepted_at: Option<DateTime<Utc>>,
    against: Option<String>,
    changes: Vec<ChangeBody>,
}

/// Who accepts which list.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Acceptance {
    actor: ClaimedName,
    /// The hash that was looked at; without it, whatever is seen now.
    hash: Option<String>,
}

pub(crate) async fn show(State(state): State<WebState>, Path(id): Path<String>) -> Result<Json<ToolsBody>, Problem> {
    let view = found(&state, &id).await?;
    let history = state.ask(state.store.listings(&view.id)).await?;
    let locked = locked(&state, &view);
    Ok(Json(body(&view, history, locked)))
}

/// `POST /api/v1/monitors/{id}/accept` with `{"actor": "…", "hash": "…"}`: 202, the move follows. Where a lock holds the
/// accepted list it does not move: whoever asks takes the incident, and commits what the lock is to hold.
pub(crate) async fn accept(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Json(acceptance): Json<Acceptance>,
) -> Result<StatusCode, Problem> {
    ask_to_accept(&state, &id, &acceptance.actor.of(&visit), acceptance.hash.as_deref())
        .await
        .map(|_| StatusCode::ACCEPTED)
}

/// Where the accepted list of a monitor stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// With us: it moves when somebody accepts another.
    Here,
    /// In a lock: a commit moves it.
    InLock,
}

/// Asks for a monitor's tools to be accepted as they are; where the accepted ones are kept, which says what follows.
pub(crate) async fn ask_to_accept(
    state: &WebState,
    id: &str,
    actor: &str,
    hash: Option<&str>,
) -> Result<Kept, Problem> {
    let conflict = |why| Problem::new(StatusCode::CONFLICT, why);
    let actor = cleaned(actor);
    if actor.is_empty() {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "say who accepts"));
    }
    let view = found(state, id).await?;
    let tools = view.tools.as_ref().ok_or(conflict("no tools were seen since Serin started; look again first"))?;
    let limit = view.declared.every * STALE_BEATS;
    if (Utc::now() - tools.seen_at).to_std().is_ok_and(|age| age > limit) {
        return Err(conflict("the tools were last seen more than 3 beats ago; look again first"));
    }
    if hash.is_some_and(|hash| hash != tools.seen.hash) {
        return Err(conflict("the tools have changed since you looked; look at them again"));
    }
    let accepted = tools.accepted.as_ref();
    let accepted = accepted.ok_or(conflict("no list was stable yet; the first that is becomes the accepted one"))?;
    if accepted.listing.hash == tools.seen.hash {
        return Err(conflict("nothing differs: the tools seen are the accepted ones"));
    }
    if locked(state, &view).is_none() {
        ask(state, &view.id, &actor, Asked::Accept { hash: tools.seen.hash.clone() }).await?;
        return Ok(Kept::Here);
    }
    let contract = view.signals.iter().find(|signal| signal.signal == Signal::Contract);
    if let Some(incident) = contract.and_then(|signal| signal.incident.as_ref()) {
        match acknowledge(state, &incident.id, &actor).await {
            // Whoever has it already may go on.
            Err(problem) if problem.status != StatusCode::CONFLICT => return Err(problem),
            _ => {}
        }
    }
    Ok(Kept::InLock)
}

/// The lock that holds a monitor's accepted tools, and what to commit there.
#[derive(Debug)]
pub(crate) struct Locked {
    /// As people open it.
    pub file: String,
    /// The entry with the tools that are seen; none where they are the accepted ones, or cannot be pinned.
    pub entry: Option<String>,
}

/// Whether a lock holds this monitor's tools: then a commit says what is accepted, not we.
pub(crate) fn locked(state: &WebState, view: &MonitorView) -> Option<Locked> {
    let fleet = state.fleet_now();
    let monitor = fleet.monitor(&view.id)?;
    let pinned = monitor.pinned.as_ref().filter(|pinned| pinned.tools.is_some())?;
    let differing = view.tools.as_ref().filter(|tools| tools.drift().is_some());
    let entry = differing.and_then(|tools| (state.settings.lock_entry)(monitor, &tools.seen.listing));
    Some(Locked { file: pinned.place.0.clone(), entry })
}

async fn found(state: &WebState, id: &str) -> Result<MonitorView, Problem> {
    state.view(&MonitorId::new(id)).await.ok_or(Problem::NO_MONITOR)
}

fn body(view: &MonitorView, history: Vec<ListingLine>, locked: Option<Locked>) -> ToolsBody {
    let tools = view.tools.as_ref();
    let drift = tools.and_then(ToolsView::drift);
    let calls = tools.map(|tools| tools.seen.calls.clone()).unwrap_or_default();
    ToolsBody {
        monitor: view.id.to_string(),
        accepted: tools.and_then(|tools| tools.accepted.as_ref()).map(accepted),
        seen: tools.map(seen),
        differs: drift.is_some(),
        changes_more: drift.as_ref().map_or(0, |drift| drift.more),
        changes: drift.as_deref().map(changes).unwrap_or_default(),
        instructions: tools.map(|tools| tools.seen.instructions.iter().map(instruction).collect()).unwrap_or_default(),
        known_calls: calls.known,
        broken_calls: calls.broken,
        broken: calls.why.into_iter().collect(),
        lock: locked.as_ref().map(|locked| locked.file.clone()),
        lock_entry: locked.and_then(|locked| locked.entry),
        history: history.into_iter().map(past).collect(),
    }
}

fn accepted(baseline: &Baseline) -> ListBody {
    ListBody {
        hash: baseline.listing.hash.clone(),
        at: baseline.accepted_at,
        by: Some(baseline.accepted_by.clone()),
        era: None,
        tools: baseline.listing.tools.iter().map(|tool| tool.name.clone()).collect(),
        tokens: baseline.listing.tokens,
    }
}

fn seen(tools: &ToolsView) -> ListBody {
    ListBody {
        hash: tools.seen.hash.clone(),
        at: tools.seen_at,
        by: None,
        era: tools.era.map(|era| era.slug()),
        tools: tools.seen.tools.iter().map(|tool| tool.name.clone()).collect(),
        tokens: tools.seen.tokens,
    }
}

fn changes(drift: &Drift) -> Vec<ChangeBody> {
    drift.changes.iter().map(change).collect()
}

fn change(change: &ToolChange) -> ChangeBody {
    ChangeBody { class: change.class.slug(), tool: change.tool.clone(), what: change.what.clone() }
}

fn instruction(one: &Instruction) -> InstructionBody {
    InstructionBody {
        tool: one.tool.clone(),
        place: one.place.clone(),
        sign: one.sign.clone(),
        excerpt: one.excerpt.clone(),
    }
}

fn past(line: ListingLine) -> PastBody {
    let (accepted_by, accepted_at) = line.accepted.unzip();
    PastBody {
        hash: line.hash,
        first_seen: line.first_seen,
        last_seen: line.last_seen,
        era: line.era.map(|era| era.slug()),
        tools: line.tools,
        tokens: line.tokens,
        accepted_by,
        accepted_at,
        changes: changes(&line.drift),
        against: Some(line.drift.against).filter(|hash| !hash.is_empty()),
    }
}
