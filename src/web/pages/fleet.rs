//! `/`: every monitor, the failing first. Drawn from the live state; without the database only its bars of days are missing.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::domain::monitor_state::CanaryScore;
use crate::domain::reason::Severity;
use crate::live::state::{LatencyView, MonitorView, RollUp, Standing};
use crate::web::bars::{self, MonitorPast, Past};
use crate::web::draw::bars::Bars;
use crate::web::draw::glyph::{self, Glyph};
use crate::web::draw::strip::Strip;
use crate::web::format::{self, Query, Timestamp};
use crate::web::guard::Visit;
use crate::web::pages::filter::FleetFilter;
use crate::web::pages::footprint;
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::signals::{self, SignalLine};
use crate::web::state::WebState;

/// A view older than so many intervals is called old.
const OLD_INTERVALS: u32 = 3;
/// The headline of a fleet of which nothing is to be said; no other is green.
const WELL: &str = "All is well";
/// Labels shown beside a name; the monitor's own page shows all.
const LABELS_SHOWN_MAX: usize = 3;

#[derive(Debug, Template)]
#[template(path = "fleet.html")]
struct FleetPage {
    frame: Frame,
    tiles: Vec<Tile>,
    total: usize,
    headline: String,
    calm: bool,
    pages_open: usize,
    tickets_open: usize,
    rows: Vec<FleetRow>,
    found: usize,
    by: Vec<(bool, String)>,
    filter: FleetFilter,
    narrowed: Vec<(String, String)>,
    previous: Option<String>,
    next: Option<String>,
    place: (usize, usize),
}

/// One count, which is a filter as well.
#[derive(Debug)]
struct Tile {
    glyph: Glyph,
    word: &'static str,
    n: usize,
    /// How many of them the list below has room for under its filters, its state aside; none where it has all.
    shown: Option<usize>,
    href: String,
    chosen: bool,
}

#[derive(Debug)]
struct FleetRow {
    id: String,
    name: String,
    glyph: Glyph,
    word: &'static str,
    since: Timestamp,
    labels: Vec<(String, String)>,
    lines: Vec<SignalLine>,
    strip: Strip,
    hours: Option<Bars>,
    days: Option<Bars>,
    p95: Option<P95>,
    limit: String,
    samples: String,
    canaries: Option<(usize, usize)>,
    coverage: String,
    seen: Option<Timestamp>,
    old: bool,
    era: String,
    trouble: Option<String>,
    hold: Option<String>,
}

/// P95 beside its limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct P95 {
    pub figure: String,
    pub n: u32,
    /// Whether it is above the limit.
    pub over: bool,
    /// Length of the bar; the limit stands at 60 of 90.
    pub length: u32,
}

impl P95 {
    /// None where there are not samples enough.
    pub(crate) fn of(latency: &LatencyView) -> Option<Self> {
        let (ms, n) = latency.p95_ms?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within 1 and 90")]
        let length = (ms / latency.limit_ms.max(1e-3) * 60.0).clamp(1.0, 90.0) as u32;
        Some(Self { figure: format::millis(ms), n, over: ms > latency.limit_ms, length })
    }
}

/// How far it is from a P95.
pub(crate) fn samples(latency: &LatencyView) -> String {
    let (held, needed) = latency.samples;
    format!("{held} of {needed} samples")
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    RawQuery(query): RawQuery,
) -> Response {
    let now = Utc::now();
    let filter = FleetFilter::parse(query.as_deref().unwrap_or_default());
    let all = state.live.all();
    let listed = filter.apply_but_state(&all);
    let found = filter.apply(&all);
    let (page, pages) = filter.place(found.len());
    let loud = |severity| loud_incidents(&all, severity);
    let failing = all.iter().filter(|one| one.roll_up().is_failing()).count();
    let headline = headline(&all, failing);
    let views: Vec<MonitorView> = filter.slice(&found).iter().map(|one| one.view()).collect();
    let mut pasts = bars::read(&state, &views, now).await;
    let rows = views.iter().map(|view| row(view, pasts.remove(&view.id), now)).collect();
    show(
        StatusCode::OK,
        &FleetPage {
            frame: Frame::new(&state, visit, now, "fleet", title(failing)).watching("fleet"),
            tiles: tiles(&all, &listed, &filter),
            total: all.len(),
            calm: headline == WELL,
            headline,
            pages_open: loud(Severity::Page),
            tickets_open: loud(Severity::Ticket),
            rows,
            found: found.len(),
            by: narrowed_by(&filter),
            narrowed: filter
                .labels
                .iter()
                .map(|label| (format!("{}: {}", label.0, label.1), filter.without_label(label)))
                .collect(),
            previous: (page > 1).then(|| filter.with_page(page - 1)),
            next: (page < pages).then(|| filter.with_page(page + 1)),
            place: (page, pages),
            filter,
        },
    )
}

fn title(failing: usize) -> String {
    if failing == 0 { "Fleet".to_owned() } else { format!("({failing}) Fleet") }
}

/// The whole fleet in one line, whatever the list below it is narrowed to.
fn headline(all: &[Arc<dyn Standing>], failing: usize) -> String {
    let count = |roll_up| all.iter().filter(|one| one.roll_up() == roll_up).count();
    let monitors = |n| if n == 1 { "one monitor".to_owned() } else { format!("{n} monitors") };
    let first = match (all.len(), failing) {
        (0, _) => return "No monitors".to_owned(),
        (_, 0) => "Nothing is failing".to_owned(),
        (_, 1) => "One monitor needs attention".to_owned(),
        (_, n) => format!("{n} monitors need attention"),
    };
    let mut said = vec![first];
    for (n, word) in [(count(RollUp::Waiting), "waiting"), (count(RollUp::Unknown), "unknown")] {
        let who = match (said.len(), failing) {
            // The first of them says what is counted.
            (1, 0) => monitors(n),
            _ if n == 1 => "one".to_owned(),
            _ => n.to_string(),
        };
        if n > 0 {
            said.push(format!("{who} {} {word}", if n == 1 { "is" } else { "are" }));
        }
    }
    if said.len() == 1 && failing == 0 { WELL.to_owned() } else { said.join(", ") }
}

fn loud_incidents(all: &[Arc<dyn Standing>], severity: Severity) -> usize {
    let failing = all.iter().filter(|one| one.roll_up().is_failing());
    let incidents = failing.flat_map(|one| one.signals()).filter_map(|signal| signal?.incident);
    incidents.filter(|incident| incident.severity == severity).count()
}

fn tiles(all: &[Arc<dyn Standing>], listed: &[Arc<dyn Standing>], filter: &FleetFilter) -> Vec<Tile> {
    const ORDER: [RollUp; 7] = [
        RollUp::Down,
        RollUp::NoAccess,
        RollUp::Degraded,
        RollUp::Recovering,
        RollUp::Waiting,
        RollUp::Unknown,
        RollUp::Up,
    ];
    let count = |these: &[Arc<dyn Standing>], roll_up| these.iter().filter(|one| one.roll_up() == roll_up).count();
    ORDER
        .into_iter()
        .map(|roll_up| {
            let glyph = glyph::of_roll_up(roll_up);
            let chosen = filter.state == glyph.name;
            Tile {
                glyph,
                word: roll_up.word(),
                n: count(all, roll_up),
                shown: filter.searches().then(|| count(listed, roll_up)),
                href: filter.with_state(if chosen { "" } else { glyph.name }),
                chosen,
            }
        })
        .collect()
}

/// What the list is narrowed by, in words; the first whether it is a search.
fn narrowed_by(filter: &FleetFilter) -> Vec<(bool, String)> {
    let search = (!filter.q.is_empty()).then(|| (true, filter.q.clone()));
    let labels = filter.labels.iter().map(|(key, value)| (false, format!("{key}: {value}")));
    let state = (!filter.state.is_empty()).then(|| (false, filter.state.replace('-', " ")));
    search.into_iter().chain(labels).chain(state).collect()
}

fn row(view: &MonitorView, past: Option<MonitorPast>, now: DateTime<Utc>) -> FleetRow {
    let has_canaries = !view.canaries.is_empty();
    let drawn = |past: &Past| Bars::new(past, has_canaries);
    let seen = view.last.as_ref().map(|last| last.0.started_at);
    let old = seen.is_none_or(|at| (now - at).to_std().is_ok_and(|age| age > view.declared.every * OLD_INTERVALS));
    let CanaryScore { right, asked, .. } = view.canary_score;
    let label = |(key, value): (&String, &String)| {
        (value.clone(), format!("/?{}", Query(&[("label", &format!("{key}:{value}"))])))
    };
    FleetRow {
        id: view.id.to_string(),
        name: view.declared.name.clone(),
        glyph: glyph::of_roll_up(view.roll_up),
        word: view.roll_up.word(),
        since: Timestamp::new(view.since, now),
        labels: view.declared.labels.iter().take(LABELS_SHOWN_MAX).map(label).collect(),
        lines: signals::loud_lines(view, now),
        strip: Strip::new(&view.strip),
        hours: past.as_ref().map(|past| drawn(&past.hours)),
        days: past.as_ref().and_then(|past| past.days.as_ref()).map(drawn),
        p95: P95::of(&view.latency),
        limit: format::millis(view.latency.limit_ms),
        samples: samples(&view.latency),
        canaries: has_canaries.then_some((right, asked)),
        coverage: view.day.coverage.map(format::share).unwrap_or_default(),
        seen: seen.map(|at| Timestamp::new(at, now)),
        old,
        era: footprint::speaks(&view.profile),
        trouble: view.trouble.clone(),
        hold: view.cost.hold.map(|hold| footprint::held(hold, now)),
    }
}
