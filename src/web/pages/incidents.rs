//! `/incidents`: the open ones first, then those that ended.

use std::collections::HashMap;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::domain::incident::Incident;
use crate::domain::paging::hold::TellingHold;
use crate::domain::signal::Signal;
use crate::store::read::pages::PAGE_ROWS;
use crate::web::admitted::Visit;
use crate::web::draw::glyph::{self, Glyph};
use crate::web::format::{self, Timestamp};
use crate::web::pages::filter::IncidentQuery;
use crate::web::pages::frame::{Frame, show};
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "incidents.html")]
struct IncidentsPage {
    frame: Frame,
    asked: IncidentQuery,
    signals: Vec<(&'static str, bool)>,
    states: Vec<(&'static str, String, bool)>,
    lists: Vec<IncidentSection>,
    away: bool,
}

/// The open ones, or those that ended.
#[derive(Debug)]
struct IncidentSection {
    title: &'static str,
    empty: &'static str,
    rows: Vec<IncidentRow>,
    next: Option<String>,
}

#[derive(Debug)]
pub(crate) struct IncidentRow {
    pub href: String,
    /// The severity's shape; hollow where it ended.
    pub glyph: Glyph,
    pub severity: &'static str,
    pub monitor: String,
    pub signal: &'static str,
    pub reason: &'static str,
    pub summary: String,
    /// The first failed beat that led to it.
    pub since: Timestamp,
    /// Such as `open` or `recovered after 26 min`.
    pub state: String,
    pub open: bool,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    RawQuery(query): RawQuery,
) -> Response {
    let now = Utc::now();
    let asked = IncidentQuery::parse(query.as_deref().unwrap_or_default());
    let quiet = state.ask(state.store.live_holds(now)).await.unwrap_or_default();
    let mut lists = Vec::new();
    let mut away = false;
    for which in ["open", "ended"].into_iter().filter(|which| asked.state.is_empty() || asked.state == *which) {
        let filter = IncidentQuery { state: which.to_owned(), ..asked.clone() }.filter();
        match state.ask(state.store.incidents(&filter)).await {
            Ok(found) => lists.push(list(which, found, &quiet, &asked, now)),
            Err(_) => {
                away = true;
                if which == "open" {
                    lists.push(IncidentSection { next: None, ..list(which, Vec::new(), &quiet, &asked, now) });
                    lists[0].rows = from_live(&state, &asked, now);
                }
            }
        }
    }
    let page = IncidentsPage {
        frame: Frame::new(&state, visit, now, "incidents", "Incidents").watching("incidents"),
        signals: Signal::ALL.map(|signal| (signal.slug(), signal.slug() == asked.signal)).to_vec(),
        states: [("all", ""), ("open", "open"), ("ended", "ended")]
            .map(|(word, state)| (word, asked.with_state(state), asked.state == state))
            .to_vec(),
        asked,
        lists,
        away,
    };
    show(StatusCode::OK, &page)
}

fn list(
    which: &str,
    found: Vec<Incident>,
    quiet: &HashMap<String, TellingHold>,
    asked: &IncidentQuery,
    now: DateTime<Utc>,
) -> IncidentSection {
    let full = found.len() >= PAGE_ROWS as usize;
    let next = found.last().filter(|_| full).map(|last| asked.after(which, last));
    let open = which == "open";
    IncidentSection {
        title: if open { "Open" } else { "Ended" },
        empty: if open { "Nothing is open." } else { "None has ended." },
        rows: found.into_iter().map(|one| (quiet.get(&one.id), one)).map(|(hold, one)| row(one, hold, now)).collect(),
        next,
    }
}

/// An incident as a line of a list.
///
/// `quiet` is why nobody is told of it just now, where that is known.
pub(crate) fn row(incident: Incident, quiet: Option<&TellingHold>, now: DateTime<Utc>) -> IncidentRow {
    let open = incident.resolved_at.is_none();
    let lasted = incident.resolved_at.unwrap_or(now) - incident.since();
    let lasted = format::span(lasted.to_std().unwrap_or_default());
    let state = match (&incident.resolve_cause, &incident.acknowledged) {
        (Some(cause), _) => format!("{} after {lasted}", format::spaced(cause.slug())),
        (None, Some((actor, _))) => format!("open for {lasted}, acknowledged by {actor}"),
        (None, None) => format!("open for {lasted}"),
    };
    let quiet = quiet.map(|hold| format!(", quiet: {}", hold.said())).unwrap_or_default();
    IncidentRow {
        href: format!("/incidents/{}", incident.id),
        glyph: if open { glyph::of_severity(incident.severity) } else { Glyph { name: "right" } },
        severity: incident.severity.slug(),
        monitor: incident.monitor.to_string(),
        signal: incident.signal.slug(),
        reason: incident.reason.slug(),
        since: Timestamp::new(incident.since(), now),
        summary: incident.summary,
        state: format!("{state}{quiet}"),
        open,
    }
}

/// The open incidents the live state knows, while the database is away.
fn from_live(state: &WebState, asked: &IncidentQuery, now: DateTime<Utc>) -> Vec<IncidentRow> {
    let mut rows = Vec::new();
    for standing in state.live.all() {
        if !standing.roll_up().is_failing() || !(asked.monitor.is_empty() || standing.id().as_str() == asked.monitor) {
            continue;
        }
        let view = standing.view();
        for signal in
            view.signals.iter().filter(|signal| asked.signal.is_empty() || signal.signal.slug() == asked.signal)
        {
            let Some(incident) = &signal.incident else { continue };
            if rows.len() >= PAGE_ROWS as usize {
                return rows;
            }
            rows.push(IncidentRow {
                href: format!("/incidents/{}", incident.id),
                glyph: glyph::of_severity(incident.severity),
                severity: incident.severity.slug(),
                monitor: view.id.to_string(),
                signal: signal.signal.slug(),
                reason: incident.reason.slug(),
                summary: incident.summary.clone(),
                since: Timestamp::new(incident.since, now),
                state: incident.quiet.as_ref().map_or("open".to_owned(), |by| format!("open, quiet: {by}")),
                open: true,
            });
        }
    }
    rows
}
