//! `/receivers`: who can be told, and a button that finds out whether a message gets there.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::Utc;
use serde::Deserialize;
use url::form_urlencoded;

use crate::web::admitted::{ClaimedName, Visit};
use crate::web::drills;
use crate::web::forms;
use crate::web::pages::frame::{Frame, show};
use crate::web::receivers;
use crate::web::state::WebState;

/// A form waits so long for the receipt: less than a page may take to begin.
const FORM_WAIT: Duration = Duration::from_secs(10);
/// Receivers shown; the API has them all.
const SHOWN_MAX: usize = 200;

#[derive(Debug, Template)]
#[template(path = "receivers.html")]
struct ReceiversPage {
    frame: Frame,
    rows: Vec<ReceiverRow>,
    drills: Vec<DrillRow>,
    /// Those beyond the ones shown.
    more: usize,
    actor: String,
    said: Option<String>,
    away: bool,
}

/// One receiver, ready to be drawn.
#[derive(Debug)]
struct ReceiverRow {
    name: String,
    channel: &'static str,
    place: String,
    fallback: Option<String>,
    /// What it does not take, in words.
    behind: Option<String>,
    /// What came of the last drill of the file, in words.
    drill: Option<String>,
}

/// One drill of the file, ready to be drawn.
#[derive(Debug)]
struct DrillRow {
    place: String,
    /// By the clock it is declared by.
    next: String,
    /// Who is told.
    to: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReceiversQuery {
    said: Option<String>,
    receiver: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct TestForm {
    #[serde(default)]
    actor: ClaimedName,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Query(asked): Query<ReceiversQuery>,
    headers: HeaderMap,
) -> Response {
    let actor = forms::actor(&headers, &visit);
    let fleet = state.fleet_now();
    let backlog = state.ask(state.store.backlog(Utc::now())).await;
    let drilled = state.ask(state.store.last_drills(&receivers::names(&fleet))).await;
    let away = backlog.is_err() || drilled.is_err();
    let drilled = drilled.unwrap_or_default();
    let behind = backlog.unwrap_or_default().behind;
    let rows = fleet.receivers.iter().take(SHOWN_MAX).map(|receiver| ReceiverRow {
        name: receiver.name.clone(),
        channel: receiver.channel.key(),
        place: fleet.provenance.shown(receiver.line),
        fallback: fleet.fallback(&receiver.name).map(str::to_owned),
        behind: behind.iter().find(|one| one.receiver == receiver.name).map(ToString::to_string),
        drill: drilled.get(&receiver.name).map(drills::said),
    });
    let now = Utc::now();
    let planned = fleet.drills.iter().take(SHOWN_MAX).map(|drill| DrillRow {
        place: fleet.provenance.shown(drill.line),
        next: drill.next_shown(now).unwrap_or_default(),
        to: fleet.drilled([drill]).iter().map(|receiver| receiver.name.as_str()).collect::<Vec<_>>().join(", "),
    });
    // Only what the file declares is repeated: the rest of an address is anybody's.
    let named = asked.receiver.as_deref().and_then(|name| fleet.receiver(name)).map(|receiver| receiver.name.as_str());
    let page = ReceiversPage {
        frame: Frame::new(&state, visit, Utc::now(), "receivers", "Receivers"),
        rows: rows.collect(),
        drills: planned.collect(),
        away,
        more: fleet.receivers.len().saturating_sub(SHOWN_MAX),
        actor,
        said: asked.said.as_deref().and_then(|word| said(word, named.unwrap_or("the receiver"))),
    };
    show(StatusCode::OK, &page)
}

/// `POST /receivers/{name}/test`.
pub(crate) async fn test(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(name): Path<String>,
    Form(form): Form<TestForm>,
) -> Response {
    let actor = form.actor.of(&visit);
    let said = match receivers::tested(&state, &name, &actor, FORM_WAIT).await {
        Ok(test) if test.accepted => "accepted",
        Ok(_) => "failed",
        Err(problem) => match problem.status {
            StatusCode::CONFLICT => "busy",
            StatusCode::UNPROCESSABLE_ENTITY => "who",
            StatusCode::SERVICE_UNAVAILABLE => "away",
            status => return (status, problem.detail).into_response(),
        },
    };
    let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    forms::remembering(&actor, Redirect::to(&format!("/receivers?said={said}&receiver={name}")))
}

fn said(word: &str, name: &str) -> Option<String> {
    Some(match word {
        "accepted" => format!("{name} accepted the test."),
        "failed" => format!("{name} did not take the test; the ledger has each try and what it was answered."),
        "busy" => format!("{name} is being tested already."),
        "who" => "Not sent: say who you are.".to_owned(),
        "away" => "That could not be recorded just now. Try again in a moment.".to_owned(),
        _ => return None,
    })
}
