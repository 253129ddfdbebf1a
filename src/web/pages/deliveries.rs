//! `/deliveries`: the ledger: what was promised to whom, how often it was tried, and how that ended.

use std::collections::HashMap;

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Deserialize;

use crate::domain::paging::delivery::DeliveryState;
use crate::store::read::ledger::{ATTEMPTS_SHOWN, AttemptLine, DeliveryFilter, DeliveryLine};
use crate::web::draw::glyph::Glyph;
use crate::web::format::{self, Timestamp};
use crate::web::forms::{self, ACTOR_COOKIE};
use crate::web::guard::{self, Visit};
use crate::web::ledger::{self, DeliveryQuery};
use crate::web::pages::frame::{Frame, show};
use crate::web::problem::Problem;
use crate::web::replay::{self, Replayed};
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    frame: Frame,
    asked: DeliveryQuery,
    states: Vec<(&'static str, bool)>,
    from: String,
    to: String,
    deliveries: Vec<DeliveryRow>,
    next: Option<String>,
    actor: String,
    said: Option<&'static str>,
    away: bool,
}

/// One delivery, ready to be drawn.
#[derive(Debug)]
pub(crate) struct DeliveryRow {
    pub line: DeliveryLine,
    pub glyph: Glyph,
    pub created: Timestamp,
    pub next: Option<Timestamp>,
    /// When the last attempt ended.
    pub last: Option<Timestamp>,
    /// Its latest tries, where they are shown.
    pub tries: Vec<TryRow>,
    /// Tries before those.
    pub earlier: u32,
}

/// One try, ready to be drawn.
#[derive(Debug)]
pub(crate) struct TryRow {
    pub number: u32,
    pub ended: String,
    pub at: Timestamp,
    pub lasted: String,
    pub answer: String,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let now = Utc::now();
    let asked = DeliveryQuery::parse(query.as_deref().unwrap_or_default());
    let found = state.ask(state.store.deliveries(&asked.filter())).await;
    let away = found.is_err();
    let lines = found.unwrap_or_default();
    // Two questions whatever is shown.
    let tries = state.ask(state.store.attempts(&lines)).await.unwrap_or_default();
    let shown = |at: Option<DateTime<Utc>>| at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
    let page = DeliveriesPage {
        frame: Frame::new(&state, visit, now, "deliveries", "Deliveries").watching("incidents"),
        away,
        states: [DeliveryState::Pending, DeliveryState::Sent, DeliveryState::Dead]
            .map(|one| (one.slug(), one.slug() == asked.state))
            .to_vec(),
        from: shown(asked.from).unwrap_or_default(),
        to: shown(asked.to).unwrap_or_default(),
        next: ledger::next(&lines).map(|last| asked.after(last)),
        deliveries: rows(lines, tries, now),
        actor: guard::cookie(&headers, ACTOR_COOKIE).map(forms::decoded).unwrap_or_default(),
        said: said(&asked.said),
        asked,
    };
    show(StatusCode::OK, &page)
}

/// Who replays, and whether people are told of what is over.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReplayForm {
    #[serde(default)]
    actor: String,
    /// Of a box that is ticked.
    #[serde(default)]
    really: Option<String>,
}

/// `POST /deliveries/{id}/replay`.
pub(crate) async fn replay(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Form(form): Form<ReplayForm>,
) -> Response {
    let filter = DeliveryFilter { id: Some(id), ..DeliveryFilter::default() };
    let word = word(replay::replay(&state, filter, &form.actor, form.really.is_some()).await);
    forms::remembering(&form.actor, Redirect::to(&format!("/deliveries?said={word}")).into_response())
}

/// `POST /incidents/{id}/replay`.
pub(crate) async fn replay_incident(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Form(form): Form<ReplayForm>,
) -> Response {
    let done = replay::replay(&state, DeliveryFilter::of_incident(&id), &form.actor, form.really.is_some()).await;
    forms::remembering(&form.actor, forms::back("incidents", &id, word(done)))
}

fn word(done: Result<Replayed, Problem>) -> &'static str {
    match done {
        Ok(done) if done.replayed > 0 => "replayed",
        Ok(done) if done.old_news > 0 => "old",
        Ok(_) => "waits",
        Err(problem) => match problem.status {
            StatusCode::SERVICE_UNAVAILABLE => "unwritten",
            StatusCode::UNPROCESSABLE_ENTITY => "unnamed",
            _ => "gone",
        },
    }
}

/// What came of a replay, in words.
pub(crate) fn said(word: &str) -> Option<&'static str> {
    Some(match word {
        "replayed" => "It is brought once more, with the same id and bytes.",
        "old" => "Not replayed: it is over, and people would be told of it. Tick the box if you mean that.",
        "waits" => "Not replayed: it waits to be brought anyway, or its receiver is no longer declared.",
        "unnamed" => "Not replayed: say who you are.",
        "unwritten" => "That could not be written down just now. Try again in a moment.",
        "gone" => "The ledger has nothing that could be replayed.",
        _ => return None,
    })
}

/// Rows with their tries.
pub(crate) fn rows(
    lines: Vec<DeliveryLine>,
    mut tries: HashMap<String, Vec<AttemptLine>>,
    now: DateTime<Utc>,
) -> Vec<DeliveryRow> {
    let with_tries = |line: DeliveryLine| {
        let tries = tries.remove(&line.id).unwrap_or_default();
        row(line, tries, now)
    };
    lines.into_iter().map(with_tries).collect()
}

fn row(line: DeliveryLine, tries: Vec<AttemptLine>, now: DateTime<Utc>) -> DeliveryRow {
    let name = match line.state.as_str() {
        "sent" => "right",
        "dead" => "wrong",
        _ => "pending",
    };
    DeliveryRow {
        glyph: Glyph { name },
        created: Timestamp::new(line.created_at, now),
        // What is due already is tried at once; an overdue moment would only look like a fault.
        next: line.next_at.filter(|at| *at > now).map(|at| Timestamp::new(at, now)),
        last: line.last_at.map(|at| Timestamp::new(at, now)),
        earlier: line.attempts.saturating_sub(ATTEMPTS_SHOWN),
        tries: tries.into_iter().map(|one| try_row(one, now)).collect(),
        line,
    }
}

fn try_row(line: AttemptLine, now: DateTime<Utc>) -> TryRow {
    TryRow {
        number: line.number,
        at: Timestamp::new(line.started_at, now),
        lasted: format::span((line.ended_at - line.started_at).to_std().unwrap_or_default()),
        ended: line.ended,
        answer: line.answer,
    }
}
