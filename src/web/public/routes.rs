//! The addresses that are answered without signing in, and what is said of each answer.
//!
//! `guard` lets exactly these through, so that the list stands here beside the routes. Nothing of it is to be found by
//! search engines: what they keep of a status is old when it is read.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use chrono::{DateTime, Utc};

use crate::web::public::badge_index;
use crate::web::public::badges;
use crate::web::public::document::Document;
use crate::web::public::side::{Documents, FRESH_FOR, PublicSide};
use crate::web::state::WebState;

type Side = Arc<PublicSide>;

/// Addresses that everybody may ask.
const PUBLIC: [&str; 7] = [
    "/status",
    "/status/feed.atom",
    "/api/v2/summary.json",
    "/api/v2/status.json",
    "/api/v2/components.json",
    "/api/v2/incidents.json",
    "/api/v2/incidents/unresolved.json",
];

/// Whether everybody may ask this address, whatever it answers.
pub(crate) fn is_public(path: &str) -> bool {
    let is_badge = |rest: &str| rest.strip_prefix('/').is_some_and(|name| !name.contains('/'));
    PUBLIC.contains(&path) || path.strip_prefix(crate::deliver::public_marks::BADGE_PATH).is_some_and(is_badge)
}

/// Their routes, with what was drawn last.
pub(crate) fn routes() -> Router<WebState> {
    Router::new()
        .route("/status", get(page))
        .route("/status/feed.atom", get(feed))
        .route("/badge/{name}", get(badge))
        .route("/api/v2/summary.json", get(summary))
        .route("/api/v2/status.json", get(status))
        .route("/api/v2/components.json", get(components))
        .route("/api/v2/incidents.json", get(incidents))
        .route("/api/v2/incidents/unresolved.json", get(unresolved))
        .layer(Extension(Side::default()))
}

async fn page(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    answered(&state, &side, &asked, |all| &all.page).await
}

async fn feed(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    answered(&state, &side, &asked, |all| &all.feed).await
}

async fn summary(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    for_scripts(answered(&state, &side, &asked, |all| &all.summary).await)
}

async fn status(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    for_scripts(answered(&state, &side, &asked, |all| &all.status).await)
}

async fn components(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    for_scripts(answered(&state, &side, &asked, |all| &all.components).await)
}

async fn incidents(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    for_scripts(answered(&state, &side, &asked, |all| &all.incidents).await)
}

async fn unresolved(State(state): State<WebState>, Extension(side): Extension<Side>, asked: HeaderMap) -> Response {
    for_scripts(answered(&state, &side, &asked, |all| &all.unresolved).await)
}

/// A badge stands in pages of others, which a browser allows where it is said to be for them.
async fn badge(
    State(state): State<WebState>,
    Extension(side): Extension<Side>,
    Path(name): Path<String>,
    asked: HeaderMap,
) -> Response {
    let token = name.strip_suffix(".svg");
    let Some(badge) = badges::drawn(&state, &side.badges, token.unwrap_or_default()).await else { return nothing() };
    let mut response = sent(&asked, &badge, badge_index::FRESH_FOR.as_secs(), Utc::now());
    response.headers_mut().insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    response
}

async fn answered(state: &WebState, side: &Side, asked: &HeaderMap, which: fn(&Documents) -> &Document) -> Response {
    match side.documents(state).await {
        Some(all) if all.snapshot.episodes.is_none() && !std::ptr::eq(which(&all), &all.page) => away(),
        Some(all) => sent(asked, which(&all), FRESH_FOR.as_secs(), all.snapshot.at),
        None => nothing(),
    }
}

/// Nobody is to take what cannot be read for what is over.
fn away() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "30")], "what goes on cannot be read just now\n")
        .into_response()
}

/// The same whether there is no public side or no such thing on it.
fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is nothing public at this address\n").into_response()
}

fn sent(asked: &HeaderMap, document: &Document, fresh_s: u64, at: DateTime<Utc>) -> Response {
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == document.etag);
    let headers = [
        (header::ETAG, document.etag.clone()),
        (header::CACHE_CONTROL, format!("public, max-age={fresh_s}")),
        (header::LAST_MODIFIED, at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()),
        (header::HeaderName::from_static("x-robots-tag"), "noindex".to_owned()),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(header::CONTENT_TYPE, document.content_type)], document.body.clone()).into_response()
}

/// Pages of others may read it by their scripts: it is what everybody may see.
fn for_scripts(mut response: Response) -> Response {
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_public_addresses_are_let_through() {
        let rows = [
            ("/status", true, "the page"),
            ("/status/feed.atom", true, "its feed"),
            ("/api/v2/summary.json", true, "its API"),
            ("/badge/abc.svg", true, "a badge, which proves itself"),
            ("/badge/", true, "what is no badge, and not found"),
            ("/badge/../incidents", false, "nothing behind a badge"),
            ("/badge", false, "no badge at all"),
            ("/badges/abc", false, "what only begins so"),
            ("/status/", false, "what there is not"),
            ("/api/v2/", false, "nothing else of that API"),
            ("/api/v1/status", false, "the other status, which is Serin's own"),
            ("/", false, "the fleet"),
        ];
        for (path, expected, sentence) in rows {
            assert_eq!(is_public(path), expected, "{path}: {sentence}");
        }
    }
}
