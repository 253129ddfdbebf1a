//! Every address Serin answers, and what stands before each.

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;
use tower_http::timeout::TimeoutLayer;

use crate::web::pages::{
    deliveries, fleet, incident, incidents as incident_pages, lists, login, monitor, receivers as receiver_pages,
    runbooks, silences as silence_pages, take, transcripts as transcript_pages, unknown, why as why_pages,
};
use crate::web::state::WebState;
use crate::web::{
    agents, assets, audit, canary_ranks, events, forms, guard, history, incidents, keys, ledger, listings, metrics,
    monitors, openapi, problem, public, ready, receivers, replay, silences, status, tools, transcripts, why,
};

/// Forms and API bodies are a few words.
const BODY_BYTES_MAX: usize = 16 * 1024;
/// An answer begins within this; a page waits for the database far less.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// The whole web. A request has to bring its `web::source::Source`, so that wrong tokens are counted by it.
pub(crate) fn router(state: WebState) -> Router {
    Router::new()
        .merge(pages())
        .nest("/api/v1", api_routes())
        .merge(agents::tools::router(state.clone()))
        .merge(public::routes::routes())
        .route("/events", get(events::stream))
        .route("/metrics", get(metrics::scrape))
        .route("/healthz", get(ready::health))
        .route("/readyz", get(ready::ready))
        .route("/assets/{name}", get(assets::serve))
        .fallback(unknown::page)
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, ANSWER_WITHIN))
        .merge(patient())
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(state.clone(), guard::check))
        .layer(from_fn(problem::in_one_form))
        .layer(CompressionLayer::new())
        .layer(from_fn(guard::armour))
        .with_state(state)
}

fn pages() -> Router<WebState> {
    Router::new()
        .route("/", get(fleet::page))
        .route("/monitors/{id}", get(monitor::page))
        .route("/monitors/{id}/recheck", post(forms::recheck))
        .route("/monitors/{id}/accept", post(forms::accept))
        .route("/incidents", get(incident_pages::page))
        .route("/incidents/{id}", get(incident::page))
        .route("/incidents/{id}/why", get(why_pages::of_incident))
        .route("/monitors/{id}/why", get(why_pages::of_monitor))
        .route("/incidents/{id}/acknowledge", post(forms::acknowledge))
        .route("/incidents/{id}/give-back", post(forms::give_back))
        .route("/incidents/{id}/silence", post(silence_pages::of_incident))
        .route("/incidents/{id}/transcripts", get(transcript_pages::list))
        .route("/take/{incident}/{receiver}/{until}/{mark}", get(take::page).post(take::take))
        .route("/silences", get(silence_pages::page).post(silence_pages::make))
        .route("/silences/{id}/end", post(silence_pages::end))
        .route("/transcripts/{hash}", get(transcript_pages::text))
        .route("/runbooks", get(runbooks::index))
        .route("/runbooks/{reason}", get(runbooks::page))
        .route("/deliveries", get(deliveries::page))
        .route("/deliveries/{id}/replay", post(deliveries::replay))
        .route("/incidents/{id}/replay", post(deliveries::replay_incident))
        .route("/lists", get(lists::page))
        .route("/lists/{source}/accept", post(lists::accept))
        .route("/lists/{source}/read", post(lists::read))
        .route("/receivers", get(receiver_pages::page))
        .route("/receivers/{name}/test", post(receiver_pages::test))
        .route("/login", get(login::page).post(login::sign_in))
        .route("/login/oidc", get(login::begin))
        .route("/login/oidc/callback", get(login::come_back))
        .route("/logout", post(login::sign_out))
}

/// What a caller may wait for longer than for a page; it keeps a limit of its own.
fn patient() -> Router<WebState> {
    Router::new()
        .route("/api/v1/monitors/{id}/recheck", post(monitors::recheck))
        .route("/api/v1/receivers/{name}/test", post(receivers::test))
}

fn api_routes() -> Router<WebState> {
    Router::new()
        .route("/openapi.json", get(openapi::show))
        .route("/status", get(status::show))
        .route("/monitors", get(monitors::list))
        .route("/monitors/{id}", get(monitors::show))
        .route("/monitors/{id}/tools", get(tools::show))
        .route("/monitors/{id}/history", get(history::show))
        .route("/monitors/{id}/canaries", get(canary_ranks::show))
        .route("/monitors/{id}/accept", post(tools::accept))
        .route("/incidents", get(incidents::list))
        .route("/incidents/{id}", get(incidents::show))
        .route("/incidents/{id}/why", get(why::of_incident))
        .route("/monitors/{id}/why", get(why::of_monitor))
        .route("/incidents/{id}/acknowledge", post(incidents::acknowledge))
        .route("/incidents/{id}/give-back", post(incidents::give_back))
        .route("/incidents/{id}/transcripts", get(transcripts::of_incident))
        .route("/transcripts/{hash}", get(transcripts::text))
        .route("/deliveries", get(ledger::list))
        .route("/deliveries/replay", post(replay::several))
        .route("/deliveries/{id}/replay", post(replay::one))
        .route("/receivers", get(receivers::list))
        .route("/silences", get(silences::list).post(silences::add))
        .route("/silences/{id}/end", post(silences::end))
        .route("/discover", get(listings::list))
        .route("/discover/{source}/accept", post(listings::accept))
        .route("/discover/{source}/read", post(listings::read))
        .route("/keys", get(keys::list).post(keys::add))
        .route("/keys/{id}/end", post(keys::end))
        .route("/audit", get(audit::list))
}
