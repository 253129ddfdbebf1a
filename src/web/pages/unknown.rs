//! What is not there, and what cannot be shown just now.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::Utc;

use crate::web::admitted::Visit;
use crate::web::pages::frame::{Frame, show};
use crate::web::state::WebState;

#[derive(Debug, Template)]
#[template(path = "unknown.html")]
struct UnknownPage {
    frame: Frame,
    title: &'static str,
    said: &'static str,
}

/// Every address that has no page.
pub(crate) async fn page(State(state): State<WebState>, Extension(visit): Extension<Visit>) -> Response {
    missing(&state, visit, "There is no page at this address.")
}

/// Something that is not there.
pub(crate) fn missing(state: &WebState, visit: Visit, said: &'static str) -> Response {
    let frame = Frame::new(state, visit, Utc::now(), "", "Not found");
    show(StatusCode::NOT_FOUND, &UnknownPage { frame, title: "Not found", said })
}

/// Something only the database knows, which is away.
pub(crate) fn away(state: &WebState, visit: Visit) -> Response {
    let frame = Frame::new(state, visit, Utc::now(), "", "Not just now").watching("fleet");
    let said =
        "The database does not answer, and memory does not hold this. Watching goes on; the page comes back by itself.";
    show(StatusCode::SERVICE_UNAVAILABLE, &UnknownPage { frame, title: "Not just now", said })
}
