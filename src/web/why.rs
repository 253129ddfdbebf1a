//! `GET /api/v1/incidents/{id}/why` and `GET /api/v1/monitors/{id}/why`: why people were told, or were not.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::domain::why::answer::Why;
use crate::hindsight::body::WhyBody;
use crate::hindsight::why::{NoAnswer, Question, Topic, why};
use crate::web::ledger::moment;
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// One answer is worked out at a time, since each takes a core; whoever asks meanwhile waits so long.
const TURN_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long one answer may take. An answer of ours has to begin within 15 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(9);

/// What an address may ask.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WhyQuery {
    /// The moment.
    pub at: Option<String>,
}

/// `GET /api/v1/incidents/{id}/why`.
pub(crate) async fn of_incident(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Query(query): Query<WhyQuery>,
) -> Result<Json<WhyBody>, Problem> {
    let topic = incident(&state, &id).await?;
    let at = query.moment()?;
    answered(&state, topic, at).await.map(|why| Json(WhyBody::of(&why)))
}

/// `GET /api/v1/monitors/{id}/why`.
pub(crate) async fn of_monitor(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Query(query): Query<WhyQuery>,
) -> Result<Json<WhyBody>, Problem> {
    let topic = monitor(&state, &id).await?;
    let at = query.moment()?;
    answered(&state, topic, at).await.map(|why| Json(WhyBody::of(&why)))
}

/// The incident of this id.
pub(crate) async fn incident(state: &WebState, id: &str) -> Result<Topic, Problem> {
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id");
    let found = state.ask(state.store.incident(id)).await?.ok_or(missing)?;
    Ok(Topic::Incident(Box::new(found)))
}

/// The monitor of this id, declared or removed since.
pub(crate) async fn monitor(state: &WebState, id: &str) -> Result<Topic, Problem> {
    let id = MonitorId::new(id);
    let is_known = state.ask(state.store.was_declared(&id)).await?;
    if is_known { Ok(Topic::Monitor(id)) } else { Err(Problem::NO_MONITOR) }
}

impl WhyQuery {
    /// The moment; none where none is named.
    pub(crate) fn moment(&self) -> Result<Option<DateTime<Utc>>, Problem> {
        const UNREADABLE: Problem = Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "`at` is a moment such as 2026-11-25T09:00:00Z, percent-encoded where it has a plus sign",
        );
        let named = self.at.as_deref().filter(|at| !at.is_empty());
        named.map(|at| moment(at).ok_or(UNREADABLE)).transpose()
    }
}

/// Works an answer out, where its turn comes soon enough.
pub(crate) async fn answered(state: &WebState, topic: Topic, at: Option<DateTime<Utc>>) -> Result<Why, Problem> {
    const BUSY: Problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "others are asking why just now; ask again in a moment, or `serin why` on Serin's own machine",
    );
    const SLOW: Problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "weighing the week again takes longer than a page may; `serin why` on Serin's own machine has all the time",
    );
    let turn = tokio::time::timeout(TURN_WAIT_MAX, Arc::clone(&state.why_turn).acquire_owned()).await;
    let turn = turn.map_err(|_| BUSY)?.map_err(|_| BUSY)?;
    let in_force = Some(Fleet::clone(&*state.fleet_now()));
    let question = Question { topic, at, now: Utc::now(), path: state.config.to_path_buf(), in_force };
    let store = state.store.clone();
    // Who asks and goes does not have the next one begin: the turn is over with the work.
    let answer = tokio::spawn(async move {
        let _turn = turn;
        why(&store, question).await
    });
    let answer = tokio::time::timeout(ANSWER_WITHIN, answer).await.map_err(|_| SLOW)?;
    answer.unwrap_or_else(|broken| Err(NoAnswer::Broken(broken.to_string()))).map_err(|error| match error {
        NoAnswer::Ahead => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "that moment lies ahead"),
        NoAnswer::Store(_) | NoAnswer::Broken(_) => {
            tracing::warn!(%error, "why people were told could not be answered");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer, or holds what cannot be read")
        }
    })
}
