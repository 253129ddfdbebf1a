//! The two things a person may ask for, from a form or the API: take an incident, look again now.

use axum::http::StatusCode;

use crate::domain::fleet::MonitorId;
use crate::domain::schedule::Command;
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// Characters of a name that are kept.
const ACTOR_CHARS_MAX: usize = 64;

/// Asks for a look at a monitor.
pub fn recheck(state: &WebState, monitor: &str) -> Result<(), Problem> {
    let monitor = MonitorId::new(monitor);
    if state.board.get(&monitor).is_none() {
        return Err(Problem::new(StatusCode::NOT_FOUND, "there is no monitor with this id"));
    }
    send(state, Command::Recheck { monitor })
}

/// Takes an open incident in somebody's name.
pub async fn acknowledge(state: &WebState, incident: &str, actor: &str) -> Result<(), Problem> {
    let actor = cleaned(actor);
    if actor.is_empty() {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "say who takes it"));
    }
    match state.ask(state.store.incident(incident)).await {
        Err(_) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer; try again")),
        Ok(None) => Err(Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id")),
        Ok(Some(found)) if found.resolved_at.is_some() => {
            Err(Problem::new(StatusCode::CONFLICT, "this incident is over"))
        }
        Ok(Some(found)) if found.acknowledged.is_some() => {
            Err(Problem::new(StatusCode::CONFLICT, "somebody has taken it already"))
        }
        Ok(Some(_)) => send(state, Command::Acknowledge { incident: incident.to_owned(), actor }),
    }
}

/// A name without control characters, bounded.
pub fn cleaned(actor: &str) -> String {
    actor.trim().chars().filter(|c| !c.is_control()).take(ACTOR_CHARS_MAX).collect()
}

fn send(state: &WebState, command: Command) -> Result<(), Problem> {
    let full = |_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too much is asked for just now; try again");
    state.commands.try_send(command).map_err(full)
}
