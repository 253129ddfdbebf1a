//! `/api/v1/silences`: what nobody wants to hear of for a while, made and ended; and when maintenance is ahead.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::incident::Incident;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::paging::silence::Silence;
use crate::domain::reason::{FailureReason, Severity};
use crate::domain::route::Match;
use crate::domain::signal::Signal;
use crate::store::StoreError;
use crate::web::actions::cleaned;
use crate::web::admitted::{ClaimedName, Visit};
use crate::web::problem::Problem;
use crate::web::state::WebState;

/// Longest a silence may last: what is known for longer is mended, or left out of the file.
const LONGEST: TimeDelta = TimeDelta::days(366);
/// Runs of a window that are named ahead.
const RUNS_AHEAD: usize = 3;

/// What nobody is told of just now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SilenceList {
    /// Those that hold, the first made first.
    silences: Vec<SilenceBody>,
    /// The latest that are over, the last made first.
    over: Vec<SilenceBody>,
    /// The maintenance windows of the file, in its order.
    maintenance: Vec<WindowBody>,
}

/// Somebody's word that nobody need be told of what matches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SilenceBody {
    pub(crate) id: String,
    r#match: MatchBody,
    pub(crate) author: String,
    pub(crate) comment: String,
    from: DateTime<Utc>,
    /// Null where it ends with an incident.
    until: Option<DateTime<Utc>>,
    /// The incident with which it ends; null where it ends by itself.
    until_resolved: Option<String>,
    /// When it was ended before its time; null where it was not.
    ended_at: Option<DateTime<Utc>>,
    ended_by: Option<String>,
}

/// What has to fit, each part with its values, of which one has to; all labels have to.
#[derive(Debug, Default, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MatchBody {
    pub(crate) monitor: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) signal: Vec<String>,
    pub(crate) severity: Vec<String>,
    pub(crate) reason: Vec<String>,
}

/// A maintenance window of the file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WindowBody {
    name: String,
    r#match: MatchBody,
    /// Until when it is on; null where it is not.
    on_until: Option<DateTime<Utc>>,
    /// Its next runs.
    next: Vec<RunBody>,
    line: u32,
}

/// One run of a window.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunBody {
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

/// A silence as it is asked for; one of `until`, `seconds` and `until_resolved` says when it ends.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SilenceWanted {
    /// May be left out with `until_resolved`: then it is the incident's monitor and signal.
    #[serde(default)]
    pub(crate) r#match: MatchBody,
    /// Who makes it.
    pub(crate) actor: ClaimedName,
    /// Why.
    pub(crate) comment: String,
    /// When it ends.
    #[serde(default)]
    pub(crate) until: Option<DateTime<Utc>>,
    /// How long it lasts.
    #[serde(default)]
    pub(crate) seconds: Option<u64>,
    /// Id of the open incident with which it ends.
    #[serde(default)]
    pub(crate) until_resolved: Option<String>,
}

/// Who ends a silence.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SilenceEnd {
    actor: ClaimedName,
}

/// `GET /api/v1/silences`.
pub(crate) async fn list(State(state): State<WebState>) -> Result<Json<SilenceList>, Problem> {
    let now = Utc::now();
    let silences = state.ask(state.store.silences(now)).await?;
    let over = state.ask(state.store.silences_over(now)).await?;
    let fleet = state.fleet_now();
    Ok(Json(SilenceList {
        silences: silences.into_iter().map(body).collect(),
        over: over.into_iter().map(body).collect(),
        maintenance: fleet.maintenance.iter().map(|window| window_body(window, now)).collect(),
    }))
}

/// `POST /api/v1/silences`: 201 once it is on disk and beats know of it.
pub(crate) async fn add(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Json(wanted): Json<SilenceWanted>,
) -> Result<(StatusCode, Json<SilenceBody>), Problem> {
    make(&state, wanted, &visit).await.map(|silence| (StatusCode::CREATED, Json(body(silence))))
}

/// `POST /api/v1/silences/{id}/end` with `{"actor": "…"}`: 200 once nothing is held by it any more.
pub(crate) async fn end(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Json(ending): Json<SilenceEnd>,
) -> Result<StatusCode, Problem> {
    end_by(&state, &id, &ending.actor.of(&visit)).await.map(|()| StatusCode::OK)
}

/// Makes a silence; it holds when this answers.
pub(crate) async fn make(state: &WebState, wanted: SilenceWanted, visit: &Visit) -> Result<Silence, Problem> {
    let now = Utc::now();
    let silence = silence(state, wanted, visit, now).await?;
    if let Some(fault) = silence.fault() {
        return Err(refused(fault));
    }
    let made = state.store.make_silence(silence.clone(), now).await.map_err(|error| away(&error))?;
    if !made {
        let why = "the incident it is to end with is over, or 10,000 silences hold already";
        return Err(Problem::new(StatusCode::CONFLICT, why));
    }
    if !state.quiets.until_known(&silence.id, true).await {
        tracing::warn!(silence = silence.id, "a silence is written down, and beats do not know of it yet");
    }
    tracing::info!(silence = silence.id, author = silence.author, comment = silence.comment, "silence made");
    Ok(silence)
}

/// Ends a silence; what it held and is still open is told when this answers, or on its way.
pub(crate) async fn end_by(state: &WebState, id: &str, actor: &str) -> Result<(), Problem> {
    let actor = cleaned(actor);
    if actor.is_empty() {
        return Err(refused("say who ends it"));
    }
    if !state.store.end_silence(id, &actor, Utc::now()).await.map_err(|error| away(&error))? {
        return match state.ask(state.store.silence(id)).await? {
            Some(_) => Err(Problem::new(StatusCode::CONFLICT, "this silence is over")),
            None => Err(Problem::new(StatusCode::NOT_FOUND, "there is no silence with this id")),
        };
    }
    state.quiets.until_known(id, false).await;
    tracing::info!(silence = id, actor, "silence ended");
    Ok(())
}

async fn silence(
    state: &WebState,
    wanted: SilenceWanted,
    visit: &Visit,
    now: DateTime<Utc>,
) -> Result<Silence, Problem> {
    let mut matches = matching(&wanted.r#match)?;
    let fleet = state.fleet_now();
    let is_known = |id: &&String| fleet.monitors.iter().any(|monitor| monitor.id.as_str() == **id);
    if matches.monitor.iter().any(|id| !is_known(&id)) {
        return Err(refused("it names a monitor that the file does not declare"));
    }
    let mut until = wanted.until;
    if let Some(seconds) = wanted.seconds {
        if until.is_some() {
            return Err(refused("say until when, or for how long, not both"));
        }
        let length = TimeDelta::from_std(Duration::from_secs(seconds)).unwrap_or(TimeDelta::MAX).min(LONGEST * 2);
        until = Some(now + length);
    }
    if until.is_some_and(|until| until > now + LONGEST) {
        return Err(refused("it lasts more than 366 days; leave the monitor out of the file, or mend its rule"));
    }
    if let Some(id) = &wanted.until_resolved {
        let missing = Problem::new(StatusCode::NOT_FOUND, "there is no incident with this id");
        let incident = state.ask(state.store.incident(id)).await?.ok_or(missing)?;
        if matches == Match::default() {
            matches = of_incident(&incident);
        }
    }
    Ok(Silence {
        id: Uuid::now_v7().to_string(),
        matches,
        author: cleaned(&wanted.actor.of(visit)),
        comment: wanted.comment.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        from: now,
        until,
        until_incident: wanted.until_resolved,
        ended: None,
    })
}

/// The monitor and the signal of an incident.
pub(crate) fn of_incident(incident: &Incident) -> Match {
    Match { monitor: vec![incident.monitor.to_string()], signal: vec![incident.signal], ..Match::default() }
}

fn matching(wanted: &MatchBody) -> Result<Match, Problem> {
    fn all<T>(words: &[String], of: impl Fn(&str) -> Option<T>, fault: &'static str) -> Result<Vec<T>, Problem> {
        words.iter().map(|word| of(word).ok_or(refused(fault))).collect()
    }
    let severity = all(&wanted.severity, Severity::from_slug, "a severity is page, ticket or notice")?;
    let signal = all(&wanted.signal, Signal::from_slug, "it names a signal that there is not")?;
    let reason = all(&wanted.reason, FailureReason::from_slug, "it names a failure reason that there is not")?;
    Ok(Match { severity, signal, reason, labels: wanted.labels.clone(), monitor: wanted.monitor.clone() })
}

fn match_body(matches: &Match) -> MatchBody {
    MatchBody {
        monitor: matches.monitor.clone(),
        labels: matches.labels.clone(),
        signal: matches.signal.iter().map(|one| one.slug().to_owned()).collect(),
        severity: matches.severity.iter().map(|one| one.slug().to_owned()).collect(),
        reason: matches.reason.iter().map(|one| one.slug().to_owned()).collect(),
    }
}

fn body(silence: Silence) -> SilenceBody {
    let (ended_at, ended_by) = silence.ended.unzip();
    SilenceBody {
        r#match: match_body(&silence.matches),
        id: silence.id,
        author: silence.author,
        comment: silence.comment,
        from: silence.from,
        until: silence.until,
        until_resolved: silence.until_incident,
        ended_at,
        ended_by,
    }
}

fn window_body(window: &MaintenanceWindow, now: DateTime<Utc>) -> WindowBody {
    WindowBody {
        name: window.name.clone(),
        r#match: match_body(&window.matches),
        on_until: window.run_at(now).map(|run| run.to),
        next: window
            .next_after(now, RUNS_AHEAD)
            .into_iter()
            .map(|run| RunBody { from: run.from, to: run.to })
            .collect(),
        line: window.line,
    }
}

fn refused(why: &'static str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

fn away(error: &StoreError) -> Problem {
    tracing::warn!(%error, "a silence could not be written down");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "that could not be written down; try again")
}
