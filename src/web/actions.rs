//! What a person may ask for, from a form or the API: take an incident, look again now. To accept tools, `web::tools`
//! asks first whether they are still what was looked at.

use std::time::Duration;

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use crate::domain::action::{Action, Asked};
use crate::domain::monitor::MonitorId;
use crate::live::monitor_view::MonitorView;
use crate::store::StoreError;
use crate::web::problem::Problem;
use crate::web::state::{STORE_WAIT_MAX, WebState};

/// The longest a caller may wait for a look: a whole probe budget after one that is under way.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);
/// Clocks of machines differ by so much, and no page says so.
pub(crate) const CLOCKS_APART: TimeDelta = TimeDelta::seconds(5);
/// Characters of a name that are kept.
const ACTOR_CHARS_MAX: usize = 64;

/// Asks for a look at a monitor; when that was.
pub(crate) async fn recheck(state: &WebState, monitor: &str) -> Result<DateTime<Utc>, Problem> {
    let monitor = MonitorId::new(monitor);
    if state.live.standing(&monitor).is_none() {
        return Err(Problem::NO_MONITOR);
    }
    let asked_at = Utc::now();
    ask(state, &monitor, "", Asked::Recheck).await.map(|()| asked_at)
}

/// Asks for a look at a monitor and waits until it is over; the view with it, or none where it takes longer.
pub(crate) async fn recheck_and_wait(
    state: &WebState,
    monitor: &str,
    wait: Duration,
) -> Result<Option<MonitorView>, Problem> {
    // Subscribed before asking, so that no change can be missed.
    let mut changes = state.live.changes();
    let id = MonitorId::new(monitor);
    // Of a monitor that another machine watches this is known without the database, and by that machine's clock.
    let rechecked = || {
        let standing = state.live.standing(&id)?;
        let (look, apart) = match standing.followed() {
            Some(followed) => (followed.published.look.clone(), CLOCKS_APART),
            None => (standing.view().look, TimeDelta::zero()),
        };
        Some((look?.rechecked_at?, apart))
    };
    let before = rechecked();
    let asked_at = recheck(state, monitor).await?;
    let is_over = || rechecked().is_some_and(|look| Some(look) != before && look.0 >= asked_at - look.1);
    let over = async {
        loop {
            if is_over() {
                return state.view(&id).await;
            }
            // One that lags looks again; a live state that is gone has no more to say.
            if changes.recv().await == Err(RecvError::Closed) {
                return None;
            }
        }
    };
    Ok(tokio::time::timeout(wait.min(WAIT_MAX), over).await.unwrap_or_default())
}

/// What somebody says of an open incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claiming {
    Take,
    GiveBack,
}

/// Takes an open incident in somebody's name; on disk before this answers.
pub(crate) async fn acknowledge(state: &WebState, incident: &str, actor: &str) -> Result<(), Problem> {
    claim(state, incident, actor, Claiming::Take, ("say who takes it", "somebody has taken it already")).await
}

/// Gives an incident back in somebody's name, so that nobody has it; on disk before this answers.
pub(crate) async fn give_back(state: &WebState, incident: &str, actor: &str) -> Result<(), Problem> {
    claim(state, incident, actor, Claiming::GiveBack, ("say who gives it back", "nobody has it")).await
}

async fn claim(
    state: &WebState,
    incident: &str,
    actor: &str,
    claiming: Claiming,
    (nobody, conflict): (&'static str, &'static str),
) -> Result<(), Problem> {
    let actor = cleaned(actor);
    if actor.is_empty() {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, nobody));
    }
    let found = match state.ask(state.store.incident(incident)).await {
        Err(_) => return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer; try again")),
        Ok(found) => found.ok_or(Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id"))?,
    };
    if found.resolved_at.is_some() {
        return Err(Problem::new(StatusCode::CONFLICT, "this incident is over"));
    }
    let store = state.store.clone();
    let noted = noted(async move {
        let now = Utc::now();
        match claiming {
            Claiming::Take => store.acknowledge(&found.id, &actor, now).await,
            Claiming::GiveBack => store.give_back(&found.id, &actor, now).await,
        }
    });
    if noted.await? { Ok(()) } else { Err(Problem::new(StatusCode::CONFLICT, conflict)) }
}

/// Waits until something is on disk; what came of it.
async fn noted(noting: impl Future<Output = Result<bool, StoreError>> + Send + 'static) -> Result<bool, Problem> {
    // Of a life of its own: whoever asked may be gone, or out of patience, before it is on disk.
    let waited = tokio::time::timeout(STORE_WAIT_MAX, tokio::spawn(noting)).await;
    let Ok(Ok(Ok(noted))) = waited else {
        let why = "the database does not answer; it may still be noted: look again";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why));
    };
    Ok(noted)
}

/// A name without control characters, bounded.
pub(crate) fn cleaned(actor: &str) -> String {
    actor.trim().chars().filter(|c| !c.is_control()).take(ACTOR_CHARS_MAX).collect()
}

/// Writes down what somebody asks of whoever reads lists.
pub(crate) async fn ask_of_list(state: &WebState, actor: &str, asked: Asked) -> Result<(), Problem> {
    ask(state, &MonitorId::new(""), actor, asked).await
}

/// Writes down what somebody asks for; whoever watches the monitor does it.
pub(crate) async fn ask(state: &WebState, monitor: &MonitorId, actor: &str, asked: Asked) -> Result<(), Problem> {
    let (store, at) = (state.store.clone(), Utc::now());
    let action =
        Action { id: Uuid::now_v7().to_string(), monitor: monitor.clone(), actor: actor.to_owned(), at, asked };
    if noted(async move { store.ask_action(action).await }).await? {
        return Ok(());
    }
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too much is asked for just now; try again"))
}
