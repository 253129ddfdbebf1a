//! `/api/v1/incidents`: the incidents as JSON, and who takes one. Times are RFC 3339 in UTC.

use axum::Extension;
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::paging::hold::TellingHold;
use crate::store::read::ledger::DeliveryFilter;
use crate::store::read::pages::{PAGE_ROWS, TimelineLine};
use crate::web::actions;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::ledger::{DeliveryBody, delivery_body};
use crate::web::pages::filter::{IncidentQuery, cursor};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// A page of incidents; `next` is the `before` of the page after this one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IncidentList {
    incidents: Vec<IncidentBody>,
    next: Option<String>,
}

/// One incident. Its groups are structs here and one flat object in JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IncidentBody {
    id: String,
    monitor: String,
    #[serde(flatten)]
    cause: CauseBody,
    #[serde(flatten)]
    course: CourseBody,
    /// Why nobody is told of it just now, such as `explained by incident …` or `silenced (…)`; null where nothing holds it.
    quiet: Option<String>,
    rule: RuleBody,
    runbook_url: String,
    reproduce: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Vec<TimelineBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deliveries: Option<Vec<DeliveryBody>>,
    /// What holds or held it, the latest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<Vec<HeldBody>>,
    /// Ids of the incidents that it explains or explained, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    explains: Option<Vec<String>>,
}

/// What keeps an incident from being told, or kept it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeldBody {
    /// `cause`: another incident of the same monitor explains it; `silence`: somebody silenced it; `window`: it is in
    /// maintenance.
    kind: &'static str,
    /// Which one: the id of the incident that explains, the id of the silence, or where the window stands in the file.
    by: String,
    since: DateTime<Utc>,
    /// When it ends by itself; null where it ends with what holds.
    until: Option<DateTime<Utc>>,
    /// Null while it holds.
    ended_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CauseBody {
    signal: &'static str,
    subject: String,
    severity: &'static str,
    failure_reason: &'static str,
    failed_stage: String,
    summary: String,
    evidence: std::collections::BTreeMap<String, String>,
}

/// When it began and ended, and who took it.
#[derive(Debug, Serialize, JsonSchema)]
struct CourseBody {
    /// The first failed beat that led to it; it was confirmed at `opened_at`.
    since: DateTime<Utc>,
    opened_at: DateTime<Utc>,
    resolved_at: Option<DateTime<Utc>>,
    resolve_cause: Option<&'static str>,
    absorbed_into: Option<String>,
    acknowledged_by: Option<String>,
    acknowledged_at: Option<DateTime<Utc>>,
    /// Whether it opened so often that it stays open, or stayed, until it was calm for long enough.
    flapping: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RuleBody {
    file: String,
    line: u32,
    commit: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimelineBody {
    at: DateTime<Utc>,
    kind: String,
    actor: String,
    text: String,
}

/// Who takes an incident.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Acknowledgement {
    actor: ClaimedName,
}

/// `GET /api/v1/incidents`: `monitor`, `signal`, `state` (open, ended) and `before` as filters.
pub(crate) async fn list(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
) -> Result<Json<IncidentList>, Problem> {
    let asked = IncidentQuery::parse(query.as_deref().unwrap_or_default());
    // Whoever reads page after page would get the first one again, and never come to an end.
    if asked.is_lost {
        let why = "`before` cannot be read; send the `next` of the page before as it is, percent-encoded";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why));
    }
    let filter = asked.filter();
    let found = state.ask(state.store.incidents(&filter)).await?;
    let full = found.len() >= PAGE_ROWS as usize;
    let next = found.last().filter(|_| full).map(cursor);
    let quiet = state.ask(state.store.live_holds(Utc::now())).await?;
    let body = |found: Incident| {
        let by = quiet.get(&found.id).map(TellingHold::said);
        IncidentBody { quiet: by, ..incident_body(&state, found) }
    };
    Ok(Json(IncidentList { incidents: found.into_iter().map(body).collect(), next }))
}

pub(crate) async fn show(State(state): State<WebState>, Path(id): Path<String>) -> Result<Json<IncidentBody>, Problem> {
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id");
    let found = state.ask(state.store.incident(&id)).await?.ok_or(missing)?;
    let timeline = state.ask(state.store.timeline(&id)).await?;
    let deliveries = state.ask(state.store.deliveries(&DeliveryFilter::of_incident(&id))).await?;
    let holds = state.ask(state.store.holds_of(&id)).await?;
    let explained = state.ask(state.store.explained_by(&id)).await?;
    let mut body = incident_body(&state, found);
    body.quiet = holds.iter().find(|hold| hold.is_live(Utc::now())).map(TellingHold::said);
    body.holds = Some(holds.into_iter().map(held_body).collect());
    body.explains = Some(explained.into_iter().map(|incident| incident.id).collect());
    body.timeline = Some(timeline.into_iter().map(timeline_body).collect());
    body.deliveries = Some(deliveries.into_iter().map(delivery_body).collect());
    Ok(Json(body))
}

/// `POST /api/v1/incidents/{id}/acknowledge` with `{"actor": "…"}`: 202.
pub(crate) async fn acknowledge(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Json(body): Json<Acknowledgement>,
) -> Result<StatusCode, Problem> {
    actions::acknowledge(&state, &id, &body.actor.of(&visit)).await.map(|()| StatusCode::ACCEPTED)
}

/// `POST /api/v1/incidents/{id}/give-back` with `{"actor": "…"}`: 202.
pub(crate) async fn give_back(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Json(body): Json<Acknowledgement>,
) -> Result<StatusCode, Problem> {
    actions::give_back(&state, &id, &body.actor.of(&visit)).await.map(|()| StatusCode::ACCEPTED)
}

fn incident_body(state: &WebState, incident: Incident) -> IncidentBody {
    let (fleet, reproduce, since) = (state.fleet_now(), incident.reproduce(), incident.since());
    let (acknowledged_by, acknowledged_at) = incident.acknowledged.unzip();
    IncidentBody {
        runbook_url: fleet.runbook_url(incident.reason, &incident.monitor, Some(&incident.id), &fleet.public_url),
        reproduce,
        id: incident.id,
        monitor: incident.monitor.to_string(),
        cause: CauseBody {
            signal: incident.signal.slug(),
            subject: incident.subject,
            severity: incident.severity.slug(),
            failure_reason: incident.reason.slug(),
            failed_stage: incident.stage,
            summary: incident.summary,
            evidence: incident.evidence.into_iter().map(|evidence| (evidence.key, evidence.value)).collect(),
        },
        course: CourseBody {
            since,
            opened_at: incident.opened_at,
            resolved_at: incident.resolved_at,
            resolve_cause: incident.resolve_cause.as_ref().map(ResolveCause::slug),
            absorbed_into: match incident.resolve_cause {
                Some(ResolveCause::Absorbed { into }) => Some(into),
                _ => None,
            },
            acknowledged_by,
            acknowledged_at,
            flapping: incident.course.flapping.is_some(),
        },
        rule: RuleBody { file: incident.rule.file, line: incident.rule.line, commit: incident.rule.commit },
        quiet: None,
        timeline: None,
        deliveries: None,
        holds: None,
        explains: None,
    }
}

fn held_body(hold: TellingHold) -> HeldBody {
    HeldBody { kind: hold.kind.slug(), by: hold.by, since: hold.since, until: hold.until, ended_at: hold.ended_at }
}

fn timeline_body(line: TimelineLine) -> TimelineBody {
    TimelineBody { at: line.at, kind: line.kind, actor: line.actor, text: line.text }
}
