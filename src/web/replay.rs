//! `POST /api/v1/deliveries/…/replay`: told once more, with the same id and the same bytes: one delivery, those of an
//! incident, or those of a stretch of time. A webhook knows them by `serin-replay: true`.

use axum::Extension;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::paging::delivery::DeliveryState;
use crate::domain::paging::replay::{NotReplayed, replayable};
use crate::store::read::ledger::{DeliveryFilter, DeliveryLine};
use crate::store::read::pages::PAGE_ROWS;
use crate::web::actions::cleaned;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// Pages of the ledger that one replay looks at: 1,000 deliveries. Whoever needs more names a shorter stretch of time.
const PAGES_MAX: u32 = 20;

/// Who replays one delivery, and whether people are told of what is over.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplayOne {
    actor: ClaimedName,
    /// Whether people are told of what is over as well.
    #[serde(default)]
    pub(crate) really: bool,
}

/// Which deliveries are replayed; every part that is given has to fit, and `incident` or `from` has to be given.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReplayWanted {
    actor: ClaimedName,
    pub(crate) really: bool,
    pub(crate) incident: Option<String>,
    pub(crate) receiver: Option<String>,
    /// `sent` or `dead`.
    pub(crate) state: Option<String>,
    pub(crate) from: Option<DateTime<Utc>>,
    pub(crate) to: Option<DateTime<Utc>>,
}

/// What came of it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Replayed {
    /// Deliveries that are brought again.
    pub(crate) replayed: u64,
    /// Left out, since they wait to be brought anyway.
    pub(crate) pending: u64,
    /// Left out, since their receiver is no longer declared.
    pub(crate) undeclared: u64,
    /// Left out, since what they tell is over and people would hear it; `really` tells them.
    pub(crate) old_news: u64,
}

/// `POST /api/v1/deliveries/{id}/replay` with `{"actor": "…"}`.
pub(crate) async fn one(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Json(wanted): Json<ReplayOne>,
) -> Result<(StatusCode, Json<Replayed>), Problem> {
    let filter = DeliveryFilter { id: Some(id), ..DeliveryFilter::default() };
    let done = replay(&state, filter, &wanted.actor.of(&visit), wanted.really).await?;
    Ok((StatusCode::ACCEPTED, Json(done)))
}

/// `POST /api/v1/deliveries/replay` with `{"actor": "…", "incident": "…"}` or `from` and `to`.
pub(crate) async fn several(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Json(wanted): Json<ReplayWanted>,
) -> Result<(StatusCode, Json<Replayed>), Problem> {
    if wanted.incident.is_none() && wanted.from.is_none() {
        return Err(refused("say what is replayed: an incident, or from when"));
    }
    let named = match wanted.state.as_deref() {
        None => None,
        Some(word) => {
            Some(DeliveryState::from_slug(word).ok_or(refused("a state that can be replayed is sent or dead"))?)
        }
    };
    let filter = DeliveryFilter {
        incident: wanted.incident,
        receiver: wanted.receiver,
        state: named,
        from: wanted.from,
        to: wanted.to,
        ..DeliveryFilter::default()
    };
    let done = replay(&state, filter, &wanted.actor.of(&visit), wanted.really).await?;
    Ok((StatusCode::ACCEPTED, Json(done)))
}

/// Replays what fits, as far as it may be.
pub(crate) async fn replay(
    state: &WebState,
    filter: DeliveryFilter,
    actor: &str,
    really: bool,
) -> Result<Replayed, Problem> {
    let actor = cleaned(actor);
    if actor.is_empty() {
        return Err(refused("say who replays"));
    }
    let lines = all(state, filter).await?;
    if lines.is_empty() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "the ledger has no delivery that fits"));
    }
    let fleet = state.fleet_now();
    let mut done = Replayed::default();
    let mut chosen = Vec::new();
    for line in lines {
        let receiver = fleet.receiver(&line.receiver);
        let channel = receiver.map(|receiver| &receiver.channel);
        let was = DeliveryState::from_slug(&line.state).unwrap_or(DeliveryState::Pending);
        match replayable(was, channel, line.is_over, really) {
            Ok(()) => chosen.push(line.id),
            Err(NotReplayed::Pending) => done.pending += 1,
            Err(NotReplayed::Undeclared) => done.undeclared += 1,
            Err(NotReplayed::OldNews) => done.old_news += 1,
        }
    }
    let away = |error| {
        tracing::warn!(%error, "a replay could not be written down");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer; try again")
    };
    if !chosen.is_empty() {
        done.replayed = state.store.replay(chosen, &actor, Utc::now()).await.map_err(away)?;
    }
    tracing::info!(actor, replayed = done.replayed, old_news = done.old_news, really, "deliveries are replayed");
    Ok(done)
}

/// Everything that fits, page after page.
async fn all(state: &WebState, mut filter: DeliveryFilter) -> Result<Vec<DeliveryLine>, Problem> {
    let mut found: Vec<DeliveryLine> = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = state.ask(state.store.deliveries(&filter)).await?;
        let is_last = page.len() < PAGE_ROWS as usize;
        found.extend(page);
        if is_last {
            return Ok(found);
        }
        filter.after = found.last().map(|line| line.id.clone());
    }
    Err(refused("these are more than 1,000 deliveries: name a shorter stretch of time, or a receiver"))
}

const fn refused(why: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}
