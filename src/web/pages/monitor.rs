//! `/monitors/{id}`: one monitor whole: how it stands, how it answers, and what the last probe saw.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;

use crate::domain::fleet::{Monitor, MonitorId};
use crate::domain::incident::Incident;
use crate::store::board::{CanaryView, MonitorView};
use crate::store::latency::{BeatLine, LatencySlice};
use crate::store::listing::ListingLine;
use crate::store::read::IncidentFilter;
use crate::store::transcript::TranscriptLine;
use crate::web::draw::chart::{self, Chart, P95_SAMPLES_MIN};
use crate::web::draw::glyph::{self, Glyph};
use crate::web::draw::strip::Strip;
use crate::web::forms;
use crate::web::guard::{self, Visit};
use crate::web::pages::fleet::P95;
use crate::web::pages::footprint::{self, Footing};
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::incidents::{self, IncidentRow};
use crate::web::pages::probe::{self, ProbeStory};
use crate::web::pages::recheck;
use crate::web::pages::signals::{self, SignalLine};
use crate::web::pages::tools::{self, ToolsPart};
use crate::web::pages::transcripts::{self, TranscriptLink};
use crate::web::pages::unknown;
use crate::web::state::{Away, WebState};
use crate::web::words::{self, Moment};

/// Beats listed; the strip shows more of them.
const BEATS_SHOWN: u32 = 20;
/// Incidents listed; the rest is a link away.
const INCIDENTS_SHOWN: usize = 8;
/// Points of the median's line that a chart aims at.
const FINE_SLICES: u32 = 72;
/// Lengths of slices, in seconds, that divide a day into whole parts.
const SLICES: [u64; 11] = [10, 30, 60, 120, 300, 600, 900, 1_800, 2_400, 3_600, 7_200];

/// What the address may ask for.
#[derive(Debug, Default, Deserialize)]
pub struct Asked {
    range: Option<String>,
    said: Option<String>,
    at: Option<i64>,
}

#[derive(Debug, Template)]
#[template(path = "monitor.html")]
struct MonitorPage {
    frame: Frame,
    id: String,
    name: String,
    url: String,
    glyph: Glyph,
    word: &'static str,
    since: Moment,
    seen: Option<Moment>,
    labels: Vec<(String, String)>,
    trouble: Option<String>,
    hold: Option<String>,
    said: Option<String>,
    signals: Vec<SignalLine>,
    strip: Strip,
    figures: Vec<Figure>,
    ranges: Vec<(&'static str, bool)>,
    chart: Option<Chart>,
    canaries: Vec<CanaryRow>,
    score: (usize, usize),
    probe: Option<ProbeStory>,
    transcript: Option<TranscriptLink>,
    footprint: Footing,
    beats: Vec<BeatRow>,
    incidents: Vec<IncidentRow>,
    actor: String,
    tools: ToolsPart,
    away: bool,
    place: String,
}

/// One figure of the header.
#[derive(Debug)]
struct Figure {
    name: &'static str,
    value: String,
    note: String,
    bad: bool,
}

/// One canary.
#[derive(Debug)]
struct CanaryRow {
    view: CanaryView,
    kind: &'static str,
    glyph: Glyph,
    word: String,
    answered: Option<Moment>,
    elapsed: String,
}

/// One beat of the recent past.
#[derive(Debug)]
struct BeatRow {
    at: Moment,
    glyph: Glyph,
    line: BeatLine,
    elapsed: String,
}

/// What the database adds to the board.
#[derive(Debug, Default)]
struct Past {
    fine: Vec<LatencySlice>,
    coarse: Vec<LatencySlice>,
    shaded: Vec<Incident>,
    incidents: Vec<Incident>,
    beats: Vec<BeatLine>,
    listings: Vec<ListingLine>,
    transcript: Option<TranscriptLine>,
}

/// A stretch of time and the slices it is cut into.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    name: &'static str,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    fine: Duration,
    coarse: Duration,
}

/// `GET /monitors/{id}`.
pub async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Response {
    let now = Utc::now();
    let Some(view) = state.board.get(&MonitorId::new(&id)) else {
        return unknown::missing(
            &state,
            visit,
            "There is no monitor with this id. It may have been removed from the file.",
        );
    };
    let fleet = state.fleet_now();
    let declared = fleet.monitor(&view.id).map(|monitor| &**monitor);
    let stretch = stretch(asked.range.as_deref(), &view, declared, now);
    let past = past(&state, &view.id, stretch).await;
    let away = past.is_err();
    let mut past = past.unwrap_or_default();
    let page = MonitorPage {
        frame: Frame::new(&state, visit, now, "fleet", view.name.clone()).watching(format!("monitor:{}", view.id)),
        id: view.id.to_string(),
        name: view.name.clone(),
        url: view.url.clone(),
        glyph: glyph::of_roll_up(view.roll_up),
        word: view.roll_up.word(),
        since: Moment::new(view.since, now),
        seen: view.last.as_ref().map(|last| Moment::new(last.0.started_at, now)),
        labels: view.labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        trouble: view.trouble.clone(),
        hold: view.hold.map(|hold| footprint::held(hold, now)),
        said: match asked.said.as_deref() {
            Some("recheck") => {
                Some(recheck::told(Some(&view), asked.at.and_then(|at| DateTime::from_timestamp(at, 0))))
            }
            Some(word) => tools::said(word).map(str::to_owned),
            None => None,
        },
        actor: guard::cookie(&headers, forms::ACTOR_COOKIE).map(forms::decoded).unwrap_or_default(),
        tools: tools::tell(&view, std::mem::take(&mut past.listings), now),
        signals: signals::lines(&view, &fleet, now),
        strip: Strip::new(&view.strip),
        figures: figures(&view),
        ranges: ["30m", "3h", "24h"].map(|name| (name, name == stretch.name)).to_vec(),
        chart: drawn(&view, &past, stretch),
        canaries: view.canaries.iter().map(|canary| canary_row(canary, now)).collect(),
        score: view.canary_score(),
        probe: view.last.as_ref().map(|last| probe::tell(&last.0, &last.1, now)),
        transcript: past.transcript.map(|line| transcripts::link(line, now)),
        footprint: footprint::tell(&view, declared, now),
        beats: past.beats.into_iter().map(|line| beat_row(line, now)).collect(),
        incidents: past.incidents.into_iter().take(INCIDENTS_SHOWN).map(|one| incidents::row(one, now)).collect(),
        away,
        place: fleet.provenance.shown(view.line),
    };
    show(StatusCode::OK, &page)
}

async fn past(state: &WebState, id: &MonitorId, stretch: Stretch) -> Result<Past, Away> {
    let store = &state.store;
    let filter = IncidentFilter { monitor: Some(id.clone()), ..IncidentFilter::default() };
    let (fine, coarse, shaded, incidents, beats, listings, transcript) = tokio::join!(
        state.ask(store.latency(id, stretch.from, stretch.to, stretch.fine)),
        state.ask(store.latency(id, stretch.from, stretch.to, stretch.coarse)),
        state.ask(store.incidents_between(id, stretch.from, stretch.to)),
        state.ask(store.incidents(&filter)),
        state.ask(store.beats(id, BEATS_SHOWN, stretch.to)),
        state.ask(store.listings(id)),
        state.ask(store.last_transcript(id)),
    );
    Ok(Past {
        fine: fine?,
        coarse: coarse?,
        shaded: shaded?,
        incidents: incidents?,
        beats: beats?,
        listings: listings?,
        transcript: transcript?,
    })
}

/// Cuts the stretch so that the median has some seventy points, and a slice of P95 its samples, where that can be.
fn stretch(range: Option<&str>, view: &MonitorView, declared: Option<&Monitor>, now: DateTime<Utc>) -> Stretch {
    let (name, seconds) = match range {
        Some("30m") => ("30m", 1_800),
        Some("24h") => ("24h", 86_400),
        _ => ("3h", 10_800),
    };
    let per_beat = declared.map_or(1, |monitor| monitor.per_beat().max(1));
    let p95_takes = view.every.as_secs_f64() * f64::from(P95_SAMPLES_MIN) / f64::from(per_beat);
    let fine = slice(Duration::from_secs(seconds / u64::from(FINE_SLICES)).max(view.every));
    // Missed beats and re-asks leave a few samples out; a tenth more time makes up for them.
    let coarse = slice(Duration::from_secs_f64(p95_takes * 1.1).max(fine));
    // Slices begin at whole multiples, so that a chart drawn again shows the same figures.
    let whole = i64::try_from(coarse.as_secs()).unwrap_or(3_600);
    let length = i64::try_from(seconds).unwrap_or_default();
    let from = now.timestamp() - length;
    let from = DateTime::from_timestamp(from - from.rem_euclid(whole), 0).unwrap_or(now - TimeDelta::seconds(length));
    Stretch { name, from, to: now, fine, coarse }
}

fn slice(least: Duration) -> Duration {
    let wanted = least.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "two hours at most")]
    let fits = |seconds: &u64| *seconds as f64 >= wanted;
    Duration::from_secs(SLICES.into_iter().find(fits).unwrap_or(7_200))
}

fn drawn(view: &MonitorView, past: &Past, stretch: Stretch) -> Option<Chart> {
    chart::chart(&chart::Source {
        from: stretch.from,
        to: stretch.to,
        fine: &past.fine,
        fine_length: stretch.fine,
        coarse: &past.coarse,
        coarse_length: stretch.coarse,
        limit_ms: view.p95_limit_ms,
        incidents: &past.shaded,
    })
}

fn figures(view: &MonitorView) -> Vec<Figure> {
    let limit = words::millis(view.p95_limit_ms);
    let p95 = P95::of(view);
    let (right, answered) = view.canary_score();
    let unseen = || "nothing seen yet".to_owned();
    vec![
        Figure {
            name: "p95 of search",
            bad: p95.as_ref().is_some_and(|p95| p95.over),
            note: p95
                .as_ref()
                .map_or_else(|| "too few samples".to_owned(), |p95| format!("limit {limit}, n = {}", p95.n)),
            value: p95.map_or_else(|| "–".to_owned(), |p95| p95.figure),
        },
        Figure {
            name: "canaries right",
            value: if view.canaries.is_empty() { "–".to_owned() } else { format!("{right}/{answered}") },
            note: match view.canaries.len() - answered {
                _ if view.canaries.is_empty() => "none declared".to_owned(),
                0 => "at their last answer".to_owned(),
                n => format!("{n} not answered yet"),
            },
            bad: right < answered,
        },
        Figure {
            name: "up",
            value: view.uptime.map_or_else(|| "–".to_owned(), words::share),
            note: view.uptime.map_or_else(unseen, |_| "of seen time, 24 h".to_owned()),
            bad: false,
        },
        Figure {
            name: "coverage",
            value: view.coverage.map_or_else(|| "–".to_owned(), words::share),
            note: view.coverage.map_or_else(unseen, |_| "of due time, 24 h".to_owned()),
            bad: false,
        },
        Figure {
            name: "calls a day",
            value: words::count(view.calls_per_day),
            note: format!("a beat every {}", words::span(view.every)),
            bad: false,
        },
        Figure {
            name: "asked today",
            value: words::count(u64::from(view.spent[1].footprint.requests)),
            note: format!("{} yesterday; days are UTC", words::count(u64::from(view.spent[0].footprint.requests))),
            bad: false,
        },
    ]
}

fn canary_row(view: &CanaryView, now: DateTime<Utc>) -> CanaryRow {
    let (name, word) = match view.verdict.as_deref() {
        Some("right") => ("right", "right"),
        Some("wrong") => ("wrong", "wrong"),
        Some("failed") => ("degraded", "no answer"),
        _ => ("unknown", "not asked yet"),
    };
    CanaryRow {
        kind: view.kind.slug(),
        glyph: Glyph { name },
        word: word.to_owned(),
        answered: view.answered_at.map(|at| Moment::new(at, now)),
        elapsed: view.elapsed_ms.map(words::millis).unwrap_or_default(),
        view: view.clone(),
    }
}

fn beat_row(line: BeatLine, now: DateTime<Utc>) -> BeatRow {
    BeatRow {
        at: Moment::new(line.at, now),
        glyph: probe::glyph_of(&line.verdict),
        elapsed: words::millis(line.elapsed_ms),
        line,
    }
}
