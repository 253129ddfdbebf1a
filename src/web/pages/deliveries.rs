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
use crate::domain::paging::notification::Event;
use crate::store::read::ledger::{ATTEMPTS_SHOWN, AttemptLine, COUNTED_MAX, DeliveryFilter, DeliveryLine};
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::draw::glyph::Glyph;
use crate::web::format::{self, Timestamp};
use crate::web::forms;
use crate::web::ledger::{self, DeliveryQuery};
use crate::web::pages::frame::{Frame, show};
use crate::web::problem::Problem;
use crate::web::replay::{self, Replayed};
use crate::web::state::WebState;

/// Monitors that a list is offered of; from a longer one nobody picks, and its id is typed.
const MONITORS_LISTED: usize = 200;

#[derive(Debug, Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    frame: Frame,
    asked: DeliveryQuery,
    /// Links by state: word, count, address, and whether it is chosen; all of them first.
    states: Vec<(&'static str, String, String, bool)>,
    /// Options of each list, and whether it is chosen.
    receivers: Vec<(String, bool)>,
    /// Empty where the fleet is too large for a list.
    monitors: Vec<(String, bool)>,
    kinds: Vec<(&'static str, bool)>,
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
    let actor = forms::actor(&headers, &visit);
    let now = Utc::now();
    let asked = DeliveryQuery::parse(query.as_deref().unwrap_or_default());
    let found = state.ask(state.store.deliveries(&asked.filter())).await;
    let away = found.is_err();
    let lines = found.unwrap_or_default();
    // Two questions whatever is shown.
    let tries = state.ask(state.store.attempts(&lines)).await.unwrap_or_default();
    let counts = state.ask(state.store.delivery_counts(&asked.filter())).await.ok();
    let fleet = state.fleet_now();
    let receivers = fleet.receivers.iter().map(|receiver| receiver.name.clone());
    let monitors = fleet.monitors.iter().map(|monitor| monitor.id.to_string());
    let monitors = if fleet.monitors.len() > MONITORS_LISTED { Vec::new() } else { options(monitors, &asked.monitor) };
    let shown = |at: Option<DateTime<Utc>>| at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
    let page = DeliveriesPage {
        frame: Frame::new(&state, visit, now, "deliveries", "Deliveries").watching("incidents"),
        away,
        states: states(&asked, counts),
        receivers: options(receivers, &asked.receiver),
        monitors,
        kinds: Event::ALL.map(|event| (event.slug(), event.slug() == asked.kind)).to_vec(),
        from: shown(asked.from).unwrap_or_default(),
        to: shown(asked.to).unwrap_or_default(),
        next: ledger::next(&lines).map(|last| asked.after(last)),
        deliveries: rows(lines, tries, now),
        actor,
        said: said(&asked.said),
        asked,
    };
    show(StatusCode::OK, &page)
}

/// The links by state, each with how many deliveries it shows; none is said while the database does not answer.
fn states(asked: &DeliveryQuery, counts: Option<[u64; 3]>) -> Vec<(&'static str, String, String, bool)> {
    let said = |count: Option<u64>| match count {
        None => String::new(),
        Some(count) if count >= u64::from(COUNTED_MAX) => format!("{}+", format::count(COUNTED_MAX.into())),
        Some(count) => format::count(count),
    };
    let link = |word, state: &str, count| (word, said(count), asked.in_state(state), asked.state == state);
    let each = DeliveryState::ALL.into_iter().zip(0..);
    let each = each.map(|(one, nth): (DeliveryState, usize)| link(one.slug(), one.slug(), counts.map(|all| all[nth])));
    std::iter::once(link("all", "", counts.map(|all| all.iter().sum()))).chain(each).collect()
}

/// Options of a list; what is asked for is one of them, even where the file no longer declares it.
fn options(declared: impl Iterator<Item = String>, asked: &str) -> Vec<(String, bool)> {
    let mut names: Vec<String> = declared.collect();
    if !asked.is_empty() && names.iter().all(|name| name != asked) {
        names.push(asked.to_owned());
    }
    names.sort();
    names.into_iter().map(|name| (name == asked, name)).map(|(chosen, name)| (name, chosen)).collect()
}

/// Who replays, and whether people are told of what is over.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ReplayForm {
    #[serde(default)]
    actor: ClaimedName,
    /// Of a box that is ticked.
    #[serde(default)]
    really: Option<String>,
}

/// `POST /deliveries/{id}/replay`.
pub(crate) async fn replay(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(form): Form<ReplayForm>,
) -> Response {
    let actor = form.actor.of(&visit);
    let filter = DeliveryFilter { id: Some(id), ..DeliveryFilter::default() };
    let word = word(replay::replay(&state, filter, &actor, form.really.is_some()).await);
    forms::remembering(&actor, Redirect::to(&format!("/deliveries?said={word}")).into_response())
}

/// `POST /incidents/{id}/replay`.
pub(crate) async fn replay_incident(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(form): Form<ReplayForm>,
) -> Response {
    let actor = form.actor.of(&visit);
    let done = replay::replay(&state, DeliveryFilter::of_incident(&id), &actor, form.really.is_some()).await;
    forms::remembering(&actor, forms::back("incidents", &id, word(done)))
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
        "replayed" => "It is sent once more, with the same id and bytes.",
        "old" => "Not replayed: it is over, and people would be notified of it. Tick the box if you mean that.",
        "waits" => "Not replayed: it is still pending, or its receiver is no longer declared.",
        "unnamed" => "Not replayed: say who you are.",
        "unwritten" => "That could not be recorded just now. Try again in a moment.",
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
