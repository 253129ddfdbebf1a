//! `/deliveries`: the ledger: what was promised to whom, how often it was tried, and how that ended.

use std::collections::HashMap;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};

use crate::domain::paging::delivery::DeliveryState;
use crate::store::read::ledger::{ATTEMPTS_SHOWN, AttemptLine, DeliveryLine};
use crate::web::draw::glyph::Glyph;
use crate::web::format::{self, Timestamp};
use crate::web::guard::Visit;
use crate::web::ledger::{self, DeliveryQuery};
use crate::web::pages::frame::{Frame, show};
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "deliveries.html")]
struct DeliveriesPage {
    frame: Frame,
    asked: DeliveryQuery,
    states: Vec<(&'static str, bool)>,
    from: String,
    to: String,
    deliveries: Vec<DeliveryRow>,
    next: Option<String>,
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
    /// Its latest tries, where they are shown.
    pub tries: Vec<TryRow>,
    /// Tries before those.
    pub earlier: u32,
}

/// One try, ready to be drawn.
#[derive(Debug)]
pub(crate) struct TryRow {
    pub number: u32,
    pub ended: String,
    pub at: Timestamp,
    pub lasted: String,
    pub answer: String,
}

pub(crate) async fn page(
    State(state): State<WebState>,
    Extension(visit): Extension<Visit>,
    RawQuery(query): RawQuery,
) -> Response {
    let now = Utc::now();
    let asked = DeliveryQuery::parse(query.as_deref().unwrap_or_default());
    let found = state.ask(state.store.deliveries(&asked.filter())).await;
    let away = found.is_err();
    let lines = found.unwrap_or_default();
    // Two questions whatever is shown.
    let tries = state.ask(state.store.attempts(&lines)).await.unwrap_or_default();
    let shown = |at: Option<DateTime<Utc>>| at.map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
    let page = DeliveriesPage {
        frame: Frame::new(&state, visit, now, "deliveries", "Deliveries").watching("incidents"),
        away,
        states: [DeliveryState::Pending, DeliveryState::Sent, DeliveryState::Dead]
            .map(|one| (one.slug(), one.slug() == asked.state))
            .to_vec(),
        from: shown(asked.from).unwrap_or_default(),
        to: shown(asked.to).unwrap_or_default(),
        next: ledger::next(&lines).map(|last| asked.after(last)),
        deliveries: rows(lines, tries, now),
        asked,
    };
    show(StatusCode::OK, &page)
}

/// Rows with their tries.
pub(crate) fn rows(
    lines: Vec<DeliveryLine>,
    mut tries: HashMap<String, Vec<AttemptLine>>,
    now: DateTime<Utc>,
) -> Vec<DeliveryRow> {
    let with_tries = |line: DeliveryLine| {
        let tries = tries.remove(&line.id).unwrap_or_default();
        row(line, tries, now)
    };
    lines.into_iter().map(with_tries).collect()
}

fn row(line: DeliveryLine, tries: Vec<AttemptLine>, now: DateTime<Utc>) -> DeliveryRow {
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
        earlier: line.attempts.saturating_sub(ATTEMPTS_SHOWN),
        tries: tries.into_iter().map(|one| try_row(one, now)).collect(),
        line,
    }
}

fn try_row(line: AttemptLine, now: DateTime<Utc>) -> TryRow {
    TryRow {
        number: line.number,
        at: Timestamp::new(line.started_at, now),
        lasted: format::span((line.ended_at - line.started_at).to_std().unwrap_or_default()),
        ended: line.ended,
        answer: line.answer,
    }
}
