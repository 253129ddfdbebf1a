//! `/api/v1/monitors`: the live state as JSON, and a look asked for. Times are RFC 3339 in UTC.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::fleet::Fleet;
use crate::domain::monitor::MonitorId;
use crate::domain::observation::Footprint;
use crate::domain::rate_limit::{Hold, Spent};
use crate::domain::server_profile::ServerProfile;
use crate::domain::signal::{HeldBy, Signal};
use crate::live::monitor_view::{DayView, DeclaredView, LatencyView, MonitorView, SignalView};
use crate::web::actions;
use crate::web::canaries::{
    ArmedBody, CanaryBody, ScoreBody, WatchBody, armed_body, canary_body, score_body, watch_body,
};
use crate::web::pages::filter::{FleetFilter, MONITORS_PER_PAGE};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// A page of monitors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MonitorList {
    total: usize,
    page: usize,
    pages: usize,
    monitors: Vec<MonitorBody>,
    /// The `after` of the page after this one, where one was asked for by `after` and there is more.
    next: Option<String>,
}

/// One monitor. Its groups are structs here and one flat object in JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MonitorBody {
    #[serde(flatten)]
    declared: DeclaredBody,
    #[serde(flatten)]
    state: StateBody,
    every_seconds: f64,
    #[serde(flatten)]
    latency: LatencyBody,
    #[serde(flatten)]
    day: DayBody,
    calls_per_day: u64,
    footprint: FootprintBody,
    #[serde(rename = "learnt")]
    profile: ServerProfileBody,
    /// Why the schedule is not kept just now.
    held: Option<HoldBody>,
    trouble: Option<String>,
    /// The machine that watches it; none where one watches all.
    #[serde(skip_serializing_if = "Option::is_none")]
    watched_by: Option<String>,
    signals: Vec<SignalBody>,
    canary_score: ScoreBody,
    canary_watch: WatchBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    canaries: Option<Vec<CanaryBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<ArmedBody>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DeclaredBody {
    id: String,
    name: String,
    url: String,
    labels: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StateBody {
    state: &'static str,
    /// Signals over their limit that open nothing yet: not for long enough, or held back.
    waiting: Vec<&'static str>,
    since: DateTime<Utc>,
    /// Until when a maintenance window keeps its outages quiet; null where none is on.
    maintenance_until: Option<DateTime<Utc>>,
    seen_at: Option<DateTime<Utc>>,
    era: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LatencyBody {
    p95_ms: Option<f64>,
    p95_samples: Option<u32>,
    p95_limit_ms: f64,
}

/// Shares of the last day, 0–1.
#[derive(Debug, Serialize, JsonSchema)]
struct DayBody {
    coverage: Option<f64>,
    uptime: Option<f64>,
}

/// What probes cost the server, by day (UTC).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FootprintBody {
    yesterday: SpentBody,
    today: SpentBody,
}

#[derive(Debug, Serialize, JsonSchema)]
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
#[derive(Debug, Serialize, JsonSchema)]
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
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HoldBody {
    /// `quiet`, `cap_spent` or `cap_spaced`.
    why: &'static str,
    until: Option<DateTime<Utc>>,
    retry_after_seconds: Option<u64>,
    every_seconds: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SignalBody {
    signal: &'static str,
    phase: &'static str,
    level: &'static str,
    figure: String,
    since: DateTime<Utc>,
    held_by: Option<&'static str>,
    incident: Option<String>,
    failure_reason: Option<&'static str>,
    severity: Option<&'static str>,
    /// Whether the incident opened so often that it stays open until it is calm for long enough.
    flapping: bool,
    /// Why nobody is told of the incident just now, such as `explained by incident …`; null where nothing holds it.
    quiet: Option<String>,
}

/// `GET /api/v1/monitors`: filters and pages as on the fleet's page, the worst first; with `after`, which may be empty, by
/// id instead, so that a whole fleet can be read while its order changes.
pub(crate) async fn list(State(state): State<WebState>, RawQuery(query): RawQuery) -> Json<MonitorList> {
    let query = query.unwrap_or_default();
    let filter = FleetFilter::parse(&query);
    let mut found = filter.apply_settled(&state.live.all());
    let (total, (page, pages)) = (found.len(), filter.place(found.len()));
    let after = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "after");
    let shown = match &after {
        None => filter.slice(&found),
        Some((_, after)) => {
            found.retain(|one| one.id().as_str() > &**after);
            found.sort_by(|one, other| one.id().cmp(other.id()));
            &found[..found.len().min(MONITORS_PER_PAGE)]
        }
    };
    let is_more = after.is_some() && found.len() > MONITORS_PER_PAGE;
    let next = shown.last().filter(|_| is_more).map(|last| last.id().to_string());
    let in_maintenance = state.in_maintenance(shown.iter().map(|one| one.id()));
    let body = |view: &MonitorView| {
        let watched_by = state.watched_by(&view.id);
        MonitorBody { watched_by, ..monitor_body(view, in_maintenance.get(&view.id).copied(), None) }
    };
    let monitors = state.views(shown).await.iter().map(body).collect();
    Json(MonitorList { total, page, pages, monitors, next })
}

pub(crate) async fn show(State(state): State<WebState>, Path(id): Path<String>) -> Result<Json<MonitorBody>, Problem> {
    let view = state.view(&MonitorId::new(&id)).await;
    view.map(|view| Json(whole_body(&state, &view))).ok_or(Problem::NO_MONITOR)
}

/// How long to wait for a look.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WaitingBody {
    /// Seconds; none: the answer comes at once.
    wait: Option<u64>,
}

/// A look that was asked for: the monitor as it now stands, and what was seen.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Recheck {
    monitor: MonitorBody,
    recheck: LookBody,
}

#[derive(Debug, Serialize, JsonSchema)]
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
        return actions::recheck(&state, &id).await.map(|_| StatusCode::ACCEPTED.into_response());
    };
    let view = actions::recheck_and_wait(&state, &id, Duration::from_secs(seconds)).await?;
    let look = view.as_ref().and_then(|view| Some((view, view.look.as_ref()?)));
    let Some((view, look)) = look else { return Ok(StatusCode::ACCEPTED.into_response()) };
    let recheck = LookBody {
        started_at: look.started_at,
        verdict: look.verdict.slug(),
        reason: look.reason.map(|reason| reason.slug()),
        summary: look.summary.clone(),
        elapsed_ms: look.elapsed.as_secs_f64() * 1e3,
    };
    Ok(Json(Recheck { monitor: whole_body(&state, view), recheck }).into_response())
}

/// `whole`: with every canary and check, as the fleet declares them.
fn monitor_body(view: &MonitorView, maintenance_until: Option<DateTime<Utc>>, whole: Option<&Fleet>) -> MonitorBody {
    let DayView { coverage, uptime, .. } = view.day;
    let [yesterday, today] = &view.cost.spent;
    MonitorBody {
        declared: declared_body(view),
        state: state_body(view, maintenance_until),
        every_seconds: view.declared.every.as_secs_f64(),
        latency: latency_body(&view.latency),
        day: DayBody { coverage, uptime },
        calls_per_day: view.declared.calls_per_day,
        footprint: FootprintBody { yesterday: spent_body(yesterday), today: spent_body(today) },
        profile: learnt_body(&view.profile),
        held: view.cost.hold.map(hold_body),
        trouble: view.trouble.clone(),
        watched_by: None,
        signals: view.signals.iter().map(signal_body).collect(),
        canary_score: score_body(view.canary_score),
        canary_watch: watch_body(&view.canary_watch),
        canaries: whole.map(|_| view.canaries.iter().map(canary_body).collect()),
        checks: whole.and_then(|fleet| Some(armed_body(view, fleet.monitor(&view.id)?, &fleet.provenance))),
    }
}

fn whole_body(state: &WebState, view: &MonitorView) -> MonitorBody {
    let until = state.in_maintenance([&view.id].into_iter()).remove(&view.id);
    MonitorBody { watched_by: state.watched_by(&view.id), ..monitor_body(view, until, Some(&state.fleet_now())) }
}

fn declared_body(view: &MonitorView) -> DeclaredBody {
    let DeclaredView { name, url, labels, .. } = view.declared.clone();
    DeclaredBody { id: view.id.to_string(), name, url, labels }
}

fn state_body(view: &MonitorView, maintenance_until: Option<DateTime<Utc>>) -> StateBody {
    StateBody {
        state: view.roll_up.settled().word(),
        waiting: view.waiting().map(Signal::slug).collect(),
        since: view.since,
        maintenance_until,
        seen_at: view.seen_at(),
        era: view.look.as_ref().and_then(|look| look.era).map(|era| era.slug()),
    }
}

fn latency_body(latency: &LatencyView) -> LatencyBody {
    let (p95_ms, p95_samples) = latency.p95_ms.unzip();
    LatencyBody { p95_ms, p95_samples, p95_limit_ms: latency.limit_ms }
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
        held_by: view.held_by.map(HeldBy::slug),
        incident: incident.map(|incident| incident.id.clone()),
        failure_reason: incident.map(|incident| incident.reason.slug()),
        severity: incident.map(|incident| incident.severity.slug()),
        flapping: incident.is_some_and(|incident| incident.flapping.is_some()),
        quiet: incident.and_then(|incident| incident.quiet.clone()),
    }
}
