//! `/api/v1`: the live state and the incidents as JSON, and the two actions. Times are RFC 3339 in UTC.

use axum::Json;
use std::time::Duration;

use axum::extract::{Path, Query, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::incident::{Incident, ResolveCause};
use crate::domain::monitor::MonitorId;
use crate::domain::observation::Footprint;
use crate::domain::rate_limit::{Hold, Spent};
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::Signal;
use crate::live::state::{CanaryView, MonitorView, SignalView};
use crate::store::read::pages::{DeliveryLine, PAGE_ROWS, TimelineLine};
use crate::web::actions;
use crate::web::pages::filter::{FleetFilter, IncidentQuery};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// A page of monitors.
#[derive(Debug, Serialize)]
pub(crate) struct MonitorList {
    total: usize,
    page: usize,
    pages: usize,
    monitors: Vec<MonitorBody>,
}

#[derive(Debug, Serialize)]
pub(crate) struct MonitorBody {
    id: String,
    name: String,
    url: String,
    labels: std::collections::BTreeMap<String, String>,
    state: &'static str,
    /// Signals over their limit that open nothing yet: not for long enough, or held back.
    waiting: Vec<&'static str>,
    since: DateTime<Utc>,
    seen_at: Option<DateTime<Utc>>,
    era: Option<&'static str>,
    every_seconds: f64,
    p95_ms: Option<f64>,
    p95_samples: Option<u32>,
    p95_limit_ms: f64,
    coverage: Option<f64>,
    uptime: Option<f64>,
    calls_per_day: u64,
    footprint: FootprintBody,
    #[serde(rename = "learnt")]
    profile: ServerProfileBody,
    /// Why the schedule is not kept just now.
    held: Option<HoldBody>,
    trouble: Option<String>,
    signals: Vec<SignalBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    canaries: Option<Vec<CanaryBody>>,
}

/// What probes cost the server, by day (UTC).
#[derive(Debug, Serialize)]
pub(crate) struct FootprintBody {
    yesterday: SpentBody,
    today: SpentBody,
}

/// One day of it.
#[derive(Debug, Serialize)]
pub(crate) struct SpentBody {
    beats: u64,
    requests: u32,
    bytes_out: u64,
    bytes_in: u64,
    connections: u32,
    sessions_opened: u32,
    sessions_closed: u32,
    tokens: u64,
}

/// What probes learnt of the server.
#[derive(Debug, Serialize)]
pub(crate) struct ServerProfileBody {
    era: Option<&'static str>,
    transport: Option<&'static str>,
    found_at: Option<DateTime<Utc>>,
    discover: &'static str,
    closing: &'static str,
    /// The legacy version that `initialize` was answered with last.
    answered: Option<&'static str>,
    /// Since when one session is kept over beats, where one is.
    session_kept_since: Option<DateTime<Utc>>,
}

/// Why the schedule is not kept.
#[derive(Debug, Serialize)]
pub(crate) struct HoldBody {
    /// `quiet`, `cap_spent` or `cap_spaced`.
    why: &'static str,
    until: Option<DateTime<Utc>>,
    retry_after_seconds: Option<u64>,
    every_seconds: Option<f64>,
}

/// One signal of a monitor.
#[derive(Debug, Serialize)]
pub(crate) struct SignalBody {
    signal: &'static str,
    phase: &'static str,
    level: &'static str,
    figure: String,
    since: DateTime<Utc>,
    held_by: Option<String>,
    incident: Option<String>,
    failure_reason: Option<&'static str>,
    severity: Option<&'static str>,
}

/// One canary of a monitor.
#[derive(Debug, Serialize)]
pub(crate) struct CanaryBody {
    id: String,
    kind: &'static str,
    query: String,
    expected: String,
    verdict: Option<String>,
    got: String,
    rank: Option<u32>,
    wrong_in_a_row: u32,
    answered_at: Option<DateTime<Utc>>,
    elapsed_ms: Option<f64>,
}

/// A page of incidents; `next` is the `before` of the page after this one.
#[derive(Debug, Serialize)]
pub(crate) struct IncidentList {
    incidents: Vec<IncidentBody>,
    next: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct IncidentBody {
    id: String,
    monitor: String,
    signal: &'static str,
    subject: String,
    severity: &'static str,
    failure_reason: &'static str,
    failed_stage: String,
    summary: String,
    evidence: std::collections::BTreeMap<String, String>,
    opened_at: DateTime<Utc>,
    resolved_at: Option<DateTime<Utc>>,
    resolve_cause: Option<&'static str>,
    absorbed_into: Option<String>,
    acknowledged_by: Option<String>,
    acknowledged_at: Option<DateTime<Utc>>,
    rule: RuleBody,
    runbook_url: String,
    reproduce: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<Vec<TimelineBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deliveries: Option<Vec<DeliveryBody>>,
}

/// Where a rule stands.
#[derive(Debug, Serialize)]
pub(crate) struct RuleBody {
    file: String,
    line: u32,
    commit: Option<String>,
}

/// One line of a timeline.
#[derive(Debug, Serialize)]
pub(crate) struct TimelineBody {
    at: DateTime<Utc>,
    kind: String,
    actor: String,
    text: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct DeliveryBody {
    id: String,
    notification: String,
    event: String,
    receiver: String,
    fallback_of: Option<String>,
    state: String,
    attempts: u32,
    created_at: DateTime<Utc>,
    next_at: Option<DateTime<Utc>>,
    last: Option<String>,
}

/// Who takes an incident.
#[derive(Debug, Deserialize)]
pub(crate) struct Acknowledgement {
    actor: String,
}

/// `GET /api/v1/monitors`: filters and pages as on the fleet's page.
pub(crate) async fn monitors(State(state): State<WebState>, RawQuery(query): RawQuery) -> Json<MonitorList> {
    let filter = FleetFilter::parse(query.as_deref().unwrap_or_default());
    let views = state.live.all();
    let found = filter.apply_settled(&views);
    let (page, pages) = filter.place(found.len());
    let monitors = filter.slice(&found).iter().map(|view| monitor_body(view, false)).collect();
    Json(MonitorList { total: found.len(), page, pages, monitors })
}

pub(crate) async fn monitor(
    State(state): State<WebState>,
    Path(id): Path<String>,
) -> Result<Json<MonitorBody>, Problem> {
    let view = state.live.get(&MonitorId::new(&id));
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no monitor with this id");
    view.map(|view| Json(monitor_body(&view, true))).ok_or(missing)
}

/// `GET /api/v1/incidents`: `monitor`, `signal`, `state` (open, ended) and `before` as filters.
pub(crate) async fn incidents(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
) -> Result<Json<IncidentList>, Problem> {
    let filter = IncidentQuery::parse(query.as_deref().unwrap_or_default()).filter();
    let found = state.ask(state.store.incidents(&filter)).await?;
    let full = found.len() >= PAGE_ROWS as usize;
    let next = found.last().filter(|_| full).map(|last| last.opened_at.to_rfc3339());
    Ok(Json(IncidentList { incidents: found.into_iter().map(|found| incident_body(&state, found)).collect(), next }))
}

pub(crate) async fn incident(
    State(state): State<WebState>,
    Path(id): Path<String>,
) -> Result<Json<IncidentBody>, Problem> {
    let missing = Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id");
    let found = state.ask(state.store.incident(&id)).await?.ok_or(missing)?;
    let timeline = state.ask(state.store.timeline(&id)).await?;
    let deliveries = state.ask(state.store.deliveries(Some(&id))).await?;
    let mut body = incident_body(&state, found);
    body.timeline = Some(timeline.into_iter().map(timeline_body).collect());
    body.deliveries = Some(deliveries.into_iter().map(delivery_body).collect());
    Ok(Json(body))
}

/// How long to wait for a look.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WaitingBody {
    /// Seconds; none: the answer comes at once.
    wait: Option<u64>,
}

/// A look that was asked for: the monitor as it now stands, and what was seen.
#[derive(Debug, Serialize)]
pub(crate) struct Recheck {
    monitor: MonitorBody,
    recheck: LookBody,
}

/// What a look showed.
#[derive(Debug, Serialize)]
pub(crate) struct LookBody {
    started_at: DateTime<Utc>,
    verdict: &'static str,
    reason: Option<&'static str>,
    summary: Option<String>,
    elapsed_ms: f64,
}

/// `POST /api/v1/monitors/{id}/recheck`: 202, the look follows; with `?wait=SECONDS` 200 and what it showed, or 202
/// where it takes longer.
pub(crate) async fn recheck(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Query(waiting): Query<WaitingBody>,
) -> Result<Response, Problem> {
    let Some(seconds) = waiting.wait else {
        return actions::recheck(&state, &id).map(|_| StatusCode::ACCEPTED.into_response());
    };
    let view = actions::recheck_and_wait(&state, &id, Duration::from_secs(seconds)).await?;
    let look = view.as_ref().and_then(|view| Some((view, view.last.as_ref()?)));
    let Some((view, last)) = look else { return Ok(StatusCode::ACCEPTED.into_response()) };
    let (seen, outcome) = &**last;
    let recheck = LookBody {
        started_at: seen.started_at,
        verdict: outcome.verdict.slug(),
        reason: outcome.reason().map(|reason| reason.slug()),
        summary: outcome.findings.first().map(|finding| finding.summary.clone()),
        elapsed_ms: seen.elapsed.as_secs_f64() * 1e3,
    };
    Ok(Json(Recheck { monitor: monitor_body(view, true), recheck }).into_response())
}

/// `POST /api/v1/incidents/{id}/acknowledge` with `{"actor": "…"}`: 202.
pub(crate) async fn acknowledge(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Json(body): Json<Acknowledgement>,
) -> Result<StatusCode, Problem> {
    actions::acknowledge(&state, &id, &body.actor).await.map(|()| StatusCode::ACCEPTED)
}

fn monitor_body(view: &MonitorView, whole: bool) -> MonitorBody {
    let last = view.last.as_ref().map(|last| &last.0);
    MonitorBody {
        id: view.id.to_string(),
        name: view.declared.name.clone(),
        url: view.declared.url.clone(),
        labels: view.declared.labels.clone(),
        state: view.roll_up.settled().word(),
        waiting: view.waiting().map(Signal::slug).collect(),
        since: view.since,
        seen_at: last.map(|seen| seen.started_at),
        era: last.and_then(|seen| seen.era).map(|era| era.slug()),
        every_seconds: view.declared.every.as_secs_f64(),
        p95_ms: view.latency.p95_ms.map(|(ms, _)| ms),
        p95_samples: view.latency.p95_ms.map(|(_, n)| n),
        p95_limit_ms: view.latency.limit_ms,
        coverage: view.day.coverage,
        uptime: view.day.uptime,
        calls_per_day: view.declared.calls_per_day,
        footprint: FootprintBody { yesterday: spent_body(&view.cost.spent[0]), today: spent_body(&view.cost.spent[1]) },
        profile: learnt_body(&view.profile),
        held: view.cost.hold.map(hold_body),
        trouble: view.trouble.clone(),
        signals: view.signals.iter().map(signal_body).collect(),
        canaries: whole.then(|| view.canaries.iter().map(canary_body).collect()),
    }
}

fn spent_body(day: &Spent) -> SpentBody {
    let Footprint { requests, bytes_out, bytes_in, connections, sessions_opened, sessions_closed, tokens } =
        day.footprint;
    let beats = day.beats;
    SpentBody { beats, requests, bytes_out, bytes_in, connections, sessions_opened, sessions_closed, tokens }
}

fn learnt_body(profile: &ServerProfile) -> ServerProfileBody {
    ServerProfileBody {
        era: profile.era.map(|era| era.slug()),
        transport: profile.transport.map(|transport| transport.slug()),
        found_at: profile.era_found_at,
        discover: profile.discover.slug(),
        closing: profile.closing.slug(),
        answered: profile.answered,
        session_kept_since: profile.kept.as_ref().map(|kept| kept.opened_at),
    }
}

fn hold_body(hold: Hold) -> HoldBody {
    let (why, until, asked, every) = match hold {
        Hold::Quiet { until, asked } => ("quiet", Some(until), asked, None),
        Hold::Spent { until, .. } => ("cap_spent", Some(until), None, None),
        Hold::Spaced { every, .. } => ("cap_spaced", None, None, Some(every)),
    };
    HoldBody {
        why,
        until,
        retry_after_seconds: asked.map(|length| length.as_secs()),
        every_seconds: every.map(|length| length.as_secs_f64()),
    }
}

fn signal_body(view: &SignalView) -> SignalBody {
    let incident = view.incident.as_ref();
    SignalBody {
        signal: view.signal.slug(),
        phase: view.phase.slug(),
        level: view.level.slug(),
        figure: view.figure.clone(),
        since: view.since,
        held_by: view.held_by.clone(),
        incident: incident.map(|incident| incident.id.clone()),
        failure_reason: incident.map(|incident| incident.reason.slug()),
        severity: incident.map(|incident| incident.severity.slug()),
    }
}

fn canary_body(view: &CanaryView) -> CanaryBody {
    CanaryBody {
        id: view.id.clone(),
        kind: view.kind.slug(),
        query: view.query.clone(),
        expected: view.expected.clone(),
        verdict: view.verdict.clone(),
        got: view.got.clone(),
        rank: view.rank,
        wrong_in_a_row: view.wrong_in_a_row,
        answered_at: view.answered_at,
        elapsed_ms: view.elapsed_ms,
    }
}

fn incident_body(state: &WebState, incident: Incident) -> IncidentBody {
    let fleet = state.fleet_now();
    let (acknowledged_by, acknowledged_at) = incident.acknowledged.unzip();
    IncidentBody {
        id: incident.id,
        signal: incident.signal.slug(),
        subject: incident.subject,
        severity: incident.severity.slug(),
        failure_reason: incident.reason.slug(),
        failed_stage: incident.stage,
        summary: incident.summary,
        evidence: incident.evidence.into_iter().map(|evidence| (evidence.key, evidence.value)).collect(),
        opened_at: incident.opened_at,
        resolved_at: incident.resolved_at,
        resolve_cause: incident.resolve_cause.as_ref().map(ResolveCause::slug),
        absorbed_into: match incident.resolve_cause {
            Some(ResolveCause::Absorbed { into }) => Some(into),
            _ => None,
        },
        acknowledged_by,
        acknowledged_at,
        rule: RuleBody { file: incident.rule.file, line: incident.rule.line, commit: incident.rule.commit },
        runbook_url: fleet.runbooks.url(incident.reason, &fleet.public_url),
        reproduce: format!("serin probe {}", incident.monitor),
        monitor: incident.monitor.to_string(),
        timeline: None,
        deliveries: None,
    }
}

fn timeline_body(line: TimelineLine) -> TimelineBody {
    TimelineBody { at: line.at, kind: line.kind, actor: line.actor, text: line.text }
}

fn delivery_body(line: DeliveryLine) -> DeliveryBody {
    DeliveryBody {
        id: line.id,
        notification: line.notification,
        event: line.event,
        receiver: line.receiver,
        fallback_of: line.fallback_of,
        state: line.state,
        attempts: line.attempts,
        created_at: line.created_at,
        next_at: line.next_at,
        last: line.last,
    }
}
