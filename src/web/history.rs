//! A monitor's past for tools: uptime with its coverage, percentiles over a range, and the hours of the heat map.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::monitor::MonitorId;
use crate::store::packed::slices::LatencySlice;
use crate::web::past::{self, HeatDays, Uptime};
use crate::web::problem::Problem;
use crate::web::ranges::{P95_SAMPLES_MIN, Range, cut};
use crate::web::state::WebState;

/// What the address may ask for.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct HistoryQuery {
    range: Option<String>,
    heat: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HistoryBody {
    monitor: String,
    first_seen: Option<DateTime<Utc>>,
    uptime: Vec<UptimeBody>,
    latency: LatencyBody,
    /// Hours with samples, for as many days as `heat` says.
    hours: Vec<SliceBody>,
}

/// Uptime over one range.
#[derive(Debug, Serialize, JsonSchema)]
struct UptimeBody {
    range: &'static str,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    /// Share of seen time, 0 to 1; null where nothing was seen.
    uptime: Option<f64>,
    /// Share of the whole that was seen, 0 to 1.
    coverage: f64,
    up_seconds: u64,
    down_seconds: u64,
    unknown_seconds: u64,
    maintenance_seconds: u64,
    /// Canaries the schedule asked since `asked_from`, those without an answer counted in.
    asked: u64,
    /// The share of them that was right, 0 to 1; null where nothing was asked.
    right_answers: Option<f64>,
    /// Later than `from` where older days were rolled up before answers were counted.
    asked_from: DateTime<Utc>,
}

/// Percentiles over the range.
#[derive(Debug, Serialize, JsonSchema)]
struct LatencyBody {
    range: &'static str,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    slice_seconds: u64,
    limit_ms: f64,
    slices: Vec<SliceBody>,
}

/// Percentiles of one slice; slices without a sample are left out.
#[derive(Debug, Serialize, JsonSchema)]
struct SliceBody {
    at: DateTime<Utc>,
    n: u32,
    p50_ms: f64,
    /// Null where the samples are too few for it.
    p95_ms: Option<f64>,
    max_ms: f64,
    timeouts: u32,
}

/// `GET /api/v1/monitors/{id}/history`: `range` (30m, 1h, 3h, 24h, 7d, 30d, 90d; 24h without it) and `heat` (7d, 35d).
pub(crate) async fn show(
    State(state): State<WebState>,
    Path(id): Path<String>,
    Query(asked): Query<HistoryQuery>,
) -> Result<Json<HistoryBody>, Problem> {
    let unknown = |why| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why);
    let view = state.view(&MonitorId::new(&id)).await.ok_or(Problem::NO_MONITOR)?;
    let range = match asked.range.as_deref() {
        None => Range::Day,
        Some(word) => {
            Range::from_slug(word).ok_or_else(|| unknown("range is one of 30m, 1h, 3h, 24h, 7d, 30d, 90d"))?
        }
    };
    let heat = match asked.heat.as_deref() {
        None => HeatDays::default(),
        Some(word) => HeatDays::from_slug(word).ok_or_else(|| unknown("heat is one of 7d, 35d"))?,
    };
    let per_beat = state.fleet_now().monitor(&view.id).map_or(1, |monitor| monitor.per_beat());
    let cut = cut(range, view.declared.every, per_beat, Utc::now());
    let first_seen = state.ask(state.store.first_seen(&view.id)).await?;
    let read = past::read(&state, &view.id, (cut, heat), first_seen).await?;
    Ok(Json(HistoryBody {
        monitor: view.id.to_string(),
        first_seen,
        uptime: read.uptimes.iter().map(uptime_body).collect(),
        latency: LatencyBody {
            range: range.slug(),
            from: cut.from,
            to: cut.to,
            slice_seconds: cut.coarse.as_secs(),
            limit_ms: view.latency.limit_ms,
            slices: read.latency.coarse.iter().map(slice_body).collect(),
        },
        hours: read.heat.iter().map(slice_body).collect(),
    }))
}

fn uptime_body(uptime: &Uptime) -> UptimeBody {
    let covered = uptime.covered;
    UptimeBody {
        range: uptime.range.slug(),
        from: uptime.from,
        to: uptime.to,
        uptime: uptime.uptime(),
        coverage: uptime.coverage(),
        up_seconds: covered.up.as_secs(),
        down_seconds: covered.down.as_secs(),
        unknown_seconds: covered.unknown.as_secs(),
        maintenance_seconds: covered.maintenance.as_secs(),
        asked: uptime.answers.asked,
        right_answers: uptime.answers.share(),
        asked_from: uptime.answers_from,
    }
}

fn slice_body(slice: &LatencySlice) -> SliceBody {
    SliceBody {
        at: slice.at,
        n: slice.n,
        p50_ms: slice.p50_ms,
        p95_ms: (slice.n >= P95_SAMPLES_MIN).then_some(slice.p95_ms),
        max_ms: slice.max_ms,
        timeouts: slice.censored,
    }
}
