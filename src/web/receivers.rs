//! `/api/v1/receivers`: who can be told, and whether a message gets there now.
//!
//! A test is a real message on the real way: it is written into the outbox, brought by the delivery worker through the
//! receiver's own channel, and its receipt read from the ledger. It is over with the wait: what nobody took by then is
//! given up, so that no test arrives the next day.

use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use uuid::Uuid;

use crate::deliver::message;
use crate::domain::fleet::Fleet;
use crate::domain::paging::delivery::DeliveryState;
use crate::domain::paging::drill::{Drill, keeps_open};
use crate::domain::paging::notification::Notification;
use crate::domain::receiver::Receiver;
use crate::store::read::ledger::{AttemptLine, DeliveryFilter, DeliveryLine};
use crate::store::values::change_set::{Addressee, ChangeSet, Outgoing};
use crate::web::actions::cleaned;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::drills::{DrillBody, LastDrillBody, declared, last_drill};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// A test waits so long for its receipt where nobody says otherwise: the first try and two more.
const WAIT_USUAL: Duration = Duration::from_secs(20);
/// The longest wait that may be asked for.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Between two looks into the ledger.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Who can be told, in the order of the file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiverList {
    receivers: Vec<ReceiverBody>,
    /// The drills of the file, in its order.
    drills: Vec<DrillBody>,
}

/// One receiver.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiverBody {
    name: String,
    /// `webhook`, `email`, `slack` and so on.
    channel: &'static str,
    /// Where the file declares it, such as `monitors.yaml:24`.
    place: String,
    /// Who hears of what it does not take; null where nobody does.
    fallback: Option<String>,
    /// What it does not take; null where it keeps up.
    behind: Option<BehindBody>,
    /// What came of the last drill of the file; null where it was never told one.
    last_drill: Option<LastDrillBody>,
}

/// The names of all receivers, in the order of the file.
pub(crate) fn names(fleet: &Fleet) -> Vec<&str> {
    fleet.receivers.iter().map(|receiver| receiver.name.as_str()).collect()
}

/// What a receiver does not take, though it was tried three times in vain or for two minutes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BehindBody {
    /// Deliveries still to be brought.
    waiting: u64,
    /// Since when the oldest of them waits.
    since: DateTime<Utc>,
    /// What the last try was answered.
    last: String,
}

/// How a test went.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiverTest {
    pub(crate) receiver: String,
    /// Whether the receiver took the message.
    pub(crate) accepted: bool,
    /// Id of the delivery in the ledger.
    delivery: String,
    /// From the promise to the receipt, or to the end of the wait.
    elapsed_ms: u64,
    pub(crate) attempts: Vec<AttemptBody>,
}

/// One try of a delivery.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AttemptBody {
    number: u32,
    started_at: DateTime<Utc>,
    elapsed_ms: u64,
    /// `accepted`, `failed` or `refused`.
    ended: String,
    /// The status and what the receiver said, in one bounded line; empty where it took the message.
    pub(crate) answer: String,
}

/// Who tests.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TestWanted {
    actor: ClaimedName,
}

/// For how long a caller waits.
#[derive(Debug, Deserialize)]
pub(crate) struct TestQuery {
    wait: Option<u64>,
}

/// `GET /api/v1/receivers`.
pub(crate) async fn list(State(state): State<WebState>) -> Result<Json<ReceiverList>, Problem> {
    let fleet = state.fleet_now();
    let now = Utc::now();
    let mut behind = state.ask(state.store.backlog(now)).await?.behind;
    let mut drilled = state.ask(state.store.last_drills(&names(&fleet))).await?;
    let mut taken = |name: &str| {
        let at = behind.iter().position(|one| one.receiver == name)?;
        let one = behind.swap_remove(at);
        Some(BehindBody { waiting: one.waiting, since: one.since, last: one.why })
    };
    let body = |receiver: &std::sync::Arc<Receiver>| ReceiverBody {
        name: receiver.name.clone(),
        channel: receiver.channel.key(),
        place: fleet.provenance.shown(receiver.line),
        fallback: fleet.fallback(&receiver.name).map(str::to_owned),
        behind: taken(&receiver.name),
        last_drill: drilled.remove(&receiver.name).map(last_drill),
    };
    Ok(Json(ReceiverList { receivers: fleet.receivers.iter().map(body).collect(), drills: declared(&fleet, now) }))
}

/// `POST /api/v1/receivers/{name}/test?wait=20` with `{"actor": "…"}`: 200 with how it went, whether it was taken or not.
pub(crate) async fn test(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(name): Path<String>,
    Query(query): Query<TestQuery>,
    Json(wanted): Json<TestWanted>,
) -> Result<Json<ReceiverTest>, Problem> {
    let wait = query.wait.map_or(WAIT_USUAL, Duration::from_secs).min(WAIT_MAX);
    tested(&state, &name, &wanted.actor.of(&visit), wait).await.map(Json)
}

/// Sends a test to a receiver and waits for its receipt; to its end, though whoever asked may have left.
pub(crate) async fn tested(state: &WebState, name: &str, actor: &str, wait: Duration) -> Result<ReceiverTest, Problem> {
    let (state, name, actor) = (state.clone(), name.to_owned(), actor.to_owned());
    let testing = tokio::spawn(async move { test_of(&state, &name, &actor, wait).await });
    let broke = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the test broke down inside Serin; its log says where");
    testing.await.unwrap_or(Err(broke))
}

async fn test_of(state: &WebState, name: &str, actor: &str, wait: Duration) -> Result<ReceiverTest, Problem> {
    let actor = cleaned(actor);
    if actor.is_empty() {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "say who tests"));
    }
    let fleet = state.fleet_now();
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no receiver of this name");
    let receiver = fleet.receiver(name).ok_or(missing)?;
    no_second(state, name).await?;
    let began = Instant::now();
    let what = format!("a test of receiver '{name}'");
    let drill = Drill { id: Uuid::now_v7().to_string(), by: actor.clone(), what, next: None };
    let opening = drill.opening(Uuid::now_v7().to_string(), Utc::now(), &fleet.public_url);
    let id = opening.id.clone();
    promise(state, receiver, opening).await?;
    tracing::info!(receiver = name, actor, notification = id, "a receiver is tested");
    let line = receipt(state, &id, began + wait).await?;
    let accepted = line.state == DeliveryState::Sent.slug();
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if !accepted {
        state.store.give_up(&line.id, Utc::now()).await.map_err(|error| away(&error))?;
    }
    // Also where it was not taken as far as we know: its answer may have been lost.
    if keeps_open(&receiver.channel) {
        promise(state, receiver, drill.end(Uuid::now_v7().to_string(), Utc::now(), &fleet.public_url)).await?;
    }
    let attempts = state.ask(state.store.attempts(std::slice::from_ref(&line))).await?;
    let attempts = attempts.into_values().flatten().map(attempt_body).collect();
    Ok(ReceiverTest { receiver: name.to_owned(), accepted, delivery: line.id, elapsed_ms, attempts })
}

/// One test of a receiver at a time: what it answers is the answer to one message.
async fn no_second(state: &WebState, name: &str) -> Result<(), Problem> {
    let pending = DeliveryFilter {
        receiver: Some(name.to_owned()),
        state: Some(DeliveryState::Pending),
        ..DeliveryFilter::default()
    };
    let waiting = state.ask(state.store.deliveries(&pending)).await?;
    if waiting.iter().any(|line| line.event == crate::domain::paging::notification::Event::Drill.slug()) {
        return Err(Problem::new(StatusCode::CONFLICT, "this receiver is being tested; its answer is awaited"));
    }
    Ok(())
}

async fn promise(state: &WebState, receiver: &Receiver, notification: Notification) -> Result<(), Problem> {
    let addressee = Addressee {
        gathering: None,
        receiver: receiver.name.clone(),
        receiver_hash: receiver.definition_hash.clone(),
        // The fallback is another receiver, with a test of its own.
        fallback: None,
    };
    let outgoing = Outgoing { payload: message::freeze(&notification), notification, to: vec![addressee] };
    let record = ChangeSet { outbox: vec![outgoing], ..ChangeSet::default() };
    state.store.commit(record).await.map_err(|error| away(&error))
}

/// The delivery once it is no longer pending, or as it is when the wait is over.
async fn receipt(state: &WebState, notification: &str, until: Instant) -> Result<DeliveryLine, Problem> {
    let filter = DeliveryFilter::of_notification(notification);
    loop {
        let found = state.ask(state.store.deliveries(&filter)).await?.into_iter().next();
        let gone = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the test is not in the ledger; try again");
        let line = found.ok_or(gone)?;
        if line.state != DeliveryState::Pending.slug() || Instant::now() >= until || state.shutdown.is_cancelled() {
            return Ok(line);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// A try as the API shows it.
pub(crate) fn attempt_body(line: AttemptLine) -> AttemptBody {
    let elapsed = (line.ended_at - line.started_at).to_std().unwrap_or_default();
    AttemptBody {
        number: line.number,
        started_at: line.started_at,
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        ended: line.ended,
        answer: line.answer,
    }
}

fn away(error: &crate::store::StoreError) -> Problem {
    tracing::warn!(%error, "a receiver's test could not be written down");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer; try again")
}
