//! `/silences`: what nobody is told of just now and until when, silences to make and to end, and maintenance ahead.

use askama::Template;
use axum::Extension;
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::paging::silence::Silence;
use crate::domain::reason::Severity;
use crate::domain::route::Match;
use crate::domain::signal::Signal;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::format::Timestamp;
use crate::web::forms;
use crate::web::pages::frame::{Frame, show};
use crate::web::silences::{self, MatchBody, SilenceWanted};
use crate::web::state::WebState;

/// What a form offers to choose from: seconds, and how they are called.
pub(crate) const LENGTHS: [(&str, &str); 6] = [
    ("1800", "30 minutes"),
    ("3600", "1 hour"),
    ("14400", "4 hours"),
    ("28800", "8 hours"),
    ("86400", "1 day"),
    ("604800", "1 week"),
];
/// Silences that the page shows; the API has them all.
const SHOWN_MAX: usize = 200;
/// The word of a form for a silence that ends with its incident.
pub(crate) const UNTIL_RESOLVED: &str = "resolved";

#[derive(Debug, Template)]
#[template(path = "silences.html")]
struct SilencesPage {
    frame: Frame,
    holding: Vec<SilenceRow>,
    /// Those that hold beyond the ones shown.
    more: usize,
    over: Vec<SilenceRow>,
    windows: Vec<WindowRow>,
    signals: Vec<&'static str>,
    severities: Vec<&'static str>,
    lengths: [(&'static str, &'static str); 6],
    actor: String,
    said: Option<&'static str>,
    away: bool,
}

/// One silence, ready to be drawn.
#[derive(Debug)]
struct SilenceRow {
    id: String,
    matches: String,
    author: String,
    comment: String,
    from: Timestamp,
    until: Option<Timestamp>,
    until_incident: Option<String>,
    ended: Option<(Timestamp, String)>,
}

#[derive(Debug)]
struct WindowRow {
    name: String,
    matches: String,
    on_until: Option<String>,
    next: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct SilencesQuery {
    said: Option<String>,
}

/// A silence as the form of this page, or of an incident's, asks for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SilenceForm {
    monitor: String,
    /// `key=value`.
    label: String,
    signal: String,
    severity: String,
    /// Seconds, or [`UNTIL_RESOLVED`].
    lasts: String,
    comment: String,
    actor: ClaimedName,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct EndForm {
    #[serde(default)]
    actor: ClaimedName,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Query(asked): Query<SilencesQuery>,
    headers: HeaderMap,
) -> Response {
    let actor = forms::actor(&headers, &visit);
    let now = Utc::now();
    let holding = state.ask(state.store.silences(now)).await;
    let over = state.ask(state.store.silences_over(now)).await;
    let row = |silence: Silence| row(silence, now);
    let page = SilencesPage {
        frame: Frame::new(&state, visit, now, "silences", "Silences"),
        away: holding.is_err() || over.is_err(),
        more: holding.as_ref().map_or(0, |all| all.len().saturating_sub(SHOWN_MAX)),
        holding: holding.unwrap_or_default().into_iter().take(SHOWN_MAX).map(row).collect(),
        over: over.unwrap_or_default().into_iter().map(row).collect(),
        windows: state.fleet_now().maintenance.iter().map(|window| window_row(window, now)).collect(),
        signals: Signal::ALL.iter().map(|signal| signal.slug()).collect(),
        severities: Severity::ALL.iter().map(|severity| severity.slug()).collect(),
        lengths: LENGTHS,
        actor,
        said: asked.said.as_deref().and_then(said),
    };
    show(StatusCode::OK, &page)
}

/// `POST /silences`.
pub(crate) async fn make(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Form(form): Form<SilenceForm>,
) -> Response {
    let actor = form.actor.of(&visit);
    let said = match wanted(form, None) {
        Some(wanted) => word(silences::make(&state, wanted, &visit).await.map(drop).map_err(|problem| problem.status)),
        None => "label",
    };
    forms::remembering(&actor, Redirect::to(&format!("/silences?said={said}")))
}

/// `POST /incidents/{id}/silence`.
pub(crate) async fn of_incident(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(form): Form<SilenceForm>,
) -> Response {
    let actor = form.actor.of(&visit);
    let incident = match state.ask(state.store.incident(&id)).await {
        Ok(Some(incident)) => incident,
        Ok(None) => return (StatusCode::NOT_FOUND, "there is no incident with this id").into_response(),
        Err(_) => return forms::remembering(&actor, forms::back("incidents", &id, "away")),
    };
    let form = SilenceForm {
        monitor: incident.monitor.to_string(),
        // A form that names none means the whole monitor.
        signal: if form.signal.is_empty() { String::new() } else { incident.signal.slug().to_owned() },
        ..form
    };
    let said = match wanted(form, Some(&id)) {
        Some(wanted) => match silences::make(&state, wanted, &visit).await {
            Ok(_) => "silenced",
            Err(problem) => match problem.status {
                StatusCode::CONFLICT => "over",
                StatusCode::UNPROCESSABLE_ENTITY => "why",
                _ => "away",
            },
        },
        None => "why",
    };
    forms::remembering(&actor, forms::back("incidents", &id, said))
}

/// `POST /silences/{id}/end`.
pub(crate) async fn end(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Form(form): Form<EndForm>,
) -> Response {
    let actor = form.actor.of(&visit);
    let said = match silences::end_by(&state, &id, &actor).await {
        Ok(()) => "ended",
        Err(problem) => word(Err(problem.status)),
    };
    forms::remembering(&actor, Redirect::to(&format!("/silences?said={said}")))
}

/// What a form asks for; none where its label is no `key=value`.
fn wanted(form: SilenceForm, incident: Option<&str>) -> Option<SilenceWanted> {
    let some = |text: String| if text.trim().is_empty() { Vec::new() } else { vec![text.trim().to_owned()] };
    let label = form.label.trim();
    let labels = match label.split_once('=') {
        Some((key, value)) => [(key.trim().to_owned(), value.trim().to_owned())].into(),
        None if label.is_empty() => Default::default(),
        None => return None,
    };
    Some(SilenceWanted {
        r#match: MatchBody {
            monitor: some(form.monitor),
            labels,
            signal: some(form.signal),
            severity: some(form.severity),
            reason: Vec::new(),
        },
        actor: form.actor,
        comment: form.comment,
        until: None,
        seconds: form.lasts.parse().ok(),
        until_resolved: incident.filter(|_| form.lasts == UNTIL_RESOLVED).map(str::to_owned),
    })
}

const fn word(made: Result<(), StatusCode>) -> &'static str {
    match made {
        Ok(()) => "made",
        Err(StatusCode::UNPROCESSABLE_ENTITY) => "refused",
        Err(StatusCode::CONFLICT | StatusCode::NOT_FOUND) => "over",
        Err(_) => "away",
    }
}

fn said(word: &str) -> Option<&'static str> {
    Some(match word {
        "made" => "Silenced. Probing goes on; nobody is notified of what matches.",
        "ended" => "Ended. What it held back and is still open is sent now.",
        "refused" => {
            "Not made: name at least one of monitor, label, signal and severity, as the file declares them, who you are, and why."
        }
        "label" => "Not made: a label is written as key=value.",
        "over" => "It was over already.",
        "away" => "That could not be recorded just now. Try again in a moment.",
        _ => return None,
    })
}

fn row(silence: Silence, now: DateTime<Utc>) -> SilenceRow {
    let stamp = |at| Timestamp::new(at, now);
    let ran_out = silence.until.filter(|until| *until <= now).map(|at| (at, String::new()));
    SilenceRow {
        id: silence.id,
        matches: in_words(&silence.matches),
        author: silence.author,
        comment: silence.comment,
        from: stamp(silence.from),
        until: silence.until.map(stamp),
        until_incident: silence.until_incident,
        ended: silence.ended.or(ran_out).map(|(at, by)| (stamp(at), by)),
    }
}

fn window_row(window: &MaintenanceWindow, now: DateTime<Utc>) -> WindowRow {
    WindowRow {
        name: window.called(),
        matches: in_words(&window.matches),
        on_until: window.run_at(now).map(|run| window.shown(run.to)),
        next: window.next_after(now, 3).into_iter().map(|run| window.shown(run.from)).collect(),
    }
}

/// What matches, such as `monitor docs, wiki; signal quality`.
fn in_words(matches: &Match) -> String {
    let list = |what: &str, all: Vec<&str>| (!all.is_empty()).then(|| format!("{what} {}", all.join(", ")));
    let labels: Vec<String> = matches.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let parts = [
        list("monitor", matches.monitor.iter().map(String::as_str).collect()),
        list("label", labels.iter().map(String::as_str).collect()),
        list("signal", matches.signal.iter().map(|one| one.slug()).collect()),
        list("severity", matches.severity.iter().map(|one| one.slug()).collect()),
        list("reason", matches.reason.iter().map(|one| one.slug()).collect()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "everything".to_owned() } else { parts.join("; ") }
}
