//! `/`: every monitor, the failing first. Drawn from the live state; without the database only its bars of days are missing.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::domain::maintenance::MaintenanceWindow;
use crate::domain::monitor_state::CanaryScore;
use crate::domain::reason::Severity;
use crate::live::monitor_view::{LatencyView, MonitorView};
use crate::live::standing::Standing;
use crate::web::admitted::Visit;
use crate::web::bars::{self, MonitorPast, Past};
use crate::web::draw::bars::Bars;
use crate::web::draw::glyph::{self, Glyph};
use crate::web::draw::strip::Strip;
use crate::web::format::{self, Query, Timestamp};
use crate::web::pages::filter::{FleetFilter, Sort};
use crate::web::pages::footprint;
use crate::web::pages::frame::Frame;
use crate::web::pages::groups::{Group, LabelList, grouped};
use crate::web::pages::signals::{self, SignalLine};
use crate::web::pages::states::{RunningWindows, STATES, counted};
use crate::web::state::WebState;

/// A view older than so many intervals is called old.
const OLD_INTERVALS: u32 = 3;
/// Bytes of strips and bars on one page: with the rest of a hundred rows it stays below 300 kB (DESIGN §10), however
/// restless they are. A hundred calm ones take half of it.
const PICTURES_BYTES_MAX: usize = 110_000;
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
    /// Rows whose bars have no room on the page.
    without_bars: usize,
    /// Empty unless the list is grouped.
    groups: Vec<GroupRows>,
    /// Groups that have no room.
    more_groups: usize,
    found: usize,
    by: Vec<(bool, String)>,
    /// What of the search was not understood.
    wrong: Vec<String>,
    filter: FleetFilter,
    narrowed: Vec<(String, String)>,
    labels: LabelList,
    heads: Vec<Head>,
    previous: Option<String>,
    next: Option<String>,
    place: (usize, usize),
}

/// A column's head, and what the list can be sorted by there.
#[derive(Debug)]
struct Head {
    word: &'static str,
    class: &'static str,
    /// `ascending` or `descending` where the list is sorted by this column; else empty.
    order: &'static str,
    /// Word, address and whether it is in force.
    sorts: Vec<(&'static str, String, bool)>,
}

/// Monitors with one value of the label that the list is grouped by.
#[derive(Debug)]
struct GroupRows {
    id: String,
    glyph: Glyph,
    title: String,
    counts: String,
    open: bool,
    rows: Vec<FleetRow>,
    /// How many more there are, and where.
    more: usize,
    href: String,
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
    /// The window that it is in, in words; none where it is in none.
    maintenance: Option<String>,
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
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let seen = visit.seeing(format!("/?{query}"));
    state.shared.show(|| state.stamp(), seen, &headers, drawn(&state, visit, &query)).await
}

async fn drawn(state: &WebState, visit: Visit, query: &str) -> askama::Result<String> {
    let now = Utc::now();
    let filter = FleetFilter::parse(query);
    let fleet = state.fleet_now();
    let is_on = |window: &&MaintenanceWindow| window.is_about_outages() && window.run_at(now).is_some();
    let windows = RunningWindows(fleet.maintenance.iter().filter(is_on).collect());
    let all = state.live.all();
    let listed = filter.apply_but_state(&all, &windows);
    let found = filter.sorted(&listed, &windows);
    let (page, pages) = filter.place(found.len());
    let loud = |severity| loud_incidents(&all, severity);
    let failing = all.iter().filter(|one| one.roll_up().is_failing()).count();
    let counts = counted(&all, &windows);
    let headline = headline(all.len(), failing, &counts);
    let (groups, more_groups) =
        if filter.group.is_empty() { Default::default() } else { grouped(&found, &filter.group) };
    let shown: Vec<&Arc<dyn Standing>> = match groups.as_slice() {
        [] => filter.slice(&found).iter().collect(),
        groups => groups.iter().flat_map(|group| &group.members[..group.shown]).collect(),
    };
    let mut rows = rows(state, &shown, &windows, now).await;
    let without_bars = fit(&mut rows);
    let mut rows = rows.into_iter();
    let groups = groups.iter().map(|group| group_rows(group, &filter, rows.by_ref().take(group.shown).collect()));
    let groups: Vec<GroupRows> = groups.collect();
    let search = filter.search(&all);
    let narrowed = |label: &(String, String)| (format!("{}: {}", label.0, label.1), filter.without_label(label));
    let page = FleetPage {
        frame: Frame::new(state, visit, now, "fleet", title(failing)).watching("fleet"),
        tiles: tiles(&counts, filter.searches().then(|| counted(&listed, &windows)).as_ref(), &filter),
        total: all.len(),
        calm: headline == WELL,
        headline,
        pages_open: loud(Severity::Page),
        tickets_open: loud(Severity::Ticket),
        rows: rows.collect(),
        without_bars,
        groups,
        more_groups,
        found: found.len(),
        by: narrowed_by(&filter, &search.said),
        wrong: search.wrong,
        narrowed: filter.labels.iter().map(narrowed).collect(),
        labels: LabelList::new(&all, &filter),
        heads: heads(&filter),
        previous: (page > 1).then(|| filter.with_page(page - 1)),
        next: (page < pages).then(|| filter.with_page(page + 1)),
        place: if filter.group.is_empty() { (page, pages) } else { (1, 1) },
        filter,
    };
    page.render()
}

/// Rows for the monitors that are shown, in their order: one look at the past of all of them.
async fn rows(
    state: &WebState,
    shown: &[&Arc<dyn Standing>],
    windows: &RunningWindows<'_>,
    now: DateTime<Utc>,
) -> Vec<FleetRow> {
    let views = state.views(shown).await;
    let mut pasts = bars::read(state, &views, now).await;
    views.iter().zip(shown).map(|(view, one)| row(view, pasts.remove(&view.id), windows.of(&***one), now)).collect()
}

/// Leaves out bars that have no room, from the top on, and says of how many rows.
fn fit(rows: &mut [FleetRow]) -> usize {
    let mut left = PICTURES_BYTES_MAX.saturating_sub(rows.iter().map(|row| row.strip.bytes()).sum());
    let mut without = 0;
    for row in rows {
        match left.checked_sub([&row.hours, &row.days].into_iter().flatten().map(Bars::bytes).sum()) {
            Some(rest) => left = rest,
            None => {
                (row.hours, row.days) = (None, None);
                without += 1;
            }
        }
    }
    without
}

fn group_rows(group: &Group, filter: &FleetFilter, rows: Vec<FleetRow>) -> GroupRows {
    let key = &filter.group;
    let (title, href) = match &group.value {
        Some(value) => (format!("{key}: {value}"), filter.with_group("")),
        None => (format!("no {key}"), filter.with_group("")),
    };
    let href = group.value.as_ref().map_or(href, |value| {
        let ungrouped = FleetFilter { group: String::new(), ..filter.clone() };
        ungrouped.with_label(key, value)
    });
    GroupRows {
        // An id has no blank; what it is made of is hostile only to itself, since the template escapes it.
        id: format!("group-{}", title.replace(char::is_whitespace, "-")),
        glyph: glyph::of_roll_up(group.worst()),
        title,
        counts: group.counts(),
        open: group.worst().is_failing(),
        more: group.members.len() - rows.len(),
        rows,
        href,
    }
}

fn heads(filter: &FleetFilter) -> Vec<Head> {
    let head = |word, class, order, sorts: &[(&'static str, Sort)]| Head {
        word,
        class,
        order: if sorts.iter().any(|(_, sort)| *sort == filter.sort) { order } else { "" },
        sorts: sorts.iter().map(|(word, sort)| (*word, filter.with_sort(*sort), *sort == filter.sort)).collect(),
    };
    vec![
        head("state", "c-state", "descending", &[("state", Sort::Worst), ("since", Sort::Since)]),
        head("monitor", "c-name", "ascending", &[("monitor", Sort::Name)]),
        head("signals", "c-signals", "", &[]),
        head("last 60 beats", "c-strip", "", &[]),
        head("24 h", "c-hours", "", &[]),
        head("90 days", "c-days", "", &[]),
        head("p95", "c-p95", "descending", &[("p95", Sort::P95)]),
        head("canaries", "c-canaries", "descending", &[("canaries", Sort::Canaries)]),
        head("seen", "c-seen", "", &[]),
    ]
}

fn title(failing: usize) -> String {
    if failing == 0 { "Fleet".to_owned() } else { format!("({failing}) Fleet") }
}

/// The whole fleet in one line, whatever the list below it is narrowed to.
fn headline(total: usize, failing: usize, counts: &HashMap<&'static str, usize>) -> String {
    let monitors = |n| if n == 1 { "one monitor".to_owned() } else { format!("{n} monitors") };
    let first = match (total, failing) {
        (0, _) => return "No monitors".to_owned(),
        (_, 0) => "Nothing is failing".to_owned(),
        (_, 1) => "One monitor needs attention".to_owned(),
        (_, n) => format!("{n} monitors need attention"),
    };
    let mut said = vec![first];
    for word in ["waiting", "unknown"] {
        let n = counts.get(word).copied().unwrap_or_default();
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

/// Every state, with how many are in it of all, and of those that are listed; maintenance only where there is any.
fn tiles(
    all: &HashMap<&'static str, usize>,
    listed: Option<&HashMap<&'static str, usize>>,
    filter: &FleetFilter,
) -> Vec<Tile> {
    let count = |these: &HashMap<_, usize>, state| these.get(state).copied().unwrap_or_default();
    let tile = |state: &'static str| {
        let chosen = filter.state == state;
        Tile {
            glyph: Glyph { name: state },
            word: if state == "no-access" { "no access" } else { state },
            n: count(all, state),
            shown: listed.map(|listed| count(listed, state)),
            href: filter.with_state(if chosen { "" } else { state }),
            chosen,
        }
    };
    let all = STATES.into_iter().map(tile);
    all.filter(|tile| tile.word != "maintenance" || tile.n > 0 || tile.chosen).collect()
}

/// What the list is narrowed by, in words; the first whether it is a search.
fn narrowed_by(filter: &FleetFilter, understood: &[String]) -> Vec<(bool, String)> {
    let search = (!understood.is_empty()).then(|| (true, understood.join(" ")));
    let labels = filter.labels.iter().map(|(key, value)| (false, format!("{key}: {value}")));
    let state = (!filter.state.is_empty()).then(|| (false, filter.state.replace('-', " ")));
    search.into_iter().chain(labels).chain(state).collect()
}

fn row(
    view: &MonitorView,
    past: Option<MonitorPast>,
    window: Option<&MaintenanceWindow>,
    now: DateTime<Utc>,
) -> FleetRow {
    let has_canaries = !view.canaries.is_empty();
    let drawn = |past: &Past| Bars::new(past, has_canaries);
    let seen = view.seen_at();
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
        maintenance: window.and_then(|window| window.ahead(now)),
        hold: view.cost.hold.map(|hold| footprint::held(hold, now)),
    }
}
