//! `POST /search`: the same search for callers that speak no MCP, with its description in OpenAPI.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use rmcp::model::JsonObject;
use rmcp::schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use tracing::Instrument as _;
use uuid::Uuid;

use crate::serve::answer::{Envelope, SearchData};
use crate::serve::arguments::SearchArguments;
use crate::serve::report::HealthReport;
use crate::serve::state::ServerState;

/// Seconds after which a caller may ask again where the server is busy or lacks a part.
const RETRY_AFTER_SECONDS: u32 = 5;

/// `POST /search`.
pub async fn search(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    let operation = Uuid::now_v7().to_string();
    let arguments = match serde_json::from_slice::<JsonObject>(&body) {
        Ok(mut arguments) => {
            if asks_afresh(&headers) {
                arguments.insert("cache".to_owned(), json!("bypass"));
            }
            arguments
        }
        Err(error) => {
            let why = format!("the body is no JSON object: {error}. See /openapi.json.");
            return reply(Envelope::error("INVALID_ARGUMENT", why).of(&operation));
        }
    };
    let span = tracing::info_span!("call", operation, tool = "POST /search");
    let searching = AssertUnwindSafe(state.search(arguments).instrument(span)).catch_unwind();
    let envelope = searching.await.unwrap_or_else(|_panic| {
        tracing::error!(operation, "a search panicked");
        Envelope::error("INTERNAL_ERROR", "The search broke off. Ask again.".to_owned())
    });
    reply(envelope.of(&operation))
}

/// Whether a request says, as to any cache, that it will have nothing remembered.
fn asks_afresh(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said.split(',').any(|word| matches!(word.trim(), "no-cache" | "no-store"))
}

fn reply(envelope: Envelope<SearchData>) -> Response {
    let status = status(envelope.error_code.as_deref());
    let mut response = (status, Json(envelope)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_SECONDS.into());
    }
    response
}

/// The HTTP status of a code of the envelope.
fn status(code: Option<&str>) -> StatusCode {
    match code {
        None => StatusCode::OK,
        Some("INVALID_ARGUMENT") => StatusCode::BAD_REQUEST,
        Some("INDEX_MISSING" | "SOURCE_UNKNOWN") => StatusCode::NOT_FOUND,
        Some("INDEX_SCHEMA_MISMATCH" | "INDEX_LOCK_ACTIVE") => StatusCode::CONFLICT,
        Some("POOL_SATURATED" | "EMBEDDING_UNAVAILABLE" | "COLLECTION_UNAVAILABLE") => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Refuses what a web page sends from elsewhere, and Hosts that are not ours: a page that a user
/// visits must not search a server on their machine. A server that others may reach takes any Host.
pub async fn only_ours(State(public): State<bool>, headers: HeaderMap, request: Request, next: Next) -> Response {
    let local = |authority: &str| {
        let host = authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        matches!(host.map_or(authority, |(host, _)| host), "localhost" | "127.0.0.1" | "[::1]")
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_from_here = text(header::ORIGIN).is_none_or(|origin| origin.strip_prefix("http://").is_some_and(local));
    let is_for_us = public || text(header::HOST).is_some_and(local);
    if is_from_here && is_for_us {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "this Host or Origin is not served\n").into_response()
}

/// `GET /openapi.json`.
pub async fn openapi() -> Json<Value> {
    Json(document())
}

/// The description, its schemas taken from the very types.
pub fn document() -> Value {
    let mut schemas = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let arguments = schemas.subschema_for::<SearchArguments>();
    let envelope = schemas.subschema_for::<Envelope<SearchData>>();
    let report = schemas.subschema_for::<HealthReport>();
    let answer = |description: &str, schema: &rmcp::schemars::Schema| json!({ "description": description, "content": { "application/json": { "schema": schema } } });
    let failed = |description: &str| answer(description, &envelope);
    let health = |summary: &str| {
        json!({ "get": { "summary": summary, "responses": {
            "200": answer("It is well.", &report), "503": answer("It is not; `reason` says why.", &report),
        } } })
    };
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Serin reference server", "version": env!("CARGO_PKG_VERSION"),
            "description": "Search over an index, by words and by meaning at once. The same as the MCP tool search_documents." },
        "paths": {
            "/search": { "post": {
                "operationId": "search", "summary": "Search the index",
                "security": [{}, { "bearer": [] }],
                "parameters": [{ "name": "Cache-Control", "in": "header", "schema": { "type": "string" },
                    "description": "`no-cache` is the argument `cache: bypass`." }],
                "requestBody": { "required": true, "content": { "application/json": { "schema": arguments } } },
                "responses": {
                    "200": answer("What was found; an empty list means that nothing fits.", &envelope),
                    "400": failed("An argument does not fit; the message names it."),
                    "401": { "description": "A bearer token is needed." },
                    "403": { "description": "This Host or Origin is not served." },
                    "404": failed("Nothing is indexed yet, or no source has the name or collection."),
                    "409": failed("The index is of another embedder or version."),
                    "413": { "description": "The body is too long." },
                    "500": failed("The search broke off."),
                    "503": failed("A part is busy or away; ask again after Retry-After."),
                },
            } },
            "/live": health("Whether the process answers"),
            "/ready": health("Whether a search would be answered now"),
            "/health": health("Whether the index is what it should be"),
            "/metrics": { "get": { "summary": "Counters and histograms in the text format of Prometheus",
                "responses": { "200": { "description": "Metrics", "content": { "application/openmetrics-text": {} } } } } },
            "/openapi.json": { "get": { "summary": "This description",
                "responses": { "200": { "description": "OpenAPI 3.1", "content": { "application/json": {} } } } } },
        },
        "components": {
            "schemas": schemas.definitions(),
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}
