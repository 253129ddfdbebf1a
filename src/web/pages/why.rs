//! `/incidents/{id}/why` and `/monitors/{id}/why`: why people were told, or were not, with the readings of then.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};

use crate::domain::signal::{Level, Phase};
use crate::domain::why::answer::{IncidentThen, SignalThen, Why};
use crate::domain::why::sentence::{moment, telling};
use crate::domain::why::text;
use crate::hindsight::why::Topic;
use crate::web::admitted::Visit;
use crate::web::pages::frame::{Frame, show};
use crate::web::problem::Problem;
use crate::web::state::WebState;
use crate::web::why::{WhyQuery, answered, incident, monitor};

#[derive(Debug, Template)]
#[template(path = "why.html")]
struct WhyPage {
    frame: Frame,
    /// The page that this one explains, and what it is called.
    from: (String, String),
    monitor: String,
    /// What the browser's field holds.
    at: String,
    answer: Result<Answer, &'static str>,
}

#[derive(Debug)]
struct Answer {
    sentence: String,
    at: String,
    basis: String,
    judged_by: String,
    signals: Vec<SignalRow>,
    incidents: Vec<IncidentRow>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct SignalRow {
    name: &'static str,
    phase: &'static str,
    is_loud: bool,
    stood: String,
    figure: String,
    opens: String,
    closes: String,
    place: String,
    listeners: String,
    quiet: Vec<String>,
    looks: Vec<String>,
}

#[derive(Debug)]
struct IncidentRow {
    id: String,
    title: String,
    telling: String,
    rule: String,
    opens: String,
    holds: Vec<String>,
    told: Vec<String>,
}

pub(crate) async fn of_incident(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Query(query): Query<WhyQuery>,
) -> Response {
    let topic = incident(&state, &id).await;
    let from = (format!("/incidents/{}", encoded(&id)), "the incident".to_owned());
    page(&state, visit, (topic, from), query).await
}

pub(crate) async fn of_monitor(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Query(query): Query<WhyQuery>,
) -> Response {
    let topic = monitor(&state, &id).await;
    let from = (format!("/monitors/{}", encoded(&id)), id);
    page(&state, visit, (topic, from), query).await
}

async fn page(
    state: &WebState,
    visit: Visit,
    (topic, from): (Result<Topic, Problem>, (String, String)),
    query: WhyQuery,
) -> Response {
    let now = Utc::now();
    let monitor = match &topic {
        Ok(Topic::Incident(incident)) => incident.monitor.to_string(),
        Ok(Topic::Monitor(id)) => id.to_string(),
        Err(_) => String::new(),
    };
    let answer = match (topic, query.moment()) {
        (Ok(topic), Ok(at)) => answered(state, topic, at).await,
        (Err(problem), _) | (_, Err(problem)) => Err(problem),
    };
    let status = answer.as_ref().map_or_else(|problem| problem.status, |_| StatusCode::OK);
    let at = answer.as_ref().map_or(now, |why| why.at);
    let answer = answer.map(|why| shown(&why)).map_err(|problem| problem.detail);
    let at = at.to_rfc3339_opts(SecondsFormat::Secs, true)[..19].to_owned();
    let frame = Frame::new(state, visit, now, "incidents", "Why was somebody notified, or nobody?");
    show(status, &WhyPage { frame, from, monitor, at, answer })
}

fn encoded(id: &str) -> String {
    url::form_urlencoded::byte_serialize(id.as_bytes()).collect()
}

fn shown(why: &Why) -> Answer {
    Answer {
        sentence: why.sentence(),
        at: moment(why.at),
        basis: why.basis(),
        judged_by: why.judged_by().unwrap_or_default(),
        signals: why.signals.iter().map(signal).collect(),
        incidents: why.incidents.iter().map(|one| incident_row(one, why.until, why.is_now)).collect(),
        notes: why.notes.clone(),
    }
}

fn signal(one: &SignalThen) -> SignalRow {
    let standing = &one.standing;
    let is_loud = standing.phase != Phase::Quiet || standing.level == Level::Elevated;
    SignalRow {
        name: one.signal.slug(),
        phase: standing.phase.slug(),
        is_loud,
        stood: text::stand(one),
        figure: text::figure(one),
        opens: one.opens.clone(),
        closes: one.closes.clone(),
        place: one.rule.written(),
        listeners: one.listeners.iter().map(text::listener).collect::<Vec<_>>().join(", "),
        quiet: one.quiet.clone(),
        looks: one.looks.iter().map(text::look).collect(),
    }
}

fn incident_row(one: &IncidentThen, until: DateTime<Utc>, is_now: bool) -> IncidentRow {
    let incident = &one.incident;
    IncidentRow {
        id: incident.id.clone(),
        title: format!("{} {}: {}", incident.severity.slug(), incident.signal.slug(), incident.reason),
        telling: telling(one, until, is_now),
        rule: incident.rule.written(),
        opens: one.opens.clone(),
        holds: one.holds.iter().map(text::hold).collect(),
        told: one.tellings.iter().map(text::delivery).collect(),
    }
}
