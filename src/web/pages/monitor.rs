//! `/monitors/{id}`: one monitor whole: how it stands, how it answers, and what the last probe saw.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::domain::fleet::Fleet;
use crate::domain::incident::Incident;
use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor::{Monitor, MonitorId};
use crate::live::monitor_view::MonitorView;
use crate::store::read::latency::BeatLine;
use crate::store::read::pages::IncidentFilter;
use crate::store::write::listing::ListingLine;
use crate::store::write::transcript::TranscriptLine;
use crate::web::admitted::Visit;
use crate::web::draw::chart::{self, Chart};
use crate::web::draw::glyph::{self, Glyph};
use crate::web::draw::heat::{self, Heat};
use crate::web::draw::strip::Strip;
use crate::web::format::{self, Timestamp};
use crate::web::forms;
use crate::web::pages::board::{self, BoardPart, BoardPast};
use crate::web::pages::choices::{ChoiceLink, Choices, MonitorQuery};
use crate::web::pages::fleet::{self, P95};
use crate::web::pages::folds::{self, Folds};
use crate::web::pages::footprint::{self, FootprintPart};
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::incidents::{self, IncidentRow};
use crate::web::pages::probe::{self, ProbeStory};
use crate::web::pages::recheck;
use crate::web::pages::signals::{self, SignalLine};
use crate::web::pages::tools::{self, ToolsPart};
use crate::web::pages::transcripts::{self, TranscriptLink};
use crate::web::pages::unknown;
use crate::web::pages::uptime::{self, UptimeCell};
use crate::web::past::{self, HeatDays, PastBeats};
use crate::web::ranges::{self, Cut, Range};
use crate::web::state::{Away, WebState};
use crate::web::tools::locked;

/// Beats listed; the strip shows more of them.
const BEATS_SHOWN: u32 = 20;
/// Incidents listed; the rest is a link away.
const INCIDENTS_SHOWN: usize = 8;

/// Which list a monitor is watched for.
#[derive(Debug)]
struct ListedLine {
    source: String,
    /// Since when it is gone from it, and when it goes at the latest; none: it is on it.
    gone: Option<(Timestamp, Timestamp)>,
    /// Whether it is one of many that are gone from it, and that nobody has let go.
    is_held: bool,
}

#[derive(Debug, Template)]
#[template(path = "monitor.html")]
struct MonitorPage {
    frame: Frame,
    /// What `part/tools.html` puts into its form, too.
    id: String,
    head: MonitorHead,
    notices: Notices,
    figures: FiguresPanel,
    signals: Vec<SignalLine>,
    /// Names of the signals that are quiet, in one line.
    quiet: String,
    folds: Folds,
    latency: LatencyPanel,
    heat: HeatPanel,
    /// None where it declares no canary.
    board: Option<BoardPart>,
    probe: Option<ProbeStory>,
    /// On whose page its steps stand, where that is another machine's.
    probe_at: Option<String>,
    transcript: Option<TranscriptLink>,
    footprint: FootprintPart,
    tools: ToolsPart,
    incidents: Vec<IncidentRow>,
    beats: Vec<MonitorBeat>,
    /// Whether the database does not answer.
    away: bool,
    /// The name that the visitor gave last.
    actor: String,
    /// File and line of the declaration.
    place: String,
    /// The list that names it.
    listed: Option<ListedLine>,
}

/// Which monitor it is, and how it stands.
#[derive(Debug)]
struct MonitorHead {
    name: String,
    url: String,
    labels: Vec<(String, String)>,
    glyph: Glyph,
    word: &'static str,
    since: Timestamp,
    seen: Option<Timestamp>,
    /// The machine that watches it, where several share the fleet.
    watched_by: Option<String>,
}

/// Lines between head and figures, each for people.
#[derive(Debug)]
struct Notices {
    said: Option<String>,
    trouble: Option<String>,
    hold: Option<String>,
    /// Maintenance that is on, or comes within a day.
    maintenance: Vec<String>,
}

#[derive(Debug)]
struct FiguresPanel {
    figures: Vec<MonitorFigure>,
    strip: Strip,
    uptimes: Vec<UptimeCell>,
}

/// Durations over a range; no chart where nothing was measured.
#[derive(Debug)]
struct LatencyPanel {
    ranges: Vec<ChoiceLink>,
    chart: Option<Chart>,
}

/// Durations by hour of the day; no drawing where nothing was measured.
#[derive(Debug)]
struct HeatPanel {
    links: Vec<ChoiceLink>,
    heat: Option<Heat>,
}

#[derive(Debug)]
struct MonitorFigure {
    name: &'static str,
    value: String,
    note: String,
    bad: bool,
}

/// One beat of the recent past.
#[derive(Debug)]
struct MonitorBeat {
    at: Timestamp,
    glyph: Glyph,
    line: BeatLine,
    elapsed: String,
}

/// What the database adds to the live state.
#[derive(Debug, Default)]
struct StoredPart {
    past: PastBeats,
    shaded: Vec<Incident>,
    incidents: Vec<Incident>,
    beats: Vec<BeatLine>,
    listings: Vec<ListingLine>,
    transcript: Option<TranscriptLine>,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(id): Path<String>,
    axum::extract::Query(asked): axum::extract::Query<MonitorQuery>,
    headers: HeaderMap,
) -> Response {
    let actor = forms::actor(&headers, &visit);
    let now = Utc::now();
    let Some(view) = state.view(&MonitorId::new(&id)).await else {
        return unknown::missing(
            &state,
            visit,
            "There is no monitor with this id. It may be gone from the file, or from a list of servers; the page of lists names what went.",
        );
    };
    let fleet = state.fleet_now();
    let declared = fleet.monitor(&view.id).map(|monitor| &**monitor);
    let choices = Choices::of(&asked);
    let first_seen = state.ask(state.store.first_seen(&view.id)).await;
    let range = choices.range.unwrap_or_else(|| ranges::fitting(view.declared.every, first_seen.ok().flatten(), now));
    let cut = ranges::cut(range, view.declared.every, declared.map_or(1, Monitor::per_beat), now);
    let (kept, board) = tokio::join!(
        kept(&state, &view.id, (cut, choices.heat), first_seen),
        board_past(&state, &view, declared, choices.board, now)
    );
    let away = kept.is_err() || board.is_err();
    let (mut kept, board) = (kept.unwrap_or_default(), board.ok().flatten());
    let tools = tools::tell(&view, locked(&state, &view), std::mem::take(&mut kept.listings), now);
    let signals = signals::lines(&view, &fleet, now);
    let uptimes = uptime::cells(&kept.past.uptimes, !view.canaries.is_empty());
    let heat = heated(&view, &kept, choices.heat, now);
    let footprint = footprint::tell(&view, declared, now);
    let page = MonitorPage {
        frame: Frame::new(&state, visit, now, "fleet", view.declared.name.clone())
            .watching(format!("monitor:{}", view.id)),
        id: view.id.to_string(),
        head: head(&view, state.watched_by(&view.id), now),
        notices: notices(&view, &asked, &fleet, now),
        quiet: quiet(&signals),
        folds: Folds {
            signals: folds::signals(&signals),
            uptime: folds::uptime(&uptimes),
            heat: folds::heat(heat.as_ref()),
            probe: folds::probe(&view),
            tools: folds::tools(&tools),
            beats: folds::beats(kept.beats.iter().map(|line| &*line.verdict)),
            footprint: folds::footprint(&footprint),
        },
        tools,
        signals,
        figures: FiguresPanel { figures: figures(&view, away), strip: Strip::new(&view.strip), uptimes },
        latency: LatencyPanel { ranges: choices.ranges(range), chart: drawn(&view, &kept, cut) },
        heat: HeatPanel { links: choices.heats(), heat },
        board: (!view.canaries.is_empty())
            .then(|| board::tell(&view, declared, &fleet.provenance, board.as_ref(), choices, now)),
        probe: view.last.as_ref().map(|last| probe::tell(&last.0, &last.1, now)),
        probe_at: (view.last.is_none() && view.look.is_some()).then(|| state.watched_by(&view.id)).flatten(),
        transcript: kept.transcript.map(|line| transcripts::link(line, now)),
        footprint,
        beats: kept.beats.into_iter().map(|line| beat_row(line, now)).collect(),
        incidents: kept.incidents.into_iter().take(INCIDENTS_SHOWN).map(|one| incidents::row(one, None, now)).collect(),
        away,
        actor,
        place: fleet.provenance.shown(view.declared.line),
        listed: declared.and_then(|declared| listed_line(&state, &fleet, declared, now)),
    };
    show(StatusCode::OK, &page)
}

fn quiet(signals: &[SignalLine]) -> String {
    let quiet = signals.iter().filter(|line| !line.is_loud());
    quiet.map(|line| line.signal).collect::<Vec<_>>().join(", ")
}

fn head(view: &MonitorView, watched_by: Option<String>, now: DateTime<Utc>) -> MonitorHead {
    MonitorHead {
        name: view.declared.name.clone(),
        url: view.declared.url.clone(),
        labels: view.declared.labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        glyph: glyph::of_roll_up(view.roll_up),
        word: view.roll_up.word(),
        since: Timestamp::new(view.since, now),
        seen: view.seen_at().map(|at| Timestamp::new(at, now)),
        watched_by,
    }
}

fn notices(view: &MonitorView, asked: &MonitorQuery, fleet: &Fleet, now: DateTime<Utc>) -> Notices {
    let said = match asked.said.as_deref() {
        Some("recheck") => Some(recheck::told(Some(view), asked.at.and_then(|at| DateTime::from_timestamp(at, 0)))),
        Some(word) => tools::said(word).map(str::to_owned),
        None => None,
    };
    let of_this = |window: &&MaintenanceWindow| window.matches.may_fit(view.id.as_str(), &view.declared.labels);
    Notices {
        said,
        trouble: view.trouble.clone(),
        hold: view.cost.hold.map(|hold| footprint::held(hold, now)),
        maintenance: fleet.maintenance.iter().filter(of_this).filter_map(|window| window.ahead(now)).collect(),
    }
}

async fn kept(
    state: &WebState,
    id: &MonitorId,
    (cut, heat): (Cut, HeatDays),
    first_seen: Result<Option<DateTime<Utc>>, Away>,
) -> Result<StoredPart, Away> {
    let first_seen = first_seen?;
    let store = &state.store;
    let filter = IncidentFilter { monitor: Some(id.clone()), ..IncidentFilter::default() };
    let (past, shaded, incidents, beats, listings, transcript) = tokio::join!(
        past::read(state, id, (cut, heat), first_seen),
        state.ask(store.incidents_between(id, cut.from, cut.to)),
        state.ask(store.incidents(&filter)),
        state.ask(store.beats(id, BEATS_SHOWN, cut.to)),
        state.ask(store.listings(id)),
        state.ask(store.last_transcript(id)),
    );
    Ok(StoredPart {
        past: past?,
        shaded: shaded?,
        incidents: incidents?,
        beats: beats?,
        listings: listings?,
        transcript: transcript?,
    })
}

/// What the board shows of the past; none where nothing is declared whose past it could be.
async fn board_past(
    state: &WebState,
    view: &MonitorView,
    declared: Option<&Monitor>,
    range: Option<Range>,
    now: DateTime<Utc>,
) -> Result<Option<BoardPast>, Away> {
    match declared.filter(|monitor| !monitor.canaries.is_empty()) {
        None => Ok(None),
        Some(monitor) => board::read(state, view, monitor, range, now).await.map(Some),
    }
}

fn drawn(view: &MonitorView, kept: &StoredPart, cut: Cut) -> Option<Chart> {
    chart::chart(&chart::ChartSource {
        cut,
        latency: &kept.past.latency,
        limit_ms: view.latency.limit_ms,
        incidents: &kept.shaded,
    })
}

fn heated(view: &MonitorView, kept: &StoredPart, days: HeatDays, now: DateTime<Utc>) -> Option<Heat> {
    heat::heat(&heat::HeatSource {
        hours: &kept.past.heat,
        first: days.first(now),
        days: days.days(),
        now,
        limit_ms: view.latency.limit_ms,
    })
}

fn figures(view: &MonitorView, away: bool) -> Vec<MonitorFigure> {
    let limit = format::millis(view.latency.limit_ms);
    let p95 = P95::of(&view.latency);
    let score = view.canary_score;
    let mut figures = vec![
        MonitorFigure {
            name: "p95 of search",
            bad: p95.as_ref().is_some_and(|p95| p95.over),
            note: p95
                .as_ref()
                .map_or_else(|| fleet::samples(&view.latency), |p95| format!("limit {limit}, n = {}", p95.n)),
            value: p95.map_or_else(|| "–".to_owned(), |p95| p95.figure),
        },
        MonitorFigure {
            name: "canaries right",
            value: if view.canaries.is_empty() { "–".to_owned() } else { format!("{}/{}", score.right, score.asked) },
            note: if view.canaries.is_empty() { "none declared".to_owned() } else { board::asked_when(score) },
            bad: score.right < score.asked,
        },
        MonitorFigure {
            name: "calls a day",
            value: format::count(view.declared.calls_per_day),
            note: format!("a beat every {}", format::span(view.declared.every)),
            bad: false,
        },
        MonitorFigure {
            name: "asked today",
            value: format::count(u64::from(view.cost.spent[1].footprint.requests)),
            note: format!(
                "{} yesterday; days are UTC",
                format::count(u64::from(view.cost.spent[0].footprint.requests))
            ),
            bad: false,
        },
    ];
    // Uptime by range is the database's to tell; while it is away, memory still knows of the last day.
    if away {
        figures.extend(remembered_uptime(view));
    }
    figures
}

fn remembered_uptime(view: &MonitorView) -> [MonitorFigure; 2] {
    let one = |name, share: Option<f64>, of: &str| MonitorFigure {
        name,
        value: share.map_or_else(|| "–".to_owned(), format::share),
        note: share.map_or_else(|| "nothing seen yet".to_owned(), |_| of.to_owned()),
        bad: false,
    };
    [one("up", view.day.uptime, "of seen time, 24 h"), one("coverage", view.day.coverage, "of due time, 24 h")]
}

fn beat_row(line: BeatLine, now: DateTime<Utc>) -> MonitorBeat {
    MonitorBeat {
        at: Timestamp::new(line.at, now),
        glyph: probe::glyph_of(&line.verdict),
        elapsed: format::millis(line.elapsed_ms),
        line,
    }
}

fn listed_line(state: &WebState, fleet: &Fleet, declared: &Monitor, now: DateTime<Utc>) -> Option<ListedLine> {
    let of = declared.discovered.as_ref()?;
    let source = fleet.discovery.sources.iter().find(|source| source.id == of.source)?;
    let gone = of.gone_since.and_then(|since| DateTime::from_timestamp(since, 0));
    let gone = gone.map(|since| (Timestamp::new(since, now), Timestamp::new(since + source.gone_after, now)));
    let is_held = state.listings.is_held(&source.id, declared.id.as_str());
    Some(ListedLine { source: source.id.clone(), gone, is_held })
}
