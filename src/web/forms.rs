//! The actions as forms send them: done, then back to the page, with a word of what came of it.

use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use url::form_urlencoded;

use crate::web::actions;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::guard;
use crate::web::problem::Problem;
use crate::web::state::WebState;
use crate::web::tools::{self, Kept};

/// Remembers who took an incident last on this browser, so that nobody types a name at night twice.
const ACTOR_COOKIE: &str = "serin_actor";

#[derive(Debug, Deserialize)]
pub(crate) struct FormAnswer {
    #[serde(default)]
    actor: ClaimedName,
}

/// Who accepts which tools.
#[derive(Debug, Deserialize)]
pub(crate) struct Accepting {
    #[serde(default)]
    actor: ClaimedName,
    #[serde(default)]
    hash: String,
}

/// Where to go back to.
#[derive(Debug, Deserialize)]
pub(crate) struct Looking {
    #[serde(default)]
    incident: String,
}

pub(crate) async fn recheck(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Form(looking): Form<Looking>,
) -> Response {
    match actions::recheck(&state, &id).await {
        Ok(asked_at) => {
            let said = format!("recheck&at={}", asked_at.timestamp());
            match looking.incident.as_str() {
                "" => back("monitors", &id, &said),
                incident => back("incidents", incident, &said),
            }
        }
        Err(problem) => (problem.status, problem.detail).into_response(),
    }
}

pub(crate) async fn accept(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(taking): Form<Accepting>,
) -> Response {
    let actor = taking.actor.of(&visit);
    let said = match tools::ask_to_accept(&state, &id, &actor, Some(&taking.hash)).await {
        Ok(Kept::Here) => "accepted",
        Ok(Kept::InLock) => "locked",
        Err(problem) => match problem.status {
            StatusCode::CONFLICT => "refused",
            StatusCode::UNPROCESSABLE_ENTITY => "who",
            status => return (status, problem.detail).into_response(),
        },
    };
    remembering(&actor, back("monitors", &id, said))
}

pub(crate) async fn acknowledge(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(taking): Form<FormAnswer>,
) -> Response {
    let actor = taking.actor.of(&visit);
    let done = actions::acknowledge(&state, &id, &actor).await;
    claimed(done, ("taken", "over"), &id, &actor)
}

pub(crate) async fn give_back(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(giving): Form<FormAnswer>,
) -> Response {
    let actor = giving.actor.of(&visit);
    let done = actions::give_back(&state, &id, &actor).await;
    claimed(done, ("given", "not_yours"), &id, &actor)
}

/// Back to the incident, with the word for how it went: done, or somebody was before.
fn claimed(done: Result<(), Problem>, (yes, before): (&str, &str), id: &str, actor: &str) -> Response {
    let said = match done {
        Ok(()) => yes,
        Err(problem) => match problem.status {
            StatusCode::CONFLICT => before,
            StatusCode::UNPROCESSABLE_ENTITY => "who",
            StatusCode::SERVICE_UNAVAILABLE => "away",
            status => return (status, problem.detail).into_response(),
        },
    };
    remembering(actor, back("incidents", id, said))
}

/// An answer that has this browser remember who acts on it.
pub(crate) fn remembering(actor: &str, answer: impl IntoResponse) -> Response {
    ([(header::SET_COOKIE, remembered(actor))], answer).into_response()
}

/// The cookie that remembers who acts on this browser.
fn remembered(actor: &str) -> String {
    let actor: String = form_urlencoded::byte_serialize(actions::cleaned(actor).as_bytes()).collect();
    format!("{ACTOR_COOKIE}={actor}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000")
}

/// Who acts on this page: whoever signed in by name, else who acted last on this browser.
pub(crate) fn actor(headers: &HeaderMap, visit: &Visit) -> String {
    let remembered = || guard::cookie(headers, ACTOR_COOKIE).map(decoded).unwrap_or_default();
    visit.name.as_deref().map_or_else(remembered, str::to_owned)
}

/// A name out of its cookie.
fn decoded(cookie: &str) -> String {
    let bytes = format!("actor={cookie}");
    form_urlencoded::parse(bytes.as_bytes()).next().map(|(_, actor)| actions::cleaned(&actor)).unwrap_or_default()
}

pub(crate) fn back(room: &str, id: &str, said: &str) -> Response {
    let id = form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>();
    Redirect::to(&format!("/{room}/{id}?said={said}")).into_response()
}
