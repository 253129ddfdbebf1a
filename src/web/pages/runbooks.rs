//! `/runbooks`: the text Serin brings for each reason. Open to everybody: it says nothing about the fleet.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::Utc;

use crate::deliver::runbook;
use crate::domain::reason::{Facts, FailureReason};
use crate::web::admitted::Visit;
use crate::web::pages::frame::{Frame, show};
use crate::web::pages::unknown;
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "runbooks.html")]
struct IndexPage {
    frame: Frame,
    layers: Vec<(&'static str, Vec<Facts>)>,
}

#[derive(Debug, Template)]
#[template(path = "runbook.html")]
struct RunbookPage {
    frame: Frame,
    signal: &'static str,
    severity: &'static str,
    layer: &'static str,
    /// Written by Serin itself and made of safe HTML only ([`runbook::html`]).
    html: String,
}

pub(crate) async fn index(State(state): State<WebState>, Extension(visit): Extension<Visit>) -> Response {
    let mut layers: Vec<(&'static str, Vec<Facts>)> = Vec::new();
    for facts in FailureReason::ALL.iter().map(|reason| reason.facts()) {
        match layers.last_mut() {
            Some((title, list)) if *title == facts.layer.title() => list.push(facts),
            _ => layers.push((facts.layer.title(), vec![facts])),
        }
    }
    show(StatusCode::OK, &IndexPage { frame: Frame::new(&state, visit, Utc::now(), "runbooks", "Runbooks"), layers })
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    Path(slug): Path<String>,
) -> Response {
    let Some(reason) = FailureReason::from_slug(&slug) else {
        return unknown::missing(&state, visit, "There is no failure reason of this name.");
    };
    let facts = reason.facts();
    let page = RunbookPage {
        frame: Frame::new(&state, visit, Utc::now(), "runbooks", facts.slug),
        signal: facts.signal.slug(),
        severity: facts.severity.slug(),
        layer: facts.layer.title(),
        html: runbook::html(reason),
    };
    show(StatusCode::OK, &page)
}
