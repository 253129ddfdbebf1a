//! `/deliveries`: the ledger: what was promised to whom, how often it was tried, and how that ended.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};

use crate::store::read::ledger::{DeliveryFilter, DeliveryLine};
use crate::store::read::pages::PAGE_ROWS;
use crate::web::draw::glyph::Glyph;
use crate::web::format::Timestamp;
use crate::web::guard::Visit;
use crate::web::pages::frame::{Frame, show};
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    frame: Frame,
    deliveries: Vec<DeliveryRow>,
    shown_max: u32,
    away: bool,
}

/// One delivery, ready to be drawn.
#[derive(Debug)]
pub(crate) struct DeliveryRow {
    pub line: DeliveryLine,
    pub glyph: Glyph,
    pub created: Timestamp,
    pub next: Option<Timestamp>,
    /// When the last attempt ended.
    pub last: Option<Timestamp>,
}

pub(crate) async fn page(State(state): State<WebState>, Extension(visit): Extension<Visit>) -> Response {
    let now = Utc::now();
    let found = state.ask(state.store.deliveries(&DeliveryFilter::default())).await;
    let page = DeliveriesPage {
        frame: Frame::new(&state, visit, now, "deliveries", "Deliveries").watching("incidents"),
        away: found.is_err(),
        deliveries: found.unwrap_or_default().into_iter().map(|line| row(line, now)).collect(),
        shown_max: PAGE_ROWS,
    };
    show(StatusCode::OK, &page)
}

pub(crate) fn row(line: DeliveryLine, now: DateTime<Utc>) -> DeliveryRow {
    let name = match line.state.as_str() {
        "sent" => "right",
        "dead" => "wrong",
        _ => "pending",
    };
    DeliveryRow {
        glyph: Glyph { name },
        created: Timestamp::new(line.created_at, now),
        // What is due already is tried at once; an overdue moment would only look like a fault.
        next: line.next_at.filter(|at| *at > now).map(|at| Timestamp::new(at, now)),
        last: line.last_at.map(|at| Timestamp::new(at, now)),
        line,
    }
}
