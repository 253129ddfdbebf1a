//! `/`: every monitor, the failing first. Drawn from the board alone; it needs no database at all.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::domain::reason::Severity;
use crate::store::board::{MonitorView, RollUp};
use crate::web::draw::glyph::{self, Glyph};
use crate::web::draw::strip::Strip;
use crate::web::guard::Visit;
use crate::web::pages::filter::FleetFilter;
use crate::web::pages::footprint;
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::signals::{self, SignalLine};
use crate::web::state::WebState;
use crate::web::words::{self, Moment, Query};

/// A view older than so many intervals is called old.
const OLD_INTERVALS: u32 = 3;
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
    rows: Vec<Row>,
    found: usize,
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
    href: String,
    chosen: bool,
}

/// One monitor.
#[derive(Debug)]
struct Row {
    id: String,
    name: String,
    glyph: Glyph,
    word: &'static str,
    since: Moment,
    labels: Vec<(String, String)>,
    lines: Vec<SignalLine>,
    strip: Strip,
    p95: Option<P95>,
    limit: String,
    samples: String,
    canaries: Option<(usize, usize)>,
    coverage: String,
    seen: Option<Moment>,
    old: bool,
    era: String,
    trouble: Option<String>,
    hold: Option<String>,
}

/// P95 beside its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct P95 {
    /// The figure.
    pub figure: String,
    /// Samples behind it.
    pub n: u32,
    /// Whether it is above the limit.
    pub over: bool,
    /// Length of the bar; the limit stands at 60 of 90.
    pub length: u32,
}

impl P95 {
    /// P95 of a view, where there are samples enough.
    pub fn of(view: &MonitorView) -> Option<Self> {
        let (ms, n) = view.p95_ms?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within 1 and 90")]
        let length = (ms / view.p95_limit_ms.max(1e-3) * 60.0).clamp(1.0, 90.0) as u32;
        Some(Self { figure: words::millis(ms), n, over: ms > view.p95_limit_ms, length })
    }
}

/// How far a view is from a P95.
pub fn samples(view: &MonitorView) -> String {
    let (held, needed) = view.p95_samples;
    format!("{held} of {needed} samples")
}

/// `GET /`.
pub async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    RawQuery(query): RawQuery,
) -> Response {
    let now = Utc::now();
    let filter = FleetFilter::parse(query.as_deref().unwrap_or_default());
    let views = state.board.all();
    let counted = filter.apply_but_state(&views);
    let found = filter.apply(&views);
    let (page, pages) = filter.place(found.len());
    let loud = |severity| loud_incidents(&counted, severity);
    let failing = counted.iter().filter(|view| view.roll_up < RollUp::Unknown).count();
    show(
        StatusCode::OK,
        &FleetPage {
            frame: Frame::new(&state, visit, now, "fleet", title(failing)).watching("fleet"),
            tiles: tiles(&counted, &filter),
            total: counted.len(),
            headline: headline(&counted, failing),
            calm: failing == 0,
            pages_open: loud(Severity::Page),
            tickets_open: loud(Severity::Ticket),
            rows: filter.slice(&found).iter().map(|view| row(view, now)).collect(),
            found: found.len(),
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

fn headline(views: &[Arc<MonitorView>], failing: usize) -> String {
    let unknown = views.iter().filter(|view| view.roll_up == RollUp::Unknown).count();
    match (views.len(), failing, unknown) {
        (0, _, _) => "No monitors".to_owned(),
        (_, 0, 0) => "All is well".to_owned(),
        (_, 0, 1) => "Nothing is failing, one monitor is unknown".to_owned(),
        (_, 0, n) => format!("Nothing is failing, {n} monitors are unknown"),
        (_, 1, _) => "One monitor needs attention".to_owned(),
        (_, n, _) => format!("{n} monitors need attention"),
    }
}

fn loud_incidents(views: &[Arc<MonitorView>], severity: Severity) -> usize {
    let incidents = views.iter().flat_map(|view| &view.signals).filter_map(|signal| signal.incident.as_ref());
    incidents.filter(|incident| incident.severity == severity).count()
}

fn tiles(views: &[Arc<MonitorView>], filter: &FleetFilter) -> Vec<Tile> {
    const ORDER: [RollUp; 6] =
        [RollUp::Down, RollUp::NoAccess, RollUp::Degraded, RollUp::Recovering, RollUp::Unknown, RollUp::Up];
    ORDER
        .into_iter()
        .map(|roll_up| {
            let glyph = glyph::of_roll_up(roll_up);
            let chosen = filter.state == glyph.name;
            Tile {
                glyph,
                word: roll_up.word(),
                n: views.iter().filter(|view| view.roll_up == roll_up).count(),
                href: filter.with_state(if chosen { "" } else { glyph.name }),
                chosen,
            }
        })
        .collect()
}

fn row(view: &MonitorView, now: DateTime<Utc>) -> Row {
    let seen = view.last.as_ref().map(|last| last.0.started_at);
    let old = seen.is_none_or(|at| (now - at).to_std().is_ok_and(|age| age > view.every * OLD_INTERVALS));
    let (right, answered) = view.canary_score();
    let label = |(key, value): (&String, &String)| {
        (value.clone(), format!("/?{}", Query(&[("label", &format!("{key}:{value}"))])))
    };
    Row {
        id: view.id.to_string(),
        name: view.name.clone(),
        glyph: glyph::of_roll_up(view.roll_up),
        word: view.roll_up.word(),
        since: Moment::new(view.since, now),
        labels: view.labels.iter().take(LABELS_SHOWN_MAX).map(label).collect(),
        lines: signals::loud_lines(view, now),
        strip: Strip::new(&view.strip),
        p95: P95::of(view),
        limit: words::millis(view.p95_limit_ms),
        samples: samples(view),
        canaries: (!view.canaries.is_empty()).then_some((right, answered)),
        coverage: view.coverage.map(words::share).unwrap_or_default(),
        seen: seen.map(|at| Moment::new(at, now)),
        old,
        era: footprint::speaks(&view.learnt),
        trouble: view.trouble.clone(),
        hold: view.hold.map(|hold| footprint::held(hold, now)),
    }
}
